"""Hard negatives: draws from the pool of the entity's type that avoid what the page links to. Exact, uniform, without
a shuffle.

A row's draws depend on its own keys, pool and page alone, never on the rows beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes, below, mix_hashes
from wikianchor.pipelines.titles.title_index import Ints

# A row that fails this often meets a pool of which its page links most: what is left of the pool is listed then, and
# drawn from. A pool this small is listed at once.
ATTEMPTS = 6
LISTED_AT_ONCE = 8
# Members listed at a time, which bounds memory.
LISTED_TOGETHER = 1 << 20
# Page ids have 32 bits, dense ids 31: both fit in one key.
_ENTITY_BITS = 31


@dataclass(frozen=True)
class Excluded:
    """What pages link to, as ascending keys of page and entity."""

    keys: Ints

    @staticmethod
    def keys_of(pages: Ints, entities: Ints) -> Ints:
        """Return the key of each pair of page id and dense id. Keys ascend with pages, then with entities."""
        return pages << _ENTITY_BITS | entities

    def holds(self, pages: Ints, entities: Ints) -> npt.NDArray[np.bool_]:
        """Return for each pair whether the page links to the entity."""
        if not len(self.keys):
            return np.zeros(len(pages), np.bool_)
        wanted = self.keys_of(pages, entities)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return self.keys[at] == wanted


@dataclass(frozen=True)
class Draws:
    """One batch of draws to be made, as columns.

    Attributes:
        entities: dense ids of the positives.
        pages: page id of each row.
        starts, sizes: slice of the pool that each row draws from.
        keys: hash of each row's ids, the source of its choices.
    """

    entities: Ints
    pages: Ints
    starts: Ints
    sizes: Ints
    keys: Hashes

    def at(self, rows: Ints) -> Draws:
        """Return some rows."""
        return Draws(self.entities[rows], self.pages[rows], self.starts[rows], self.sizes[rows], self.keys[rows])


def draw_negatives(draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int) -> Ints:
    """Draw `count` different negatives for each row, uniformly from the pool less the positive and what the page links
    to.

    Returns:
        Dense ids, rows by `count`; -1 from where on the pool holds no further one.
    """
    chosen = np.full((len(draws.entities), count), -1, np.int64)
    rows = np.arange(len(draws.entities))
    for place in range(count):
        waiting = rows[draws.sizes[rows] > LISTED_AT_ONCE]
        for attempt in range(ATTEMPTS):
            if not len(waiting):
                break
            some = draws.at(waiting)
            found = members[some.starts + below(mix_hashes(some.keys, place * ATTEMPTS + attempt), some.sizes)]
            good = _allowed(some, found, excluded, chosen[waiting, :place])
            chosen[waiting[good], place] = found[good]
            waiting = waiting[~good]
        waiting = rows[chosen[rows, place] < 0]
        chosen[waiting, place] = _draw_from_rest(draws.at(waiting), members, excluded, chosen[waiting, :place])
        rows = rows[chosen[rows, place] >= 0]
    return chosen


def _allowed(draws: Draws, found: Ints, excluded: Excluded, taken: Ints) -> npt.NDArray[np.bool_]:
    allowed = (found != draws.entities) & ~excluded.holds(draws.pages, found)
    for earlier in taken.T:
        allowed &= found != earlier
    return allowed


def _draw_from_rest(draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, taken: Ints) -> Ints:
    """Draw one for each row from a list of all that are left, -1 where none is."""
    drawn = np.full(len(draws.entities), -1, np.int64)
    for part in _portions(draws.sizes):
        some = draws.at(part)
        row = np.repeat(np.arange(len(part)), some.sizes)
        within = np.arange(len(row)) - np.repeat(np.cumsum(some.sizes) - some.sizes, some.sizes)
        found = members[some.starts[row] + within]
        free = _allowed(some.at(row), found, excluded, taken[part][row])
        left = np.bincount(row[free], minlength=len(part))
        first = np.cumsum(left) - left
        some_left = np.flatnonzero(left)
        key = mix_hashes(some.keys[some_left], ATTEMPTS << 32 | taken.shape[1])
        drawn[part[some_left]] = found[free][first[some_left] + below(key, left[some_left])]
    return drawn


def _portions(sizes: Ints) -> Iterator[Ints]:
    """Yield the rows in portions of at most LISTED_TOGETHER pool members, or of one row."""
    portion = np.cumsum(sizes) // LISTED_TOGETHER
    yield from np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(portion)) + 1) if len(sizes) else ()


def draw_from_fixed(
    draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int, candidates: int, entity_keys: Hashes
) -> Ints:
    """Draw from a few candidates that are fixed for each entity, as the released EASE data were made.

    Args:
        draws: as in `draw_negatives`; rows of one entity have one pool.
        members: the pools.
        excluded: what the pages link to.
        count: negatives for each row.
        candidates: drawn once for each entity from its whole pool.
        entity_keys: hash of each row's entity, the source of its candidates.
    """
    _, first, same = np.unique(draws.entities, return_index=True, return_inverse=True)
    one_each = replace(draws.at(first), keys=entity_keys[first])
    fixed = draw_negatives(one_each, members, Excluded(np.zeros(0, np.int64)), candidates)[same]
    # The row's order of its candidates is a keyed one; those that its page links to come last.
    hashes = mix_hashes(np.repeat(draws.keys, candidates), np.tile(np.arange(candidates), len(draws.keys)))
    rank = (hashes >> np.uint64(1)).reshape(fixed.shape)
    pages = np.repeat(draws.pages, candidates).reshape(fixed.shape)
    barred = (fixed < 0) | excluded.holds(pages.ravel(), fixed.ravel()).reshape(fixed.shape)
    rank[barred] = np.uint64(1 << 63)
    best = np.argsort(rank, axis=1)[:, :count]
    return np.where(np.take_along_axis(barred, best, axis=1), -1, np.take_along_axis(fixed, best, axis=1))
