"""`negatives`: a sentence of a corpus and sentences of the same frame with other nouns, made by a T5: no facts.

The licence is that of the corpus.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, schema, strings

VERSION = "1.0"
# What becomes of a filled sentence that is not kept; see `wikianchor.pipelines.japanese.negatives.fills`.
REASONS = (
    *(
        "unfilled",
        "sentinel",
        "equal",
        "too_long",
        "wrong_script",
        "no_noun_span",
        "repeats",
        "too_near",
        "duplicate",
        "surplus",
    ),
    "out_of_memory",
)

SCHEMA = schema(
    "negatives",
    VERSION,
    field("text", pa.string(), "the sentence, as in `corpus`"),
    field("sentence_id", pa.int64(), "as in `corpus`"),
    field("negatives", strings(), "sentences with other nouns, the likeliest first"),
    field("ranks", integers(pa.int32()), "rank of each in the beam, from 1"),
    field("holes", pa.int32(), "noun spans that were filled"),
)
