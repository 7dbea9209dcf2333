"""`negatives`: a sentence of a corpus, and copies of it in which a T5 replaced the nouns. The copies state no facts.

The licence is that of the corpus.
"""

import pyarrow as pa

from wikianchor.schemas.fields import field, integers, schema, strings

VERSION = "1.0"
# Reasons to drop a generated sentence; see `wikianchor.pipelines.japanese.negatives.fills`.
REASONS = (
    "unfilled",
    "sentinel",
    "equal",
    "too_long",
    "wrong_script",
    "unbalanced",
    "no_noun_span",
    "repeats",
    "too_near",
    "duplicate",
    "surplus",
    "out_of_memory",
)

SCHEMA = schema(
    "negatives",
    VERSION,
    [
        field("text", pa.string(), "The sentence, as in `corpus`."),
        field("sentence_id", pa.int64(), "64-bit hash of `text`, as in `corpus`."),
        field("negatives", strings(), "The sentence with other nouns, the most probable first."),
        field("ranks", integers(pa.int32()), "Rank of each of `negatives` in the beam search, from 1."),
        field("holes", pa.int32(), "Number of noun spans that were replaced."),
    ],
)
