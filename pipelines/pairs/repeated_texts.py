"""Limit the sentences of a text, digits aside, where rows are written.

    rows -> texts_of -> the sentences of each shard with a row -> limit_texts -> limits -> is_repeated

Where rows are sampled or capped, which has to be known before, `sentence_checks` does the same for all sentences.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes, mix
from wikianchor.pipelines.arrays.spill import Rows, Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import Column, changes, distinct, find, read_table, save_tables
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace

# A sentence: the hash of its text, and a keyed hash of its id, of which the smallest are kept.
TEXT = np.dtype([("text", np.uint64), ("key", np.uint64)])
# Rows in memory at a time, approximately.
ROWS_AT_ONCE = 1 << 20
# Independent of the other uses of a sentence's id.
_SENTENCE = 104


def texts_of(rows: pa.Table) -> Rows:
    """Return the sentences of rows, which have all rows of a sentence one after the other, as of TEXT."""
    ids = rows["sentence_id"].to_numpy()
    heads = changes(ids)
    return rows_of(TEXT, text=rows["text_hash"].to_numpy()[heads], key=mix(_SENTENCE, ids[heads]))


def limit_texts(paths: Iterable[str], most: int, work: Workspace) -> WorkPath:
    """Find the texts with more than `most` sentences, and the greatest key of a sentence of each that is kept.

    Few texts have so many: only the sentences of these are sorted by their keys.

    Args:
        paths: of the arrays `texts` of all shards.
        most: the number of sentences.
        work: the workspace of the run.

    Returns:
        The path of the arrays `texts`, ascending, and `greatest_keys`.
    """
    shards = sorted(paths)
    # One table at a time: each one that is mapped keeps a file open, and there is at least one for each wiki.
    sentences = sum(len(Column(path, "texts")) for path in shards)
    tables = (read_table(path, "texts") for path in shards)
    texts, keys = greatest_keys(tables, sentences, most, work.scratch)
    return save_tables(work.scratch, "repeats", {"texts": texts, "greatest_keys": keys})


def greatest_keys(shards: Iterable[Rows], sentences: int, most: int, directory: str) -> tuple[Hashes, Hashes]:
    """Return the texts with more than `most` sentences, ascending, and the `most`-th smallest key of each.

    Args:
        shards: the sentences of each shard, as of TEXT.
        sentences: their number, at most.
        most: the number of sentences of a text that are kept.
        directory: local directory for temporary files.
    """
    parts = max(1, -(-sentences // ROWS_AT_ONCE))
    kept = [np.zeros(0, TEXT)]
    with Spill(TEXT, parts, directory) as spill:
        for rows in shards:
            spill.add(rows, hash_range(rows["text"], parts))
        # The partitions are ascending ranges of hashes, so their texts ascend one after the other.
        for part in range(parts):
            rows = spill.read(part)
            ascending = np.sort(rows["text"])
            later = ascending[most:]
            frequent = distinct(later[later == ascending[: len(later)]])
            kept.append(smallest_keys(rows[find(frequent, rows["text"]) >= 0], most))
    smallest = np.concatenate(kept)
    # The last sentence of each text.
    last = np.append(changes(smallest["text"])[1:], True)[: len(smallest)]
    return smallest["text"][last], smallest["key"][last]


def smallest_keys(rows: Rows, most: int) -> Rows:
    """Return the sentences with the `most` smallest keys of each text, sorted by text and key."""
    rows = rows[np.lexsort((rows["key"], rows["text"]))]
    starts = np.flatnonzero(changes(rows["text"]))
    numbers = np.arange(len(rows)) - np.repeat(starts, np.diff(np.append(starts, len(rows))))
    return rows[numbers < most]


def is_repeated(rows: pa.Table, limits: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    """Return which rows are of a sentence that is not kept."""
    index = find(limits["texts"], rows["text_hash"].to_numpy())
    over = index >= 0
    many = np.flatnonzero(over)
    keys = mix(_SENTENCE, rows["sentence_id"].to_numpy()[many])
    over[many] = keys > limits["greatest_keys"][index[many]]
    return over
