"""Rows on the worker's own disk, cut into parts: what is joined part by part need not be in memory as a whole."""

from __future__ import annotations

import os
import tempfile
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.dataset.parts import writing

Rows = npt.NDArray[Any]


def rows_of(kind: np.dtype[Any], **columns: npt.NDArray[Any]) -> Rows:
    """Return columns of one length as rows; columns that are not given are 0."""
    rows = np.zeros(max(map(len, columns.values())), kind)
    for name, column in columns.items():
        rows[name] = column
    return rows


class Spill:
    """Rows of one kind, in one file without a name: nobody else can open it, and nothing stays when a worker dies.

    Args:
        kind: of a row, a structured type.
        parts: how many, fewer than 65536.
    """

    def __init__(self, kind: np.dtype[Any], parts: int) -> None:
        self._kind = kind
        descriptor, path = tempfile.mkstemp()
        os.unlink(path)
        self._file = os.fdopen(descriptor, "r+b")
        # Of each part, where its rows are: offset and bytes.
        self._extents: list[list[tuple[int, int]]] = [[] for _ in range(parts)]
        self._bytes = 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return self._bytes // self._kind.itemsize

    def add(self, rows: Rows, parts: npt.NDArray[np.integer]) -> None:
        """Add each row to its part.

        Raises:
            InputError: the disk is full.
        """
        # Of 16 bits, so that they are sorted by radix.
        parts = parts.astype(np.uint16)
        numbers, counts = np.unique(parts, return_counts=True)
        with writing(tempfile.gettempdir()):
            self._file.write(rows[np.argsort(parts, kind="stable")].tobytes())
            self._file.flush()
        for number, size in zip(numbers.tolist(), (counts * self._kind.itemsize).tolist(), strict=True):
            self._extents[number].append((self._bytes, size))
            self._bytes += size

    def count(self, part: int) -> int:
        """Return how many rows a part has."""
        return sum(size for _, size in self._extents[part]) // self._kind.itemsize

    def read(self, part: int) -> Rows:
        """Return the rows of a part in the order in which they were added; they may be changed, the part stays."""
        found = bytearray()
        for offset, size in self._extents[part]:
            found += os.pread(self._file.fileno(), size, offset)
        return np.frombuffer(found, self._kind)

    def close(self) -> None:
        """Give the disk space back."""
        self._file.close()
