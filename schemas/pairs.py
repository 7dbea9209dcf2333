"""`pairs`: (sentence, linked entity, hard negatives), shuffled globally; `entities`: the entities by dense id.

With --split, `pairs` has the rows of train, and `pairs_dev` and `pairs_test` those of dev and test. In a release, rows
have labels too (`PUBLISHED`).
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, schema, strings

VERSION = "1.0"
# Columns with few distinct values: dictionary encoding pays although the rows are shuffled.
REPEATING = ("type_qid", "type_route", "wiki", "frequency_bin")
# A config whose name ends in "_dev" or "_test" is that split of the config without the ending.
SPLITS = ("train", "dev", "test")
TYPE_ROUTES = ("instance_of", "subclass_of", "occupation", "parent", "none")

SCHEMA = schema(
    "pairs",
    VERSION,
    [
        field("text", pa.string(), "The sentence."),
        field(
            "mention_start", pa.int32(), "Offset of the first character of the link in `text`, in code points from 0."
        ),
        field(
            "mention_end",
            pa.int32(),
            "Offset after its last character, so that text[mention_start:mention_end] is the link.",
        ),
        field(
            "entity_id", pa.int32(), "Row of the linked entity in the config `entities`; 0 is the most frequent entity."
        ),
        field("entity_qid", pa.int64(), "Number of the linked entity's Wikidata item, 42 for Q42."),
        field(
            "hard_negative_ids",
            integers(pa.int32()),
            "Rows, in the config `entities`, of entities with the same type that the page does not link to.",
        ),
        field("hard_negative_qids", integers(pa.int64()), "Numbers of the Wikidata items of the hard negatives."),
        field(
            "type_qid",
            pa.int64(),
            "Number of the Wikidata class that the linked entity and the hard negatives share, 5 for human (Q5); null "
            "without hard negatives.",
            nullable=True,
        ),
        field(
            "type_route",
            pa.string(),
            "How `type_qid` was determined: instance_of (P31), subclass_of (P279), occupation (P106), parent (a "
            "superclass of the types) or none.",
        ),
        field(
            "sentence_id",
            pa.int64(),
            "64-bit hash of wiki, page and number of the sentence; the same for all pairs of a sentence.",
        ),
        field("wiki", pa.string(), "Database name of the wiki, such as enwiki."),
        field("page_id", pa.int64(), "Id of the page."),
        field("rev_id", pa.int64(), "Id of the revision that was read."),
        field("title", pa.string(), "Title of the page, for attribution."),
        field(
            "frequency_bin",
            pa.int8(),
            "Number of decimal digits of the entity's link count, minus one: 0 for 1 to 9 links, 1 for 10 to 99.",
        ),
    ],
)

PUBLISHED = schema(
    "pairs.published",
    VERSION,
    [
        *list(SCHEMA)[:3],
        field("entity", pa.string(), "Label of the linked entity; its item, such as Q42, where it has none."),
        field("hard_negatives", strings(), "Labels of the hard negatives, in the order of `hard_negative_ids`."),
        *list(SCHEMA)[3:],
    ],
)

ENTITIES = schema(
    "pairs.entities",
    VERSION,
    [
        field("entity_id", pa.int32(), "Dense id: the number of the row, from 0; 0 is the entity with the most links."),
        field("qid", pa.int64(), "Number of the Wikidata item, 42 for Q42."),
        field("count", pa.int64(), "Number of links to the entity in the input sentences."),
        field(
            "label",
            pa.string(),
            "Label in the first of the requested languages that has one; null if there is none.",
            nullable=True,
        ),
        field(
            "types",
            integers(pa.int64()),
            "Numbers of the classes for which the entity can be drawn as a hard negative.",
        ),
    ],
)
