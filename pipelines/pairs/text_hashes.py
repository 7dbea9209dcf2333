"""Hashes of the texts of sentences, in which digits do not count."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings
from wikianchor.pipelines.titles.title_index import Ints


def hash_texts(texts: pa.StringArray, rows: Ints) -> Hashes:
    """Return the hash of each text whose index is in `rows`, else 0. Texts that differ only in digits are equal."""
    hashes = np.zeros(len(texts), np.uint64)
    used = np.zeros(len(texts), np.bool_)
    used[rows] = True
    hashes[used] = hash_strings(pc.replace_substring_regex(texts.filter(pa.array(used)), r"\p{Nd}+", "0"))
    return hashes
