"""`sentences`: one row per sentence of prose, in the order of the dump. Licence: CC BY-SA 4.0.

The config `fragments` has the text that is no sentence of prose, such as most list items. Names of items are in both.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, list_of, schema

VERSION = "1.0"

LINK = pa.struct(
    [
        field("start", pa.int32(), "Offset of the first character of the link in `text`, in code points from 0."),
        field(
            "end",
            pa.int32(),
            "Offset after its last character: text[start:end] is the link as a reader sees it, [[bus]]es as buses.",
        ),
        field(
            "target",
            pa.string(),
            "Normalised title of the page linked to, such as New York City; redirects not followed.",
        ),
        field("fragment", pa.string(), 'Section of the page linked to, the part after "#"; "" without one.'),
    ]
)

SCHEMA = schema(
    "sentences",
    VERSION,
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("page_id", pa.int64(), "Id of the page."),
        field(
            "rev_id",
            pa.int64(),
            "Id of the revision that was read; https://<host of the wiki>/w/index.php?oldid=<rev_id> shows it.",
        ),
        field("title", pa.string(), "Title of the page."),
        field("region", pa.string(), "Part of the page: lead (before the first heading), body, or list (a list item)."),
        field(
            "sentence_index",
            pa.int32(),
            "Number of the sentence on its page, from 0; dropped sentences are counted too.",
        ),
        field("text", pa.string(), "The sentence."),
        field("links", list_of(LINK), "Links to articles in the sentence, in order; they do not overlap."),
    ],
)

# What the ledger counts as dropped sentences, except headings; the text of disambiguation pages; cells of tables and
# captions that contain links.
FRAGMENTS = schema(
    "sentences.fragments",
    VERSION,
    [
        *(SCHEMA.field(name) for name in ("wiki", "page_id", "rev_id", "title")),
        field(
            "region",
            pa.string(),
            "Part of the page: lead, body or list, as in sentences; back_matter (a section of references, notes, "
            "links or further reading), preformatted, disambiguation (any text of a disambiguation page), table (a "
            "cell with links) or caption (of an image, also in a gallery, with links).",
        ),
        field(
            "sentence_index",
            pa.int32(),
            "Number of the fragment among all sentences and fragments of its page, from 0.",
        ),
        field("text", pa.string(), "The fragment; an object replacement character (U+FFFC) stands for missing words."),
        SCHEMA.field("links"),
    ],
)

COUNT = pa.struct(
    [
        field("name", pa.string(), "Kind and reason, such as links:table for links in tables."),
        field("number", pa.int32(), "Number of links, sentences or characters."),
    ]
)

# For each article, the number of its links and sentences by what became of them.
LEDGER = schema(
    "sentences.ledger",
    VERSION,
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("page_id", pa.int64(), "Id of the article."),
        field("rev_id", pa.int64(), "Id of the revision that was read."),
        field("counts", list_of(COUNT), "Links, sentences and characters of the article, by what became of them."),
    ],
)
