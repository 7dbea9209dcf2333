"""The entities that can be a pair's entity or its hard negative: dense ids by frequency, and one CSR table of pools by
type.

A pool is all entities of a type, a slice of one array, so a draw is an index and costs the same for a type of
millions. What is an
instance of a type and what is a subclass of it are two pools: Jupiter is no hard negative of "moon" because both are
about astronomy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dataset.reader import read_batches
from pipelines.linking.title_index import Ints
from pipelines.wikimedia.wikidata import META_CLASSES

HUMAN = 5
INSTANCE_OF, SUBCLASS_OF, OCCUPATION, PARENT, NONE = range(5)
ROUTES = ("instance_of", "subclass_of", "occupation", "parent", "none")
# Why an item that is linked to is not in the table.
META, ABSENT = 1, 2


@dataclass(frozen=True)
class TableOptions:
    """How entities are chosen and typed.

    Attributes:
        min_links: an entity is kept when it is linked to more often than this.
        negatives: hard negatives for each pair; a pool smaller than that is no use.
        types: "best_rank" (P31, else P279), "instance_of" (P31 alone) or "any_rank" (P31 of every rank).
        refine_humans: where more humans than this are in the table, they are typed by occupation; 0 for never.
        back_off: whether a pool that is too small is replaced by that of the type's own superclass.
    """

    min_links: int
    negatives: int
    types: str
    refine_humans: int
    back_off: bool


def build_entity_table(
    counted: tuple[Ints, Ints], shards: Sequence[str], present: Ints | None, options: TableOptions
) -> Mapping[str, npt.NDArray[Any]]:
    """Build the table.

    Args:
        counted: items, ascending, and how often each is linked to.
        shards: of `entities`.
        present: items that have a page in the wiki that one must be in, ascending; None where none is asked for.
        options: how entities are chosen and typed.

    Returns:
        Arrays for `save_tables`: `qids` and `counts` by dense id; `sorted_qids` and `sorted_ids` to find a dense id;
        `pool_types`, `pool_starts`, `pool_members` (the CSR table); `choice_starts`, `choice_pools`, `choice_routes`:
        the pools from
        which an entity's negatives may come; `left_out` and `left_out_why`.
    """
    qids, counts = counted
    frequent = counts > options.min_links
    qids, counts = qids[frequent], counts[frequent]
    typed = _read_types(shards, qids, options.types)
    meta = np.unique(typed.rows[np.isin(typed.types, np.fromiter(META_CLASSES, np.int64))])
    keep = np.ones(len(qids), bool)
    keep[meta] = False
    missing = np.zeros(len(qids), bool) if present is None else ~np.isin(qids, present)
    left_out = np.flatnonzero(~keep | missing)
    why = np.where(missing[left_out], ABSENT, META)
    keep &= ~missing
    # Most frequent first; ties by item number.
    order = np.lexsort((qids, -counts))
    order = order[keep[order]]
    dense = np.full(len(qids), -1, np.int64)
    dense[order] = np.arange(len(order))
    table: dict[str, npt.NDArray[Any]] = {
        "qids": qids[order],
        "counts": counts[order],
        "sorted_qids": qids[keep],
        "sorted_ids": dense[keep].astype(np.int32),
        "left_out": qids[left_out],
        "left_out_why": why.astype(np.int8),
    }
    table |= _pools(typed.renumbered(dense), len(order), shards, options)
    return table


@dataclass(frozen=True)
class Typed:
    """Types of entities as columns: entity, type and the route that led there."""

    rows: Ints
    types: Ints
    routes: Ints

    def renumbered(self, dense: Ints) -> Typed:
        """Return the same for dense ids, entities without one left out."""
        rows = dense[self.rows]
        there = rows >= 0
        return Typed(rows[there], self.types[there], self.routes[there])

    def where(self, mask: npt.NDArray[np.bool_]) -> Typed:
        """Return the rows of a mask."""
        return Typed(self.rows[mask], self.types[mask], self.routes[mask])

    def keyed(self) -> Typed:
        """Return the same with the key of a pool for each type: twice the type, and one for its subclasses."""
        return Typed(self.rows, self.types << 1 | (self.routes == SUBCLASS_OF), self.routes)

    def joined(self, other: Typed) -> Typed:
        """Return both."""
        return Typed(*(np.concatenate(pair) for pair in zip(self.columns(), other.columns(), strict=True)))

    def columns(self) -> tuple[Ints, Ints, Ints]:
        """Return the three columns."""
        return self.rows, self.types, self.routes


def _empty() -> Typed:
    return Typed(*(np.zeros(0, np.int64) for _ in range(3)))


def _rows_of(shards: Sequence[str], columns: Sequence[str], qids: Ints) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Yield batches of the entities asked for, and the place of each in the ascending `qids`."""
    for shard in shards:
        for batch in read_batches(shard, ["qid", *columns]):
            found = batch.column("qid").to_numpy()
            at = np.minimum(np.searchsorted(qids, found), max(0, len(qids) - 1))
            mask = qids[at] == found if len(qids) else np.zeros(len(found), bool)
            yield batch.filter(pa.array(mask)), at[mask]


