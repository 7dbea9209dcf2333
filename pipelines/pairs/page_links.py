"""What pages link to, anywhere on them: read beside the sentences, a row group at a time, as dense ids."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wikianchor.io.storage import filesystem
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.negatives import Excluded
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex

# Sentences and titles are both in the order of the dump, so the next pages are in the group at hand or in the one
# after it.
GROUPS_HELD = 4


class PageLinks:
    """The `titles` of one wiki, looked up by page. Both datasets are in the order of the dump, so each row group is
    read about once.

    Args:
        shards: of `titles`.
        groups: their row groups, as `row_groups` gives them.
        index: of the wiki.
        ids: of entities.
        own: whether a page is taken to link to what it is about.
    """

    def __init__(
        self, shards: Sequence[str], groups: Mapping[str, Ints], index: TitleIndex, ids: EntityIds, own: bool
    ) -> None:
        self._shards, self._groups = shards, groups
        self._index, self._ids, self._own = index, ids, own
        self._held: OrderedDict[int, Ints] = OrderedDict()

    def of_pages(self, pages: Ints) -> Excluded:
        """Return what these pages link to, redirects and sections followed; what other pages link to may come too."""
        if not len(pages):
            return Excluded(np.zeros(0, np.int64))
        first, last = int(pages.min()), int(pages.max())
        bounds = Excluded.keys_of(np.array([first, last + 1]), np.zeros(2, np.int64))
        found = [np.zeros(0, np.int64)]
        near = (first <= self._groups["last"]) & (self._groups["first"] <= last)
        for group in np.flatnonzero(near).tolist():
            keys = self._keys(group)
            start, end = np.searchsorted(keys, bounds)
            found.append(keys[start:end])
        # Groups ascend as a rule, and then there is nothing to do for the sort.
        return Excluded(np.sort(np.concatenate(found), kind="stable"))

    def _keys(self, group: int) -> Ints:
        """Return the keys of all (page, entity) of a group, ascending."""
        if group in self._held:
            self._held.move_to_end(group)
            return self._held[group]
        files, inner = filesystem(self._shards[int(self._groups["shard"][group])])
        number = int(self._groups["number"][group])
        with pq.ParquetFile(files.open_input_file(inner)) as file:
            rows = file.read_row_group(number, columns=["page_id", "title", "links"], use_threads=False)
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
