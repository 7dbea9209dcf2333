"""The step of `wikianchor entities`: read a range of a Wikidata dump and write its `entities` and `sitelinks`.

Whether a file is truncated, or is no Wikidata dump, shows only in all its ranges together: `file_problems` checks that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.arrays.strings import column_of
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.wikimedia.core_record import core_with
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, content_of, read_range, split_dumps, whole_file
from wikianchor.pipelines.wikimedia.sql import page_props_items
from wikianchor.pipelines.wikimedia.wikidata import (
    WORDS,
    BadLine,
    Item,
    Skip,
    iter_lines,
    line_blocks,
    objects_of,
    parse_item,
    wanted_filter,
)
from wikianchor.schemas import entities
from wikianchor.schemas.choices import TEXTS

ROW_GROUP = 20_000
# What the core counts lines as, in its order.
_LINES = ("lines", "kept", Skip.NO_SITELINK.value, Skip.NOT_AN_ITEM.value, Skip.REDIRECT.value)
# The columns of `sitelinks` that the core makes.
_LINK_FIELDS = [entities.SITELINKS.field(name) for name in ("qid", "title", "page_id")]
# White space, and the byte order mark.
BLANK = b" \t\r\n\xef\xbb\xbf"
# A file with more bad lines than both of these is no dump; fewer are skipped and counted.
BAD_LINES, BAD_SHARE = 100, 0.001
_ENTITY = re.compile(rb'"type"\s*:\s*"(?:item|property|lexeme|mediainfo)"|"redirect"\s*:')


class ItemRange(NamedTuple):
    """A range of a JSON dump of Wikidata (`wiki` is ""), or the page_props table of a wiki."""

    order: int
    part: Range
    wiki: str


class ItemReading(NamedTuple):
    """The result of reading a range.

    Attributes:
        order: number of the range.
        path: the path of the file.
        parts: the files written.
        counts: number of lines, by reason.
        problems: errors in the input, one line each.
        sitelinks: number of items with a page, by wiki.
        ends: the first and the last byte of the JSON that are not blank.
        has_entity: whether any line looks like an entity.
    """

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
        return {f"lines:{name}": number for name, number in self.counts.items()}


@dataclass(frozen=True)
class ItemReader:
    """The options of reading Wikidata.

    Attributes:
        work: the directories of the run.
        wikis: items without a page in one of these wikis are left out.
        languages: the languages of the texts to keep.
        texts: which texts to keep, of `schemas.choices.TEXTS`.
        allow_truncated: accept a truncated file and process its complete lines.
    """

    work: Workspace
    wikis: tuple[str, ...]
    languages: tuple[str, ...]
    texts: tuple[str, ...]
    allow_truncated: bool


def list_ranges(wikidata: Sequence[str], page_props: Sequence[tuple[str, str]]) -> list[ItemRange]:
    """Cut dumps of Wikidata into ranges, and add page_props tables, given as (path, wiki), as a range each.

    The cut depends only on the files.
    """
    parts = [(part, "") for part in split_dumps(wikidata)]
    parts += [(whole_file(path), wiki) for path, wiki in page_props]
    return [ItemRange(order, part, wiki) for order, (part, wiki) in enumerate(parts)]


def read_items(source: ItemRange, reader: ItemReader) -> ItemReading:
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
        core = core_with("ItemReader")
        rows = (partial(_CoreRows, core) if core else _Rows)(reader, entity_file, sitelink_file)
        try:
            if source.wiki:
                _read_page_props(source, rows, counts)
            else:
                _read_json(source, reader, rows, counts, ends)
        except Truncated as error:
            counts["truncated"] += 1
            if not reader.allow_truncated:
                problems.append(f"{error}, or take what is there with --allow_truncated")
        except InputError as error:
            problems.append(str(error))
        rows.flush()
    parts = [writer.part for writer in (entity_file, sitelink_file) if writer.part is not None]
    return ItemReading(
        source.order,
        source.part.path,
        parts,
        dict(counts),
        problems,
        dict(rows.totals),
        (ends.first, ends.last),
        ends.has_entity,
    )


def file_problems(readings: Iterable[ItemReading], allow_truncated: bool) -> tuple[list[str], int]:
    """Check whole files, given the readings of their ranges in order.

    Returns:
        The problems, one line each; and the number of truncated files that no range has counted as such.
    """
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


def _read_json(source: ItemRange, reader: ItemReader, rows: _Rows, counts: Counter[str], ends: Ends) -> None:
    """Write the entities and sitelinks of a range of a JSON dump."""
    wanted = wanted_filter(reader.wikis)
    progress_file = ProgressFile(reader.work.scratch, f"{source.order}")

    def chunks() -> Iterator[Chunk]:
        for chunk in read_range(source.part):
            if progress_file.is_due():
                done = max(0, chunk.offset - source.part.start)
                progress_file.write(done, {"lines": counts["lines"], "items kept": counts["kept"]})
            yield chunk

    for block in line_blocks(ends.watch(owned_lines(chunks(), source.part.start == 0)), source.part.path):
        for line in objects_of(rows.unread(block, counts, ends), source.part.path):
            counts["lines"] += 1
            if not wanted(line):
                counts["no wanted sitelink"] += 1
                ends.has_entity = ends.has_entity or _ENTITY.search(line) is not None
                continue
            try:
                item = parse_item(line, reader.wikis, reader.languages, reader.texts)
            except BadLine:
                counts["bad line"] += 1
                continue
            ends.has_entity = True
            if isinstance(item, Skip):
                counts[item.value] += 1
                continue
            counts["kept"] += 1
            rows.add(item)


def item_lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a JSON dump of Wikidata.

    Raises:
        InputError: the file is truncated or damaged.
    """
    ends = Ends()
    yield from iter_lines(ends.watch(content_of(path)), path)
    if ends.cut:
        raise Truncated(ends.message(path))


