"""Writing one Parquet file: rows as Arrow batches in, a `Part` that says what was written out.

A part is written under a temporary name with a new name for each attempt, so that a bundle that a runner repeats or
abandons
does no harm; `commit` gives the parts that count their final names. Peak memory is one row group, whatever the number
of rows.
"""

from __future__ import annotations

import hashlib
import uuid
from types import TracebackType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.errors import InputError
from pipelines.wikimedia.dumps import filesystem

UNFINISHED = "_unfinished"


class Part(NamedTuple):
    """A finished file under its temporary name. `order` is its place among the parts of its config."""

    config: str
    order: int
    path: str
    rows: int
    size: int
    sha256: str


class _Hashed:
    """A file that is written front to back and hashed on the way."""

    def __init__(self, raw: Any) -> None:
        self.raw, self.digest, self.size, self.closed = raw, hashlib.sha256(), 0, False

    def write(self, data: bytes) -> int:
        self.digest.update(data)
        self.raw.write(data)
        self.size += len(data)
        return len(data)

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        self.raw.flush()

    def close(self) -> None:
        self.closed = True
        self.raw.close()

    readable = seekable = lambda self: False

    def writable(self) -> bool:
        return True


class PartWriter:
    """Writes one part, row group by row group; no file comes into being without a row.

    Use as a context manager; `part` is the result, or None where nothing was written.
    """

    def __init__(self, output: str, config: str, order: int, schema: pa.Schema) -> None:
        self.config, self.order, self.schema = config, order, schema
        self.path = f"{output}/{UNFINISHED}/{config}-{order:06d}-{uuid.uuid4().hex}.parquet"
        self.part: Part | None = None
        self._rows = 0
        self._file: _Hashed | None = None
        self._writer: pq.ParquetWriter | None = None

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        """Write one row group.

        Raises:
            InputError: the disk is full or the place cannot be written.
        """
        if batch.num_rows == 0:
            return
        table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
        with writing(self.path):
            if self._writer is None:
                self._open()
            assert self._writer is not None
            self._writer.write_table(table, row_group_size=table.num_rows)
        self._rows += table.num_rows

    def _open(self) -> None:
        files, inner = filesystem(self.path)
        files.create_dir(inner.rpartition("/")[0], recursive=True)
        self._file = _Hashed(files.open_output_stream(inner))
        self._writer = pq.ParquetWriter(
            self._file,
            self.schema,
            compression="zstd",
            compression_level=3,
            write_page_index=True,
            write_statistics=True,
        )

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is None or self._file is None:
            return
        if kind is not None:
            self._file.close()
            return
        with writing(self.path):
            self._writer.close()
            self._file.close()
        self.part = Part(self.config, self.order, self.path, self._rows, self._file.size, self._file.digest.hexdigest())


class writing:
    """Turn an error of the file system into one line that names the file and the mend."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OSError):
            import errno

            text = str(error)
            if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text or "quota" in text.lower():
                raise InputError(
                    f"{self.path}: the disk is full: free some space and run the same command again"
                ) from error
            if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
                raise InputError(
                    f"{self.path}: cannot be written (permission denied): choose another --output"
                ) from error
            raise InputError(f"{self.path}: cannot be written ({text}): choose another --output") from error
