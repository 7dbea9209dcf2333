"""The entities that can be a pair's entity or its hard negative: dense ids by frequency, and one CSR table of pools by
type.

A pool is all entities of a type, a slice of one array, so a draw is an index and costs the same for a type of
millions. What is an instance of a type and what is a subclass of it are two pools: Jupiter is no hard negative of
"moon" because both are about astronomy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.tables import Column, distinct, find, look_up
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.pipelines.wikimedia.wikidata import META_CLASSES

HUMAN = 5
INSTANCE_OF, SUBCLASS_OF, OCCUPATION, PARENT, NONE = range(5)
ROUTES = ("instance_of", "subclass_of", "occupation", "parent", "none")
# Why an item that is linked to often enough is not in the table.
META, ABSENT = 0, 1


@dataclass(frozen=True)
class TableOptions:
    """How entities are typed.

    Attributes:
        negatives: hard negatives for each pair; a pool with fewer others than that is no use.
        types: "best_rank" (P31, else P279), "instance_of" (P31 alone) or "any_rank" (P31 of every rank).
        refine_humans: where more humans than this are in the table, they are typed by occupation; 0 for never.
        back_off: whether a pool that is too small is replaced by that of the type's own superclass.
    """

    negatives: int
    types: str
    refine_humans: int
    back_off: bool


def build_entity_table(
    frequent: tuple[Ints, Ints], shards: Sequence[str], present: Ints | None, options: TableOptions
) -> dict[str, npt.NDArray[Any]]:
    """Build the table.

    Args:
        frequent: items that are linked to often enough, ascending, and how often each is.
        shards: of `entities`.
        present: items that have a page in the wiki that one must be in, ascending; None where none is asked for.
        options: how entities are typed.

    Returns:
        Arrays for `save_tables`: `qids` and `counts` by dense id; `sorted_qids` and `sorted_ids` to find a dense id;
        `pool_types`, `pool_starts`, `pool_members` (the CSR table); `choice_starts`, `choice_pools`, `choice_routes`:
        the pools from which an entity's negatives may come; `typed`: whether an entity has a type at all; `left_out`
        and `left_out_why`.
    """
    qids, counts = frequent
    typed = _read_types(shards, qids, options.types)
    meta = np.zeros(len(qids), np.bool_)
    meta[typed.rows[np.isin(typed.types, np.fromiter(META_CLASSES, np.int64))]] = True
    absent = np.zeros(len(qids), np.bool_) if present is None else find(present, qids) < 0
    keep = ~meta & ~absent
    # Most frequent first; ties by item number.
    order = np.lexsort((qids, -counts))
    order = order[keep[order]]
    dense = np.full(len(qids), -1, np.int64)
    dense[order] = np.arange(len(order))
    return {
        "qids": qids[order],
        "counts": counts[order],
        "sorted_qids": qids[keep],
        "sorted_ids": dense[keep].astype(np.int32),
        "left_out": qids[~keep],
        "left_out_why": np.where(absent[~keep], ABSENT, META).astype(np.int8),
        **_pools(typed.renumbered(dense), len(order), shards, options),
    }


class EntityIds:
    """Dense ids of items.

    Args:
        path: of the table.
    """

    def __init__(self, path: str) -> None:
        self._qids, self._ids = Column(path, "sorted_qids"), Column(path, "sorted_ids")

    def of(self, items: Ints) -> npt.NDArray[np.int32]:
        """Return the dense id of each item, -1 for what is not in the table."""
        return look_up(self._qids, (self._ids,), items, (-1,))[0]


@dataclass(frozen=True)
class Typed:
    """Types of entities as columns: entity, type and the route that led there."""

    rows: Ints
    types: Ints
    routes: Ints

    @staticmethod
    def joined(parts: Sequence[Typed]) -> Typed:
        """Return the rows of all parts."""
        empty = np.zeros(0, np.int64)
        return Typed(
            np.concatenate([empty, *(part.rows for part in parts)]),
            np.concatenate([empty, *(part.types for part in parts)]),
            np.concatenate([empty, *(part.routes for part in parts)]),
        )

    def where(self, chosen: npt.NDArray[np.bool_] | Ints) -> Typed:
        """Return the rows of a mask, or those at places."""
        return Typed(self.rows[chosen], self.types[chosen], self.routes[chosen])

    def once(self) -> Typed:
        """Return the same sorted by entity and type, each of these pairs once, by its best route."""
        ordered = self.where(np.lexsort((self.routes, self.types, self.rows)))
        first = np.ones(len(ordered.rows), np.bool_)
        first[1:] = (np.diff(ordered.rows) != 0) | (np.diff(ordered.types) != 0)
        return ordered.where(first)

    def renumbered(self, dense: Ints) -> Typed:
        """Return the same for dense ids, without the entities that have none."""
        rows = dense[self.rows]
        return Typed(rows, self.types, self.routes).where(rows >= 0)

    def keyed(self) -> Typed:
        """Return the same with the key of a pool for each type: twice the type, and one for its subclasses."""
        return Typed(self.rows, self.types << 1 | (self.routes == SUBCLASS_OF), self.routes)


def _rows_of(shards: Sequence[str], columns: Sequence[str], qids: Ints) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Yield batches of the entities asked for, and the place of each in the ascending `qids`."""
    for shard in shards:
        for batch in read_batches(shard, ["qid", *columns]):
            places = find(qids, batch.column("qid").to_numpy())
            yield batch.filter(pa.array(places >= 0)), places[places >= 0]


