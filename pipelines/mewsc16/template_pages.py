"""Read the definitions of templates of a Wikinews, which its articles need for words, leads and categories.

There are two tables of each wiki: what templates show in a line of text, as `sentences` looks them up, and their whole
bodies, since a template that makes a box may set categories too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.templates.steps import GROUP_LENGTH, TemplatePages
from wikianchor.pipelines.templates.store import save_store
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import LONGEST, transcluded
from wikianchor.pipelines.wikimedia.wikitext.served import NO_FACTS, DumpFacts

_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string(), nullable=False) for name in ("title", "kind")),
        *(pa.field(name, pa.string()) for name in ("body", "first", "whole")),
    ]
)
_WITH_BODY = frozenset(("text", "block"))


class TemplateWriter:
    """Write the templates of a range of a dump to a file of the run.

    Args:
        site: the wiki.
        work: the directories of the run.
        order: number of the range.
    """

    def __init__(self, site: Site, work: Workspace, order: int) -> None:
        self._pages = TemplatePages(site)
        self._writer = PartWriter(work.scratch, "template-pages", order, _SCHEMA)
        self._rows: list[dict[str, Any]] = []
        self._length = 0

    def add(self, raw: bytes, where: str) -> None:
        """Add a <page> element of the namespace Template."""
        page = self._pages.parse(raw, where)
        definition = self._pages.definition(page)
        whole = definition.body
        if definition.kind == "block":
            whole = transcluded(page.text)
            whole = whole if len(whole) <= LONGEST else None
        row = {"title": self._pages.title(page), "kind": definition.kind, "body": definition.body}
        self._rows.append({**row, "first": definition.first, "whole": whole})
        self._length += len(whole or "")
        if self._length > GROUP_LENGTH:
            self._write()

    def close(self) -> str:
        """Finish the file, and return its path; "" without templates."""
        with self._writer:
            self._write()
        return self._writer.part.path if self._writer.part else ""

    def _write(self) -> None:
        self._writer.write(pa.Table.from_pylist(self._rows, _SCHEMA))
        self._rows, self._length = [], 0


def save_stores(paths: Iterable[str], work: Workspace, language: str, facts: DumpFacts = NO_FACTS) -> tuple[str, str]:
    """Write the two tables of a wiki from the files of its ranges; return their paths, "" without templates.

    A Wikinews has no disambiguation pages, so no template is one that marks them.
    """
    files = [path for path in paths if path]
    if not files:
        return "", ""
    shown = ((title, kind, body, first, False) for title, kind, body, first, _ in _rows(files))
    whole = (
        (title, "text" if kind in _WITH_BODY else kind, body, None, False) for title, kind, _, _, body in _rows(files)
    )
    return save_store(work.scratch, shown, language, facts), save_store(work.scratch, whole, language, facts)


def _rows(paths: Iterable[str]) -> Iterator[tuple[Any, ...]]:
    for path in paths:
        for batch in read_batches(path, _SCHEMA.names):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)
