"""Files of a dataset as compressed text: JSON lines or CSV, for programs that do not read Parquet."""

from __future__ import annotations

import gzip
import uuid
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import csv

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, writing
from wikianchor.pipelines.dataset.part_writer import PartFile

# The ending of the files by format. Arrow compresses, so the bytes depend on its version, which the manifest records.
ENDINGS = {"jsonl": "jsonl.gz", "csv": "csv.gz"}
# Lines of a batch.
LINES = 10_000


class TextPartWriter(PartFile):
    """Writes one part, with the interface of `PartWriter`.

    Args:
        directory: where finished parts go, in the run's workspace.
        config: the config that the part is of.
        order: decides the order of the parts of a config.
        format: "jsonl" or "csv"; each CSV file begins with the names of the columns.
    """

    def __init__(self, directory: str, config: str, order: int, format: str) -> None:
        super().__init__(config, order, f"{directory}/{config}-{order:06d}-{uuid.uuid4().hex}.{ENDINGS[format]}")
        self.format = format

    def write(self, rows: pa.Table | Sequence[Mapping[str, Any]]) -> None:
        """Write rows: a table whose columns are strings, or objects of JSON.

        Raises:
            InputError: the disk is full, or the directory cannot be written.
        """
        if len(rows) == 0:
            return
        with writing(self.path):
            if self._stream is None:
                # The ending of the path would let Arrow compress what is compressed already.
                self._stream = pa.CompressedOutputStream(self._open_file(compression=None), "gzip")
            if self.format == "csv":
                csv.write_csv(rows, self._stream, csv.WriteOptions(include_header=self._rows == 0))
            else:
                objects = rows.to_pylist() if isinstance(rows, pa.Table) else rows
                self._stream.write(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in objects))
        self._rows += len(rows)


def read_text_batches(path: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file.

    Args:
        path: ends as `ENDINGS` says.
        schema: the schema of the rows, all of them string columns.

    Raises:
        InputError: the file is damaged, or has other columns.
    """
    files, inner = filesystem(path)
    try:
        with files.open_input_stream(inner, compression=None) as stream:
            if path.endswith(ENDINGS["csv"]):
                convert = csv.ConvertOptions(
                    column_types={name: pa.string() for name in schema.names}, strings_can_be_null=False
                )
                for batch in csv.open_csv(pa.CompressedInputStream(stream, "gzip"), convert_options=convert):
                    yield _checked(path, pa.Table.from_batches([batch]), schema)
            else:
                lines = iter(gzip.GzipFile(fileobj=stream))
                while rows := [orjson.loads(line) for line in islice(lines, LINES)]:
                    yield _checked(path, pa.Table.from_pylist(rows), schema)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]}): build its dataset again") from error


def _checked(path: str, table: pa.Table, schema: pa.Schema) -> pa.RecordBatch:
    if table.column_names != schema.names:
        names = ", ".join(table.column_names)
        raise InputError(f"{path}: has the columns {names}, the schema says {', '.join(schema.names)}")
    return (
        table.cast(pa.schema([pa.field(name, pa.string()) for name in schema.names])).combine_chunks().to_batches()[0]
    )
