"""The pools of one wiki: of the members of each pool, those that have a page there (`--pageless_negatives` has no
such pools).

Without them, most negatives of a small wiki would be entities of larger ones, of which it has no text. A page counts if
it has a sentence before its first heading, which `export` needs.

On disk, a wiki takes four bytes for each of its pages in each pool, and eight for each pool of all wikis. While its
pools are built, there are two bytes in memory for each entity of all wikis, and twelve for each page of the wiki.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.tables import open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.table_steps import Counted, TableBuilt
from wikianchor.pipelines.titles.title_index import Ints


class Pools(NamedTuple):
    """Pools as CSR.

    Attributes:
        starts: by pool, where its members begin; and their number.
        members: dense ids, ascending in each pool.
    """

    starts: Ints
    members: npt.NDArray[np.int32]

    def sizes(self, pools: Ints) -> Ints:
        """Return the number of members of pools."""
        return self.starts[pools + 1] - self.starts[pools]


class PoolsBuilt(NamedTuple):
    """The pools of a wiki, on disk: the arrays of `Pools`."""

    wiki: str
    path: WorkPath

    def open(self) -> Pools:
        """Return the pools, memory-mapped."""
        tables = open_tables(self.path)
        return Pools(tables["starts"], tables["members"])


def build_pools(wiki: str, counted: Iterable[Counted], table: TableBuilt, work: Workspace) -> PoolsBuilt:
    """Write the pools of a wiki.

    Args:
        wiki: database name.
        counted: the shards of all wikis, with the pages of each.
        table: the entity table.
        work: the workspace of the run.
    """
    tables, ids = open_tables(table.path), EntityIds(table.path)
    has_page = np.zeros(len(tables["qids"]), np.bool_)
    for shard in counted:
        if shard.wiki == wiki:
            entities = ids.of(read_table(shard.path, "page_items")[read_table(shard.path, "with_lead")])
            has_page[entities[entities >= 0]] = True
    members = tables["pool_members"]
    kept = np.flatnonzero(has_page[members])
    arrays = {"starts": np.searchsorted(kept, tables["pool_starts"]), "members": members[kept]}
    return PoolsBuilt(wiki, save_tables(work.scratch, f"pools-{wiki}", arrays))