def page_props_of(path: str) -> Iterator[tuple[int, int]]:
    """Yield (page id, item) of a page_props table.

    Raises:
        InputError: the file is truncated or damaged.
    """
    return page_props_items(content_of(path), path)


def owned_lines(chunks: Iterable[Chunk], at_start: bool) -> Iterator[bytes]:
    """Yield the bytes of the lines of a range.

    A line belongs to the range that contains the line feed before it; the first line of a file to its first range. So a
    line that starts exactly at the start of a range belongs to the range before.

    Args:
        chunks: the chunks of the range, and of the bytes after it (`owned` is false for these).
        at_start: whether the range is the first of its file.
    """
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
    """The ends of a JSON dump, by which a truncated file is recognised.

    Attributes:
        first: the first byte that is not blank.
        last: the last byte that is not blank.
        has_entity: whether any line looks like an entity.
    """

    first: bytes = b""
    last: bytes = b""
    has_entity: bool = False

    def watch(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield chunks, and update the ends."""
        for chunk in chunks:
            yield chunk
            self.first = self.first or chunk.lstrip(BLANK)[:1]
            self.last = chunk.rstrip(BLANK)[-1:] or self.last

    @property
    def cut(self) -> bool:
        """Whether the JSON is truncated: an array without its "]", or an incomplete last line.

        A file of single lines of a dump may have the commas of the array, and one of its brackets.
        """
        return (self.first == b"[" and self.last != b"]") or (self.first == b"{" and self.last not in b"},]")

    def message(self, path: str) -> str:
        return f"{path}: the JSON is cut off: fetch it again"


def _read_page_props(source: ItemRange, rows: _Rows, counts: Counter[str]) -> None:
    for page_id, qid in page_props_of(source.part.path):
        counts["page_props"] += 1
        rows.add_sitelink(source.wiki, qid, None, page_id, "page_props")


class _Rows:
    """Writes `entities` and `sitelinks`. Each row group of these is of one wiki, so that readers can skip the others.

    Args:
        reader: the options of reading Wikidata.
        entity_file, sitelink_file: the files.

    Attributes:
        totals: number of sitelinks written, by wiki.
    """

    def __init__(self, reader: ItemReader, entity_file: PartWriter, sitelink_file: PartWriter) -> None:
        self._texts, self._entities, self._sitelinks = reader.texts, entity_file, sitelink_file
        self._items: list[Item] = []
        self._links: dict[str, list[tuple[int, str | None, int | None, str]]] = {}
        self.totals: Counter[str] = Counter()

    def unread(self, block: bytes, counts: Counter[str], ends: Ends) -> Iterable[bytes]:
        """Yield the lines of a block of which the rows are not written yet: here all; the others are counted."""
        return block.split(b"\n")

    def add(self, item: Item) -> None:
        self._items.append(item)
        for wiki, title in item.sitelinks:
            self.add_sitelink(wiki, item.qid, title, None, "wikidata")
        if len(self._items) >= ROW_GROUP:
            self._write_items()

    def add_sitelink(self, wiki: str, qid: int, title: str | None, page_id: int | None, source: str) -> None:
        rows = self._links.setdefault(wiki, [])
        rows.append((qid, title, page_id, source))
        if len(rows) >= ROW_GROUP:
            self._write_links(wiki)

    def flush(self) -> None:
        """Write the rows that are left."""
        self._write_items()
        for wiki in sorted(self._links):
            self._write_links(wiki)

    def _write_items(self) -> None:
        items, self._items = self._items, []
        self._entities.write(entity_batch(items, self._texts))

    def _write_links(self, wiki: str) -> None:
        rows = self._links.pop(wiki)
        self._write_sitelinks(
            wiki, len(rows), dict(zip(("qid", "title", "page_id", "source"), zip(*rows, strict=True), strict=True))
        )

    def _write_sitelinks(self, wiki: str, rows: int, columns: Mapping[str, Any]) -> None:
        self.totals[wiki] += rows
        wikis = pa.repeat(pa.scalar(wiki), rows)
        self._sitelinks.write(pa.RecordBatch.from_pydict({**columns, "wiki": wikis}, entities.SITELINKS))


class _CoreRows(_Rows):
    """Reads lines with the core too, which makes the columns."""

    def __init__(
        self, core: ModuleType, reader: ItemReader, entity_file: PartWriter, sitelink_file: PartWriter
    ) -> None:
        super().__init__(reader, entity_file, sitelink_file)
        wikis, languages = (sorted(set(names)) for names in (reader.wikis, reader.languages))
        self._core = core.ItemReader(
            wikis, languages, [(name, name in reader.texts) for name in TEXTS], WORDS, ROW_GROUP
        )

    def unread(self, block: bytes, counts: Counter[str], ends: Ends) -> Iterable[bytes]:
        position = 0
        while position < len(block):
            position, line = self._core.read(block, position, ends.has_entity)
            yield line
            self._write(False)
        counts.update({name: number for name, number in zip(_LINES, self._core.take_lines(), strict=True) if number})

    def add(self, item: Item) -> None:
        self._core.add(item)

    def flush(self) -> None:
        self._write(True)
        super().flush()

    def _write(self, every: bool) -> None:
        """Write the tables that have the rows of a row group, or all."""
        (rows, buffers), sitelinks = self._core.take(every)
        if rows:
            columns = {field.name: column_of(field, rows, buffers) for field in entities.SCHEMA}
            self._entities.write(pa.RecordBatch.from_pydict(columns, entities.SCHEMA))
        for wiki, (rows, buffers) in sitelinks:
            columns = {field.name: column_of(field, rows, buffers) for field in _LINK_FIELDS}
            self._write_sitelinks(wiki, rows, {**columns, "source": pa.repeat(pa.scalar("wikidata"), rows)})


def entity_batch(items: list[Item], texts: Sequence[str]) -> pa.RecordBatch:
    """Return the rows of `entities` for items; descriptions and aliases are null unless they are among `texts`."""
    columns = {
        "qid": [item.qid for item in items],
        "types": [item.types for item in items],
        "type_route": [item.type_route for item in items],
        "any_rank_types": [item.instance_of_any_rank for item in items],
        "superclasses": [item.superclasses for item in items],
        "occupations": [item.occupations for item in items],
        "labels": [_text_rows(item.labels) for item in items],
        "lastrevid": [item.lastrevid for item in items],
        "descriptions": [_text_rows(item.descriptions) if "descriptions" in texts else None for item in items],
        "aliases": [_text_rows(item.aliases) if "aliases" in texts else None for item in items],
    }
    return pa.RecordBatch.from_pydict(columns, entities.SCHEMA)


def _text_rows(texts: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"language": language, "text": text} for language, text in texts]
