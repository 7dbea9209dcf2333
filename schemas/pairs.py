"""`pairs`: (sentence, linked entity, hard negatives), globally shuffled, and `entities`: what the dense ids mean."""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, schema

VERSION = "1.0"
# Columns with few different values, though rows are shuffled.
REPEATING = ("type_qid", "type_route", "wiki", "frequency_bin")
TYPE_ROUTES = ("instance_of", "subclass_of", "occupation", "parent", "none")

SCHEMA = schema(
    "pairs",
    VERSION,
    field("text", pa.string(), "the sentence"),
    field("mention_start", pa.int32(), "offset of the link in `text`, code points"),
    field("mention_end", pa.int32(), "offset after the link"),
    field("entity_id", pa.int32(), "row of the linked entity in the `entities` config, most frequent first"),
    field("entity_qid", pa.int64(), "the linked entity, 42 for Q42"),
    field("hard_negative_ids", integers(pa.int32()), "entities of the same type that the page does not link to"),
    field("hard_negative_qids", integers(pa.int64()), "the same as Wikidata items"),
    field("type_qid", pa.int64(), "the type shared with the hard negatives; null without negatives", nullable=True),
    field("type_route", pa.string(), "how the type was found: instance_of, subclass_of, occupation, parent or none"),
    field("sentence_id", pa.int64(), "hash of wiki, page and sentence number; equal for the pairs of one sentence"),
    field("wiki", pa.string(), "database name of the wiki"),
    field("page_id", pa.int64(), "the page"),
    field("rev_id", pa.int64(), "the revision"),
    field("title", pa.string(), "title of the page, for attribution"),
    field(
        "frequency_bin", pa.int8(), "decimal digits of the entity's link count less one: 0 for 1 to 9, 1 for 10 to 99"
    ),
)

ENTITIES = schema(
    "pairs.entities",
    VERSION,
    field("entity_id", pa.int32(), "dense id, 0 for the entity linked most often"),
    field("qid", pa.int64(), "the Wikidata item"),
    field("count", pa.int64(), "links to it in the sentences given"),
    field(
        "label",
        pa.string(),
        "its label in the first language that has one; null where none was asked for",
        nullable=True,
    ),
    field("types", integers(pa.int64()), "types under which it can be drawn as a hard negative"),
)
