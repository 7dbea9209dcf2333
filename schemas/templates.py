"""`templates`: what each page of a wiki's namespace Template shows where it is transcluded, and its messages."""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema, strings

VERSION = "1.2"
KINDS = ("text", "block", "redirect", "server", "long", "other", "module", "message")

SCHEMA = schema(
    "templates",
    VERSION,
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field(
            "title",
            pa.string(),
            "Title of the template without its namespace, such as Citation needed; of a "
            "module with Module: before it, such as Module:Convert, of a message with MediaWiki:.",
        ),
        field("page_id", pa.int64(), "Id of the page."),
        field("rev_id", pa.int64(), "Id of the revision."),
        field(
            "kind",
            pa.string(),
            "text (part of a line, or elements such as <div> around text), block (makes another block of its own, such "
            "as a table), redirect, server (a Lua module makes it), long (more than 50,000 characters), other (no "
            "wikitext), module (Lua; with --lua=on alone) or message (of the interface).",
        ),
        field(
            "body",
            pa.string(),
            "Of text and server the wikitext that it transcludes, without comments and extension tags; of a redirect "
            "the title it leads to; of a module its source; of a message its wikitext; null for the other kinds.",
            nullable=True,
        ),
        field("first", pa.string(), "Title of the template with which the body begins; null if none.", nullable=True),
        field("calls", strings(), "Titles of the templates and modules that the body names, sorted."),
        field("disambiguation", pa.bool_(), "Whether it makes any article that uses it a disambiguation page."),
    ],
)
