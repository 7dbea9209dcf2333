"""Arrow files with intermediate results of a graph: record batches that are written once and read by number."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from pyarrow import ipc

from wikianchor.io.storage import filesystem, make_parent, writing


@contextmanager
def new_arrow_file(path: str, schema: pa.Schema) -> Iterator[ipc.RecordBatchFileWriter]:
    """Open a file for writing.

    Raises:
        InputError: the disk is full, or the file cannot be written.
    """
    files, inner = filesystem(path)
    with writing(path):
        make_parent(files, inner)
        # Not compressed: the file is read once, and compressing it takes longer than the disk.
        with files.open_output_stream(inner) as stream, ipc.new_file(stream, schema) as writer:
            yield writer


class ArrowFile:
    """A file opened for reading. A local file is memory-mapped, so that only the columns in use are read."""

    def __init__(self, path: str) -> None:
        # A cache for readers of sorted batches: the first key of each batch that they have read, by its number.
        self.heads: dict[int, Any] = {}
        self._map: mmap.mmap | None = None
        files, inner = filesystem(path)
        if "://" in path:
            self._reader = ipc.open_file(files.open_input_file(inner))
            return
        with open(inner, "rb") as file:
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._reader = ipc.open_file(pa.py_buffer(self._map))

    @property
    def count(self) -> int:
        """The number of record batches."""
        return int(self._reader.num_record_batches)

    def batch(self, number: int) -> pa.RecordBatch:
        """Return a record batch."""
        return self._reader.get_batch(number)

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yield all record batches."""
        for number in range(self._reader.num_record_batches):
            yield self._reader.get_batch(number)

    def forget(self) -> None:
        """Release the pages that were read from memory; batches stay readable."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            with suppress(OSError):
                self._map.madvise(mmap.MADV_DONTNEED)
