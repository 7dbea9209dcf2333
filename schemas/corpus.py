"""`corpus`: one row per sentence of a Japanese domain text, parsed once: tokens, and the noun spans of each rule.

Offsets are code points into `text`, which is normalised. The licence is that of the text given.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, schema

VERSION = "1.0"

SPAN = pa.struct(
    [
        field("start", pa.int32(), "offset in `text`, code points"),
        field("end", pa.int32(), "offset after the span"),
    ]
)
TOKEN = pa.struct(
    [
        field("start", pa.int32(), "offset in `text`, code points"),
        field("end", pa.int32(), "offset after the token"),
        field("pos", pa.string(), "part of speech, as Universal Dependencies call it"),
        field("relation", pa.string(), 'its relation to its head, as Universal Dependencies call it; "" without one'),
        field("head", pa.int32(), "number of its head among the tokens; its own at the root, or without a tree"),
    ]
)


def _spans() -> pa.DataType:
    return pa.list_(pa.field("element", SPAN, False))


SPANS = pa.struct(
    [
        field("nouns", _spans(), "runs of tokens that are NOUN"),
        field("nouns_names", _spans(), "runs of tokens that are NOUN or PROPN"),
        field("chunks", _spans(), "noun phrases of the tree, direct objects included"),
        field("bunsetu", _spans(), "the head noun of each bunsetu with what is compounded to it"),
        field("released", _spans(), "what the released code of SDJC masks: no objects, each at its text's first place"),
    ]
)

SCHEMA = schema(
    "corpus",
    VERSION,
    field("text", pa.string(), "the sentence, normalised"),
    field("sentence_id", pa.int64(), "hash of `text`"),
    field("source", pa.string(), "name of the file, or wiki of the dataset, that it is from"),
    field("record", pa.int64(), "line of the file, record of a CSV, or id of the wiki's page; lines count from 1"),
    field("sentence_index", pa.int32(), "number of the sentence in its record"),
    field("tokens", pa.list_(pa.field("element", TOKEN, False)), "the tokens, in order"),
    field("spans", SPANS, "noun spans by rule"),
)

WORDS = schema(
    "corpus.words",
    VERSION,
    field("word", pa.string(), "a token's text"),
    field("pos", pa.string(), "its part of speech"),
    field("count", pa.int64(), "how often it stands in the corpus"),
)
