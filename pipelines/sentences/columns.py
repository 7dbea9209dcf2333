"""Rows of `sentences` and `titles` gathered as columns: Python values in, Arrow batches out, no object per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, compress, repeat
from sys import intern
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.text.prose import Sentence
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.wikitext import Links
from wikianchor.schemas import sentences, titles


class SentenceColumns:
    """Sentences of one wiki, waiting to be written. What is the same for a page is held once a page, and its links are
    held as they come: which of them are in sentences, and where there, is told for all at once in the end."""

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._ids: dict[str, list[int]] = {"page_id": [], "rev_id": []}
        self._titles: list[str] = []
        # Of each page: how many sentences it has, and how many links are held of the pages before.
        self._sentences: list[int] = []
        self._links_before: list[int] = []
        self._rows: dict[str, list[Any]] = {name: [] for name in ("sentence_index", "region", "text")}
        # Of each sentence: where it begins on its page, and where its links begin and end among those of the page.
        self._starts: list[int] = []
        self._first: list[int] = []
        self._last: list[int] = []
        self._links = Links()

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, page: Page, found: Sequence[Sentence], links: Links) -> None:
        """Add the sentences of a page; link offsets become relative to their sentence."""
        if not found:
            return
        self._ids["page_id"].append(page.page_id)
        self._ids["rev_id"].append(page.rev_id)
        self._titles.append(page.title)
        self._sentences.append(len(found))
        self._links_before.append(len(self._links.starts))
        numbers, regions, texts, starts, first, last = zip(*found, strict=True)
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
        """Return what was gathered as one batch, and begin anew."""
        schema = sentences.SCHEMA
        columns: dict[str, pa.Array] = {
            name: pa.array(values, schema.field(name).type) for name, values in self._rows.items()
        }
        # The kernels of Arrow that would repeat and choose cost more to import than a short dump to read.
        for name, ids in self._ids.items():
            columns[name] = pa.array(np.repeat(np.array(ids, np.int64), self._sentences))
        columns["title"] = pa.array(
            chain.from_iterable(map(repeat, self._titles, self._sentences)), pa.string(), size=len(self)
        )
        columns["wiki"] = pa.repeat(pa.scalar(self._wiki), len(self))
        columns["links"] = self._links_of_rows(schema.field("links").type)
        batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        self._clear()
        return batch

    def _links_of_rows(self, kind: pa.ListType) -> pa.Array:
        first = np.array(self._first, np.int64)
        counts = np.array(self._last, np.int64) - first
        offsets = np.concatenate(([0], np.cumsum(counts)))
        first += np.repeat(np.array(self._links_before, np.int64), self._sentences)
        places = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], counts)
        begin = np.repeat(np.array(self._starts, np.int64), counts)
        # Places ascend, as sentences do.
        taken = np.zeros(len(self._links.starts), np.uint8)
        taken[places] = 1
        chosen = taken.tobytes()
        values = {
            "start": (np.asarray(self._links.starts, np.int64)[places] - begin).astype(np.int32),
            "end": (np.asarray(self._links.ends, np.int64)[places] - begin).astype(np.int32),
            "target": list(compress(self._links.targets, chosen)),
            "fragment": list(compress(self._links.fragments, chosen)),
        }
        members = list(kind.value_type)
        struct = pa.StructArray.from_arrays(
            [pa.array(values[member.name], member.type) for member in members], fields=members
        )
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), struct, type=kind)


class TitleColumns:
    """Articles and redirects of one wiki, waiting to be written."""

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {name: [] for name in titles.SCHEMA.names if name != "wiki"}
        self.links = 0

    def __len__(self) -> int:
        return len(self._rows["title"])

    def add_article(self, page: Page, flags: list[str], links: list[str]) -> None:
        """Add an article with the articles that it links to."""
        self._add(page, None, None, flags, links)

    def add_redirect(self, page: Page, target: str, fragment: str) -> None:
        """Add a redirect with what it leads to."""
        self._add(page, target, fragment, [], [])

    def _add(self, page: Page, target: str | None, fragment: str | None, flags: list[str], links: list[str]) -> None:
        values = (page.title, page.page_id, page.rev_id, target, fragment, flags, links)
        for name, value in zip(self._rows, values, strict=True):
            self._rows[name].append(value)
        self.links += len(links)

    def take(self) -> pa.RecordBatch:
        """Return what was gathered as one batch, and begin anew."""
        schema = titles.SCHEMA
        columns = {name: pa.array(values, schema.field(name).type) for name, values in self._rows.items()}
        columns["wiki"] = pa.repeat(pa.scalar(self._wiki), len(self))
        batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        self._clear()
        return batch


class LedgerColumns:
    """What became of each article's links and sentences, waiting to be written."""

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

    def add(self, page: Page, counts: Mapping[str, int]) -> None:
        """Add an article."""
        self._page_ids.append(page.page_id)
        self._rev_ids.append(page.rev_id)
        # Reasons are met in no order that means anything. Every article has names of its own for the same few.
        names = sorted(map(intern, counts))
        self._names += names
        self._numbers += [counts[name] for name in names]
        self._ends.append(len(self._names))

    def take(self) -> pa.RecordBatch:
        """Return what was gathered as one batch, and begin anew."""
        schema = sentences.LEDGER
        kind = schema.field("counts").type
        names, numbers = pa.array(self._names, pa.string()), pa.array(self._numbers, pa.int32())
        struct = pa.StructArray.from_arrays([names, numbers], fields=list(kind.value_type))
        columns = {
            "wiki": pa.repeat(pa.scalar(self._wiki), len(self)),
            "page_id": pa.array(self._page_ids, pa.int64()),
            "rev_id": pa.array(self._rev_ids, pa.int64()),
            "counts": pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), struct, type=kind),
        }
        batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        self._clear()
        return batch


class Mixed:
    """New rows and rows of an earlier dataset, in the order in which they come.

    Args:
        columns: where new rows are gathered.
    """

    def __init__(self, columns: SentenceColumns | TitleColumns | LedgerColumns) -> None:
        self._columns = columns
        # A batch and the rows of it that are wanted; those of pages that follow each other are one entry.
        self._held: list[tuple[pa.RecordBatch, int, int]] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows + len(self._columns)

    def add_earlier(self, batch: pa.RecordBatch, begin: int, end: int) -> None:
        """Add rows [begin, end) of an earlier dataset's batch."""
        if len(self._columns):
            self._hold(self._columns.take())
        elif self._held and self._held[-1][0] is batch and self._held[-1][2] == begin:
            self._held[-1] = (batch, self._held[-1][1], end)
            self._rows += end - begin
            return
        self._held.append((batch, begin, end))
        self._rows += end - begin

    def _hold(self, batch: pa.RecordBatch) -> None:
        self._held.append((batch, 0, batch.num_rows))
        self._rows += batch.num_rows

    def take(self) -> pa.RecordBatch:
        """Return what was gathered as one batch, and begin anew."""
        if not self._held:
            return self._columns.take()
        if len(self._columns):
            self._hold(self._columns.take())
        batches = [batch.slice(begin, end - begin) for batch, begin, end in self._held]
        table = pa.Table.from_batches(batches).combine_chunks()
        self._held, self._rows = [], 0
        return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], table.schema)
