"""Draw hard negatives: entities of the same type as the positive that its page does not link to (EASE, section 3), and
does not name.

Draws are uniform over the pool without the excluded entities, and need no shuffle: a keyed hash modulo the size of the
pool is an index, and an excluded entity is drawn again. The negatives of a row depend only on its keys, pool and page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes, below, mix_hashes
from wikianchor.pipelines.arrays.tables import find
from wikianchor.pipelines.pairs.named_entities import NamedOnPages
from wikianchor.pipelines.titles.title_index import Ints

# After this many rejected draws, most of the pool is excluded by the page: the rest is then listed and drawn from.
# Smaller pools than LISTED_AT_ONCE are listed without trying.
ATTEMPTS = 6
LISTED_AT_ONCE = 8
# Pool members listed at a time, which bounds memory.
LISTED_TOGETHER = 1 << 20
# Page ids have 32 bits, dense ids 31: both fit in one key.
_ENTITY_BITS = 31


@dataclass(frozen=True)
class Excluded:
    """The (page, entity) pairs that must not be drawn.

    Attributes:
        keys: those that the page links to, as ascending keys.
        named: those that the page names; None where it may name them.
    """

    keys: Ints
    named: NamedOnPages | None = None

    @staticmethod
    def keys_of(pages: Ints, entities: Ints) -> Ints:
        """Return the key of each pair of page id and dense id. Keys ascend with pages, then with entities."""
        return pages << _ENTITY_BITS | entities

    def contains(self, pages: Ints, entities: Ints) -> npt.NDArray[np.bool_]:
        """Return for each (page, entity) whether it is excluded."""
        excluded = find(self.keys, self.keys_of(pages, entities)) >= 0
        if self.named is not None:
            rest = np.flatnonzero(~excluded)
            excluded[rest] = self.named.contains(pages[rest], entities[rest])
        return excluded


class Draws(NamedTuple):
    """Rows that need negatives, one array element for each row.

    Attributes:
        entities: dense ids of the positives.
        pages: page ids.
        starts: where the pool of the row begins in the array of members.
        sizes: number of members of the pool.
        keys: hash of the ids of the row, from which its choices follow.
    """

    entities: Ints
    pages: Ints
    starts: Ints
    sizes: Ints
    keys: Hashes

    def at(self, rows: Ints) -> Draws:
        """Return the rows at indices."""
        return Draws._make(column[rows] for column in self)


def draw_negatives(draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int) -> Ints:
    """Draw `count` distinct negatives for each row, uniformly from its pool without the positive and excluded entities.

    Returns:
        (rows, count) int64: dense ids; -1 in the last columns of a row whose pool has too few members.
    """
    chosen = np.full((len(draws.entities), count), -1, np.int64)
    rows = np.arange(len(draws.entities))
    for column in range(count):
        pending = rows[draws.sizes[rows] > LISTED_AT_ONCE]
        for attempt in range(ATTEMPTS):
            if not len(pending):
                break
            part = draws.at(pending)
            drawn = members[part.starts + below(mix_hashes(part.keys, column * ATTEMPTS + attempt), part.sizes)]
            accepted = _allowed(part, drawn, excluded, chosen[pending, :column])
            chosen[pending[accepted], column] = drawn[accepted]
            pending = pending[~accepted]
        pending = rows[chosen[rows, column] < 0]
        chosen[pending, column] = _draw_from_rest(draws.at(pending), members, excluded, chosen[pending, :column])
        rows = rows[chosen[rows, column] >= 0]
    return chosen


def _allowed(draws: Draws, drawn: Ints, excluded: Excluded, chosen: Ints) -> npt.NDArray[np.bool_]:
    """Return for each row whether the drawn entity can be its next negative.

    Args:
        draws: the rows.
        drawn: dense ids.
        excluded: the links of their pages.
        chosen: (rows, any) dense ids of the negatives before it.
    """
    allowed = (drawn != draws.entities) & ~excluded.contains(draws.pages, drawn)
    for earlier in chosen.T:
        allowed &= drawn != earlier
    return allowed


def _draw_from_rest(draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, chosen: Ints) -> Ints:
    """Draw a negative for each row from the list of all allowed members of its pool; -1 where there is none."""
    drawn = np.full(len(draws.entities), -1, np.int64)
    for rows in _portions(draws.sizes):
        part = draws.at(rows)
        # One element for each pool member of each row.
        row = np.repeat(np.arange(len(rows)), part.sizes)
        within = np.arange(len(row)) - np.repeat(np.cumsum(part.sizes) - part.sizes, part.sizes)
        listed = members[part.starts[row] + within]
        allowed = _allowed(part.at(row), listed, excluded, chosen[rows][row])
        counts = np.bincount(row[allowed], minlength=len(rows))
        nonempty = np.flatnonzero(counts)
        first = (np.cumsum(counts) - counts)[nonempty]
        keys = mix_hashes(part.keys[nonempty], ATTEMPTS << 32 | chosen.shape[1])
        drawn[rows[nonempty]] = listed[allowed][first + below(keys, counts[nonempty])]
    return drawn


def _portions(sizes: Ints) -> Iterator[Ints]:
    """Yield the indices of rows in portions whose pools have about LISTED_TOGETHER members, or of one row."""
    portion = np.cumsum(sizes) // LISTED_TOGETHER
    yield from np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(portion)) + 1) if len(sizes) else ()


def draw_from_fixed(
    draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int, candidates: int, entity_keys: Hashes
) -> Ints:
    """Draw negatives from a few candidates that are fixed for each entity, as the released EASE data were made.

    Args:
        draws: as in `draw_negatives`; all rows of an entity have the same pool.
        members: the pools.
        excluded: the links of the pages.
        count: negatives for each row.
        candidates: number of candidates of an entity, drawn once from its whole pool.
        entity_keys: hash of the entity of each row, from which its candidates follow.

    Returns:
        (rows, count) int64: dense ids; -1 where too few candidates are allowed.
    """
    _, first, entity = np.unique(draws.entities, return_index=True, return_inverse=True)
    entities = draws.at(first)._replace(keys=entity_keys[first])
    fixed = draw_negatives(entities, members, Excluded(np.zeros(0, np.int64)), candidates)[entity]
    # Each row orders its candidates by a keyed hash, with the excluded ones last.
    hashes = mix_hashes(np.repeat(draws.keys, candidates), np.tile(np.arange(candidates), len(draws.keys)))
    rank = (hashes >> np.uint64(1)).reshape(fixed.shape)
    pages = np.repeat(draws.pages, candidates)
    barred = (fixed < 0) | excluded.contains(pages, fixed.ravel()).reshape(fixed.shape)
    rank[barred] = np.uint64(1 << 63)
    best = np.argsort(rank, axis=1)[:, :count]
    return np.where(np.take_along_axis(barred, best, axis=1), -1, np.take_along_axis(fixed, best, axis=1))
