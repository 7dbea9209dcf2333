"""Hard negatives: draws from the pool of the entity's type that avoid what the page links to. Exact, uniform, without
a shuffle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pipelines.linking.hashing import Hashes, below, mix_hashes
from pipelines.linking.title_index import Ints

# A draw that fails this often meets a pool of which the page links nearly all: then the rest is listed and drawn from.
ATTEMPTS = 24
_SHIFT = 32


@dataclass(frozen=True)
class Excluded:
    """What the pages of a batch link to: sorted keys of page place * 2**32 + dense id."""

    keys: Ints

    @staticmethod
    def of(pages: Ints, entities: Ints) -> Excluded:
        """Make it from pairs of page place and entity."""
        return Excluded(np.unique((pages << _SHIFT) | entities))

    def holds(self, pages: Ints, entities: Ints) -> npt.NDArray[np.bool_]:
        """Return for each pair whether the page links to the entity."""
        if not len(self.keys):
            return np.zeros(len(pages), bool)
        wanted = (pages << _SHIFT) | entities
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return self.keys[at] == wanted

    def of_page(self, page: int) -> Ints:
        """Return what one page links to."""
        first, last = np.searchsorted(self.keys, [page << _SHIFT, (page + 1) << _SHIFT])
        return self.keys[first:last] & 0xFFFFFFFF


@dataclass(frozen=True)
class Draws:
    """One batch of draws to be made, as columns.

    Attributes:
        entities: dense ids of the positives.
        pages: place of each row's page in `excluded`.
        starts, sizes: slice of the pool that each row draws from.
        keys: hash of each row's ids, the source of its choices.
    """

    entities: Ints
    pages: Ints
    starts: Ints
    sizes: Ints
    keys: Hashes


def draw_negatives(draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int) -> Ints:
    """Draw `count` different negatives for each row, uniformly from the pool less the positive and what the page links
    to.

    Returns:
        Dense ids, rows by `count`; -1 where the pool holds no further one.
    """
    chosen = np.full((len(draws.entities), count), -1, np.int64)
    for place in range(count):
        waiting = np.flatnonzero(draws.sizes > 1)
        for attempt in range(ATTEMPTS):
            if not len(waiting):
                break
            hashes = mix_hashes(draws.keys[waiting], place * ATTEMPTS + attempt)
            found = members[draws.starts[waiting] + below(hashes, draws.sizes[waiting])].astype(np.int64)
            bad = (found == draws.entities[waiting]) | excluded.holds(draws.pages[waiting], found)
            if place:
                bad |= (chosen[waiting, :place] == found[:, None]).any(axis=1)
            chosen[waiting[~bad], place] = found[~bad]
            waiting = waiting[bad]
        for row in waiting:
            chosen[row, place] = _from_rest(draws, int(row), members, excluded, chosen[row, :place], place)
    return chosen


def _from_rest(
    draws: Draws, row: int, members: npt.NDArray[np.int32], excluded: Excluded, taken: Ints, place: int
) -> int:
    start, size = int(draws.starts[row]), int(draws.sizes[row])
    barred = np.concatenate([excluded.of_page(int(draws.pages[row])), taken, draws.entities[row : row + 1]])
    rest = np.setdiff1d(members[start : start + size].astype(np.int64), barred, assume_unique=False)
    if not len(rest):
        return -1
    key = mix_hashes(draws.keys[row : row + 1], -1 - place & 0xFFFFFFFF)
    return int(rest[below(key, np.array([len(rest)]))[0]])


def draw_from_fixed(
    draws: Draws, members: npt.NDArray[np.int32], excluded: Excluded, count: int, candidates: int, entity_keys: Hashes
) -> Ints:
    """Draw from a few candidates that are fixed for each entity, as the released EASE data were made.

    Args:
        draws: as in `draw_negatives`.
        members: the pools.
        excluded: what the pages link to.
        count: negatives for each row.
        candidates: drawn once for each entity from its whole pool.
        entity_keys: hash of each row's entity, the source of the candidates.
    """
    chosen = np.full((len(draws.entities), count), -1, np.int64)
    turn = below(draws.keys, np.full(len(draws.keys), candidates))
    filled = np.zeros(len(draws.entities), np.int64)
    for step in range(candidates):
        waiting = np.flatnonzero((filled < count) & (draws.sizes > 1))
        if not len(waiting):
            break
        slot = (turn[waiting] + step) % candidates
        found = members[
            draws.starts[waiting] + below(mix_hashes(entity_keys[waiting], slot), draws.sizes[waiting])
        ].astype(np.int64)
        good = (found != draws.entities[waiting]) & ~excluded.holds(draws.pages[waiting], found)
        good &= ~(chosen[waiting] == found[:, None]).any(axis=1)
        rows = waiting[good]
        chosen[rows, filled[rows]] = found[good]
        filled[rows] += 1
    return chosen
