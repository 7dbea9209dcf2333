"""The entity table: the entities of pairs, with dense ids by frequency, and the pools that negatives are drawn from.

A pool is the set of entities of one type. All pools are slices of one array (CSR), so that a draw is an index, whatever
the size of the pool. The instances of a type and its subclasses are two pools: they are different kinds of things, as
Jupiter and "gas giant" are. With --split, the entities of a type in each split are a pool: a negative is of the split
of its positive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.splits import NO_SPLIT, Split, SplitNumbers
from wikianchor.pipelines.arrays.tables import Column, distinct, find, look_up
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.pairs.subclasses import excluded_classes
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.pipelines.wikimedia.wikidata import META_CLASSES

HUMAN = 5
INSTANCE_OF, SUBCLASS_OF, OCCUPATION, PARENT, NONE = range(5)
ROUTES = ("instance_of", "subclass_of", "occupation", "parent", "none")
# Reasons why an item above the floor is not in the table: a meta class, no page in the required wiki, an excluded type.
META, ABSENT, EXCLUDED = 0, 1, 2


@dataclass(frozen=True)
class TableOptions:
    """How entities get their types.

    Attributes:
        negatives: hard negatives of each pair. A pool needs as many members besides the positive.
        types: "best_rank" (P31, else P279), "instance_of" (only P31) or "any_rank" (P31 of every rank).
        refine_humans: with more humans in the table than this, type them by occupation (P106); 0 for never.
        back_off: replace a pool that is too small by the pool of the superclass (P279) of its type.
        split: how entities are assigned to splits.
        excluded: types of entities that are left out (`excluded_types`).
    """

    negatives: int
    types: str
    refine_humans: int
    back_off: bool
    split: Split = NO_SPLIT
    excluded: tuple[str, ...] = ()


def build_entity_table(
    frequent: tuple[Ints, Ints], shards: Sequence[str], present: Ints | None, options: TableOptions
) -> dict[str, npt.NDArray[Any]]:
    """Build the entity table in memory.

    Args:
        frequent: the items above the floor, ascending, and the number of links to each.
        shards: the shards of `entities`.
        present: the items that have a page in the required wiki, ascending; None where no wiki is required.
        options: how entities get their types.

    Returns:
        Arrays for `save_tables`. By dense id: `qids`, `counts`, `typed` (whether the entity has a type). To find a
        dense id: `sorted_qids`, `sorted_ids`. With a split, by dense id: `splits`. Pools as
        CSR: `pool_types`, `pool_starts`, `pool_members`. The pools of an entity as CSR: `choice_starts`,
        `choice_pools`, `choice_routes`. Items that are not in the table: `left_out` and the reason, `left_out_why`.
    """
    qids, counts = frequent
    typed = _read_types(shards, qids, options.types)
    meta = _mask(typed.rows[np.isin(typed.types, np.fromiter(META_CLASSES, np.int64))], len(qids))
    absent = np.zeros(len(qids), np.bool_) if present is None else find(present, qids) < 0
    excluded_types = find(excluded_classes(options.excluded, shards), typed.types) >= 0
    excluded = _mask(typed.rows[excluded_types & (typed.routes <= SUBCLASS_OF)], len(qids))
    keep = ~(meta | absent | excluded)
    # Most frequent first; equal counts by item number.
    order = np.lexsort((qids, -counts))
    order = order[keep[order]]
    dense = np.full(len(qids), -1, np.int64)
    dense[order] = np.arange(len(order))
    splits = options.split.of_items(qids[order]) if options.split else np.zeros(len(order), np.int8)
    return {
        **({"splits": splits} if options.split else {}),
        "qids": qids[order],
        "counts": counts[order],
        "sorted_qids": qids[keep],
        "sorted_ids": dense[keep].astype(np.int32),
        "left_out": qids[~keep],
        "left_out_why": np.select([absent[~keep], meta[~keep]], [ABSENT, META], EXCLUDED).astype(np.int8),
        **_pools(typed.renumbered(dense), splits, shards, options),
    }


class EntityIds:
    """The dense ids of items, read from disk.

    Args:
        path: the path of the entity table.
    """

    def __init__(self, path: str) -> None:
        self._qids, self._ids = Column(path, "sorted_qids"), Column(path, "sorted_ids")

    def of(self, items: Ints) -> npt.NDArray[np.int32]:
        """Return the dense id of each item; -1 for items that are not in the table."""
        return look_up(self._qids, (self._ids,), items, (-1,))[0]


class Typed(NamedTuple):
    """(entity, type) pairs, one array element for each.

    Attributes:
        rows: index of the entity in the items above the floor, or its dense id after `renumbered`.
        types: item of the type, or the key of its pool after `keyed`.
        routes: index into `ROUTES`: how the type was found.
    """

    rows: Ints
    types: Ints
    routes: Ints

    @staticmethod
    def joined(parts: Sequence[Typed]) -> Typed:
        """Concatenate pairs."""
        return Typed(*map(np.concatenate, zip([np.zeros(0, np.int64)] * 3, *parts, strict=True)))

    def where(self, selection: npt.NDArray[np.bool_] | Ints) -> Typed:
        """Return the pairs of a mask or at indices."""
        return Typed(*(column[selection] for column in self))

    def distinct(self) -> Typed:
        """Return each (entity, type) once, by its best route, sorted by entity and type."""
        ordered = self.where(np.lexsort((self.routes, self.types, self.rows)))
        first = np.ones(len(ordered.rows), np.bool_)
        first[1:] = (np.diff(ordered.rows) != 0) | (np.diff(ordered.types) != 0)
        return ordered.where(first)

    def renumbered(self, dense: Ints) -> Typed:
        """Replace indices by dense ids; leave out entities that have none (-1)."""
        rows = dense[self.rows]
        return self._replace(rows=rows).where(rows >= 0)

    def keyed(self) -> Typed:
        """Replace types by keys of pools: 2 * type for its instances, 2 * type + 1 for its subclasses."""
        return self._replace(types=self.types << 1 | (self.routes == SUBCLASS_OF))

    def split(self, splits: SplitNumbers, count: int) -> Typed:
        """Replace keys of pools by keys of the pools of splits: `count` * key + the split of the entity."""
        return self._replace(types=self.types * count + splits[self.rows])


def _rows_of(shards: Sequence[str], columns: Sequence[str], qids: Ints) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Yield the rows of `entities` whose item is in the ascending `qids`, and the index of each there."""
    for shard in shards:
        for batch in read_batches(shard, ["qid", *columns]):
            indices = find(qids, batch.column("qid").to_numpy())
            yield batch.filter(pa.array(indices >= 0)), indices[indices >= 0]


