"""`entities`: Wikidata items that have a page in one of the wikis, and `sitelinks`: which page that is. CC0."""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, schema

VERSION = "1.0"
TYPE_ROUTES = ("instance_of", "subclass_of", "none")

LABEL = pa.struct([field("language", pa.string(), "language code"), field("text", pa.string(), "the label")])

SCHEMA = schema(
    "entities",
    VERSION,
    field("qid", pa.int64(), "42 for Q42"),
    field("types", integers(pa.int64()), "best-rank values of P31; of P279 where there is no P31"),
    field("type_route", pa.string(), "where `types` come from: instance_of (P31), subclass_of (P279) or none"),
    field("any_rank_types", integers(pa.int64()), "values of P31 of every rank, deprecated ones included"),
    field("superclasses", integers(pa.int64()), "best-rank values of P279"),
    field("occupations", integers(pa.int64()), "best-rank values of P106"),
    field("labels", pa.list_(pa.field("element", LABEL, False)), "labels in the languages asked for"),
    field("lastrevid", pa.int64(), "revision of the item"),
)

SITELINKS = schema(
    "sitelinks",
    VERSION,
    field("wiki", pa.string(), "database name of the wiki"),
    field("qid", pa.int64(), "the item"),
    field("title", pa.string(), "title of its page; null where only the page id is known", nullable=True),
    field("page_id", pa.int64(), "id of its page; null where only the title is known", nullable=True),
    field("source", pa.string(), "wikidata or page_props"),
)
