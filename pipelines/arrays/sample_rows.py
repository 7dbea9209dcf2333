"""Sample rows of a dataset by a keyed hash, so that the same seed gives the same rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from wikianchor.pipelines.arrays.hashing import below, mix
from wikianchor.pipelines.dataset.reader import Dataset, opened_shard

# Rows of a table that is sampled exactly.
SMALL = 1_000_000


def sample_numbers(total: int, rows: int, seed: int) -> Any:
    """Return row numbers, ascending: of a small table exactly `rows`; of a large one a few fewer, as some are drawn
    twice."""
    if total <= SMALL:
        return np.sort(np.argsort(mix(seed, np.arange(total)))[:rows])
    return np.unique(below(mix(seed, np.arange(rows)), np.full(rows, total, np.int64)))


def sample(dataset: Dataset, config: str, rows: int, seed: int) -> list[dict[str, Any]]:
    """Return sampled rows of a config, at most `rows`, each once and in the order of the dataset."""
    total = dataset.rows(config)
    if not total:
        return []
    wanted = sample_numbers(total, rows, seed)
    sampled: list[dict[str, Any]] = []
    begin = 0
    for path in dataset.shards(config):
        with opened_shard(path) as file:
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                low, high = np.searchsorted(wanted, (begin, begin + size))
                if low < high:
                    sampled += file.read_row_group(group).take(wanted[low:high] - begin).to_pylist()
                begin += size
    return sampled