def _flat(batch: pa.RecordBatch, name: str, indices: Ints) -> tuple[Ints, Ints]:
    """Return the values of a list column, and the index of the entity of each value first."""
    column = batch.column(name)
    return indices[pc.list_parent_indices(column).to_numpy()], column.flatten().to_numpy()


def _read_types(shards: Sequence[str], qids: Ints, types: str) -> Typed:
    """Return the types and the occupations of entities, each (entity, type) once."""
    parts: list[Typed] = []
    column = "any_rank_types" if types == "any_rank" else "types"
    for batch, indices in _rows_of(shards, [column, "type_route", "occupations"], qids):
        rows, values = _flat(batch, column, indices)
        routes = np.full(len(rows), INSTANCE_OF)
        if types != "any_rank":
            subclass = pc.equal(batch.column("type_route"), "subclass_of").to_numpy(zero_copy_only=False)
            routes[subclass[pc.list_parent_indices(batch.column(column)).to_numpy()]] = SUBCLASS_OF
        typed = Typed(rows, values, routes)
        parts.append(typed.where(routes == INSTANCE_OF) if types == "instance_of" else typed)
        people, occupations = _flat(batch, "occupations", indices)
        parts.append(Typed(people, occupations, np.full(len(people), OCCUPATION)))
    return Typed.joined(parts).distinct()


