"""Reading Wikidata: a range of a file in, one `ItemReading` out, which names the parts of `entities` and `sitelinks`
written on the way. What only a whole file shows, whether it is cut off or no such dump, is told by `file_problems`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, read_range, split_dumps
from wikianchor.pipelines.wikimedia.sql import page_props_items
from wikianchor.pipelines.wikimedia.wikidata import BadLine, Item, Skip, iter_lines, parse_item, wanted_filter
from wikianchor.schemas import entities

ROW_GROUP = 20_000
# White space, and the mark that some editors put at the start of a file.
BLANK = b" \t\r\n\xef\xbb\xbf"
# One bad line must not cost a day's run; a file full of them is no dump.
BAD_LINES, BAD_SHARE = 100, 0.001
_ENTITY = re.compile(rb'"type"\s*:\s*"(?:item|property|lexeme|mediainfo)"|"redirect"\s*:')


class Source(NamedTuple):
    """What to read: a range of a JSON dump of Wikidata where `wiki` is "", else the page_props table of that wiki."""

    order: int
    part: Range
    wiki: str


class ItemReading(NamedTuple):
    """What a range gave: parts written, counts by what became of each line, problems, and how many items have a page in
    each wiki; `ends` are the first and the last byte of its JSON that are not blank; `has_entity` says whether a
    line of it looks like an entity."""

    order: int
    path: str
    parts: list[Part]
    counts: dict[str, int]
    problems: list[str]
    sitelinks: dict[str, int]
    ends: tuple[bytes, bytes]
    has_entity: bool

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        counts = {f"lines:{name}": number for name, number in self.counts.items()}
        return {**counts, "bytes:written": sum(part.size for part in self.parts)}


@dataclass(frozen=True)
class ItemReader:
    """How Wikidata is read.

    Attributes:
        work: of the run.
        wikis: the wikis whose pages count.
        languages: of the labels to keep.
        allow_truncated: take a cut-off file for what is in it.
    """

    work: Workspace
    wikis: tuple[str, ...]
    languages: tuple[str, ...]
    allow_truncated: bool


def list_sources(wikidata: Sequence[str], page_props: Sequence[tuple[str, str]]) -> list[Source]:
    """Cut dumps of Wikidata into ranges, and add tables of page_props, given as (path, wiki); the cut depends on the
    files alone."""
    parts = [(part, "") for part in split_dumps(wikidata)]
    parts += [(Range(path, 0, file_size(path), True), wiki) for path, wiki in page_props]
    return [Source(order, part, wiki) for order, (part, wiki) in enumerate(parts)]


def read_items(source: Source, reader: ItemReader) -> ItemReading:
    """Read a range and write its entities and sitelinks.

    Raises:
        InputError: the output cannot be written.
    """
    counts: Counter[str] = Counter()
    problems: list[str] = []
    ends = Ends()
    with (
        PartWriter(reader.work.parts, "entities", source.order, entities.SCHEMA) as entity_file,
        PartWriter(reader.work.parts, "sitelinks", source.order, entities.SITELINKS) as sitelink_file,
    ):
        links = _Sitelinks(sitelink_file)
        try:
            if source.wiki:
                _read_page_props(source, links, counts)
            else:
                _read_json(source, reader, entity_file, links, counts, ends)
        except Truncated as error:
            counts["truncated"] += 1
            if not reader.allow_truncated:
                problems.append(f"{error}, or take what is there with --allow_truncated")
        except InputError as error:
            problems.append(str(error))
        links.flush()
    parts = [writer.part for writer in (entity_file, sitelink_file) if writer.part is not None]
    both, path = (ends.first, ends.last), source.part.path
    return ItemReading(source.order, path, parts, dict(counts), problems, dict(links.totals), both, ends.has_entity)


def file_problems(readings: Iterable[ItemReading], allow_truncated: bool) -> tuple[list[str], int]:
    """Return what is wrong with whole files, given what their ranges gave in order, and how many of them are cut off
    without that having been met before."""
    files: dict[str, list[ItemReading]] = {}
    for reading in readings:
        files.setdefault(reading.path, []).append(reading)
    problems, truncated = [], 0
    for path, parts in files.items():
        lines, bad = (sum(part.counts.get(name, 0) for part in parts) for name in ("lines", "bad line"))
        if bad > BAD_LINES and bad > BAD_SHARE * lines:
            problems.append(f"{path}: {bad} of {lines} lines are no entities: is it a JSON dump of Wikidata?")
        elif lines and not any(part.has_entity for part in parts):
            problems.append(f"{path}: no line is an entity: is it a JSON dump of Wikidata?")
        known = any(part.problems or part.counts.get("truncated") for part in parts)
        ends = Ends(parts[0].ends[0], next((part.ends[1] for part in reversed(parts) if part.ends[1]), b""))
        if not known and ends.cut:
            truncated += 1
            if not allow_truncated:
                problems.append(f"{ends.message(path)}, or take what is there with --allow_truncated")
    return problems, truncated


def _read_json(
    source: Source, reader: ItemReader, file: PartWriter, links: _Sitelinks, counts: Counter[str], ends: Ends
) -> None:
    wanted = wanted_filter(reader.wikis)
    waiting: list[Item] = []
    progress_file = ProgressFile(reader.work.scratch, f"{source.order}")

    def told(done: int) -> None:
        if progress_file.is_due():
            progress_file.write(
                max(0, done - source.part.start), {"lines": counts["lines"], "items kept": counts["kept"]}
            )

    try:
        chunks = ends.watch(owned_lines(_told(read_range(source.part), told), source.part.start == 0))
        for line in iter_lines(chunks, source.part.path):
            counts["lines"] += 1
            if not wanted(line):
                counts["no wanted sitelink"] += 1
                ends.has_entity = ends.has_entity or _ENTITY.search(line) is not None
                continue
            try:
                item = parse_item(line, reader.wikis, reader.languages)
            except BadLine:
                counts["bad line"] += 1
                continue
            ends.has_entity = True
            if isinstance(item, Skip):
                counts[item.value] += 1
                continue
            counts["kept"] += 1
            waiting.append(item)
            for wiki, title in item.sitelinks:
                links.add(wiki, item.qid, title, None, "wikidata")
            if len(waiting) >= ROW_GROUP:
                file.write(entity_batch(waiting))
                waiting = []
    finally:
        file.write(entity_batch(waiting))


def item_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a JSON dump of Wikidata.

    Raises:
        InputError: it is cut off or damaged.
    """
    ends = Ends()
    yield from iter_lines(ends.watch(_chunks(path)), path)
    if ends.cut:
        raise Truncated(ends.message(path))


