"""Look up the Wikidata items of titles in the table that `title_build` makes for each wiki.

The table has three columns, sorted by the first: the hash of a title; the item of the page that a link to the title
opens, redirects followed; and a code that says why such a link is no link to the item. A title takes 17 bytes, the 17
million titles of English Wikipedia take 290 MB. The table stays on disk: many titles are looked up in one sequential
read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings
from wikianchor.pipelines.arrays.tables import Column, look_up

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
# FINE: the title stands for its item. NO_ITEM: its page has no item. SECTION: it redirects to a section.
# DISAMBIGUATION, LIST: kind of its page. RED: there is no such page. BROKEN: it redirects to no article. LOOP: too many
# redirects.
FINE, NO_ITEM, SECTION, DISAMBIGUATION, LIST, RED, BROKEN, LOOP = range(8)
# Minimum number of titles per lookup, because each lookup reads the whole table.
TOGETHER = 1 << 18


class TitleIndex:
    """The title table of a wiki.

    Args:
        path: as `title_build.build_title_index` returned it.

    >>> import tempfile
    >>> from wikianchor.pipelines.arrays.tables import save_tables
    >>> directory = tempfile.TemporaryDirectory()
    >>> table = {"keys": hash_strings(pa.array(["Bus"])), "items": np.array([5638]), "codes": np.array([FINE], np.int8)}
    >>> index = TitleIndex(save_tables(directory.name, "titles", table))
    >>> index.look_up([pa.array(["Bus", "Tram"])])
    (array([5638,    0]), array([0, 5], dtype=int8))
    >>> directory.cleanup()
    """

    def __init__(self, path: str) -> None:
        self._keys, self._items, self._codes = (Column(path, name) for name in ("keys", "items", "codes"))

    def look_up(self, titles: Iterable[pa.Array]) -> tuple[Ints, Codes]:
        """Look up titles.

        Args:
            titles: normalised titles, in arrays of any length.

        Returns:
            Two arrays with a value per title of all arrays: the item of the page that a link to the title opens, 0
            without an item; and FINE, or the code of why such a link is no link to that item.
        """
        batches: list[tuple[Ints, Codes]] = [(np.zeros(0, np.int64), np.zeros(0, np.int8))]
        batches += map(self.look_up_hashes, _hashes_together(titles))
        items, codes = (np.concatenate(columns) for columns in zip(*batches, strict=True))
        return items, codes

    def look_up_hashes(self, hashes: Hashes) -> tuple[Ints, Codes]:
        """Look up titles, given by their hashes (`hash_strings`); see `look_up`."""
        items, codes = look_up(self._keys, (self._items, self._codes), hashes, (0, RED))
        return items, codes


def _hashes_together(titles: Iterable[pa.Array]) -> Iterator[Hashes]:
    """Yield the hashes of titles in arrays of TOGETHER or more; the last may be shorter."""
    waiting: list[Hashes] = []
    for array in titles:
        waiting.append(hash_strings(array))
        if sum(map(len, waiting)) >= TOGETHER:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
