"""Read the SQL tables `categorylinks` and `linktarget` of a wiki, and pack the topics of its pages as bits.

The tables include the categories that templates add, which the wikitext of the page does not name. Since MediaWiki
1.44, `categorylinks` refers to categories by ids of `linktarget`, and before that by title.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.mewsc16.editions import CATEGORY
from wikianchor.pipelines.wikimedia.dumps import content_of
from wikianchor.pipelines.wikimedia.sql import Value, read_table

# The prefix of the columns of the tables that name categories.
_PREFIXES = {"linktarget": "lt", "page": "page"}


def category_titles(path: str, table: str = "linktarget") -> Iterator[tuple[int, str]]:
    """Yield (id, category) of a dump of `linktarget` or `page`."""
    columns = [f"{_PREFIXES[table]}_{name}" for name in ("id", "namespace", "title")]
    for number, namespace, title in read_table(content_of(path), columns, table, path):
        if namespace == CATEGORY and isinstance(number, int):
            yield number, title_of(title)


def category_rows(path: str, linktarget: str | None) -> Iterator[tuple[int, int | str]]:
    """Yield (page id, category) of a `categorylinks` dump; the category is an id of `linktarget` or a title.

    Raises:
        InputError: the categories are ids and there is no `linktarget`.
    """
    try:
        numbered = (
            next(read_table(content_of(path), ("cl_from", "cl_target_id"), "categorylinks", path), None) is not None
        )
    except InputError as error:
        if "has no column cl_target_id" not in str(error):
            raise
        numbered = False
    if numbered and linktarget is None:
        raise InputError(f"{path}: names categories by numbers: give linktarget.sql.gz of the same dump in --sql too")
    column = "cl_target_id" if numbered else "cl_to"
    for page, target in read_table(content_of(path), ("cl_from", column), "categorylinks", path):
        if isinstance(page, int) and target is not None:
            yield page, target if isinstance(target, int) else title_of(target)


def title_of(value: Value) -> str:
    """Return a title of a table as text, "" for another value."""
    return value.decode("utf-8", "replace").replace("_", " ") if isinstance(value, bytes) else ""


class PageBits:
    """The topic bits of pages (see `membership`), as two arrays sorted by page id. Other pages have 0."""

    def __init__(self, ids: npt.NDArray[np.int64], bits: npt.NDArray[np.int32]) -> None:
        self._ids, self._bits = ids, bits

    def __getitem__(self, page: int) -> int:
        index = int(np.searchsorted(self._ids, page))
        return int(self._bits[index]) if index < len(self._ids) and self._ids[index] == page else 0

    def save(self, directory: str, name: str) -> str:
        """Write both arrays, and return their path."""
        return save_tables(directory, name, {"bits": self._bits, "ids": self._ids})

    @classmethod
    def load(cls, path: str) -> PageBits:
        """Memory-map what `save` wrote."""
        tables = open_tables(path)
        return cls(tables["ids"], tables["bits"])

    @classmethod
    def of_rows(cls, rows: Iterator[tuple[int, int]]) -> PageBits:
        """Collect (page id, bits) in any order. The bits of a page are united."""
        table = np.fromiter(rows, np.dtype([("id", np.int64), ("bits", np.int32)]))
        ids, page = np.unique(table["id"], return_inverse=True)
        united = np.zeros(len(ids), np.int32)
        np.bitwise_or.at(united, page, table["bits"])
        return cls(ids, united)


def bits_by_page(
    rows: Iterator[tuple[int, int | str]], numbers: Mapping[int, str], names: Mapping[str, int]
) -> Iterator[tuple[int, int]]:
    """Yield (page id, bits) for the rows whose category has bits.

    Args:
        rows: what `category_rows` yields.
        numbers: category of each id of `linktarget`.
        names: bits of each category.
    """
    wanted: dict[int | str, int] = {number: names[title] for number, title in numbers.items() if title in names}
    wanted.update(names)
    for page, target in rows:
        if bits := wanted.get(target):
            yield page, bits
