"""Rows of `sentences` and `titles` gathered as columns: Python values in, Arrow batches out, no object per row."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pipelines.text.prose import Sentence
from pipelines.wikimedia.pages import Page
from pipelines.wikimedia.wikitext import Links
from schemas import sentences, titles


class SentenceColumns:
    """Sentences of one wiki, waiting to be written."""

    def __init__(self, wiki: str) -> None:
        self._wiki = wiki
        self._clear()

    def _clear(self) -> None:
        self._rows: dict[str, list[Any]] = {
            name: [] for name in sentences.SCHEMA.names if name not in ("wiki", "links")
        }
        self._links: dict[str, list[Any]] = {name: [] for name in ("start", "end", "target", "fragment")}
        self._offsets = [0]

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def add(self, page: Page, sentence: Sentence, links: Links) -> None:
        """Add a sentence of a page; its link offsets become relative to it."""
        rows, found = self._rows, self._links
        rows["page_id"].append(page.page_id)
        rows["rev_id"].append(page.rev_id)
        rows["title"].append(page.title)
        rows["region"].append(sentence.region)
        rows["sentence_index"].append(sentence.number)
        rows["text"].append(sentence.text)
        first, last, start = sentence.first, sentence.last, sentence.start
        if first < last:
            found["start"].extend([offset - start for offset in links.starts[first:last]])
            found["end"].extend([offset - start for offset in links.ends[first:last]])
            found["target"].extend(links.targets[first:last])
            found["fragment"].extend(links.fragments[first:last])
        self._offsets.append(len(found["start"]))

    def take(self) -> pa.RecordBatch:
        """Return what was gathered as one batch, and begin anew."""
        schema = sentences.SCHEMA
        columns: dict[str, pa.Array] = {
            name: pa.array(values, schema.field(name).type) for name, values in self._rows.items()
        }
        columns["wiki"] = pa.repeat(pa.scalar(self._wiki), len(self))
        kind = schema.field("links").type
        struct = pa.StructArray.from_arrays(
            [pa.array(self._links[member.name], member.type) for member in kind.value_type],
            fields=list(kind.value_type),
        )
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
