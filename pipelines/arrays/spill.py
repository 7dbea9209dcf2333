"""Partitioned spill files: rows on the worker's disk, for joins that read one partition at a time.

A spill makes its file when it has more than IN_MEMORY bytes, which it never has for a small wiki.
"""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from wikianchor.io.storage import is_local, writing
from wikianchor.pipelines.arrays.hashing import Hashes

if TYPE_CHECKING:
    from typing_extensions import Self

# Bytes of a spill that stay in memory. A join has six spills at most at a time.
IN_MEMORY = 1 << 18
Rows = npt.NDArray[Any]
Parts = npt.NDArray[np.integer]


def rows_of(kind: np.dtype[Any], **columns: npt.NDArray[Any]) -> Rows:
    """Return columns of the same length as a structured array; missing columns are 0."""
    rows = np.zeros(max(map(len, columns.values())), kind)
    for name, column in columns.items():
        rows[name] = column
    return rows


def hash_range(hashes: Hashes, parts: int) -> Hashes:
    """Return the partition of each hash if the 64-bit hashes are split into `parts` ranges of equal width."""
    return ((hashes >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)


class _Parts:
    """Partitions of bytes in memory, or in one temporary file. The file is unlinked at once, so the disk space is
    released even if the worker is killed."""

    def __init__(self, parts: int, directory: str) -> None:
        # A worker of a cluster has no disk of its own below the output.
        self._directory = directory if is_local(directory) else tempfile.gettempdir()
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        # By partition, the offsets and sizes of its pieces; arrays, because tuples would take most of the memory.
        self._offsets, self._sizes = ([array("q") for _ in range(parts)] for _ in range(2))
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Release the memory and the disk space."""
        self._held = bytearray()
        if self._file is not None:
            self._file.close()

    def _new_file(self) -> IO[bytes]:
        os.makedirs(self._directory, exist_ok=True)
        descriptor, path = tempfile.mkstemp(dir=self._directory)
        os.unlink(path)
        return os.fdopen(descriptor, "r+b")

    def _write(self, pieces: Iterable[tuple[int, Any]]) -> None:
        """Append (partition, bytes) pieces.

        Raises:
            InputError: the disk is full.
        """
        with writing(self._directory):
            for part, piece in pieces:
                size = len(piece)
                if self._file is None and self._end + size > IN_MEMORY:
                    self._file = self._new_file()
                    self._file.write(self._held)
                    self._held = bytearray()
                if self._file is None:
                    self._held += piece
                else:
                    self._file.write(piece)
                self._offsets[part].append(self._end)
                self._sizes[part].append(size)
                self._end += size
            if self._file is not None:
                self._file.flush()

    def _read(self, part: int) -> Iterator[bytes]:
        """Yield the pieces of a partition in the order in which they were added."""
        for offset, size in zip(self._offsets[part], self._sizes[part], strict=True):
            if self._file is None:
                yield bytes(self._held[offset : offset + size])
            else:
                yield os.pread(self._file.fileno(), size, offset)


class Spill(_Parts):
    """A spill file of NumPy rows.

    Args:
        kind: structured type of a row.
        parts: number of partitions, less than 65536.
        directory: the directory of the file; for a URI it is the worker's directory for temporary files.

    >>> kind = np.dtype([("key", np.int64)])
    >>> with Spill(kind, 2, tempfile.gettempdir()) as spill:
    ...     spill.add(rows_of(kind, key=np.array([1, 2, 3])), np.array([1, 0, 1]))
    ...     spill.read(1)["key"]
    array([1, 3])
    """

    def __init__(self, kind: np.dtype[Any], parts: int, directory: str) -> None:
        super().__init__(parts, directory)
        self._kind = kind

    def __len__(self) -> int:
        return self._end // self._kind.itemsize

    def add(self, rows: Rows, parts: Parts) -> None:
        """Append each row to the partition with its number in `parts`.

        Raises:
            InputError: the disk is full.
        """
        if len(self._sizes) == 1:
            self._write([(0, rows.tobytes())])
            return
        order, cuts = _by_part(parts)
        rows = rows[order]
        self._write((part, rows[first:last].tobytes()) for part, first, last in cuts)

    def count(self, part: int) -> int:
        """Return the number of rows of a partition."""
        return sum(self._sizes[part]) // self._kind.itemsize

    def read(self, part: int) -> Rows:
        """Return a copy of the rows of a partition in the order in which they were added."""
        return np.frombuffer(bytearray().join(self._read(part)), self._kind)


class TableSpill(_Parts):
    """A spill file of Arrow rows.

    Args:
        schema: the schema of the rows.
        parts: number of partitions, less than 65536.
        directory: the directory of the file; for a URI it is the worker's directory for temporary files.
    """

    def __init__(self, schema: pa.Schema, parts: int, directory: str) -> None:
        super().__init__(parts, directory)
        self._schema = schema

    def add(self, rows: pa.RecordBatch, parts: Parts) -> None:
        """Append each row to the partition with its number in `parts`.

        Raises:
            InputError: the disk is full.
        """
        order, cuts = _by_part(parts)
        rows = rows.cast(self._schema).take(pa.array(order))
        self._write((part, rows.slice(first, last - first).serialize()) for part, first, last in cuts)

    def read(self, part: int) -> pa.Table:
        """Return the rows of a partition in the order in which they were added."""
        batches = [ipc.read_record_batch(piece, self._schema) for piece in self._read(part)]
        return pa.Table.from_batches(batches, self._schema).combine_chunks()


def _by_part(parts: Parts) -> tuple[npt.NDArray[np.intp], list[tuple[int, int, int]]]:
    """Return the order that sorts rows by partition, and (partition, first, last) of each partition with rows."""
    # NumPy sorts 16-bit numbers by radix sort.
    narrow = parts.astype(np.uint16)
    order = np.argsort(narrow, kind="stable")
    numbers, firsts = np.unique(narrow[order], return_index=True)
    cuts = pairwise([*firsts.tolist(), len(order)])
    return order, [(number, first, last) for number, (first, last) in zip(numbers.tolist(), cuts, strict=True)]
