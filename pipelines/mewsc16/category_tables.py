"""The wiki's own tables of categories: `categorylinks` and `linktarget` in, the bits of each page out.

They know the categories that templates add. Since MediaWiki 1.44 a row names its category by a number of `linktarget`,
before that by its title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.mewsc16.editions import CATEGORY
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.sql import Value, read_table

# Rows held before they are packed.
_HELD = 1 << 20


def chunks(path: str) -> Iterator[bytes]:
    """Yield a file decompressed."""
    return (chunk.data for chunk in read_range(Range(path, 0, file_size(path), True)))


def category_titles(path: str) -> Iterator[tuple[int, str]]:
    """Yield (number, category) of a `linktarget` dump."""
    for number, namespace, title in read_table(chunks(path), ("lt_id", "lt_namespace", "lt_title"), "linktarget", path):
        if namespace == CATEGORY and isinstance(number, int):
            yield number, _title(title)


def category_rows(path: str, linktarget: str | None) -> Iterator[tuple[int, int | str]]:
    """Yield (page id, category) of a `categorylinks` dump, the category by number or by title.

    Raises:
        InputError: it names categories by number, and there is no `linktarget` to tell them.
    """
    try:
        numbered = next(read_table(chunks(path), ("cl_from", "cl_target_id"), "categorylinks", path), None) is not None
    except InputError as error:
        if "has no column cl_target_id" not in str(error):
            raise
        numbered = False
    if numbered and linktarget is None:
        raise InputError(f"{path}: names categories by numbers: give linktarget.sql.gz of the same dump in --sql too")
    column = "cl_target_id" if numbered else "cl_to"
    for page, target in read_table(chunks(path), ("cl_from", column), "categorylinks", path):
        if isinstance(page, int) and target is not None:
            yield page, target if isinstance(target, int) else _title(target)


def _title(value: Value) -> str:
    return value.decode("utf-8", "replace").replace("_", " ") if isinstance(value, bytes) else ""


class PageBits:
    """Page id -> bits, as two sorted arrays."""

    def __init__(self, ids: npt.NDArray[np.int64], bits: npt.NDArray[np.int32]) -> None:
        self._ids, self._bits = ids, bits

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, page: int) -> int:
        place = int(np.searchsorted(self._ids, page))
        return int(self._bits[place]) if place < len(self._ids) and self._ids[place] == page else 0

    def save(self, directory: str, name: str) -> str:
        """Write both arrays, and return where."""
        return save_tables(directory, name, {"bits": self._bits, "ids": self._ids})

    @classmethod
    def load(cls, path: str) -> PageBits:
        """Map what `save` wrote into memory."""
        found = open_tables(path)
        return cls(found["ids"], found["bits"])

    @classmethod
    def of_rows(cls, rows: Iterator[tuple[int, int]]) -> PageBits:
        """Gather (page id, bits), several for a page."""
        ids, bits = np.empty(0, np.int64), np.empty(0, np.int32)
        held: list[tuple[int, int]] = []
        for row in rows:
            held.append(row)
            if len(held) >= _HELD:
                ids, bits = _merged(ids, bits, held)
                held.clear()
        return cls(*_merged(ids, bits, held))


def _merged(
    ids: npt.NDArray[np.int64], bits: npt.NDArray[np.int32], rows: list[tuple[int, int]]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    more = np.array(rows, np.int64).reshape(-1, 2)
    everything = np.concatenate((ids, more[:, 0]))
    values = np.concatenate((bits, more[:, 1].astype(np.int32)))
    if not len(everything):
        return ids, bits
    order = np.argsort(everything, kind="stable")
    everything, values = everything[order], values[order]
    first = np.flatnonzero(np.concatenate(([True], everything[1:] != everything[:-1])))
    return everything[first], np.bitwise_or.reduceat(values, first)


def bits_by_page(
    rows: Iterator[tuple[int, int | str]], numbers: Mapping[int, str], names: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Yield (page id, bits) for the rows whose category tells something."""
    wanted: dict[int | str, int] = {number: names[title] for number, title in numbers.items() if title in names}
    wanted.update(names)
    for page, target in rows:
        if bits := wanted.get(target):
            yield page, bits
