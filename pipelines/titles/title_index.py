"""Titles to Wikidata items: redirects followed, in one sorted table for each wiki, which `title_build` makes.

The table has three columns: the hash of a title, the item of the page that a link to it opens, and a code that says
why such a link is no link to that item. It takes 17 bytes a title, 290 MB for the 17 million of English Wikipedia. It
stays on disk: titles are looked up many at a time, and all of the table goes by.
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
# FINE: the title stands for its item. BROKEN: a redirect that leads to no page of the wiki's articles.
FINE, NO_ITEM, SECTION, DISAMBIGUATION, LIST, RED, BROKEN, LOOP = range(8)
# Titles looked up at a time, at least: to read all of the table costs as much as to look so many up.
TOGETHER = 1 << 18


class TitleIndex:
    """The table of a wiki.

    Args:
        path: that `title_build.build_title_index` returned.
    """

    def __init__(self, path: str) -> None:
        self._keys, self._items, self._codes = (Column(path, name) for name in ("keys", "items", "codes"))

    def look_up(self, titles: Iterable[pa.Array]) -> tuple[Ints, Codes]:
        """Return for each title, of all arrays one after the other, the item of the page that a link to it opens, 0
        where there is none; and FINE, or the code of why such a link is no link to that item."""
        found: list[tuple[Ints, Codes]] = [(np.zeros(0, np.int64), np.zeros(0, np.int8))]
        for hashes in _together(titles):
            items, codes = look_up(self._keys, (self._items, self._codes), hashes, (0, RED))
            found.append((items, codes))
        items, codes = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return items, codes


def _together(titles: Iterable[pa.Array]) -> Iterator[Hashes]:
    waiting: list[Hashes] = []
    for some in titles:
        waiting.append(hash_strings(some))
        if sum(map(len, waiting)) >= TOGETHER:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)
