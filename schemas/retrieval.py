"""`retrieval`: sentences with the name of a linked page masked, to find this page by; `corpus`: the passages to rank;
`qrels`: which are relevant. Licence: CC BY-SA 4.0.

Names of configs and columns are those of mteb's retrieval tasks: `datasets.load_dataset` reads them.
"""

import pyarrow as pa

from wikianchor.schemas.documents import SCHEMA as DOCUMENTS
from wikianchor.schemas.fields import field, integers, schema, strings

VERSION = "1.0"
# Grades of passages of the page that is looked for: the lead, any other.
LEAD, OTHER = 2, 1

QUERIES = schema(
    "retrieval",
    VERSION,
    [
        field("id", pa.string(), "Wiki, page id and offset of the link with colons between, such as enwiki:12:345."),
        field("text", pa.string(), "Title of the page, a colon and the sentence; ___ for the masked names."),
        *(DOCUMENTS.field(name) for name in ("wiki", "page_id", "rev_id", "timestamp", "title")),
        field("sentence_index", pa.int32(), "Number of the sentence on its page, as in `sentences`."),
        field("start", pa.int32(), "Offset of the sentence in the text of the document, in code points from 0."),
        field("end", pa.int32(), "Offset after its last character."),
        field("target", pa.string(), "Title that the masked link names, as in `documents`."),
        field("target_qid", pa.int64(), "Number of the item whose page is looked for, 42 for Q42."),
        field("masked", strings(), "What was masked, in order."),
        field(
            "evidence",
            integers(pa.int64()),
            "Items of the page, or of other links of the sentence, to which passages of the target link.",
        ),
        field(
            "distractors",
            integers(pa.int64()),
            "Items of a type of the target, whose passages are in the corpus; at most --negatives.",
        ),
    ],
)

CORPUS = schema(
    "retrieval.corpus",
    VERSION,
    [
        field("id", pa.string(), "Wiki, page id and offset with colons between, such as enwiki:12:0."),
        field(
            "title", pa.string(), "Title of the page, and the headings that lead to the passage, with dashes between."
        ),
        field("text", pa.string(), "The paragraph, its first 2,000 characters, without missing words."),
        *(DOCUMENTS.field(name) for name in ("wiki", "page_id", "rev_id", "timestamp")),
        field("qid", pa.int64(), "Number of the item of the page; null without one.", nullable=True),
        field("section", strings(), "Headings of the sections that the passage is in, the outermost first."),
        field("start", pa.int32(), "Offset of the paragraph in the text of the document, in code points from 0."),
        field("end", pa.int32(), "Offset after the paragraph."),
    ],
)

QRELS = schema(
    "retrieval.qrels",
    VERSION,
    [
        field("query-id", pa.string(), "`id` of the query."),
        field("corpus-id", pa.string(), "`id` of a passage of the target's page."),
        field("score", pa.int32(), "2 for the lead, the first passage of the page; 1 for its other passages."),
    ],
)
