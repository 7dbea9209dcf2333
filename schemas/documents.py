"""`documents`: one row per article, in the order of the dump: its text, and what stands where in it. Licence: CC BY-SA
4.0.

Offsets are those of `text`, in code points from 0; each end is the offset after the last character.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, list_of, schema, strings
from wikianchor.schemas.sentences import SCHEMA as SENTENCES

VERSION = "2.1"

SECTION = pa.struct(
    [
        field("title", pa.string(), "The heading."),
        field("level", pa.int32(), "Level of the heading, from 1 to 6; == A == has level 2."),
        field("start", pa.int32(), "Offset of the heading."),
        field("end", pa.int32(), "Offset after the section, with its subsections."),
    ]
)

BLOCK = pa.struct(
    [
        field(
            "kind",
            pa.string(),
            "paragraph, heading, list_item (also an indented line), quotation (a paragraph in <blockquote>), "
            "preformatted, table_cell or caption. Cells and captions that contain links come after all other blocks; "
            "those without a link are left out.",
        ),
        field("start", pa.int32(), "Offset of the block."),
        field("end", pa.int32(), "Offset after the block. Within a block, lines end as in the wikitext."),
        field(
            "section",
            pa.int32(),
            "Index in `sections`, from 0; -1 before the first heading, and for cells and captions.",
        ),
        field(
            "depth",
            pa.int32(),
            "Depth of a list item: the number of its marks in the wikitext, 2 for **; 1 for <li>. 0 of other blocks.",
        ),
        field(
            "row",
            pa.int32(),
            "Row of a table cell, from 0; rows without cells do not count. Null of other blocks, of captions of "
            "tables, and where broken wikitext hides which cell it is.",
            nullable=True,
        ),
        field(
            "column",
            pa.int32(),
            "Number of a table cell in its row, from 0; a cell that spans several columns is one. Null as `row` is.",
            nullable=True,
        ),
    ]
)

SENTENCE = pa.struct(
    [
        field("sentence_index", pa.int32(), "Number of the sentence on its page, as in `sentences`."),
        field("region", pa.string(), "Part of the page, as in `sentences`: lead, body or list."),
        field("start", pa.int32(), "Offset of the sentence."),
        field("end", pa.int32(), "Offset after the sentence."),
    ]
)

LINK = pa.struct(
    [
        field("start", pa.int32(), "Offset of the first character of the link: text[start:end] is what a reader sees."),
        field("end", pa.int32(), "Offset after its last character."),
        field("wiki", pa.string(), "Database name of the wiki linked to: that of the row, or another Wikipedia."),
        field("target", pa.string(), "Normalised title of the article linked to; redirects not followed."),
        field("fragment", pa.string(), 'Section of the article, the part after "#"; "" without one.'),
        field("section", pa.int32(), "Index in `sections` of the section that the link is in; -1 as in `blocks`."),
        field("block", pa.int32(), "Index in `blocks` of the block that the link is in, from 0."),
        field(
            "qid",
            pa.int64(),
            "Number of the item of the article, redirects followed; null without one, and in the config `documents` of "
            "the dataset `sentences`.",
            nullable=True,
        ),
    ]
)

SCHEMA = schema(
    "documents",
    VERSION,
    [
        *(SENTENCES.field(name) for name in ("wiki", "page_id", "rev_id")),
        field("timestamp", pa.string(), 'Time of the revision, such as 2026-01-01T00:00:00Z; "" if the dump has none.'),
        field("url", pa.string(), 'Address of the page; "" if the address of the wiki is not known.'),
        SENTENCES.field("title"),
        field(
            "qid",
            pa.int64(),
            "Number of the item of the page; null without one, and in the config `documents` of the dataset "
            "`sentences`.",
            nullable=True,
        ),
        field("categories", strings(), "Categories in the wikitext, without the name of the namespace, in order."),
        field("sections", list_of(SECTION), "Sections in order; the text before the first heading is in none."),
        field("blocks", list_of(BLOCK), "Blocks of the text, in order; a line feed stands between two of them."),
        field("text", pa.string(), "The text; an object replacement character (U+FFFC) stands for missing words."),
        field("sentences", list_of(SENTENCE), "The sentences of the page that `sentences` has."),
        field("links", list_of(LINK), "Links to articles, in order; they do not overlap."),
    ],
)
