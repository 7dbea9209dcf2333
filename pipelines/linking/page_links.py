"""What pages link to, anywhere on them: read beside the sentences, a row group at a time, as dense ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.linking.negatives import Excluded
from pipelines.linking.tables import find_ids
from pipelines.linking.title_index import Ints, TitleIndex
from pipelines.wikimedia.dumps import filesystem

# Sentences and titles are both in the order of the dump, so the next pages are in the group at hand or in the one
# after it.
GROUPS_HELD = 4


class PageLinks:
    """The `titles` of one wiki, looked up by page. Both datasets are in the order of the dump, so each row group is
    read about once."""

    def __init__(self, shards: Sequence[str], index: TitleIndex, table: Mapping[str, npt.NDArray[Any]]) -> None:
        self._index, self._table = index, table
        self._groups = [group for shard in shards for group in _spans(shard)]
        self._held: OrderedDict[tuple[str, int], tuple[Ints, Ints, Ints, Ints]] = OrderedDict()

    def excluded(self, pages: Ints, own: bool) -> Excluded:
        """Return what pages link to, and with `own` what they are about.

        Args:
            pages: page ids, ascending; their places are the pages of the result.
            own: whether the page's own entity is barred too.
        """
        found_pages, found_ids = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        if len(pages):
            for shard, group, first, last in self._groups:
                if last < pages[0] or first > pages[-1]:
                    continue
                owners, ids, own_pages, own_ids = self._group(shard, group)
                for some_pages, some_ids in ((owners, ids), (own_pages, own_ids))[: 2 if own else 1]:
                    at = np.minimum(np.searchsorted(pages, some_pages), len(pages) - 1)
                    there = pages[at] == some_pages
                    found_pages.append(at[there])
                    found_ids.append(some_ids[there])
        return Excluded.of(np.concatenate(found_pages), np.concatenate(found_ids))

    def _group(self, shard: str, group: int) -> tuple[Ints, Ints, Ints, Ints]:
        key = (shard, group)
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        files, inner = filesystem(shard)
        with pq.ParquetFile(files.open_input_file(inner)) as file:
            rows = file.read_row_group(group, columns=["page_id", "title", "links"], use_threads=False).combine_chunks()
        batch = rows.to_batches()[0]
        page_ids = batch.column("page_id").to_numpy()
        links: pa.ListArray = batch.column("links")
        ids = find_ids(self._table, self._index.resolve(links.flatten()))
        owners = page_ids[pc.list_parent_indices(links).to_numpy()]
        own = find_ids(self._table, self._index.resolve(batch.column("title")))
        result = (owners[ids >= 0], ids[ids >= 0], page_ids[own >= 0], own[own >= 0])
        self._held[key] = result
        while len(self._held) > GROUPS_HELD:
            self._held.popitem(last=False)
        return result


def _spans(shard: str) -> list[tuple[str, int, int, int]]:
    """Return (shard, row group, lowest page id, highest page id) for each row group, from the file's own statistics."""
    files, inner = filesystem(shard)
    found = []
    with pq.ParquetFile(files.open_input_file(inner)) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            columns = (group.column(place) for place in range(group.num_columns))
            statistics = next(column for column in columns if column.path_in_schema == "page_id").statistics
            found.append((shard, number, int(statistics.min), int(statistics.max)))
    return found
