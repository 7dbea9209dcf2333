"""The values that options of datasets accept, in a module that imports nothing: help is shown without pyarrow."""

# Texts of an entity that `entities` can keep.
TEXTS = ("labels", "descriptions", "aliases")
# Formats of `export`, the kinds of text that stand for an entity there, and the languages of positives.
FORMATS = ("sentence-transformers", "jsonl", "csv")
POSITIVES = ("sentence", "label", "description", "alias")
NEGATIVES = ("sentence", "label", "description")
LANGUAGES = ("any", "same", "other")

# Parts of a page: of sentences; beside the text (cells of tables, captions); of all text that is no sentence of prose
# (`fragments`).
REGIONS = ("lead", "body", "list")
ASIDES = ("table", "caption")
FRAGMENT_REGIONS = (*REGIONS, "back_matter", "preformatted", "disambiguation", *ASIDES)
