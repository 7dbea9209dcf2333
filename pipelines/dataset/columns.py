"""Rows of `sentences` and `titles` gathered as columns: Python values in, Arrow batches out, no object per row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from pipelines.text.prose import Sentence
from pipelines.wikimedia.pages import Page
from pipelines.wikimedia.wikitext import Links
from schemas import sentences, titles


class SentenceColumns:
    """Sentences of one wiki, waiting to be written. What is the same for a page is held once a page."""

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._pages: dict[str, list[Any]] = {name: [] for name in ("page_id", "rev_id", "title")}
        self._sentences: list[int] = []
        self._rows: dict[str, list[Any]] = {name: [] for name in ("region", "sentence_index", "text")}
        self._links: dict[str, list[Any]] = {name: [] for name in ("start", "end", "target", "fragment")}
        self._offsets = [0]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def add(self, page: Page, found: Sequence[Sentence], links: Links) -> None:
        """Add the sentences of a page; link offsets become relative to their sentence."""
        if not found:
            return
        for name, value in (("page_id", page.page_id), ("rev_id", page.rev_id), ("title", page.title)):
            self._pages[name].append(value)
        self._sentences.append(len(found))
        self._rows["region"] += [sentence.region for sentence in found]
        self._rows["sentence_index"] += [sentence.number for sentence in found]
        self._rows["text"] += [sentence.text for sentence in found]
        starts, ends, total = self._links["start"], self._links["end"], self._offsets[-1]
        taken: list[int] = []
        for _, _, _, start, first, last in found:
            if first < last:
                taken += range(first, last)
                starts += [offset - start for offset in links.starts[first:last]]
                ends += [offset - start for offset in links.ends[first:last]]
                total += last - first
            self._offsets.append(total)
        self._links["target"] += [links.targets[place] for place in taken]
        self._links["fragment"] += [links.fragments[place] for place in taken]

    def take(self) -> pa.RecordBatch:
        """Return what was gathered as one batch, and begin anew."""
        schema = sentences.SCHEMA
        columns: dict[str, pa.Array] = {
            name: pa.array(values, schema.field(name).type) for name, values in self._rows.items()
        }
        page_of_row = pa.array(np.repeat(np.arange(len(self._sentences)), self._sentences))
        for name, values in self._pages.items():
            columns[name] = pa.array(values, schema.field(name).type).take(page_of_row)
        columns["wiki"] = pa.repeat(pa.scalar(self._wiki), len(self))
        kind = schema.field("links").type
        members = [pa.array(self._links[member.name], member.type) for member in kind.value_type]
        struct = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
        columns["links"] = pa.ListArray.from_arrays(pa.array(self._offsets, pa.int32()), struct, type=kind)
        batch = pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
        self._clear()
        return batch


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