def _flat(batch: pa.RecordBatch, name: str, places: Ints) -> tuple[Ints, Ints]:
    """Return the values of a list column, and for each the place of its entity."""
    column = batch.column(name)
    return places[pc.list_parent_indices(column).to_numpy()], column.flatten().to_numpy()


def _read_types(shards: Sequence[str], qids: Ints, types: str) -> Typed:
    """Return the types of the entities, and occupations of humans, each (entity, type) once."""
    found: list[Typed] = []
    column = "any_rank_types" if types == "any_rank" else "types"
    for batch, places in _rows_of(shards, [column, "type_route", "occupations"], qids):
        rows, values = _flat(batch, column, places)
        routes = np.full(len(rows), INSTANCE_OF)
        if types != "any_rank":
            subclass = pc.equal(batch.column("type_route"), "subclass_of").to_numpy(zero_copy_only=False)
            routes[subclass[pc.list_parent_indices(batch.column(column)).to_numpy()]] = SUBCLASS_OF
        wanted = routes == INSTANCE_OF if types == "instance_of" else np.ones(len(rows), np.bool_)
        found.append(Typed(rows, values, routes).where(wanted))
        people, occupations = _flat(batch, "occupations", places)
        found.append(Typed(people, occupations, np.full(len(people), OCCUPATION)))
    return Typed.joined(found).once()


def _pools(typed: Typed, entities: int, shards: Sequence[str], options: TableOptions) -> dict[str, npt.NDArray[Any]]:
    """Lay the pools out and choose for each entity the pools that its negatives may come from."""
    keyed = typed.keyed()
    base = keyed.where(keyed.routes <= SUBCLASS_OF)
    humans = np.zeros(entities, np.bool_)
    humans[base.rows[base.types == HUMAN << 1]] = True
    refine = 0 < options.refine_humans < int(humans.sum())
    jobs = keyed.where((keyed.routes == OCCUPATION) & humans[keyed.rows] & refine)
    members = Typed.joined([base, jobs])
    # A pool serves an entity when it holds enough others.
    enough = max(options.negatives, 1) + 1
    if options.back_off:
        small = ~_usable(members, enough)[: len(base.rows)]
        members = Typed.joined([members, _parents(base.where(small), shards)]).once()
    choices = members.where(_choices(members, _usable(members, enough), humans, refine, entities))

    pools, pool_of = np.unique(members.types, return_inverse=True)
    order = np.lexsort((members.rows, pool_of))
    typed_at_all = np.zeros(entities, np.bool_)
    typed_at_all[base.rows] = True
    return {
        "pool_types": pools >> 1,
        "pool_starts": _starts(pool_of, len(pools)),
        "pool_members": members.rows[order].astype(np.int32),
        "choice_starts": _starts(choices.rows, entities),
        "choice_pools": np.searchsorted(pools, choices.types).astype(np.int32),
        "choice_routes": choices.routes.astype(np.int8),
        "typed": typed_at_all,
    }


def _starts(groups: Ints, count: int) -> Ints:
    """Return where each group starts, and where the last ends, once its rows stand together."""
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(groups, minlength=count), out=starts[1:])
    return starts


def _usable(members: Typed, enough: int) -> npt.NDArray[np.bool_]:
    """Return for each row whether the pool of its type is large enough. No (entity, type) may occur twice."""
    _, pool_of, sizes = np.unique(members.types, return_inverse=True, return_counts=True)
    return sizes[pool_of] >= enough


def _parents(small: Typed, shards: Sequence[str]) -> Typed:
    """Return the superclasses of the types, as types of the same entities."""
    types = distinct(small.types >> 1)
    found = [Typed.joined([])]
    for batch, places in _rows_of(shards, ["superclasses"], types):
        rows, values = _flat(batch, "superclasses", places)
        found.append(Typed(rows, values, rows))
    parents = Typed.joined(found)
    parents = parents.where(np.argsort(parents.rows, kind="stable"))
    place = np.searchsorted(types, small.types >> 1)
    first, last = np.searchsorted(parents.rows, place, "left"), np.searchsorted(parents.rows, place, "right")
    counts = last - first
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = np.repeat(small.rows, counts)
    # Instances of a type are instances of its superclass; subclasses stay subclasses.
    kinds = np.repeat(small.types & 1, counts)
    return Typed(rows, parents.types[np.repeat(first, counts) + within] << 1 | kinds, np.full(len(rows), PARENT))


def _choices(
    members: Typed, usable: npt.NDArray[np.bool_], humans: npt.NDArray[np.bool_], refine: bool, entities: int
) -> Ints:
    """Return the rows of `members` that are an entity's choices: those of the best kind that it has, and no other.

    The kinds, best first: occupation of a human; own type; superclass of the type. Where occupations count, "human"
    itself gives way to them, and a human's other types stand beside them.
    """
    none = 9
    rank = np.full(len(members.rows), none)
    own = members.routes <= SUBCLASS_OF
    rank[(members.routes == PARENT) & usable] = 2
    rank[own & usable] = 1
    if refine:
        rank[(members.routes == OCCUPATION) & usable] = 0
        rank[own & usable & (members.types != HUMAN << 1) & humans[members.rows]] = 0
    best = np.full(entities, none)
    np.minimum.at(best, members.rows, rank)
    chosen = np.flatnonzero((rank < none) & (rank == best[members.rows]))
    return chosen[np.lexsort((members.types[chosen], members.rows[chosen]))]
