"""Rows of files of one's own: CSV, TSV, JSON lines, Parquet and Arrow, local or in a bucket."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed, unreadable
from wikianchor.io.storage import filesystem, open_file, reading


def read_records(path: str, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a file: where each is, for messages, and its values by column.

    Args:
        path: path of the file; its ending says what it is.
        columns: names of the columns that are read; in CSV and JSON lines there may be more.

    Raises:
        InputError: the file is damaged.
    """
    kind = path.rpartition(".")[2]
    if kind == "jsonl":
        yield from _json_rows(path, columns)
        return
    rows = _csv_rows(path, "\t" if kind == "tsv" else ",") if kind in ("csv", "tsv") else _table_rows(path, columns)
    for number, row in enumerate(rows, 1):
        yield f"{path}: row {number}", row


def lacks(where: str, row: Mapping[str, Any], name: str, columns: Sequence[str]) -> InputError:
    """Return the error of a row without a value that it needs."""
    present = ", ".join(map(str, row)) or "nothing"
    return InputError(f"{where} has no {name}: the columns are {', '.join(columns)}, and it has {present}")


def _open_lines(path: str) -> io.BufferedReader:
    """Open a file for reading by lines, which files of pyarrow cannot do themselves."""
    return io.BufferedReader(cast(io.RawIOBase, open_file(path)))


def _csv_rows(path: str, delimiter: str) -> Iterator[Mapping[str, Any]]:
    with (
        _open_lines(path) as file,
        io.TextIOWrapper(file, "utf-8-sig", newline="") as lines,
        unreadable(f"{path}: cannot be read"),
    ):
        yield from csv.DictReader(lines, delimiter=delimiter)


def _json_rows(path: str, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with _open_lines(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                with malformed(f"{path}: line {number} is no object of {', '.join(columns)}"):
                    row = dict(json.loads(line))
                yield f"{path}: row {number}", row


def _table_rows(path: str, columns: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    files, inner = filesystem(path)
    with reading(path), files.open_input_file(inner) as stream:
        if path.endswith(".parquet"):
            file = pq.ParquetFile(stream)
            batches = file.iter_batches(columns=[name for name in columns if name in file.schema_arrow.names])
        else:
            batches = pa.ipc.open_stream(stream)
        for batch in batches:
            yield from batch.select([name for name in columns if name in batch.schema.names]).to_pylist()
