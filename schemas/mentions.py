"""`mentions`: what names stand for in a wiki, with counts; and `interlanguage`: which page an item has in which wiki.

A name is told by its folded key (`wikianchor.aliases.folding`). Published definitions follow from the counts of a row:

    link probability, M-BoE's thesis    name_links / occurrences
    link probability, wikipedia2vec     min(1, name_links / documents)
    commonness                          links / name_links
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
ORIGINS = ("anchor", "title", "redirect")

_WHAT = (
    field("wiki", pa.string(), "database name of the wiki"),
    field("surface", pa.string(), "the name as it is written most often where it stands for the item"),
    field("key", pa.string(), "the name folded: case, width, apostrophes, dashes and white space"),
    field("qid", pa.int64(), "the Wikidata item, 42 for Q42"),
)
_COUNTS = (
    field("links", pa.int64(), "links with this name to this item"),
    field("linked_documents", pa.int64(), "pages with such a link"),
    field(
        "occurrences", pa.int64(), "places where the name stands in the text, linked or not, whatever it means there"
    ),
    field("documents", pa.int64(), "pages with such a place"),
    field("name_links", pa.int64(), "links with this name to anything, red links among them"),
    field("name_linked_documents", pa.int64(), "pages with such a link"),
)

SCHEMA = schema(
    "mentions",
    VERSION,
    *_WHAT,
    *_COUNTS,
    field("origins", strings(), "where the name comes from: anchor, title (without its bracket), redirect"),
)

CANDIDATES = schema(
    "mentions.candidates",
    VERSION,
    *_WHAT,
    field("link_probability", pa.float32(), "name_links / occurrences: how likely the name is a link"),
    field("commonness", pa.float32(), "links / name_links: how likely such a link leads to this item"),
    *_COUNTS,
)

INTERLANGUAGE = schema(
    "interlanguage",
    VERSION,
    field("qid", pa.int64(), "the Wikidata item"),
    field("wiki", pa.string(), "database name of the wiki"),
    field("title", pa.string(), "title of its page there; null where only the page id is known", nullable=True),
    field("page_id", pa.int64(), "id of the page; null where the wiki's titles were not given", nullable=True),
    field(
        "redirect",
        pa.bool_(),
        "whether the page is a redirect; null where the wiki's titles were not given",
        nullable=True,
    ),
)
