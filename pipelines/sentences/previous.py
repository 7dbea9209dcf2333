"""Read the rows of unchanged pages from a previous dataset of sentences (`--previous`).

Dumps list their pages by id, and so do their datasets: the two are read side by side, with one row group of each table
of the previous dataset in memory. A page that is out of order in the previous dataset is not found and is read again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading
from wikianchor.pipelines.dataset.reader import Dataset, opened_shard
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.schemas import documents, sentences
from wikianchor.schemas import titles as titles_schema

TABLES = {
    "sentences": sentences.SCHEMA,
    "fragments": sentences.FRAGMENTS,
    "titles": titles_schema.SCHEMA,
    "ledger": sentences.LEDGER,
    "documents": documents.SCHEMA,
}
# What the counts of a page call the rows of `fragments`, before their region.
FRAGMENTS = "fragments:"


class Group(NamedTuple):
    """A row group, and the smallest and greatest page id in it."""

    path: str
    number: int
    first: int
    last: int


class RowRange(NamedTuple):
    """The rows [begin, end) of a batch."""

    batch: pa.RecordBatch
    begin: int
    end: int


class PreviousPage(NamedTuple):
    """The rows of a page in the previous dataset.

    Attributes:
        title: its row of `titles`.
        links: number of links in that row.
        sentences: None for a page without sentences.
        fragments: None for a page without fragments.
        ledger: None for a redirect.
        counts: the counts of its ledger; empty for a redirect.
        redirect: title of the target of a redirect, None for an article.
        document: None for a page without a document.
        characters: number of code points in the text of the document.
    """

    title: RowRange
    links: int
    sentences: RowRange | None = None
    fragments: RowRange | None = None
    ledger: RowRange | None = None
    counts: Mapping[str, int] = MappingProxyType({})
    redirect: str | None = None
    document: RowRange | None = None
    characters: int = 0


def row_groups_by_table(dataset: Dataset) -> dict[str, list[Group]]:
    """Return the row groups of each table in order; row groups whose page ids do not ascend are left out.

    Raises:
        InputError: a shard is missing or damaged.
    """
    tables: dict[str, list[Group]] = {}
    for config, schema in TABLES.items():
        shards = dataset.shards(config)
        for path in shards:
            with opened_shard(path) as file:
                if not file.schema_arrow.equals(schema):
                    raise InputError(f"{path}: is not of this schema")
        tables[config] = []
        for shard, number, first, last in row_groups(shards).tolist():
            if not tables[config] or first > tables[config][-1].last:
                tables[config].append(Group(shards[shard], number, first, last))
    return tables


class _TableReader:
    """A table of the previous dataset, one row group in memory."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self._groups = groups
        self._lasts = [group.last for group in groups]
        self._current = -1
        self._pages: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.batch: pa.RecordBatch | None = None

    def rows(self, page_id: int) -> RowRange | None:
        """Return the rows of a page, or None. Pages should be asked for in ascending order."""
        index = bisect_left(self._lasts, page_id)
        if index == len(self._groups) or page_id < self._groups[index].first:
            return None
        if index != self._current:
            self._read(index)
        begin, end = self._pages.searchsorted((page_id, page_id + 1)).tolist()
        return None if begin == end or self.batch is None else RowRange(self.batch, begin, end)

    def _read(self, index: int) -> None:
        group = self._groups[index]
        files, inner = filesystem(group.path)
        with reading(group.path), pq.ParquetFile(files.open_input_file(inner), page_checksum_verification=True) as file:
            table = file.read_row_group(group.number, use_threads=False).combine_chunks()
        self._current, self.batch = index, table.to_batches()[0]
        self._pages = self.batch["page_id"].to_numpy()
        if (np.diff(self._pages) < 0).any():
            # Binary search needs ascending page ids: no page of this row group is found.
            self._pages = np.zeros(0, np.int64)
        self.unpack(self.batch)

    def unpack(self, batch: pa.RecordBatch) -> None:
        """Convert the columns that are read a page at a time to lists: reading single values from Arrow is slow."""


class _TitlesReader(_TableReader):
    def unpack(self, batch: pa.RecordBatch) -> None:
        self.rev_ids = batch["rev_id"].to_numpy().tolist()
        self.titles = batch["title"].to_pylist()
        self.redirects = batch["redirect"].to_pylist()
        self.links = np.diff(batch["links"].offsets.to_numpy()).tolist()


class _LedgerReader(_TableReader):
    def unpack(self, batch: pa.RecordBatch) -> None:
        counts = batch["counts"]
        self.rev_ids = batch["rev_id"].to_numpy().tolist()
        self._ends = counts.offsets.to_numpy().tolist()
        names = counts.values.field("name").dictionary_encode()
        self._numbers = counts.values.field("number").to_numpy().tolist()
        self._names = names.dictionary.to_pylist()
        self._codes = names.indices.to_numpy().tolist()

    def counts(self, row: int) -> dict[str, int]:
        """Return the counts of a row."""
        begin, end = self._ends[row], self._ends[row + 1]
        return {self._names[self._codes[index]]: self._numbers[index] for index in range(begin, end)}


class _DocumentsReader(_TableReader):
    def unpack(self, batch: pa.RecordBatch) -> None:
        self.characters = list(map(len, batch["text"].to_pylist()))


class PreviousPages:
    """The pages of a previous dataset.

    Args:
        groups: as `row_groups_by_table` returns them.
    """

    def __init__(self, groups: Mapping[str, Sequence[Group]]) -> None:
        self._documents, self._has_documents = _DocumentsReader(groups["documents"]), bool(groups["documents"])
        self._titles, self._ledgers = _TitlesReader(groups["titles"]), _LedgerReader(groups["ledger"])
        self._sentences, self._fragments = _TableReader(groups["sentences"]), _TableReader(groups["fragments"])

    def find(self, page_id: int, rev_id: int, title: str) -> PreviousPage | None:
        """Return the rows of a page of the same revision and title, or None. Ask for pages in the order of the dump."""
        titles, ledgers = self._titles, self._ledgers
        title_rows = titles.rows(page_id)
        if title_rows is None or title_rows.end != title_rows.begin + 1:
            return None
        row = title_rows.begin
        if titles.rev_ids[row] != rev_id or titles.titles[row] != title:
            return None
        if titles.redirects[row] is not None:
            return PreviousPage(title_rows, titles.links[row], redirect=titles.redirects[row])
        ledger = ledgers.rows(page_id)
        if ledger is None or ledger.end != ledger.begin + 1 or ledgers.rev_ids[ledger.begin] != rev_id:
            return None
        counts = ledgers.counts(ledger.begin)
        kept, fragments = self._sentences.rows(page_id), self._fragments.rows(page_id)
        numbers = counts.get("sentences:kept", 0), fragments_of(counts)
        if (_length(kept), _length(fragments)) != numbers:
            return None
        document = self._documents.rows(page_id)
        if _length(document) != self._has_documents:
            return None
        return PreviousPage(
            title_rows,
            titles.links[row],
            kept,
            fragments,
            ledger=ledger,
            counts=counts,
            document=document,
            characters=0 if document is None else self._documents.characters[document.begin],
        )


def _length(rows: RowRange | None) -> int:
    return 0 if rows is None else rows.end - rows.begin


def fragments_of(counts: Mapping[str, int]) -> int:
    """Return the number of fragments of a page, given its counts."""
    return sum(number for name, number in counts.items() if name.startswith(FRAGMENTS))
