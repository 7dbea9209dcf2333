"""What pages link to, anywhere on them: read beside the sentences, a row group at a time, as dense ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.linking.entity_table import EntityIds
from pipelines.linking.negatives import Excluded
from pipelines.linking.title_index import Ints, TitleIndex
from pipelines.storage import filesystem

# Sentences and titles are both in the order of the dump, so the next pages are in the group at hand or in the one
# after it.
GROUPS_HELD = 4


class _Group(NamedTuple):
    """A row group of a shard of `titles`, with the lowest and highest page id in it."""

    shard: str
    number: int
    first: int
    last: int


class PageLinks:
    """The `titles` of one wiki, looked up by page. Both datasets are in the order of the dump, so each row group is
    read about once.

    Args:
        shards: of `titles`.
        index: of the wiki.
        ids: of entities.
        own: whether a page is taken to link to what it is about.
    """

    def __init__(self, shards: Sequence[str], index: TitleIndex, ids: EntityIds, own: bool) -> None:
        self._index, self._ids, self._own = index, ids, own
        self._groups = [group for shard in shards for group in _groups(*_version(shard))]
        self._held: OrderedDict[_Group, Ints] = OrderedDict()

    def of_pages(self, pages: Ints) -> Excluded:
        """Return what these pages link to, redirects and sections followed; what other pages link to may come too."""
        if not len(pages):
            return Excluded(np.zeros(0, np.int64))
        first, last = int(pages.min()), int(pages.max())
        bounds = Excluded.keys_of(np.array([first, last + 1]), np.zeros(2, np.int64))
        found = [np.zeros(0, np.int64)]
        for group in self._groups:
            if first <= group.last and group.first <= last:
                keys = self._keys(group)
                start, end = np.searchsorted(keys, bounds)
                found.append(keys[start:end])
        # Groups ascend as a rule, and then there is nothing to do for the sort.
        return Excluded(np.sort(np.concatenate(found), kind="stable"))

    def _keys(self, group: _Group) -> Ints:
        """Return the keys of all (page, entity) of a group, ascending."""
        if group in self._held:
            self._held.move_to_end(group)
            return self._held[group]
        files, inner = filesystem(group.shard)
        with pq.ParquetFile(files.open_input_file(inner)) as file:
            rows = file.read_row_group(group.number, columns=["page_id", "title", "links"], use_threads=False)
        batch = rows.combine_chunks().to_batches()[0]
        page_ids = batch.column("page_id").to_numpy()
        links: pa.ListArray = batch.column("links")
        owners = page_ids[pc.list_parent_indices(links).to_numpy()]
        titles = [links.flatten()]
        if self._own:
            owners = np.concatenate([owners, page_ids])
            titles.append(batch.column("title"))
        items, _ = self._index.look_up(titles)
        ids = self._ids.of(items).astype(np.int64)
        keys = np.sort(Excluded.keys_of(owners[ids >= 0], ids[ids >= 0]))
        self._held[group] = keys
        while len(self._held) > GROUPS_HELD:
            self._held.popitem(last=False)
        return keys


def _version(shard: str) -> tuple[str, int | None, int]:
    files, inner = filesystem(shard)
    info = files.get_file_info(inner)
    return shard, info.mtime_ns, info.size


@lru_cache(maxsize=4096)
def _groups(shard: str, written: int | None, size: int) -> tuple[_Group, ...]:
    """Return the row groups of a shard, their page ids from the file's own statistics, or read where it has none.

    Every shard of sentences asks for those of all shards of titles, so they are kept; `written` and `size` tell a file
    from one that stood in its place before.
    """
    files, inner = filesystem(shard)
    found = []
    with pq.ParquetFile(files.open_input_file(inner)) as file:
        for number in range(file.num_row_groups):
            group = file.metadata.row_group(number)
            columns = (group.column(place) for place in range(group.num_columns))
            statistics = next(column for column in columns if column.path_in_schema == "page_id").statistics
            if statistics is not None and statistics.has_min_max:
                first, last = int(statistics.min), int(statistics.max)
            else:
                bounds = pc.min_max(file.read_row_group(number, columns=["page_id"], use_threads=False)["page_id"])
                first, last = bounds["min"].as_py(), bounds["max"].as_py()
            found.append(_Group(shard, number, first, last))
    return tuple(found)
