"""`export`: (anchor, positive, negatives) as text, for sentence-transformers; `sources`: the origin of each row.

All kinds of rows (`--kind`) have these columns. `wikianchor score` reads them, so their names and their order stay: a
change of them raises the major version.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, list_of, schema, strings

VERSION = "3.0"
# sentence-transformers reads a column of this name as labels, which losses of distillation learn from.
SCORES = field(
    "scores", list_of(pa.float32()), "Cosines of the anchor with the positive and with each negative, in their order."
)


def rows_schema(negatives: int, *, scored: bool = False) -> pa.Schema:
    """Return the schema of rows with a number of negatives, and of `wikianchor score` with their cosines: its columns
    are those that sentence-transformers reads, in its order."""
    columns = [
        field(f"negative_{number}", pa.string(), "Text of a hard negative.") for number in range(1, 1 + negatives)
    ]
    return schema(
        "export",
        VERSION,
        [
            field("anchor", pa.string(), "A sentence that links to the entity, or a text of its page (--kind)."),
            field("positive", pa.string(), "A text of the entity: the lead of its page, or another (--kind)."),
            *columns,
            *([SCORES] if scored else []),
        ],
    )


SOURCES = schema(
    "export.sources",
    VERSION,
    [
        field("entity_qid", pa.int64(), "Number of the Wikidata item that the anchor links to, 42 for Q42."),
        field("wiki", pa.string(), "Database name of the anchor's wiki, such as enwiki."),
        field("page_id", pa.int64(), "Id of the anchor's page."),
        field("rev_id", pa.int64(), "Id of the revision that was read."),
        field(
            "title",
            pa.string(),
            "Title of the anchor's page; null if that is the entity's own.",
            nullable=True,
        ),
        field("positive_wiki", pa.string(), "Wiki of the positive; null if it is a text of Wikidata.", nullable=True),
        field("positive_page_id", pa.int64(), "Id of the positive's page; null likewise.", nullable=True),
        field("positive_rev_id", pa.int64(), "Id of the revision of that page; null likewise.", nullable=True),
        field("negative_qids", integers(pa.int64()), "Numbers of the Wikidata items of the negatives, in their order."),
        field("negative_wikis", strings(), "Wikis of the negatives; empty if they are texts of Wikidata."),
        field("negative_page_ids", integers(pa.int64()), "Ids of the negatives' pages; empty likewise."),
        field("negative_rev_ids", integers(pa.int64()), "Ids of the revisions of these pages; empty likewise."),
    ],
)
