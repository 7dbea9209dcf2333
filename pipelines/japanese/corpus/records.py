"""Read records from plain text (a record on each line), CSV with a header, and JSON lines.

Files are cut into byte ranges at the ends of records, so that many workers share a file. A CSV record may contain line
feeds between quotes: a line feed ends a record if the number of quotes before it is even (RFC 4180).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import NamedTuple, cast

from wikianchor.io.errors import InputError
from wikianchor.io.storage import open_file, reading

KINDS = {".txt": "text", ".text": "text", ".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
READ_BYTES = 1 << 20
# Maximum length of a CSV field. The default of the csv module is 128 KB, but a record may be a whole document.
MAX_CHARACTERS = 1 << 26


class RecordRange(NamedTuple):
    """The records of a file that begin in bytes [start, end).

    Attributes:
        path: the file.
        kind: "text", "csv" or "json".
        start: offset of the first byte.
        end: offset after the last byte.
        first: number of the first record, from 1.
        columns: names of the columns of a CSV.
    """

    path: str
    kind: str
    start: int
    end: int
    first: int
    columns: tuple[str, ...]


# A text, and the number of its record in the file, from 1.
Record = tuple[int, str]


def kind_of(path: str) -> str:
    """Return the kind of a file by the extension of its name: "text", "csv" or "json".

    Raises:
        InputError: the extension is unknown.
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
    ranges: list[RecordRange] = []
    # The files of object stores have no readline of their own.
    with reading(path), io.BufferedReader(cast(io.RawIOBase, open_file(path))) as file:
        begin = 0
        columns: tuple[str, ...] = ()
        if kind == "csv":
            begin, columns = _header(file.readline(MAX_CHARACTERS), path, column)
            file.seek(begin)
        first, records, offset, quotes = 1, 0, begin, 0
        # readline is bounded, so that a file without line feeds does not fill memory.
        while line := file.readline(READ_BYTES):
            offset += len(line)
            quotes += line.count(b'"') if kind == "csv" else 0
            if quotes % 2 or not line.endswith(b"\n"):
                continue
            records += 1
            if offset - begin >= size:
                ranges.append(RecordRange(path, kind, begin, offset, first=first, columns=columns))
                begin, first = offset, records + 1
        if offset > begin:
            ranges.append(RecordRange(path, kind, begin, offset, first=first, columns=columns))
    return ranges


def _header(line: bytes, path: str, column: str) -> tuple[int, tuple[str, ...]]:
    """Return the length of the header of a CSV, bytes, and the names of its columns."""
    text = _decoded(line, path, 1)
    columns = tuple(name.strip() for name in next(csv.reader([text]), []))
    if column not in columns:
        raise InputError(
            f"{path}: has no column {column!r}: it has {', '.join(columns) or 'none'}: name one by --column"
        )
    return len(line), columns


def read_records(part: RecordRange, column: str, problems: list[str]) -> Iterator[Record]:
    """Yield the records of a range; stop at an error, and add it to `problems`."""
    with open_file(part.path) as file, reading(part.path):
        file.seek(part.start)
        raw = file.read(part.end - part.start)
    try:
        text = _decoded(raw, part.path, part.first)
        if part.kind == "text":
            yield from enumerate(_lines(text), part.first)
        elif part.kind == "json":
            yield from _json(text, part, column)
        else:
            yield from _csv(text, part, column)
    except InputError as error:
        problems.append(str(error))


def _decoded(raw: bytes, path: str, first: int) -> str:
    """Return the text of records; `first` is the number of the first of them."""
    try:
        return raw.decode("utf-8-sig" if first == 1 else "utf-8")
    except UnicodeDecodeError as error:
        line = first + raw.count(b"\n", 0, error.start)
        raise InputError(
            f"{path}: record {line} is not UTF-8: convert it, as with `iconv -f SHIFT_JIS -t UTF-8`"
        ) from error


def _lines(text: str) -> list[str]:
    # Not splitlines: records end only at line feeds.
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
        text_value = value.get(column) if isinstance(value, dict) else value
        if not isinstance(text_value, str):
            have = ", ".join(map(str, value)) if isinstance(value, dict) else type(value).__name__
            raise InputError(f"{part.path}: line {number} has no text {column!r}: it has {have}: name one by --column")
        yield number, text_value


def _csv(text: str, part: RecordRange, column: str) -> Iterator[Record]:
    csv.field_size_limit(MAX_CHARACTERS)
    index = part.columns.index(column)
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text, newline="")), part.first):
            if not row:
                continue
            if len(row) <= index:
                raise InputError(f"{part.path}: record {number} has {len(row)} columns, not {len(part.columns)}")
            yield number, row[index]
    except csv.Error as error:
        raise InputError(f"{part.path}: not a CSV that can be read ({error})") from error
