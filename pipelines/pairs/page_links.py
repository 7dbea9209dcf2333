"""The entities that each page links to, anywhere on the page: no pair of the page has one as a hard negative."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.spill import Rows
from wikianchor.pipelines.dataset.reader import opened_shard
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.negatives import Excluded
from wikianchor.pipelines.titles.row_groups import GROUPS_HELD
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex


class PageLinks:
    """The links of the pages of one wiki, read from `titles` a row group at a time.

    Sentences and titles are in the same order, so each row group is read about once.

    Args:
        shards: the shards of `titles`.
        groups: the row groups of these shards, as `row_groups` returns them.
        index: the title index of the wiki.
        ids: dense ids of items.
        own_page: count the entity that a page is about among the entities that the page links to.
    """

    def __init__(self, shards: Sequence[str], groups: Rows, index: TitleIndex, ids: EntityIds, own_page: bool) -> None:
        self._shards, self._groups = shards, groups
        self._index, self._ids, self._own_page = index, ids, own_page
        self._held: OrderedDict[int, Ints] = OrderedDict()

    def of_pages(self, pages: Ints) -> Excluded:
        """Return the entities that pages link to, with redirects and sections resolved.

        Args:
            pages: page ids in any order. The result may contain the links of other pages between them.
        """
        if not len(pages):
            return Excluded(np.zeros(0, np.int64))
        first, last = int(pages.min()), int(pages.max())
        bounds = Excluded.keys_of(np.array([first, last + 1]), np.zeros(2, np.int64))
        parts = [np.zeros(0, np.int64)]
        overlapping = (first <= self._groups["last"]) & (self._groups["first"] <= last)
        for group in np.flatnonzero(overlapping).tolist():
            keys = self._keys(group)
            parts.append(keys[slice(*np.searchsorted(keys, bounds))])
        # The groups nearly always ascend already; a stable sort of ascending keys takes linear time.
        return Excluded(np.sort(np.concatenate(parts), kind="stable"))

    def _keys(self, group: int) -> Ints:
        """Return the keys of `Excluded` for all links of a row group, ascending."""
        if group in self._held:
            self._held.move_to_end(group)
            return self._held[group]
        shard, number = (int(self._groups[name][group]) for name in ("shard", "number"))
        with opened_shard(self._shards[shard]) as file:
            rows = file.read_row_group(number, columns=["page_id", "title", "links"], use_threads=False)
        batch = rows.combine_chunks().to_batches()[0]
        page_ids = batch.column("page_id").to_numpy()
        links: pa.ListArray = batch.column("links")
        pages = page_ids[pc.list_parent_indices(links).to_numpy()]
        titles = [links.flatten()]
        if self._own_page:
            pages = np.concatenate([pages, page_ids])
            titles.append(batch.column("title"))
        items, _ = self._index.look_up(titles)
        ids = self._ids.of(items).astype(np.int64)
        keys = np.sort(Excluded.keys_of(pages[ids >= 0], ids[ids >= 0]))
        self._held[group] = keys
        while len(self._held) > GROUPS_HELD:
            self._held.popitem(last=False)
        return keys
