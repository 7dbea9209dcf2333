"""Assign items and pages to the splits train, dev and test by keyed hash (`--split`).

Each Wikidata item is in one split, as an entity and as the item of a page, in every wiki. A row of `pairs` is kept if
its page and its entity are in the same split. A page without an item is assigned by its wiki and page id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes, mix
from wikianchor.schemas.pairs import SPLITS

Ints = npt.NDArray[np.int64]
SplitNumbers = npt.NDArray[np.int8]
# Make the hashes of items and of pages independent of each other, and of the other uses of the seed.
_ITEM, _PAGE = 101, 102


@dataclass(frozen=True)
class Split:
    """How items and pages are assigned to splits.

    Attributes:
        shares: the shares of all items, those that are held out for dev and for test; empty for no split.
        seed: key of the hashes.
    """

    shares: tuple[float, ...] = ()
    seed: int = 0

    def __bool__(self) -> bool:
        return bool(self.shares)

    @property
    def count(self) -> int:
        """The number of splits; 1 for no split."""
        return len(SPLITS) if self.shares else 1

    @property
    def row_shares(self) -> tuple[float, ...]:
        """The expected share of the rows of each split in all rows: page and entity are assigned independently."""
        return ((1 - sum(self.shares)) ** 2, *(share**2 for share in self.shares)) if self.shares else (1.0,)

    def of_items(self, items: Ints) -> SplitNumbers:
        """Return for each item the index of its split in `SPLITS`.

        >>> Split((0.25, 0.25), 1).of_items(np.arange(8)).tolist()
        [1, 0, 1, 0, 0, 0, 0, 0]
        """
        return self._of_hashes(mix(self.seed, _ITEM, items))

    def of_pages(self, wiki_hash: int, pages: Ints, items: Ints) -> SplitNumbers:
        """Return for each page the index of its split in `SPLITS`.

        Args:
            wiki_hash: hash of the name of the wiki.
            pages: page ids.
            items: the item of each page, 0 for none.
        """
        by_page = self._of_hashes(mix(self.seed, _PAGE, wiki_hash, pages))
        return np.where(items > 0, self.of_items(items), by_page)

    def _of_hashes(self, hashes: Hashes) -> SplitNumbers:
        fractions = (hashes >> np.uint64(11)) * 2.0**-53
        held_out = np.searchsorted(np.cumsum(self.shares), fractions, side="right") + 1
        return np.where(held_out > len(self.shares), 0, held_out).astype(np.int8)


NO_SPLIT = Split()
