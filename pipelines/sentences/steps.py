"""The step of `wikianchor sentences`: read a range of a dump and write its sentences and titles.

Rows do not pass through Beam. The step writes them to Parquet a row group at a time, and returns a `Reading`: the paths
of the files, and the counts of the ledger.
"""

from __future__ import annotations

import os
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.arrays.tables import open_tables
from wikianchor.pipelines.dataset.changes import CRASHED
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import open_datasets
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.worker_status import read_ahead, watched_pages
from wikianchor.pipelines.sentences.columns import TableBuffer
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader
from wikianchor.pipelines.sentences.previous import (
    TABLES,
    Group,
    PreviousPage,
    PreviousPages,
    row_groups_by_table,
)
from wikianchor.pipelines.templates.steps import copy_of_range
from wikianchor.pipelines.text.template_losses import IN_RANGE, TEMPLATE, WHILE_READING, forget_rare
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, split_dumps
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, unescape
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.unpacked import read_copy
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import OF_DUMP
from wikianchor.schemas import sentences

ROW_GROUP = 10_000
# Rows of `titles` and of the ledger hold lists: their row groups are limited by the values in these lists too, so that
# memory stays the same for pages with many links. Those of `documents` are limited by the characters of their texts.
LIST_VALUES = {"titles": 50_000, "ledger": 20_000, "documents": 4_000_000}
# Reading a range stops after this many broken pages.
MAX_PROBLEMS = 100
# Bytes kept of the end of a range: longer than </mediawiki> and the white space around it.
TAIL_BYTES = 64


class DumpRange(NamedTuple):
    """A range of a dump, and its number among all ranges, which is the number of its shard."""

    order: int
    part: Range


class Reading(NamedTuple):
    """The result of reading a range.

    Attributes:
        order: number of the range.
        parts: the files written.
        counts: numbers of pages, sentences and links by kind and reason, such as "pages:articles" or "links:table".
        problems: errors in the input, one line each.
        first_page: smallest page id, 0 for none.
        last_page: greatest page id, 0 for none.
        repeated: id of a page that occurs twice, 0 for none.
        path: path of the dump.
        tail: the last bytes of the range. The commit checks that the last range of a file ends with </mediawiki>.
    """

    order: int
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]
    first_page: int
    last_page: int
    repeated: int
    path: str
    tail: bytes

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters: the counts of the ledger, without those of single templates."""
        return {name: number for name, number in self.counts.items() if not name.startswith(TEMPLATE)}


def list_ranges(dumps: Sequence[str]) -> list[DumpRange]:
    """Cut dumps into ranges. The cut depends only on the files, so that shards do not depend on the workers."""
    return [DumpRange(order, part) for order, part in enumerate(split_dumps(dumps))]


def remove_copy(work: Workspace, task: DumpRange) -> None:
    """Remove the copy of a range that has been read."""
    with suppress(OSError):
        os.remove(copy_of_range(work, task.order))


class ReadDump:
    """The step that reads a range. Rules and the previous dataset are loaded once for each worker."""

    def __init__(self, reader: DumpReader) -> None:
        self._reader = reader
        self._pages: PageReader | None = None

    @cached_property
    def _previous(self) -> Mapping[str, Sequence[Group]] | None:
        previous = self._reader.previous
        if previous is None:
            return None
        return row_groups_by_table(open_datasets(previous, "sentences", sentences.VERSION, "previous")[0])

    def __call__(self, task: DumpRange, templates: Sequence[str] = (), changed: Sequence[str] = ()) -> Reading:
        """Read a range.

        Args:
            task: the range.
            templates: path of the table of templates; empty to take the built-in rules alone.
            changed: path of the table of templates that have changed since the previous dataset; empty for none.
        """
        if self._pages is None:
            self._pages = make_page_reader(self._reader, *templates)
        return read_dump(task, self._reader, self._pages, self._previous, *changed)


def read_dump(
    task: DumpRange,
    reader: DumpReader,
    pages: PageReader,
    previous: Mapping[str, Sequence[Group]] | None = None,
    changed: str | None = None,
) -> Reading:
    """Read a range of a dump and write its sentences, fragments, titles, ledger and documents.

    A damaged or truncated file is read up to the damage, which is returned as a problem.

    Args:
        task: the range.
        reader: the options.
        pages: the reader of pages.
        previous: row groups of the previous dataset; None for none.
        changed: path of the table of templates that have changed since then; None for none.

    Raises:
        InputError: the output cannot be written.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    page_ids = array("q")
    tail = bytearray()
    tables = pages.new_tables()
    source = _UnchangedPages(pages, previous, reader.site, changed) if previous is not None else pages
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(PartWriter(reader.work.parts, name, task.order, schema))
            for name, schema in TABLES.items()
        }
        buffers = {
            name: TableBuffer(getattr(tables, name), file, ROW_GROUP, LIST_VALUES.get(name, 0))
            for name, file in files.items()
        }
        progress_file = ProgressFile(reader.work.scratch, f"{task.order}")
        chunks = read_copy(copy_of_range(reader.work, task.order), task.part)

        def add(ids: bytes, page_counts: Mapping[str, int]) -> int:
            page_ids.frombytes(ids)
            add_counts(counts, page_counts)
            for buffer in buffers.values():
                buffer.write_if_full()
            return WHILE_READING - len(counts)

        if previous is None and pages.read_pages is not None:
            chunks = read_ahead(
                chunks,
                partial(pages.read_pages, limits=[(ROW_GROUP, LIST_VALUES.get(name, 0)) for name in TABLES], add=add),
                progress_file,
            )
        for page in sound_pages(
            chunks,
            task.part,
            allow_truncated=reader.allow_truncated,
            parse=source.parse,
            counts=counts,
            problems=problems,
            tail=tail,
            progress_file=progress_file,
        ):
            page_ids.append(page.page_id)
            if (unchanged := source.unchanged) is not None:
                page_counts = _copy_page(unchanged, buffers)
            else:
                page_counts = pages.read_page(page)
            add_counts(counts, page_counts)
            for buffer in buffers.values():
                buffer.write_if_full()
        for buffer in buffers.values():
            buffer.write()
    forget_rare(counts, IN_RANGE)
    parts = [file.part for file in files.values() if file.part is not None]
    return Reading(task.order, parts, dict(counts), problems, *_bounds(page_ids), task.part.path, bytes(tail))


