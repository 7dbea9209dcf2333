"""The fragments of pages, such as list items and captions: a page names entities there too."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.spill import Rows
from wikianchor.pipelines.arrays.tables import changes, distinct, find
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

    def of_pages(self, pages: Ints) -> tuple[pa.StringArray, Ints]:
        """Return the fragments of pages, those of a page one after the other, and the page of each."""
        overlapping = (pages.min() <= self._groups["last"]) & (self._groups["first"] <= pages.max())
        known = distinct(pages[changes(pages)])
        texts, page_ids = [pa.array([], pa.string())], [np.zeros(0, np.int64)]
        for rows, ids in map(self._read, np.flatnonzero(overlapping).tolist()):
            wanted = find(known, ids) >= 0
            texts.append(rows.filter(pa.array(wanted)))
            page_ids.append(ids[wanted])
        pages = np.concatenate(page_ids)
        order = np.argsort(pages, kind="stable")
        return pa.concat_arrays(texts).take(pa.array(order)), pages[order]


def _read_group(shards: Sequence[str], groups: Rows, group: int) -> tuple[pa.StringArray, Ints]:
    """Return the fragments of a row group, and the page of each."""
    shard, number = (int(groups[name][group]) for name in ("shard", "number"))
    with opened_shard(shards[shard]) as file:
        rows = file.read_row_group(number, columns=["page_id", "text"], use_threads=False).combine_chunks()
    return rows["text"].combine_chunks(), rows["page_id"].to_numpy()
