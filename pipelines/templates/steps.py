"""The step of `wikianchor templates`: read the pages of the namespace Template in a range of a dump."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.dataset.changes import CRASHED
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.worker_status import read_ahead, watched_pages
from wikianchor.pipelines.wikimedia.choices import OFF, ON
from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.unpacked import ChunkCopy
from wikianchor.pipelines.wikimedia.wikitext.definitions import LONGEST, TEMPLATE, template_title
from wikianchor.pipelines.wikimedia.wikitext.served import MESSAGE, MODULE, PREFIX, message_title
from wikianchor.pipelines.wikimedia.wikitext.template_pages import Definition, definition_of, definition_of_module
from wikianchor.schemas.templates import SCHEMA

# Rows and characters of definitions in a row group, which bounds memory.
ROW_GROUP, GROUP_LENGTH = 10_000, 4 << 20


class TemplateRange(NamedTuple):
    """A range of a dump, and its number among all ranges, which is the number of its shard."""

    order: int
    part: Range


class TemplateReading(NamedTuple):
    """The file of a range, and its numbers of templates by kind."""

    order: int
    parts: list[Part]
    counts: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {f"templates:{kind}": number for kind, number in self.counts.items()}


def list_ranges(dumps: Sequence[str]) -> list[TemplateRange]:
    """Cut dumps into ranges."""
    return [TemplateRange(order, part) for order, part in enumerate(split_dumps(dumps))]


def copy_of_range(work: Workspace, order: int) -> str:
    """Return the path of the copy of a range (`ChunkCopy`)."""
    return f"{work.scratch}/unpacked-{order:06d}"


def read_templates(
    task: TemplateRange, work: Workspace, site: Site, copies: str = "", lua: str = OFF, engine: str | None = None
) -> TemplateReading:
    """Write the definitions of a range.

    Where a file is damaged or cut off, what comes before is read: `sentences`, which reads the same file, reports it.

    Args:
        task: the range.
        work: the workspace of the run.
        site: the wiki.
        copies: leave a copy of the decompressed range with this codec (`ChunkCopy`), unless it is damaged; "" for none.
        lua: one of `choices.LUA`: whether modules are read too.
        engine: one of `choices.ENGINES`, or None for the core where there is one that can be used.
    """
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    length, progress_file = 0, ProgressFile(work.scratch, f"templates-{task.order}")
    with PartWriter(work.parts, "templates", task.order, SCHEMA) as writer:
        try:
            with ExitStack() as stack:
                chunks = read_range(task.part)
                if copies:
                    chunks = stack.enter_context(ChunkCopy(copy_of_range(work, task.order), copies)).copied(chunks)
                for row, offset in template_rows(chunks, task.part.path, site, counts, progress_file, lua, engine):
                    if progress_file.is_due():
                        progress_file.write(min(offset, task.part.end) - task.part.start, {"templates": counts.total()})
                    counts[row["kind"]] += 1
                    rows.append(row)
                    length += len(row["body"] or "")
                    if length > GROUP_LENGTH or len(rows) == ROW_GROUP:
                        writer.write(pa.Table.from_pylist(rows, SCHEMA))
                        rows, length = [], 0
        except (InputError, Truncated):
            counts["damaged"] += 1
        writer.write(pa.Table.from_pylist(rows, SCHEMA))
        progress_file.write(task.part.end - task.part.start, {"templates": counts.total()})
    return TemplateReading(task.order, [writer.part] if writer.part else [], dict(counts))


def template_rows(
    chunks: Iterator[Chunk],
    source: str,
    site: Site,
    counts: Counter[str],
    progress: ProgressFile,
    lua: str = OFF,
    engine: str | None = None,
) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield a row of `schemas.templates` for each template in a range of a dump, and where it is in the file.

    Args:
        chunks: the chunks of the range.
        source: name of the file, for messages.
        site: the wiki.
        counts: the counts of the range: pages that are left out are added.
        progress: the progress of the range.
        lua, engine: as for `read_templates`.

    Raises:
        InputError, Truncated: the file is damaged or cut off.
    """
    core = core_of(engine)
    pages = TemplatePages(site, core)
    wanted = (TEMPLATE, MESSAGE, MODULE) if lua == ON else (TEMPLATE, MESSAGE)
    if core is not None:
        chunks = read_ahead(chunks, partial(core.skip_pages, namespaces=wanted), progress)
    for raw, offset in watched_pages(cut_pages(chunks, source), counts, CRASHED, progress):
        if page_namespace(raw, source) in wanted:
            page = pages.parse(raw, f"{source} near byte {offset}")
            ids = {"page_id": page.page_id, "rev_id": page.rev_id}
            definition = pages.definition(page)
            yield {"wiki": site.wiki, "title": pages.title(page), **ids, **definition._asdict()}, offset


class TemplatePages:
    """Read the pages of the namespace Template of one wiki, its messages and its modules.

    Args:
        site: the wiki.
        core: the compiled core, set up; None to read with Python.
    """

    def __init__(self, site: Site, core: ModuleType | None = None) -> None:
        self._core = core.TemplateReader(site_rules(site)) if core else None
        self._title_of = lru_cache(maxsize=1 << 14)(
            self._core.title if self._core else partial(template_title, site=site)
        )
        self._redirect = site.redirect_pattern()

    def parse(self, raw: bytes, where: str) -> Page:
        """Return the page of a <page> element."""
        # What the core refuses has a fault, which the other reader names.
        page = Page(*fields) if self._core and (fields := self._core.parse(raw)) else parse_page(raw, where)
        # Some exports have no <redirect>: the text tells.
        match = self._redirect.match(page.text) if page.redirect is None else None
        return page._replace(redirect=match[1].strip(" :")) if match else page

    def title(self, page: Page) -> str:
        """Return the normalised title of a template, without its namespace; of a module with PREFIX, of a message with
        MESSAGES before it."""
        if page.namespace == MESSAGE:
            return message_title(page.title.partition(":")[2])
        return PREFIX + page.title.partition(":")[2] if page.namespace == MODULE else self._title_of(page.title)

    def definition(self, page: Page) -> Definition:
        """Return what a template, a module or a message shows."""
        if page.namespace == MODULE:
            return (
                definition_of_module(page.text)
                if page.model in ("Scribunto", "json", "sanitized-css", "")
                else Definition("other")
            )
        if page.namespace == MESSAGE:
            is_text = page.redirect is None and page.model in ("wikitext", "") and len(page.text) <= LONGEST
            return Definition("message", page.text) if is_text else Definition("other")
        if page.redirect is not None:
            target = self._title_of(page.redirect.partition("#")[0])
            return Definition("redirect", target) if target else Definition("other")
        return (
            definition_of(page.text, self._title_of, self._core)
            if page.model in ("wikitext", "")
            else Definition("other")
        )