def page_props_of(path: str) -> Iterator[tuple[int, int]]:
    """Yield page and item of a page_props table.

    Raises:
        InputError: it is cut off or damaged.
    """
    return page_props_items(_chunks(path), path)


def _chunks(path: str) -> Iterator[bytes]:
    return (chunk.data for chunk in read_range(Range(path, 0, file_size(path), True)))


def _told(chunks: Iterable[Chunk], told: Callable[[int], None]) -> Iterator[Chunk]:
    for chunk in chunks:
        told(chunk.offset)
        yield chunk


def owned_lines(chunks: Iterable[Chunk], at_start: bool) -> Iterator[bytes]:
    """Yield the bytes of the lines that a range owns: those before which a line ends in its own bytes, and the file's
    first. A line that begins where the range does is therefore that of the range before, which alone knows it."""
    inside = at_start
    for chunk in chunks:
        data = chunk.data
        if not inside:
            end = data.find(b"\n")
            if not chunk.owned:
                return
            if end < 0:
                continue
            inside, data = True, data[end + 1 :]
        end = -1 if chunk.owned else data.find(b"\n")
        yield data if end < 0 else data[: end + 1]
        if end >= 0:
            return


@dataclass
class Ends:
    """The first and the last byte of a JSON dump that are not blank, by which a cut-off plain file is told; and whether
    a line of it looks like an entity."""

    first: bytes = b""
    last: bytes = b""
    has_entity: bool = False

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Pass chunks on and look at them."""
        for chunk in chunks:
            yield chunk
            self.first = self.first or chunk.lstrip(BLANK)[:1]
            self.last = chunk.rstrip(BLANK)[-1:] or self.last

    @property
    def cut(self) -> bool:
        """An array without its ], or a last line that is cut off. Lines that were taken out of an array keep its
        commas, and perhaps one of its brackets."""
        return (self.first == b"[" and self.last != b"]") or (self.first == b"{" and self.last not in b"},]")

    def message(self, path: str) -> str:
        return f"{path}: the JSON is cut off: fetch it again"


def _read_page_props(source: Source, links: _Sitelinks, counts: Counter[str]) -> None:
    for page_id, qid in page_props_of(source.part.path):
        counts["page_props"] += 1
        links.add(source.wiki, qid, None, page_id, "page_props")


def entity_batch(items: list[Item]) -> pa.RecordBatch:
    """Return the rows of items."""
    schema = entities.SCHEMA
    columns: dict[str, list[Any]] = {
        "qid": [item.qid for item in items],
        "types": [item.types for item in items],
        "type_route": [item.type_route for item in items],
        "any_rank_types": [item.instance_of_any_rank for item in items],
        "superclasses": [item.superclasses for item in items],
        "occupations": [item.occupations for item in items],
        "labels": [[{"language": language, "text": text} for language, text in item.labels] for item in items],
        "lastrevid": [item.lastrevid for item in items],
    }
    arrays = [pa.array(columns[name], schema.field(name).type) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


class _Sitelinks:
    """Sitelinks waiting to be written, a row group for each wiki, so that readers of one wiki skip the others."""

    def __init__(self, file: PartWriter) -> None:
        self._file = file
        self._waiting: dict[str, list[tuple[int, str | None, int | None, str]]] = {}
        self.totals: Counter[str] = Counter()

    def add(self, wiki: str, qid: int, title: str | None, page_id: int | None, source: str) -> None:
        rows = self._waiting.setdefault(wiki, [])
        rows.append((qid, title, page_id, source))
        self.totals[wiki] += 1
        if len(rows) >= ROW_GROUP:
            self._write(wiki)

    def flush(self) -> None:
        for wiki in sorted(self._waiting):
            self._write(wiki)

    def _write(self, wiki: str) -> None:
        rows = self._waiting.pop(wiki)
        qids, titles, page_ids, sources = zip(*rows, strict=True)
        arrays = [
            pa.repeat(pa.scalar(wiki), len(rows)),
            pa.array(qids, pa.int64()),
            pa.array(titles, pa.string()),
            pa.array(page_ids, pa.int64()),
            pa.array(sources, pa.string()),
        ]
        self._file.write(pa.RecordBatch.from_arrays(arrays, schema=entities.SITELINKS))