def _flat(batch: pa.RecordBatch, name: str, places: Ints) -> tuple[Ints, Ints]:
    column = batch.column(name)
    return places[pc.list_parent_indices(column).to_numpy()], column.flatten().to_numpy()


def _read_types(shards: Sequence[str], qids: Ints, types: str) -> Typed:
    """Return the types of the entities, and occupations of humans, each (entity, type) once."""
    found = _empty()
    column = "any_rank_types" if types == "any_rank" else "types"
    for batch, places in _rows_of(shards, [column, "type_route", "occupations"], qids):
        rows, values = _flat(batch, column, places)
        route = (
            pc.equal(batch.column("type_route"), "subclass_of").to_numpy(zero_copy_only=False)
            if column == "types"
            else None
        )
        lengths = pc.list_value_length(batch.column(column)).to_numpy()
        routes = (
            np.zeros(len(rows), np.int64)
            if route is None
            else np.repeat(np.where(route, SUBCLASS_OF, INSTANCE_OF), lengths)
        )
        if types == "instance_of":
            rows, values, routes = (
                rows[routes == INSTANCE_OF],
                values[routes == INSTANCE_OF],
                routes[routes == INSTANCE_OF],
            )
        people, occupations = _flat(batch, "occupations", places)
        found = found.joined(Typed(rows, values, routes)).joined(
            Typed(people, occupations, np.full(len(people), OCCUPATION))
        )
    order = np.lexsort((found.routes, found.types, found.rows))
    found = Typed(*(column[order] for column in found.columns()))
    first = np.ones(len(order), bool)
    first[1:] = (np.diff(found.rows) != 0) | (np.diff(found.types) != 0)
    return found.where(first)


