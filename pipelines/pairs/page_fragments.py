"""The fragments of pages, such as list items and captions: a page names entities there too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.spill import Rows
from wikianchor.pipelines.dataset.reader import opened_shard
from wikianchor.pipelines.titles.row_groups import GROUPS_HELD
from wikianchor.pipelines.titles.title_index import Ints


class PageFragments:
    """The fragments of the pages of one wiki, read a row group at a time: they are in the order of the sentences.

    Args:
        shards: the shards of `fragments`.
        groups: the row groups of these shards, as `row_groups` returns them.
    """

    def __init__(self, shards: Sequence[str], groups: Rows) -> None:
        self._groups = groups
        self._read = lru_cache(maxsize=GROUPS_HELD)(partial(_read_group, shards, groups))

    def near(self, pages: Ints) -> tuple[pa.StringArray, Ints]:
        """Return the fragments of pages and of others in the same row groups, those of a page one after the other, and
        the page of each."""
        overlapping = (pages.min() <= self._groups["last"]) & (self._groups["first"] <= pages.max())
        groups = [(pa.array([], pa.string()), np.zeros(0, np.int64))]
        groups += map(self._read, np.flatnonzero(overlapping).tolist())
        arrays, numbers = zip(*groups, strict=True)
        texts, ids = pa.concat_arrays(arrays), np.concatenate(numbers)
        if (ids[1:] >= ids[:-1]).all():
            return texts, ids
        order = np.argsort(ids, kind="stable")
        return texts.take(pa.array(order)), ids[order]


def _read_group(shards: Sequence[str], groups: Rows, group: int) -> tuple[pa.StringArray, Ints]:
    """Return the fragments of a row group, and the page of each."""
    shard, number = (int(groups[name][group]) for name in ("shard", "number"))
    with opened_shard(shards[shard]) as file:
        rows = file.read_row_group(number, columns=["page_id", "text"], use_threads=False).combine_chunks()
    return rows["text"].combine_chunks(), rows["page_id"].to_numpy()
