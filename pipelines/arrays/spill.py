"""Rows on the worker's own disk, cut into parts: what is joined part by part need not be in memory as a whole."""

from __future__ import annotations

import os
import tempfile
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

from wikianchor.io.storage import writing
from wikianchor.pipelines.arrays.hashing import Hashes

if TYPE_CHECKING:
    from typing_extensions import Self

Rows = npt.NDArray[Any]
Parts = npt.NDArray[np.integer]


def rows_of(kind: np.dtype[Any], **columns: npt.NDArray[Any]) -> Rows:
    """Return columns of one length as rows; columns that are not given are 0."""
    rows = np.zeros(max(map(len, columns.values())), kind)
    for name, column in columns.items():
        rows[name] = column
    return rows


def hash_range(hashes: Hashes, parts: int) -> Hashes:
    """Return which of so many ranges, of one width, each hash is in."""
    return ((hashes >> np.uint64(32)) * np.uint64(parts)) >> np.uint64(32)


class _Parts:
    """Bytes in parts, in one file without a name: nobody else can open it, and nothing stays when a worker dies."""

    def __init__(self, parts: int) -> None:
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        self._file = os.fdopen(descriptor, "r+b")
        # Of each part, where its pieces are, and how many bytes they have: tuples of many pieces would be the most of
        # what memory holds.
        self._offsets, self._sizes = ([array("q") for _ in range(parts)] for _ in range(2))
        self._end = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()

    def _write(self, pieces: Iterable[tuple[int, Any]]) -> None:
        """Add pieces, buffers of bytes, to parts."""
        with writing(tempfile.gettempdir(), "$TMPDIR"):
            for part, piece in pieces:
                size = self._file.write(piece)
                self._offsets[part].append(self._end)
                self._sizes[part].append(size)
                self._end += size
            self._file.flush()

    def _read(self, part: int) -> Iterator[bytes]:
        """Yield the pieces of a part in the order in which they were added."""
        for offset, size in zip(self._offsets[part], self._sizes[part], strict=True):
            yield os.pread(self._file.fileno(), size, offset)


class Spill(_Parts):
    """Rows of numbers.

    Args:
        kind: of a row, a structured type.
        parts: how many, fewer than 65536.
    """

    def __init__(self, kind: np.dtype[Any], parts: int) -> None:
        super().__init__(parts)
        self._kind = kind

    def __len__(self) -> int:
        return self._end // self._kind.itemsize

    def add(self, rows: Rows, parts: Parts) -> None:
        """Add each row to its part.

        Raises:
            InputError: the disk is full.
        """
        order, cuts = _by_part(parts)
        rows = rows[order]
        self._write((part, rows[first:last].tobytes()) for part, first, last in cuts)

    def count(self, part: int) -> int:
        """Return how many rows a part has."""
        return sum(self._sizes[part]) // self._kind.itemsize

    def read(self, part: int) -> Rows:
        """Return the rows of a part in the order in which they were added; they may be changed, the part stays."""
        return np.frombuffer(bytearray().join(self._read(part)), self._kind)


class TableSpill(_Parts):
    """Rows of any columns.

    Args:
        schema: of the rows.
        parts: how many, fewer than 65536.
    """

    def __init__(self, schema: pa.Schema, parts: int) -> None:
        super().__init__(parts)
        self._schema = schema

    def add(self, rows: pa.RecordBatch, parts: Parts) -> None:
        """Add each row to its part.

        Raises:
            InputError: the disk is full.
        """
        order, cuts = _by_part(parts)
        rows = rows.cast(self._schema).take(pa.array(order))
        self._write((part, rows.slice(first, last - first).serialize()) for part, first, last in cuts)

    def read(self, part: int) -> pa.Table:
        """Return the rows of a part in the order in which they were added."""
        batches = [ipc.read_record_batch(piece, self._schema) for piece in self._read(part)]
        return pa.Table.from_batches(batches, self._schema).combine_chunks()


def _by_part(parts: Parts) -> tuple[npt.NDArray[np.intp], list[tuple[int, int, int]]]:
    """Return the order in which rows stand by part, and (part, first, last) of each part that has some."""
    # Of 16 bits, so that they are sorted by radix.
    narrow = parts.astype(np.uint16)
    order = np.argsort(narrow, kind="stable")
    numbers, firsts = np.unique(narrow[order], return_index=True)
    cuts = pairwise([*firsts.tolist(), len(order)])
    return order, [(number, first, last) for number, (first, last) in zip(numbers.tolist(), cuts, strict=True)]
