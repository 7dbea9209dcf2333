"""Column buffers: rows of `sentences`, `titles`, `ledger` and `documents`, collected as Python lists and turned into
Arrow batches.

No object is created for a row: a page appends its values to one list for each column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress, repeat
from sys import intern
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.sentences.previous import RowRange
from wikianchor.pipelines.text.documents import Document
from wikianchor.pipelines.text.prose import Sentence
from wikianchor.pipelines.wikimedia.addresses import page_address
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Links
from wikianchor.schemas import documents, sentences, titles


class SentenceColumns:
    """Sentences or fragments of one wiki.

    Values that all sentences of a page share are stored once for the page, and its links as they come. `take` selects
    the links that are in sentences and makes their offsets relative, for all sentences at once.

    Args:
        wiki: database name.
        schema: that of the rows.
    """

    # Row groups of sentences are cut by rows alone.
    list_values = 0

    def __init__(self, wiki: str, schema: pa.Schema = sentences.SCHEMA) -> None:
        self._wiki, self._schema = wiki, schema
        self._clear()

    def _clear(self) -> None:
        self._ids: dict[str, list[int]] = {"page_id": [], "rev_id": []}
        self._titles: list[str] = []
        # For each page: its number of sentences, and the number of links of the pages before it.
        self._sentences: list[int] = []
        self._links_before: list[int] = []
        self._rows: dict[str, list[Any]] = {name: [] for name in ("sentence_index", "region", "text")}
        # For each sentence: its offset on the page, and the range of its links among those of the page.
        self._starts: list[int] = []
        self._first: list[int] = []
        self._last: list[int] = []
        self._links = Links()

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, page: Page, page_sentences: Sequence[Sentence], links: Links) -> None:
        """Add the sentences of a page.

        Args:
            page: the page.
            page_sentences: offsets and link ranges are those of the page.
            links: all links of the page, with offsets in its text, code points.
        """
        if not page_sentences:
            return
        self._ids["page_id"].append(page.page_id)
        self._ids["rev_id"].append(page.rev_id)
        self._titles.append(page.title)
        self._sentences.append(len(page_sentences))
        self._links_before.append(len(self._links.starts))
        numbers, regions, texts, starts, first, last = zip(*page_sentences, strict=True)
        for name, values in (("sentence_index", numbers), ("region", regions), ("text", texts)):
            self._rows[name] += values
        self._starts += starts
        self._first += first
        self._last += last
        self._links.starts.extend(links.starts)
        self._links.ends.extend(links.ends)
        self._links.targets.extend(links.targets)
        self._links.fragments.extend(links.fragments)

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch, and empty the buffer."""
        columns = {
            **self._rows,
            # NumPy and itertools: importing Arrow's compute kernels takes longer than reading a short dump.
            **{name: np.repeat(np.array(ids, np.int64), self._sentences) for name, ids in self._ids.items()},
            "title": pa.array(
                chain.from_iterable(map(repeat, self._titles, self._sentences)), pa.string(), size=len(self)
            ),
            "wiki": pa.repeat(pa.scalar(self._wiki), len(self)),
            "links": self._links_of_rows(self._schema.field("links").type),
        }
        batch = pa.RecordBatch.from_pydict(columns, self._schema)
        self._clear()
        return batch

    def _links_of_rows(self, kind: pa.ListType) -> pa.Array:
        """Return the column `links`, with offsets relative to the sentence."""
        first = np.array(self._first, np.int64)
        counts = np.array(self._last, np.int64) - first
        offsets = np.concatenate(([0], np.cumsum(counts)))
        first += np.repeat(np.array(self._links_before, np.int64), self._sentences)
        # Ascending, as sentences are.
        indices = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], counts)
        starts = np.repeat(np.array(self._starts, np.int64), counts)
        selected = np.zeros(len(self._links.starts), np.uint8)
        selected[indices] = 1
        selectors = selected.tobytes()
        values = {
            "start": (np.asarray(self._links.starts, np.int64)[indices] - starts).astype(np.int32),
            "end": (np.asarray(self._links.ends, np.int64)[indices] - starts).astype(np.int32),
            "target": list(compress(self._links.targets, selectors)),
            "fragment": list(compress(self._links.fragments, selectors)),
        }
        members = list(kind.value_type)
        struct = pa.StructArray.from_arrays(
            [pa.array(values[member.name], member.type) for member in members], fields=members
        )
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct, type=kind)


