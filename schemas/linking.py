"""`linking`: links of articles as mentions of items, with their contexts and candidates, to train and score entity
linking; `items`: the knowledge base; `names`: the candidates of each name. Licence: CC BY-SA 4.0.

With `--split`, `linking` has the pages of train, `linking_dev` and `linking_test` those of dev and test.
"""

import pyarrow as pa

from wikianchor.schemas.documents import SCHEMA as DOCUMENTS
from wikianchor.schemas.entities import SCHEMA as ENTITIES
from wikianchor.schemas.fields import field, list_of, schema, strings
from wikianchor.schemas.mentions import SCHEMA as MENTIONS

VERSION = "1.0"

CANDIDATE = pa.struct(
    [
        field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
        field("prior", pa.float32(), "Share of the links with this name that lead to the item, 0 to 1."),
    ]
)

PAGE = pa.struct(
    [
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("page_id", pa.int64(), "Id of the page."),
        field("title", pa.string(), "Title of the page."),
        field(
            "lead",
            pa.string(),
            'The first paragraph, its first 1,000 characters; "" for a page without one. U+FFFC stands for missing '
            "words, as in `documents`.",
        ),
    ]
)

SCHEMA = schema(
    "linking",
    VERSION,
    [
        *(DOCUMENTS.field(name) for name in ("wiki", "page_id", "rev_id", "timestamp", "title")),
        field("page_qid", pa.int64(), "Number of the item of the page; null without one.", nullable=True),
        field("section", strings(), "Headings of the sections that the mention is in, the outermost first."),
        field("block", pa.string(), "Kind of the block that the mention is in, such as paragraph; see `documents`."),
        field("start", pa.int32(), "Offset of the mention in the text of the document, in code points from 0."),
        field("end", pa.int32(), "Offset after its last character."),
        field("left", pa.string(), "Text of the block before the mention, its last 600 characters."),
        field("surface", pa.string(), "The mention, as it stands in the text."),
        field("right", pa.string(), "Text of the block after the mention, its first 600 characters."),
        field("target_wiki", pa.string(), "Database name of the wiki that the link leads to."),
        field(
            "target",
            pa.string(),
            "Title of the item's page in that wiki, as `documents` has it; of a wiki without documents the title that "
            "the link names.",
        ),
        field("fragment", pa.string(), 'Section that the link leads to, the part after "#"; "" without one.'),
        field("qid", pa.int64(), "Number of the item that is mentioned, 42 for Q42."),
        field("key", pa.string(), "The folded name of the mention; see `mentions`."),
        field(
            "candidates",
            list_of(CANDIDATE),
            "At most 30 items of the name in the wiki of the page, or for Wikinews in the Wikipedia of its language, "
            "the most frequent first; items of equal frequency in ascending order.",
        ),
        field(
            "rank",
            pa.int32(),
            "Index of the item among `candidates`, from 0; null if it is not one of them.",
            nullable=True,
        ),
        field(
            "held_out_rank",
            pa.int32(),
            "The same if this link is not counted, as for a text that no count has seen; null if the item is not among "
            "the first 30.",
            nullable=True,
        ),
        field(
            "item_split",
            pa.string(),
            "train, dev or test, by the item. Rows of `linking` with train have no item of dev or test, so the others "
            "are unseen there.",
        ),
        field(
            "date_split",
            pa.string(),
            "train if the page linked to the item in the documents of --previous, else test; null without these.",
            nullable=True,
        ),
    ],
)

ITEMS = schema(
    "linking.items",
    VERSION,
    [
        ENTITIES.field("qid"),
        field("links", pa.int64(), "Number of links to the item, in all wikis, that give it a name; see `mentions`."),
        *(ENTITIES.field(name) for name in ("types", "labels", "descriptions", "aliases")),
        field("pages", list_of(PAGE), "The pages of the item, by wiki."),
    ],
)

NAMES = schema(
    "linking.names",
    VERSION,
    [
        *(MENTIONS.field(name) for name in ("wiki", "key")),
        field("surfaces", strings(), "Spellings of the name, that of its most frequent item first."),
        *(MENTIONS.field(name) for name in ("name_links", "occurrences")),
        field("candidates", list_of(CANDIDATE), "At most 30 items of the name, as in `linking`."),
    ],
)
