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

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.schemas import sentences, titles

TABLES = {"sentences": sentences.SCHEMA, "titles": titles.SCHEMA, "ledger": sentences.LEDGER}


class Group(NamedTuple):
    """A row group, and the lowest and highest page in it."""

    path: str
    number: int
    first: int
    last: int


class Rows(NamedTuple):
    """Rows [begin, end) of a batch."""

    batch: pa.RecordBatch
    begin: int
    end: int


class EarlierPage(NamedTuple):
    """A page as the earlier dataset has it, with the links that its row of `titles` lists; `counts` is empty for a
    redirect."""

    title: Rows
    links: int
    sentences: Rows | None
    ledger: Rows | None
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
        self._pages: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.batch: pa.RecordBatch | None = None

    def rows(self, page_id: int) -> Rows | None:
        """Return the rows of a page, or None; asked for page after page."""
        place = bisect_left(self._lasts, page_id)
        if place == len(self._groups) or page_id < self._groups[place].first:
            return None
        if place != self._place:
            self._read(place)
        begin, end = self._pages.searchsorted((page_id, page_id + 1)).tolist()
        return None if begin == end or self.batch is None else Rows(self.batch, begin, end)

    def _read(self, place: int) -> None:
        group = self._groups[place]
        files, inner = filesystem(group.path)
        with reading(group.path), pq.ParquetFile(files.open_input_file(inner), page_checksum_verification=True) as file:
            table = file.read_row_group(group.number, use_threads=False).combine_chunks()
        self._place, self.batch = place, table.to_batches()[0]
        self._pages = self.batch["page_id"].to_numpy()
        if (np.diff(self._pages) < 0).any():
            # Not in order: nothing is found by halving.
            self._pages = np.zeros(0, np.int64)
        self.unpack(self.batch)

    def unpack(self, batch: pa.RecordBatch) -> None:
        """Take out of a row group what is asked page by page: one value at a time Arrow is slow."""


class _Titles(_Table):
    def unpack(self, batch: pa.RecordBatch) -> None:
        self.rev_ids = batch["rev_id"].to_numpy().tolist()
        self.titles = batch["title"].to_pylist()
        self.redirects = batch["redirect"].is_valid().to_pylist()
        self.links = np.diff(batch["links"].offsets.to_numpy()).tolist()


class _Ledgers(_Table):
    def unpack(self, batch: pa.RecordBatch) -> None:
        counts = batch["counts"]
        self.rev_ids = batch["rev_id"].to_numpy().tolist()
        self._ends = counts.offsets.to_numpy().tolist()
        names = counts.values.field("name").dictionary_encode()
        self._numbers = counts.values.field("number").to_numpy().tolist()
        self._words = names.dictionary.to_pylist()
        self._codes = names.indices.to_numpy().tolist()

    def counts(self, row: int) -> dict[str, int]:
        """Return what became of a page."""
        begin, end = self._ends[row], self._ends[row + 1]
        return {self._words[self._codes[place]]: self._numbers[place] for place in range(begin, end)}


class Earlier:
    """An earlier dataset, to be asked for pages in the order of the dump.

    Args:
        groups: as `groups_of` returns them.
    """

    def __init__(self, groups: Mapping[str, Sequence[Group]]) -> None:
        self._titles, self._ledgers = _Titles(groups["titles"]), _Ledgers(groups["ledger"])
        self._sentences = _Table(groups["sentences"])

    def page(self, page_id: int, rev_id: int, title: str) -> EarlierPage | None:
        """Return a page that was read at the same revision under the same title, or None."""
        names, ledgers = self._titles, self._ledgers
        found = names.rows(page_id)
        if found is None or found.end != found.begin + 1:
            return None
        row = found.begin
        if names.rev_ids[row] != rev_id or names.titles[row] != title:
            return None
        if names.redirects[row]:
            return EarlierPage(found, names.links[row], None, None, {})
        ledger = ledgers.rows(page_id)
        if ledger is None or ledger.end != ledger.begin + 1 or ledgers.rev_ids[ledger.begin] != rev_id:
            return None
        counts = ledgers.counts(ledger.begin)
        kept = self._sentences.rows(page_id)
        if (0 if kept is None else kept.end - kept.begin) != counts.get("sentences:kept", 0):
            return None
        return EarlierPage(found, names.links[row], kept, ledger, counts)
