"""Texts out of files: plain text (a record a line), CSV with a header, JSON lines. Files are cut into ranges of bytes
at ends of records, so that many workers share one file; a range says which record it begins with.

A record of CSV may hold line feeds between quotes: a line feed ends one where the quotes before it are even in number.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.storage import open_file, reading

KINDS = {".txt": "text", ".text": "text", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
READ_BYTES = 1 << 20
# csv's own limit is 128 KB, and a whole document may be a record.
MOST_CHARACTERS = 1 << 26


class RecordRange(NamedTuple):
    """Records of a file that begin in bytes [start, end); `first` is the number of the first of them."""

    path: str
    kind: str
    start: int
    end: int
    first: int
    columns: tuple[str, ...]


class Record(NamedTuple):
    """A text and its number in the file, from 1."""

    number: int
    text: str


def kind_of(path: str) -> str:
    """Return what a file is, by the end of its name.

    Raises:
        InputError: it is none of the kinds that are read.
    """
    for ending, kind in KINDS.items():
        if path.lower().endswith(ending):
            return kind
    known = ", ".join(KINDS)
    raise InputError(f"{path}: what is in it? Names that end in {known} are read: unpack or rename it")


def split_records(path: str, column: str, size: int) -> list[RecordRange]:
    """Cut a file into ranges of about `size` bytes.

    Raises:
        InputError: it cannot be read, or it is a CSV without the column.
    """
    kind = kind_of(path)
    found: list[RecordRange] = []
    with open_file(path) as file, reading(path):
        start = 0
        columns: tuple[str, ...] = ()
        if kind == "csv":
            start, columns = _header(file.readline(MOST_CHARACTERS), path, column)
            file.seek(start)
        begin, first, records, place, quotes = start, 1, 0, start, 0
        while block := file.read(READ_BYTES):
            at = 0
            while (line := block.find(b"\n", at)) >= 0:
                quotes += block.count(b'"', at, line) if kind == "csv" else 0
                at = line + 1
                if quotes % 2:
                    continue
                records += 1
                if place + at - begin >= size:
                    found.append(RecordRange(path, kind, begin, place + at, first, columns))
                    begin, first = place + at, records + 1
            quotes += block.count(b'"', at) if kind == "csv" else 0
            place += len(block)
        if place > begin:
            found.append(RecordRange(path, kind, begin, place, first, columns))
    return found


def _header(line: bytes, path: str, column: str) -> tuple[int, tuple[str, ...]]:
    text = _decoded(line, path, 1)
    columns = tuple(name.strip() for name in next(csv.reader([text]), []))
    if column not in columns:
        raise InputError(
            f"{path}: has no column {column!r}: it has {', '.join(columns) or 'none'}: name one by --column"
        )
    return len(line), columns


def read_records(part: RecordRange, column: str, problems: list[str]) -> Iterator[Record]:
    """Yield the records of a range; a range that is broken ends there, with a line in `problems`."""
    with open_file(part.path) as file, reading(part.path):
        file.seek(part.start)
        raw = file.read(part.end - part.start)
    try:
        text = _decoded(raw, part.path, part.first)
        if part.kind == "text":
            yield from (Record(part.first + number, line) for number, line in enumerate(_lines(text)))
        elif part.kind == "json":
            yield from _json(text, part, column)
        else:
            yield from _csv(text, part, column)
    except InputError as error:
        problems.append(str(error))


def _decoded(raw: bytes, path: str, first: int) -> str:
    try:
        return raw.decode("utf-8-sig" if first == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first + raw.count(b"\n", 0, error.start)
        raise InputError(
            f"{path}: record {line} is not UTF-8: convert it, as with `iconv -f SHIFT_JIS -t UTF-8`"
        ) from error


def _lines(text: str) -> list[str]:
    # Only line feeds count: the ranges were cut at them.
    lines = text.split("\n")
    return lines[:-1] if lines and not lines[-1] else lines


def _json(text: str, part: RecordRange, column: str) -> Iterator[Record]:
    for number, line in enumerate(_lines(text), part.first):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{part.path}: line {number} is not JSON ({error}): a record a line") from error
        found = value.get(column) if isinstance(value, dict) else value
        if not isinstance(found, str):
            have = ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__
            raise InputError(f"{part.path}: line {number} has no text {column!r}: it has {have}: name one by --column")
        yield Record(number, found)


def _csv(text: str, part: RecordRange, column: str) -> Iterator[Record]:
    csv.field_size_limit(MOST_CHARACTERS)
    place = part.columns.index(column)
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline="")), part.first):
            if not row:
                continue
            if len(row) <= place:
                raise InputError(f"{part.path}: record {number} has {len(row)} columns, not {len(part.columns)}")
            yield Record(number, row[place])
    except csv.Error as error:
        raise InputError(f"{part.path}: not a CSV that can be read ({error})") from error
