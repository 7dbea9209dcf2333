"""`titles`: all articles and redirects of a wiki in the order of the dump, with the articles that each links to."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.0"
FLAGS = ("disambiguation", "list")

SCHEMA = schema(
    "titles",
    VERSION,
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("title", pa.string(), "Title of the page, such as New York City."),
        field("page_id", pa.int64(), "Id of the page."),
        field("rev_id", pa.int64(), "Id of the revision that was read."),
        field(
            "redirect", pa.string(), "Title of the page that a redirect leads to; null for an article.", nullable=True
        ),
        field(
            "redirect_fragment",
            pa.string(),
            'Section that a redirect leads to, "" for the whole page; null for an article.',
            nullable=True,
        ),
        field(
            "flags", strings(), "disambiguation for a disambiguation page, list for a list article; empty for others."
        ),
        field(
            "links",
            strings(),
            "Titles of all other articles that the page links to, sorted: in prose, tables, captions, references and "
            "template arguments.",
        ),
    ],
)
