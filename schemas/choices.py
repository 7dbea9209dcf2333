"""The values that options of datasets accept, in a module that imports nothing: help is shown without pyarrow."""

# Texts of an entity that `entities` can keep.
TEXTS = ("labels", "descriptions", "aliases")
# Formats of `export`, its anchors, the kinds of text that stand for an entity there, and the languages of positives.
FORMATS = ("sentence-transformers", "jsonl", "csv")
ANCHORS = ("sentence", "title", "lead")
POSITIVES = ("lead", "sentence", "label", "description", "alias")
NEGATIVES = ("lead", "sentence", "label", "description")
LANGUAGES = ("same", "other", "any")
# Texts of Wikipedia; others are of Wikidata.
OF_PAGES = ("sentence", "lead", "title")

# Parts of a page: of sentences; beside the text (cells of tables, captions); of all text that is no sentence of prose
# (`fragments`).
REGIONS = ("lead", "body", "list")
ASIDES = ("table", "caption")
FRAGMENT_REGIONS = (*REGIONS, "back_matter", "preformatted", "disambiguation", *ASIDES)
