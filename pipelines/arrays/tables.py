"""Look-up tables on disk: named NumPy arrays in a directory, written once; mapped into memory by every worker process,
or read a block at a time where they grow with the wiki."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
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

# Values of a column read at a time.
BLOCK = 1 << 16


def save_tables(directory: str, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write arrays and return where; the name is new for each attempt."""
    return save_pieces(directory, name, {key: len(array) for key, array in arrays.items()}, [arrays])


def save_pieces(
    directory: str, name: str, lengths: Mapping[str, int], pieces: Iterable[Mapping[str, npt.NDArray[Any]]]
) -> str:
    """Write arrays that come piece by piece, so that none is in memory as a whole, and return where.

    Args:
        directory: where to.
        name: the path begins with it, and is new for each attempt.
        lengths: of the whole arrays.
        pieces: the next piece of each array, or of some.
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


@lru_cache(maxsize=64)
def open_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Open arrays that `save_tables` wrote; all openings in a process share one mapping, and all processes of a machine
    one page cache."""
    return map_tables(path)


def map_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Map arrays that `save_tables` wrote, and what is looked at of them, for as long as they are held."""
    directory = _local(path)
    names = sorted(name for name in os.listdir(directory) if name.endswith(".npy"))
    # A plain array on the mapping: slices of np.memmap cost several times as much.
    return {
        name[: -len(".npy")]: np.asarray(np.load(f"{directory}/{name}", mmap_mode="r", allow_pickle=False))
        for name in names
    }


class Column:
    """An array that `save_tables` wrote, read a block at a time. What has been read leaves memory again, which of an
    array that is mapped only the kernel could say.

    Args:
        path: that `save_tables` returned.
        name: of the array.
    """

    def __init__(self, path: str, name: str) -> None:
        self._file = f"{_local(path)}/{name}.npy"
        with open(self._file, "rb") as file:
            np.lib.format.read_magic(file)
            (self._length,), _, self.kind = np.lib.format.read_array_header_1_0(file)
            self._start = file.tell()

    def __len__(self) -> int:
        return self._length

    def read(self, first: int) -> npt.NDArray[Any]:
        """Return the values from a place on, BLOCK of them at most."""
        return np.fromfile(self._file, self.kind, min(BLOCK, len(self) - first), offset=self._at(first))

    def _at(self, place: int) -> int:
        return self._start + place * self.kind.itemsize


def look_up(
    keys: Column, columns: Sequence[Column], wanted: npt.NDArray[Any], missing: Sequence[int]
) -> list[npt.NDArray[Any]]:
    """Return for each key its values in columns that stand beside the keys. All of the keys are read once, so this is
    for many keys at a time.

    Args:
        keys: ascending.
        columns: each as long as the keys.
        wanted: keys in any order.
        missing: the value in each column of a key that is not there.
    """
    order = np.argsort(wanted)
    ascending = wanted[order]
    found = [np.full(len(wanted), value, column.kind) for column, value in zip(columns, missing, strict=True)]
    start = 0
    for first in range(0, len(keys), BLOCK):
        block = keys.read(first)
        end = start + int(np.searchsorted(ascending[start:], block[-1], side="right"))
        places = find(block, ascending[start:end])
        there = places >= 0
        if there.any():
            for values, column in zip(found, columns, strict=True):
                values[order[start:end][there]] = column.read(first)[places[there]]
        start = end
    return found


def _local(path: str) -> str:
    """Return the directory on this machine where tables are."""
    return _local_copy(path) if "://" in path else filesystem(path)[1]


def _local_copy(path: str) -> str:
    """Fetch a directory from remote storage, once for all processes of a machine, and return where it is."""
    place = private_directory()
    local = f"{place}/{path.rpartition('/')[2]}"
    if not os.path.isdir(local):
        files, inner = filesystem(path)
        partial = tempfile.mkdtemp(dir=place)
        fs.copy_files(inner, partial, source_filesystem=files)
        try:
            os.rename(partial, local)
            atexit.register(shutil.rmtree, local, ignore_errors=True)
        except OSError:
            # Another process was faster.
            shutil.rmtree(partial)
    return local


def read_table(path: str, name: str) -> npt.NDArray[Any]:
    """Read one array that `save_tables` wrote: what one step needs once is not kept open."""
    files, inner = filesystem(path)
    with files.open_input_stream(f"{inner}/{name}.npy") as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the different values, ascending. NumPy 2.3 and later hash them in np.unique, which takes many times as
    long."""
    values = np.sort(values)
    first = np.ones(len(values), np.bool_)
    first[1:] = values[1:] != values[:-1]
    return values[first]


def find(ascending: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Return the place of each value in an ascending array, -1 where it is not there."""
    if not len(ascending):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[at] == values, at, -1)