def _copy_page(page: PreviousPage, buffers: Mapping[str, TableBuffer]) -> Mapping[str, int]:
    """Copy the rows of an unchanged page to the buffers of their tables, and return its counts."""
    # The rows of each table, and the number of values in their lists.
    tables = {
        "sentences": (page.sentences, 0),
        "fragments": (page.fragments, 0),
        "titles": (page.title, page.links),
        "ledger": (page.ledger, len(page.counts)),
        "documents": (page.document, page.characters),
    }
    for name, (rows, list_values) in tables.items():
        if rows is not None:
            buffers[name].copy(rows, list_values)
    return page.counts or {"pages:redirects": 1}


def _bounds(page_ids: array[int]) -> tuple[int, int, int]:
    """Return the smallest and the greatest page id, and one that occurs twice; 0 for none."""
    if not page_ids:
        return 0, 0, 0
    ordered = np.sort(np.frombuffer(page_ids, np.int64))
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    return int(ordered[0]), int(ordered[-1]), int(repeated[0]) if len(repeated) else 0


# Title and id of a page; id and attributes of <text> of its first revision.
_HEAD = re.compile(rb"<title>([^<]*)</title>.*?<id>(\d+)</id>", re.DOTALL)
_REVISION = re.compile(rb"<revision>\s*<id>(\d+)</id>.*?<text([^>]*)>", re.DOTALL)
HEAD_BYTES = 8192