class TitleColumns:
    """Articles and redirects of one wiki.

    Args:
        wiki: database name.

    Attributes:
        list_values: number of links in all rows.
    """

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {name: [] for name in titles.SCHEMA.names if name != "wiki"}
        self.list_values = 0

    def __len__(self) -> int:
        return len(self._rows["title"])

    def add_article(self, page: Page, flags: list[str], links: list[str]) -> None:
        """Add an article with the titles of the articles that it links to."""
        self._add(page, None, None, flags, links)

    def add_redirect(self, page: Page, target: str, fragment: str) -> None:
        """Add a redirect with the title and the section of its target."""
        self._add(page, target, fragment, [], [])

    def _add(self, page: Page, target: str | None, fragment: str | None, flags: list[str], links: list[str]) -> None:
        values = (page.title, page.page_id, page.rev_id, target, fragment, flags, links)
        for name, value in zip(self._rows, values, strict=True):
            self._rows[name].append(value)
        self.list_values += len(links)

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch, and empty the buffer."""
        wiki = pa.repeat(pa.scalar(self._wiki), len(self))
        batch = pa.RecordBatch.from_pydict({"wiki": wiki, **self._rows}, titles.SCHEMA)
        self._clear()
        return batch


class LedgerColumns:
    """The ledger of each article: how many of its links and sentences ended with each reason.

    Args:
        wiki: database name.
    """

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._page_ids: list[int] = []
        self._rev_ids: list[int] = []
        self._ends = [0]
        self._names: list[str] = []
        self._numbers: list[int] = []

    def __len__(self) -> int:
        return len(self._page_ids)

    @property
    def list_values(self) -> int:
        """The number of counts in all rows."""
        return len(self._names)

    def add(self, page: Page, counts: Mapping[str, int]) -> None:
        """Add the counts of an article, sorted by name, so that equal pages give equal rows."""
        self._page_ids.append(page.page_id)
        self._rev_ids.append(page.rev_id)
        # Interned: the same few names come with every article, each time as new strings.
        names = sorted(map(intern, counts))
        self._names += names
        self._numbers += [counts[name] for name in names]
        self._ends.append(len(self._names))

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch, and empty the buffer."""
        kind = sentences.LEDGER.field("counts").type
        names, numbers = pa.array(self._names, pa.string()), pa.array(self._numbers, pa.int32())
        struct = pa.StructArray.from_arrays([names, numbers], fields=list(kind.value_type))
        columns = {
            "wiki": pa.repeat(pa.scalar(self._wiki), len(self)),
            "page_id": self._page_ids,
            "rev_id": self._rev_ids,
            "counts": pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), struct, type=kind),
        }
        batch = pa.RecordBatch.from_pydict(columns, sentences.LEDGER)
        self._clear()
        return batch


class DocumentColumns:
    """The documents of one wiki.

    Args:
        site: the wiki.

    Attributes:
        list_values: number of code points in all texts.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {name: [] for name in ("page_id", "rev_id", "timestamp", "title", "text")}
        self._lists: dict[str, list[Any]] = {name: [] for name in _DOCUMENT_LISTS}
        self._ends: dict[str, list[int]] = {name: [0] for name in _DOCUMENT_LISTS}
        self.list_values = 0

    def __len__(self) -> int:
        return len(self._rows["title"])

    def add(self, page: Page, document: Document) -> None:
        """Add the document of a page."""
        values = (page.page_id, page.rev_id, page.timestamp, page.title, document.text)
        for name, value in zip(self._rows, values, strict=True):
            self._rows[name].append(value)
        for name, items in self._lists.items():
            items += getattr(document, name)
            self._ends[name].append(len(items))
        self.list_values += len(document.text)

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch, and empty the buffer."""
        lists = {name: self._list(name, documents.SCHEMA.field(name).type) for name in _DOCUMENT_LISTS}
        titles = pa.array(self._rows["title"], pa.string())
        columns = {**self._rows, **lists, **shared_columns(self._site, titles)}
        batch = pa.RecordBatch.from_pydict(columns, documents.SCHEMA)
        self._clear()
        return batch

    def _list(self, name: str, kind: pa.ListType) -> pa.Array:
        items, inner = self._lists[name], kind.value_type
        if pa.types.is_struct(inner):
            members = list(inner)
            # A link has no item yet, which is its last member.
            columns = zip(*items, strict=True) if items else iter(())
            arrays = [pa.array(next(columns, [None] * len(items)), member.type) for member in members]
            values: pa.Array = pa.StructArray.from_arrays(arrays, fields=members)
        else:
            values = pa.array(items, inner)
        return pa.ListArray.from_arrays(pa.array(self._ends[name], pa.int32()), values, type=kind)


