"""`corpus`: one row per sentence of a Japanese domain text, with its tokens and its noun spans by several rules.

Offsets are code points in `text`, end exclusive. The licence is that of the input text.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, list_of, schema

VERSION = "1.0"

SPAN = pa.struct(
    [
        field("start", pa.int32(), "Offset of the first character of the span in `text`, in code points from 0."),
        field("end", pa.int32(), "Offset after its last character, so that text[start:end] is the span."),
    ]
)
TOKEN = pa.struct(
    [
        field("start", pa.int32(), "Offset of the first character of the token in `text`, in code points from 0."),
        field("end", pa.int32(), "Offset after its last character, so that text[start:end] is the token."),
        field("pos", pa.string(), "Part of speech in Universal Dependencies, such as NOUN."),
        field(
            "relation",
            pa.string(),
            'Relation to the head in Universal Dependencies, such as obj; "" if the parser makes no tree.',
        ),
        field(
            "head",
            pa.int32(),
            "Index of the head in `tokens`, from 0; the token's own index at the root, or if the parser makes no tree.",
        ),
    ]
)

SPANS = pa.struct(
    [
        field("nouns", list_of(SPAN), "Runs of tokens that are NOUN."),
        field("nouns_names", list_of(SPAN), "Runs of tokens that are NOUN or PROPN."),
        field("chunks", list_of(SPAN), "Noun phrases of the dependency tree, direct objects included."),
        field("bunsetu", list_of(SPAN), "Head noun of each bunsetu, with the words compounded to it."),
        field(
            "released",
            list_of(SPAN),
            "Spans that the released code of SDJC masks: noun phrases without objects, each at the first occurrence of "
            "its text in the sentence.",
        ),
    ]
)

SCHEMA = schema(
    "corpus",
    VERSION,
    [
        field("text", pa.string(), "The sentence, after Japanese normalisation (character width, dashes, spaces)."),
        field("sentence_id", pa.int64(), "64-bit hash of `text`; the same for the same sentence in any corpus."),
        field(
            "source", pa.string(), "Name of the input file, such as clinic.txt; for a dataset its wiki, such as jawiki."
        ),
        field(
            "record", pa.int64(), "Line of the file, from 1, or record of a CSV file; for a wiki the id of the page."
        ),
        field("sentence_index", pa.int32(), "Number of the sentence in its record."),
        field("tokens", list_of(TOKEN), "Tokens of the sentence, in order."),
        field("spans", SPANS, "Noun spans of the sentence by each rule."),
    ],
)

WORDS = schema(
    "corpus.words",
    VERSION,
    [
        field("word", pa.string(), "Text of a token."),
        field("pos", pa.string(), "Part of speech of the token in Universal Dependencies, such as NOUN."),
        field("count", pa.int64(), "Number of occurrences of the word in the corpus."),
    ],
)
