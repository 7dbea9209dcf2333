"""`sentences`: one row per sentence of prose, in the order of the dump. Text CC BY-SA 4.0, by page and revision."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema

VERSION = "1.0"
REGIONS = ("lead", "body", "list")

LINK = pa.struct(
    [
        field("start", pa.int32(), "offset of the link in `text`, code points"),
        field("end", pa.int32(), "offset after the link; text[start:end] is what a reader sees, link trail included"),
        field("target", pa.string(), "title of the page linked to, normalised, redirects not followed"),
        field("fragment", pa.string(), 'section after "#", or ""'),
    ]
)

SCHEMA = schema(
    "sentences",
    VERSION,
    field("wiki", pa.string(), "database name of the wiki, such as enwiki"),
    field("page_id", pa.int64(), "the page"),
    field("rev_id", pa.int64(), "the revision that was read; https://<host>/w/index.php?oldid=<rev_id> shows it"),
    field("title", pa.string(), "title of the page"),
    field("region", pa.string(), "lead (before the first heading), body or list"),
    field("sentence_index", pa.int32(), "number of the sentence among all sentences of the page, dropped ones counted"),
    field("text", pa.string(), "the sentence"),
    field("links", pa.list_(pa.field("element", LINK, False)), "links to articles, in order"),
)

COUNT = pa.struct(
    [field("name", pa.string(), "kind and bucket, as links:table"), field("number", pa.int32(), "how many")]
)

LEDGER = schema(
    "sentences.ledger",
    VERSION,
    field("wiki", pa.string(), "database name of the wiki"),
    field("page_id", pa.int64(), "the article"),
    field("rev_id", pa.int64(), "the revision that was read"),
    field("counts", pa.list_(pa.field("element", COUNT, False)), "what became of its links and sentences"),
)
"""What became of each article's links and sentences: the ledger, a page at a time."""
