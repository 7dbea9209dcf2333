"""`mentions`: the names of items in a wiki, with counts; `interlanguage`: the page of each item in each wiki.

Names with the same folded key are one name (`wikianchor.aliases.folding`). Published measures are computed from the
counts of a row:

    link probability (thesis of M-BoE)    name_links / occurrences
    link probability (wikipedia2vec)      min(1, name_links / documents)
    commonness                            links / name_links
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
ORIGINS = ("anchor", "title", "redirect")

_NAME = (
    field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
    field(
        "surface", pa.string(), "The most frequent spelling of the name where it stands for the item, such as New York."
    ),
    field(
        "key",
        pa.string(),
        "The folded name: lower case, normal width, ASCII apostrophes and dashes, single spaces; such as new york. "
        "In Chinese, simplified characters for traditional ones.",
    ),
    field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
)
_COUNTS = (
    field("links", pa.int64(), "Number of links with this name to this item."),
    field("linked_documents", pa.int64(), "Number of pages with such a link."),
    field(
        "occurrences",
        pa.int64(),
        "Number of occurrences of the name in the text, linked or not, whatever it stands for.",
    ),
    field("documents", pa.int64(), "Number of pages with such an occurrence."),
    field("name_links", pa.int64(), "Number of links with this name to any page, including pages that do not exist."),
    field("name_linked_documents", pa.int64(), "Number of pages with such a link."),
)

SCHEMA = schema(
    "mentions",
    VERSION,
    [
        *_NAME,
        *_COUNTS,
        field(
            "origins",
            strings(),
            "Sources of the name: anchor (text of a link), title (of the page, without the bracket at its end) or "
            "redirect (title of a redirect).",
        ),
    ],
)

CANDIDATES = schema(
    "mentions.candidates",
    VERSION,
    [
        *_NAME,
        field(
            "link_probability",
            pa.float32(),
            "name_links / occurrences: the share of occurrences that are links, 0 to 1.",
        ),
        field(
            "commonness", pa.float32(), "links / name_links: the share of these links that lead to this item, 0 to 1."
        ),
        *_COUNTS,
    ],
)

INTERLANGUAGE = schema(
    "interlanguage",
    VERSION,
    [
        field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field(
            "title", pa.string(), "Title of the item's page in the wiki; null if only its id is known.", nullable=True
        ),
        field(
            "page_id",
            pa.int64(),
            "Id of the page; null if the `titles` of the wiki were not among the inputs.",
            nullable=True,
        ),
        field(
            "redirect",
            pa.bool_(),
            "Whether the page is a redirect; null if the `titles` of the wiki were not among the inputs.",
            nullable=True,
        ),
    ],
)
