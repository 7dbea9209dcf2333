"""Read a file of a dataset that `TextPartWriter` wrote: compressed JSON lines or CSV."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import islice

import orjson
import pyarrow as pa
from pyarrow import csv

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem
from wikianchor.pipelines.dataset.text_part_writer import ENDINGS

# Lines of a batch.
LINES = 10_000


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
