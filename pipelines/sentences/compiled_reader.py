"""Read pages with the compiled core: the same rows and the same ledger as `page_reader`, to the byte.

The core holds the rows as the buffers of Arrow arrays; nothing of an article becomes a Python object.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pyarrow as pa

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays.strings import column_of
from wikianchor.pipelines.sentences.columns import Columns, DocumentColumns, PageTables, shared_columns
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader, PythonReader, disambiguation_marker
from wikianchor.pipelines.text.core_rules import text_rules
from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.interwiki import WikipediaLinks
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds, patterns_of
from wikianchor.pipelines.wikimedia.pages import Page, parse_page, unescape
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.templates import definitions_of
from wikianchor.schemas import documents, sentences, titles

# The schemas of the tables of the core, in its order.
_TABLES = (sentences.SCHEMA, sentences.FRAGMENTS, titles.SCHEMA, sentences.LEDGER, documents.SCHEMA)


def make_page_reader(reader: DumpReader, templates: str | None = None) -> PageReader:
    """Return what reads the pages of a wiki with the engine of the options.

    Raises:
        UsageError: the core is asked for, and not installed.
    """
    core = _core_for(reader.engine, reader.parser, reader.splitter)
    return PythonReader(reader, templates) if core is None else _CompiledReader(core, reader, templates)


_PAGE_TITLE = re.compile(rb"<title>([^<]*)</title>")


def engine_of(engine: str | None, parser: str, splitter: str) -> str:
    """Return the name of the engine that reads pages.

    Args:
        engine, parser, splitter: the options of those names.

    Raises:
        UsageError: the core is asked for, and not installed or of other rules.
    """
    return "python" if _core_for(engine, parser, splitter) is None else "core"


def _core_for(engine: str | None, parser: str, splitter: str) -> ModuleType | None:
    """Return the core if it is to read pages. It has the default parser and splitter."""
    return core_of(engine) if (parser, splitter) == ("wikianchor", "rules") else None


class _CompiledReader(PageReader):
    """Reads the pages of one wiki with the core."""

    def __init__(self, core: ModuleType, reader: DumpReader, templates: str | None) -> None:
        super().__init__(reader, templates)
        site = reader.site
        self._kinds = PageKinds(site.language, disambiguation_marker(site, self._store))
        self._definitions = definitions_of(site, self._store.find if self._store else None)
        self._core = core.PageReader(
            rules=site_rules(site),
            text_rules=text_rules(site.language, site.writing),
            disambiguation=patterns_of("disambiguation", site.language),
            find_template=self._store.find if self._store else None,
            server=self._definitions,
            marks_disambiguation=self._kinds.marks_disambiguation,
            fragments=reader.fragments,
        )
        if reader.documents:
            self._core.read_documents(WikipediaLinks(site).read)
        self._core.set_page_rules(self._kinds.is_list, self._redirect_of, self._definitions.read_revision, self._check)
        self.read_pages = None if self.excluded else self._core.read_pages

    def new_tables(self) -> PageTables:
        self._core.clear()
        tables: list[Columns] = [_CoreColumns(self._core, table, self._site) for table in range(len(_TABLES))]
        if not self._with_documents:
            tables[-1] = DocumentColumns(self._site)
        return PageTables(*tables)

    def _parse_page(self, raw: bytes, where: str) -> Page:
        try:
            fields = self._core.parse(raw)
        except RuntimeError as error:
            page = _PAGE_TITLE.search(raw)
            title = unescape(page[1].decode("utf-8", "replace")) if page else "without a title"
            raise InputError(self._failure(title, error)) from error
        # What the core refuses has a fault, which the other reader names.
        return parse_page(raw, where) if fields is None else Page(*fields)

    def _add_redirect(self, page: Page, target: str, fragment: str) -> None:
        self._core.add_redirect(target, fragment)

    def _read_article(self, page: Page) -> Mapping[str, int]:
        self._definitions.read_revision(page.timestamp)
        try:
            counts: dict[str, int] = self._core.read_article(self._kinds.is_list(page.title))
        except RuntimeError as error:
            raise InputError(self._failure(page.title, error)) from error
        return counts

    def _failure(self, title: str, error: RuntimeError) -> str:
        return f"page {title!r} of {self._site.wiki}: {error}: read it with --engine=python"


class _CoreColumns(Columns):
    """The rows of one table in the core."""

    def __init__(self, core: Any, table: int, site: Site) -> None:
        self._core, self._table, self._site = core, table, site

    def __len__(self) -> int:
        return self._core.size(self._table)[0]

    @property
    def list_values(self) -> int:
        return self._core.size(self._table)[1]

    def take(self) -> pa.RecordBatch:
        rows = len(self)
        schema = _TABLES[self._table]
        buffers = self._core.take(self._table)
        columns = {"wiki": pa.repeat(pa.scalar(self._site.wiki), rows)}
        if schema is documents.SCHEMA:
            columns = shared_columns(self._site, column_of(schema.field("title"), rows, buffers))
        arrays = [columns[field.name] if field.name in columns else column_of(field, rows, buffers) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
