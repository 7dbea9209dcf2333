"""`titles`: every article and redirect of a wiki, in the order of the dump, with all that an article links to."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
FLAGS = ("disambiguation", "list")

SCHEMA = schema(
    "titles",
    VERSION,
    field("wiki", pa.string(), "database name of the wiki"),
    field("title", pa.string(), "title of the page"),
    field("page_id", pa.int64(), "the page"),
    field("rev_id", pa.int64(), "the revision that was read"),
    field("redirect", pa.string(), "title that a redirect leads to; null for an article", nullable=True),
    field(
        "redirect_fragment", pa.string(), 'section that a redirect leads to, or ""; null for an article', nullable=True
    ),
    field("flags", strings(), "disambiguation, list"),
    field(
        "links",
        strings(),
        "articles linked anywhere on the page: prose, tables, captions, references, template arguments; sorted",
    ),
)
