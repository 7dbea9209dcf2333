"""Write one file of a dataset as compressed text: JSON lines or CSV, for programs that do not read Parquet."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import csv

from wikianchor.io.storage import writing
from wikianchor.pipelines.dataset.part_writer import PartFile

# The ending of the files by format. Arrow compresses, so the bytes depend on its version, which the manifest records.
ENDINGS = {"jsonl": "jsonl.gz", "csv": "csv.gz"}


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