def _pools(
    typed: Typed, splits: SplitNumbers, shards: Sequence[str], options: TableOptions
) -> dict[str, npt.NDArray[Any]]:
    """Return the pools, and for each entity the pools that its negatives may come from, as `build_entity_table` does.

    Args:
        typed: types and occupations of the entities, by dense id.
        splits: the split of each entity in the table, by dense id.
        shards: the shards of `entities`.
        options: how entities get their types.
    """
    entities, count = len(splits), options.split.count
    keyed = typed.keyed()
    base = keyed.where(keyed.routes <= SUBCLASS_OF)
    humans = _mask(base.rows[base.types == HUMAN << 1], entities)
    refine = 0 < options.refine_humans < int(humans.sum())
    occupations = keyed.where((keyed.routes == OCCUPATION) & humans[keyed.rows] & refine)
    members = Typed.joined([base, occupations])
    # The entity itself and its negatives.
    min_size = max(options.negatives, 1) + 1
    if options.back_off:
        small = ~_usable(members.split(splits, count), min_size)[: len(base.rows)]
        members = Typed.joined([members, _parents(base.where(small), shards)]).distinct()
    split_members = members.split(splits, count)
    choices = split_members.where(_choices(members, _usable(split_members, min_size), humans, refine, entities))

    pools, pool_of = np.unique(split_members.types, return_inverse=True)
    order = np.lexsort((members.rows, pool_of))
    return {
        "pool_types": pools // count >> 1,
        "pool_starts": _starts(pool_of, len(pools)),
        "pool_members": members.rows[order].astype(np.int32),
        "choice_starts": _starts(choices.rows, entities),
        "choice_pools": np.searchsorted(pools, choices.types).astype(np.int32),
        "choice_routes": choices.routes.astype(np.int8),
        "typed": _mask(base.rows, entities),
    }


def _mask(rows: Ints, length: int) -> npt.NDArray[np.bool_]:
    """Return a mask that is true at `rows`."""
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return mask


def _starts(groups: Ints, count: int) -> Ints:
    """Return the offsets of a CSR array, (count + 1,): where each group starts, and the end of the last."""
    return np.append(0, np.cumsum(np.bincount(groups, minlength=count)))


def _usable(members: Typed, min_size: int) -> npt.NDArray[np.bool_]:
    """Return for each pair whether the pool of its type is large enough. No (entity, type) may occur twice."""
    _, pool_of, sizes = np.unique(members.types, return_inverse=True, return_counts=True)
    return sizes[pool_of] >= min_size


def _parents(small: Typed, shards: Sequence[str]) -> Typed:
    """Return the superclasses of the types of pairs, as types of the same entities; types are keys of pools."""
    types = distinct(small.types >> 1)
    parts = [_flat(batch, "superclasses", indices) for batch, indices in _rows_of(shards, ["superclasses"], types)]
    # `rows` is the index of a type in `types`.
    rows, superclasses = map(np.concatenate, zip([np.zeros(0, np.int64)] * 2, *parts, strict=True))
    order = np.argsort(rows, kind="stable")
    rows, superclasses = rows[order], superclasses[order]
    type_of = np.searchsorted(types, small.types >> 1)
    first, last = np.searchsorted(rows, type_of, "left"), np.searchsorted(rows, type_of, "right")
    counts = last - first
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    # Instances of a type are instances of its superclass; subclasses stay subclasses.
    kinds = np.repeat(small.types & 1, counts)
    parents = superclasses[np.repeat(first, counts) + within] << 1 | kinds
    return Typed(np.repeat(small.rows, counts), parents, np.full(len(parents), PARENT))


def _choices(
    members: Typed, usable: npt.NDArray[np.bool_], humans: npt.NDArray[np.bool_], refine: bool, entities: int
) -> Ints:
    """Return the indices of the pairs in `members` whose pools an entity draws from: those of its best rank.

    Ranks, best first: occupation of a human, and its types other than "human", where humans are refined; type of the
    entity; superclass of the type.

    Args:
        members: all pairs of entity and pool.
        usable: which of these pools are large enough.
        humans: which entities are humans.
        refine: whether humans are typed by occupation.
        entities: number of entities in the table.
    """
    none = 9
    rank = np.full(len(members.rows), none)
    is_type = members.routes <= SUBCLASS_OF
    rank[(members.routes == PARENT) & usable] = 2
    rank[is_type & usable] = 1
    if refine:
        rank[(members.routes == OCCUPATION) & usable] = 0
        rank[is_type & usable & (members.types != HUMAN << 1) & humans[members.rows]] = 0
    best = np.full(entities, none)
    np.minimum.at(best, members.rows, rank)
    chosen = np.flatnonzero((rank < none) & (rank == best[members.rows]))
    return chosen[np.lexsort((members.types[chosen], members.rows[chosen]))]
