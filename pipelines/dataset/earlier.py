"""Rows of an earlier dataset of sentences, page by page: what a page said that has not changed since.

A dump lists its pages by id, and so does its dataset: both are read side by side, and of the earlier one no more than a
row group of each table is held. A page that stands elsewhere in it is not found, which costs time and nothing else.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.dataset.reader import Dataset
from pipelines.errors import InputError
from pipelines.wikimedia.dumps import filesystem, reading
from schemas import sentences, titles

TABLES = {"sentences": sentences.SCHEMA, "titles": titles.SCHEMA, "ledger": sentences.LEDGER}


class Group(NamedTuple):
    """A row group, and the lowest and highest page in it."""

    path: str
    number: int
    first: int
    last: int


class EarlierPage(NamedTuple):
    """A page as the earlier dataset has it; `counts` is empty for a redirect."""

    title: pa.RecordBatch
    sentences: pa.RecordBatch | None
    ledger: pa.RecordBatch | None
    counts: dict[str, int]


def groups_of(one: Dataset) -> dict[str, list[Group]]:
    """Return the row groups of each table, in order, as far as pages go up in them.

    Raises:
        InputError: a shard is missing or damaged.
    """
    found: dict[str, list[Group]] = {}
    for config, schema in TABLES.items():
        groups: list[Group] = []
        for path in one.shards(config):
            files, inner = filesystem(path)
            try:
                with reading(path), pq.ParquetFile(files.open_input_file(inner)) as file:
                    column = file.schema_arrow.get_field_index("page_id")
                    if not file.schema_arrow.equals(schema):
                        raise InputError(f"{path}: is not of this schema")
                    for number in range(file.num_row_groups):
                        pages = _column(file.metadata.row_group(number), "page_id", column).statistics
                        if pages is not None and (not groups or pages.min > groups[-1].last):
                            groups.append(Group(path, number, pages.min, pages.max))
            except pa.ArrowInvalid as error:
                raise InputError(f"{path}: cannot be read: build its dataset again") from error
        found[config] = groups
    return found


def _column(group: Any, name: str, guess: int) -> Any:
    columns = (group.column(place) for place in (guess, *range(group.num_columns)))
    return next(column for column in columns if column.path_in_schema == name)


class _Table:
    """One table, read forward."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self._lasts = [group.last for group in groups]
        self._place = -1
        self._batch: pa.RecordBatch | None = None
        self._pages: npt.NDArray[np.int64] = np.zeros(0, np.int64)

    def rows(self, page_id: int) -> pa.RecordBatch | None:
        """Return the rows of a page, or None; asked for page after page."""
        place = bisect_left(self._lasts, page_id)
        if place == len(self._groups) or page_id < self._groups[place].first:
            return None
        if place != self._place:
            self._read(place)
        begin, end = np.searchsorted(self._pages, (page_id, page_id + 1))
        return None if begin == end or self._batch is None else self._batch.slice(begin, end - begin)

    def _read(self, place: int) -> None:
        group = self._groups[place]
        files, inner = filesystem(group.path)
        with reading(group.path), pq.ParquetFile(files.open_input_file(inner), page_checksum_verification=True) as file:
            table = file.read_row_group(group.number, use_threads=False).combine_chunks()
        self._place, self._batch = place, table.to_batches()[0]
        self._pages = self._batch["page_id"].to_numpy()
        if (np.diff(self._pages) < 0).any():
            # Not in order: nothing is found by halving.
            self._pages = np.zeros(0, np.int64)


class Earlier:
    """An earlier dataset, to be asked for pages in the order of the dump.

    Args:
        groups: as `groups_of` returns them.
    """

    def __init__(self, groups: Mapping[str, Sequence[Group]]) -> None:
        self._tables = {name: _Table(found) for name, found in groups.items()}

    def page(self, page_id: int, rev_id: int, title: str) -> EarlierPage | None:
        """Return a page that was read at the same revision under the same title, or None."""
        found = self._tables["titles"].rows(page_id)
        if found is None or found.num_rows != 1:
            return None
        if found["rev_id"][0].as_py() != rev_id or found["title"][0].as_py() != title:
            return None
        if found["redirect"][0].is_valid:
            return EarlierPage(found, None, None, {})
        ledger = self._tables["ledger"].rows(page_id)
        if ledger is None or ledger.num_rows != 1 or ledger["rev_id"][0].as_py() != rev_id:
            return None
        counts = {entry["name"]: entry["number"] for entry in ledger["counts"][0].as_py()}
        rows = self._tables["sentences"].rows(page_id)
        if (0 if rows is None else rows.num_rows) != counts.get("sentences:kept", 0):
            return None
        return EarlierPage(found, rows, ledger, counts)


def links_of(batch: pa.RecordBatch) -> int:
    """Return how many links rows of `titles` hold."""
    offsets = batch["links"].offsets
    return int(offsets[-1].as_py() - offsets[0].as_py())