class _UnchangedPages:
    """Parse pages, and look up unchanged ones in the previous dataset before their text is read.

    Attributes:
        unchanged: the rows of the page that was parsed last; None for a page that has to be read.
    """

    def __init__(
        self, pages: PageReader, groups: Mapping[str, Sequence[Group]], site: Site, changed: str | None
    ) -> None:
        self._pages, self._previous = pages, PreviousPages(groups)
        self._changed: frozenset[int] = frozenset(open_tables(changed)["titles"].tolist() if changed else ())
        self._title_of = lru_cache(maxsize=1 << 14)(partial(template_title, site=site))
        self.unchanged: PreviousPage | None = None

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return a page as `PageReader.parse` does, but an unchanged one without its text."""
        self.unchanged = None
        head, revision = _HEAD.search(raw, 0, HEAD_BYTES), _REVISION.search(raw, 0, HEAD_BYTES)
        if head is not None and revision is not None and page_namespace(raw, where) == 0:
            title = unescape(head[1].decode("utf-8", "replace"))
            # Text contains no "<". The text of a revision may have been hidden since it was read.
            end_of_text = raw.find(b"<", revision.end())
            is_excluded = self._pages.excluded.contains(int(head[2]), title)
            if (
                raw.find(b"<revision>", end_of_text) < 0
                and b"deleted" not in revision[2]
                and not is_excluded
                and not self._has_changed_template(raw[revision.end() : end_of_text])
            ):
                self.unchanged = self._previous.find(int(head[2]), int(revision[1]), title)
            if self.unchanged is not None and self._pages.leads_to_excluded(self.unchanged.redirect):
                self.unchanged = None
            if self.unchanged is not None:
                return Page(
                    title=title,
                    namespace=0,
                    page_id=int(head[2]),
                    rev_id=int(revision[1]),
                    timestamp="",
                    redirect=None,
                    model="wikitext",
                    text="",
                )
        return self._pages.parse(raw, where, counts, problems)

    def _has_changed_template(self, text: bytes) -> bool:
        """Return whether a page names a template that has changed, by itself or by those that it calls; or calls a
        module or the date by itself."""
        if any(name in text for name in _OF_DUMP):
            return True
        if not self._changed:
            return False
        names = {unescape(match[1].decode("utf-8", "replace")) for match in _TEMPLATE_NAME.finditer(text)}
        return any(hash_string(title) in self._changed for name in names if (title := self._title_of(name)))


# What shows something else by another dump.
_OF_DUMP = (b"#invoke", *map(str.encode, OF_DUMP))
# The name of a template in escaped wikitext.
_TEMPLATE_NAME = re.compile(rb"\{\{\s*([^{}|\n]+)")


def add_counts(counts: Counter[str], page_counts: Mapping[str, int]) -> None:
    """Add the counts of a page; drop the rarest templates when there are too many."""
    counts.update(page_counts)
    if len(counts) > WHILE_READING:
        forget_rare(counts, IN_RANGE)


def sound_pages(
    chunks: Iterator[Chunk],
    part: Range,
    allow_truncated: bool,
    parse: Callable[[bytes, str, Counter[str], list[str]], Page | None],
    counts: Counter[str],
    problems: list[str],
    tail: bytearray,
    progress_file: ProgressFile,
) -> Iterator[Page]:
    """Yield the pages of a range for which `parse` returns one; stop at damage.

    Args:
        chunks: those of the range.
        part: the range.
        allow_truncated: accept a truncated file.
        parse: returns a page, or None after counting it in `counts` or `problems`.
        counts: those of the range, added to.
        problems: errors in the input, added to.
        tail: set to the last TAIL_BYTES of the range.
        progress_file: gets the progress.
    """
    try:
        cut = cut_pages(keep_tail(chunks, tail), part.path)
        for raw, offset in watched_pages(cut, counts, f"pages:{CRASHED}", progress_file):
            if len(problems) >= MAX_PROBLEMS:
                return
            where = f"{part.path} near byte {offset}"
            if (page := parse(raw, where, counts, problems)) is not None:
                yield page
            if progress_file.is_due():
                progress_file.write(min(offset, part.end) - part.start, so_far(counts, progress_file.pages))
        progress_file.write(part.end - part.start, so_far(counts, progress_file.pages))
    except Truncated as error:
        counts["files:truncated"] += 1
        if not allow_truncated:
            problems.append(f"{error}, or take what is there with --allow_truncated")
    except InputError as error:
        problems.append(str(error))


def so_far(counts: Mapping[str, int], read: int) -> dict[str, int]:
    """Return the counts that the progress shows while a range is read."""
    kept = ("links:kept", "links:seen")
    return {
        "pages": read,
        "sentences": counts.get("sentences:kept", 0),
        "links kept": counts.get("links:kept", 0),
        "dropped": sum(number for name, number in counts.items() if name.startswith("links:") and name not in kept),
    }


def keep_tail(chunks: Iterator[Chunk], tail: bytearray) -> Iterator[Chunk]:
    """Yield chunks; keep the last bytes of the range in `tail`."""
    for chunk in chunks:
        if chunk.owned:
            tail += chunk.data[-TAIL_BYTES:]
            del tail[:-TAIL_BYTES]
        yield chunk
