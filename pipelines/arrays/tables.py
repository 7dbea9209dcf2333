"""Lookup tables on disk: named NumPy arrays in a directory.

They are written once. Workers memory-map them, or read them block by block if their size grows with the wiki.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import threading
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import fs

from wikianchor.io.storage import filesystem, sync_file, writing
from wikianchor.pipelines.dataset.workspace import private_directory

# Values of a column that are read at a time.
BLOCK = 1 << 16


def save_tables(directory: str, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write arrays; see `save_pieces`."""
    return save_pieces(directory, name, {key: len(array) for key, array in arrays.items()}, [arrays])


def save_pieces(
    directory: str, name: str, lengths: Mapping[str, int], pieces: Iterable[Mapping[str, npt.NDArray[Any]]]
) -> str:
    """Write arrays piece by piece, so that no array is in memory as a whole.

    Args:
        directory: local path or URI.
        name: prefix of the new directory; a random suffix makes it unique for each attempt.
        lengths: length of each whole array.
        pieces: the next piece of each array, or of some of them.

    Returns:
        The path of the new directory.

    Raises:
        InputError: the disk is full or the directory cannot be written.
    """
    path = f"{directory}/{name}-{uuid.uuid4().hex}"
    files, inner = filesystem(path)
    with writing(path), ExitStack() as stack:
        files.create_dir(inner, recursive=True)
        streams: dict[str, Any] = {}
        for piece in pieces:
            for key, array in piece.items():
                if key not in streams:
                    streams[key] = stack.enter_context(files.open_output_stream(f"{inner}/{key}.npy"))
                    shape = (lengths[key], *array.shape[1:])
                    head = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(streams[key], head)
                streams[key].write(np.ascontiguousarray(array))
    for key in streams:
        sync_file(f"{path}/{key}.npy")
    return path


# NumPy parses the header of a file by `ast`, which fails now and then where two threads do so at once in CPython 3.11.
_HEADERS = threading.Lock()


# Each array of a table is a descriptor, so few tables are kept open.
@lru_cache(maxsize=12)
def open_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Memory-map arrays that `save_tables` wrote; a process maps each path once."""
    return map_tables(path)


def map_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Memory-map arrays that `save_tables` wrote, for as long as the result is referenced. Remote ones are copied to
    the local disk first."""
    directory = _local(path)
    names = sorted(name for name in os.listdir(directory) if name.endswith(".npy"))
    with _HEADERS:
        # np.asarray, because slicing an np.memmap takes several times as long.
        return {
            name[: -len(".npy")]: np.asarray(np.load(f"{directory}/{name}", mmap_mode="r", allow_pickle=False))
            for name in names
        }


class Column:
    """An array that `save_tables` wrote, read block by block. Unlike those of a memory-mapped array, the blocks read
    do not stay in memory.

    Args:
        path: as `save_tables` returned it.
        name: name of the array.
    """

    def __init__(self, path: str, name: str) -> None:
        self._file = f"{_local(path)}/{name}.npy"
        with open(self._file, "rb") as file, _HEADERS:
            np.lib.format.read_magic(file)
            (self._length,), _, self.kind = np.lib.format.read_array_header_1_0(file)
            self._start = file.tell()

    def __len__(self) -> int:
        return self._length

    def read(self, first: int) -> npt.NDArray[Any]:
        """Return up to BLOCK values from index `first` on."""
        offset = self._start + first * self.kind.itemsize
        return np.fromfile(self._file, self.kind, min(BLOCK, len(self) - first), offset=offset)


def look_up(
    keys: Column, columns: Sequence[Column], wanted: npt.NDArray[Any], missing: Sequence[int]
) -> list[npt.NDArray[Any]]:
    """Look up keys in a sorted table. The whole key column is read, so look up many keys at once.

    Args:
        keys: the key column, ascending.
        columns: the value columns.
        wanted: keys to look up, in any order.
        missing: by value column, the value for a key that is not in the table.

    Returns:
        By value column, an array with a value for each wanted key.
    """
    order = np.argsort(wanted)
    ascending = wanted[order]
    results = [np.full(len(wanted), value, column.kind) for column, value in zip(columns, missing, strict=True)]
    start = 0
    for first in range(0, len(keys), BLOCK):
        block = keys.read(first)
        end = start + int(np.searchsorted(ascending[start:], block[-1], side="right"))
        indices = find(block, ascending[start:end])
        matched = indices >= 0
        if matched.any():
            for values, column in zip(results, columns, strict=True):
                values[order[start:end][matched]] = column.read(first)[indices[matched]]
        start = end
    return results


def _local(path: str) -> str:
    """Return a local directory with the tables at `path`."""
    return _local_copy(path) if "://" in path else filesystem(path)[1]


def _local_copy(path: str) -> str:
    """Copy a directory from remote storage, once for all processes of a machine; return the local path."""
    directory = private_directory()
    local = f"{directory}/{path.rpartition('/')[2]}"
    if not os.path.isdir(local):
        files, inner = filesystem(path)
        partial = tempfile.mkdtemp(dir=directory)
        fs.copy_files(inner, partial, source_filesystem=files)
        try:
            os.rename(partial, local)
            atexit.register(shutil.rmtree, local, ignore_errors=True)
        except OSError:
            # Another process has made the copy.
            shutil.rmtree(partial)
    return local


def read_table(path: str, name: str) -> npt.NDArray[Any]:
    """Read one array that `save_tables` wrote into memory."""
    files, inner = filesystem(path)
    with files.open_input_stream(f"{inner}/{name}.npy") as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the distinct values, ascending. Since NumPy 2.3, np.unique uses a hash table, which is many times
    slower."""
    values = np.sort(values)
    return values[changes(values)]


def changes(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return a mask of the rows that differ from the row before in any column; the first row does."""
    mask = np.zeros(len(columns[0]), np.bool_)
    mask[:1] = True
    for column in columns:
        mask[1:] |= column[1:] != column[:-1]
    return mask


def find(ascending: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the index of each value in an ascending array, -1 for a value that is not in it.

    >>> find(np.array([2, 3, 5]), np.array([5, 4]))
    array([ 2, -1])
    """
    if not len(ascending):
        return np.full(len(values), -1, np.int64)
    index = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[index] == values, index, -1)
