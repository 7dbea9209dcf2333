"""The values that options of datasets accept, in a module that imports nothing: help is shown without pyarrow."""

# Texts of an entity that `entities` can keep.
TEXTS = ("labels", "descriptions", "aliases")
# Formats of `export`, and the languages of its positives.
FORMATS = ("sentence-transformers", "jsonl", "csv")
LANGUAGES = ("same", "other", "any")
# Formats of `linking`.
LINKING_FORMATS = ("parquet", "kilt", "blink", "mgenre", "spacy")
# By kind of the rows of `export`, what anchor, positive and negatives are; see `pipelines.export.texts`.
KINDS = {
    "lead": ("sentence", "lead", "lead"),
    "title-lead": ("title", "lead", "lead"),
    "section": ("heading", "passage", "passage"),
    "neighbour": ("adjacent", "next", "next"),
    "cross-lingual-lead": ("lead", "lead", "lead"),
    "mention": ("sentence", "sentence", "sentence"),
    "first-sentence": ("first", "title", "title"),
    "label": ("sentence", "label", "label"),
    "description": ("sentence", "description", "description"),
    # An entity has more aliases than labels.
    "alias": ("sentence", "alias", "label"),
}
# Texts of Wikidata; others are of Wikipedia.
OF_WIKIDATA = ("label", "description", "alias")

# Parts of a page: of sentences; beside the text (cells of tables, captions); of all text that is no sentence of prose
# (`fragments`).
REGIONS = ("lead", "body", "list")
ASIDES = ("table", "caption")
BLOCKS = ("paragraph", "heading", "list_item", "quotation", "preformatted", "table_cell", "caption")
FRAGMENT_REGIONS = (*REGIONS, "back_matter", "preformatted", "disambiguation", *ASIDES)