_DOCUMENT_LISTS = ("categories", "sections", "blocks", "sentences", "links")


def shared_columns(site: Site, titles: pa.Array) -> dict[str, pa.Array]:
    """Return the columns of documents that are the same for all pages, or follow from the title.

    Args:
        site: the wiki.
        titles: those of the rows.
    """
    return {
        "wiki": pa.repeat(pa.scalar(site.wiki), len(titles)),
        "url": pa.array([page_address(site.article_path, title) for title in titles.to_pylist()], pa.string()),
        "qid": pa.nulls(len(titles), pa.int64()),
    }


class Columns(Protocol):
    """The rows of one table, of which `take` makes a batch."""

    @property
    def list_values(self) -> int:
        """The number of values in the lists of all rows; 0 if these do not count."""

    def __len__(self) -> int: ...

    def take(self) -> pa.RecordBatch:
        """Return the rows as one batch, and empty the buffer."""


class PageTables(NamedTuple):
    """The rows of all tables of one wiki."""

    sentences: Columns
    fragments: Columns
    titles: Columns
    ledger: Columns
    documents: Columns


class TableBuffer:
    """The rows of one table of a range, new ones and rows copied from a previous dataset, in the order of the dump.

    Row groups end at the same page whether pages were read or copied, so that the files are the same to the byte.

    Args:
        columns: the new rows.
        file: gets a row group whenever the buffer is full.
        max_rows: rows of a row group.
        max_list_values: values of its list column; 0 for any number. A row group of long lists ends earlier.
    """

    def __init__(
        self,
        columns: Columns,
        file: PartWriter,
        max_rows: int,
        max_list_values: int = 0,
    ) -> None:
        self._columns, self._file = columns, file
        self._max_rows, self._max_list_values = max_rows, max_list_values or float("inf")
        # Rows before those in `columns`.
        self._ranges: list[RowRange] = []
        self._rows = self._list_values = 0

    def copy(self, rows: RowRange, list_values: int = 0) -> None:
        """Add rows of a previous dataset, whose lists have this many values."""
        self._move_new_rows()
        last = self._ranges[-1] if self._ranges else None
        if last is not None and last.batch is rows.batch and last.end == rows.begin:
            self._ranges[-1] = last._replace(end=rows.end)
        else:
            self._ranges.append(rows)
        self._rows += rows.end - rows.begin
        self._list_values += list_values

    def _move_new_rows(self) -> None:
        if count := len(self._columns):
            self._list_values += self._columns.list_values
            self._ranges.append(RowRange(self._columns.take(), 0, count))
            self._rows += count

    def write_if_full(self) -> None:
        """Write a row group if the buffer has enough rows or list values."""
        if (
            self._rows + len(self._columns) >= self._max_rows
            or self._list_values + self._columns.list_values >= self._max_list_values
        ):
            self.write()

    def write(self) -> None:
        """Write all rows as one row group, and empty the buffer."""
        if not self._ranges:
            self._file.write(self._columns.take())
            return
        self._move_new_rows()
        batches = [batch.slice(begin, end - begin) for batch, begin, end in self._ranges]
        self._file.write(pa.Table.from_batches(batches).combine_chunks())
        self._ranges, self._rows, self._list_values = [], 0, 0