def _pools(typed: Typed, entities: int, shards: Sequence[str], options: TableOptions) -> dict[str, npt.NDArray[Any]]:
    """Lay the pools out and choose for each entity the pools that its negatives may come from."""
    typed = typed.keyed()
    base = typed.where(typed.routes <= SUBCLASS_OF)
    humans = np.zeros(entities, bool)
    humans[base.rows[base.types == HUMAN << 1]] = True
    refine = options.refine_humans > 0 and int(humans.sum()) > options.refine_humans
    jobs = typed.where((typed.routes == OCCUPATION) & humans[typed.rows]) if refine else _empty()
    members = base.joined(jobs)
    # A pool serves an entity when it holds enough others.
    enough = max(options.negatives, 1) + 1
    usable = _sizes(members)[1] >= enough
    parents = _parents(base, usable_of(members, base, usable), shards) if options.back_off else _empty()
    members = members.joined(parents)
    types, sizes, inverse = _sizes_inverse(members)
    usable = sizes[inverse] >= enough
    choices = _choices(members, usable, sizes[inverse] >= 2, humans, refine, entities)

    order = np.lexsort((members.rows, inverse))
    pool_rows, pool_ids = members.rows[order], inverse[order]
    once = np.ones(len(order), bool)
    once[1:] = (np.diff(pool_rows) != 0) | (np.diff(pool_ids) != 0)
    starts = np.zeros(len(types) + 1, np.int64)
    np.cumsum(np.bincount(pool_ids[once], minlength=len(types)), out=starts[1:])

    chosen = np.lexsort((inverse[choices], members.rows[choices]))
    picked = choices[chosen]
    choice_starts = np.zeros(entities + 1, np.int64)
    np.cumsum(np.bincount(members.rows[picked], minlength=entities), out=choice_starts[1:])
    return {
        "pool_types": types >> 1,
        "pool_starts": starts,
        "pool_members": pool_rows[once].astype(np.int32),
        "choice_starts": choice_starts,
        "choice_pools": inverse[picked].astype(np.int32),
        "choice_routes": members.routes[picked].astype(np.int8),
        "typed": np.isin(np.arange(entities), base.rows),
    }


def _sizes(members: Typed) -> tuple[Ints, Ints]:
    types, sizes = np.unique(members.types, return_counts=True)
    return types, sizes


def _sizes_inverse(members: Typed) -> tuple[Ints, Ints, Ints]:
    """Return the types, how many different entities each has, and the place of each row's type."""
    types, inverse = np.unique(members.types, return_inverse=True)
    pairs = np.unique(np.stack([inverse, members.rows]), axis=1) if len(inverse) else np.zeros((2, 0), np.int64)
    return types, np.bincount(pairs[0], minlength=len(types)), inverse


def usable_of(members: Typed, rows: Typed, usable: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Return for each row whether the pool of its type is usable."""
    types, _ = _sizes(members)
    return usable[np.searchsorted(types, rows.types)]


def _parents(base: Typed, usable: npt.NDArray[np.bool_], shards: Sequence[str]) -> Typed:
    """Return superclasses, as types, for the entities whose types have pools too small."""
    small = base.where(~usable)
    types = np.unique(small.types >> 1)
    found_types, found_parents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for batch, places in _rows_of(shards, ["superclasses"], types):
        rows, values = _flat(batch, "superclasses", places)
        found_types.append(rows)
        found_parents.append(values)
    kinds, parents = np.concatenate(found_types), np.concatenate(found_parents)
    order = np.lexsort((parents, kinds))
    kinds, parents = kinds[order], parents[order]
    place = np.searchsorted(types, small.types >> 1)
    first, last = np.searchsorted(kinds, place, "left"), np.searchsorted(kinds, place, "right")
    counts = last - first
    rows = np.repeat(small.rows, counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    kind = np.repeat(small.types & 1, counts)
    return Typed(rows, parents[np.repeat(first, counts) + within] << 1 | kind, np.full(len(rows), PARENT))


def _choices(
    members: Typed,
    usable: npt.NDArray[np.bool_],
    possible: npt.NDArray[np.bool_],
    humans: npt.NDArray[np.bool_],
    refine: bool,
    entities: int,
) -> Ints:
    """Return the rows of `members` that are an entity's choices: of the best kind that it has, and no other.

    The kinds, best first: occupation of a human, own type, superclass of the type, own type with a pool too small for
        all
    negatives. "Human" itself gives way to occupations.
    """
    rank = np.full(len(members.rows), 9)
    own = members.routes <= SUBCLASS_OF
    rank[own & possible] = 3
    rank[(members.routes == PARENT) & usable] = 2
    rank[own & usable] = 1
    if refine:
        rank[(members.routes == OCCUPATION) & usable] = 0
        rank[own & usable & (members.types != HUMAN << 1) & humans[members.rows]] = 0
    best = np.full(entities, 9)
    np.minimum.at(best, members.rows, rank)
    return np.flatnonzero((rank < 9) & (rank == best[members.rows]))
