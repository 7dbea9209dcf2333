"""Lookup tables on disk: named NumPy arrays in one file.

They are written once. Workers memory-map them, or read them block by block if their size grows with the wiki. A table
is one file, because a build of hundreds of small wikis makes thousands of tables, and each file costs the disk and the
workers more than the few values in it.

    arrays, each from a multiple of ALIGNED bytes on | their names, types, shapes and offsets, JSON | its length
"""

from __future__ import annotations

import atexit
import json
import math
import os
import shutil
import struct
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt
from pyarrow import fs

from wikianchor.io.storage import filesystem, is_local, sync_scratch, writing
from wikianchor.pipelines.dataset.workspace import private_directory

# Values of a column that are read at a time.
BLOCK = 1 << 16
# Tables of at most so many bytes stay in memory, up to KEPT of them: several steps open each table of a tiny wiki.
SMALL, KEPT = 1 << 15, 1024
# Highest bits that a `HashSet` looks up, so that it takes 64 MB at most.
_MOST_BITS = 24
# Hashes of the same highest bits that it compares one by one; beyond these it searches.
_LOOKS = 8
# An array begins at a multiple of so many bytes, so that it can be mapped.
ALIGNED = 64
_LENGTH = struct.Struct("<Q")


class _Array(NamedTuple):
    """Where an array is in the file of a table."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.kind.itemsize * math.prod(self.shape)

    def of(self, data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
        """Return the array, given the bytes of the file."""
        return data[self.offset : self.offset + self.size].view(self.kind).reshape(self.shape)


def save_tables(directory: str, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write arrays; see `save_pieces`."""
    return save_pieces(directory, name, {key: len(array) for key, array in arrays.items()}, [arrays])


def save_pieces(
    directory: str, name: str, lengths: Mapping[str, int], pieces: Iterable[Mapping[str, npt.NDArray[Any]]]
) -> str:
    """Write arrays piece by piece, so that no array is in memory as a whole.

    Args:
        directory: local path or URI.
        name: prefix of the new file; a random suffix makes it unique for each attempt.
        lengths: length of each whole array.
        pieces: the next piece of each array, or of some of them.

    Returns:
        The path of the new file.

    Raises:
        InputError: the disk is full or the directory cannot be written.
    """
    path = f"{directory}/{name}-{uuid.uuid4().hex}"
    if is_local(path):
        with writing(path):
            os.makedirs(directory, exist_ok=True)
            with open(path, "wb") as file:
                _write(file, lengths, pieces)
        sync_scratch(path)
        return path
    # An object is written from its beginning to its end, and the arrays grow side by side.
    scratch = private_directory()
    with tempfile.TemporaryFile(dir=scratch) as file:
        with writing(scratch):
            _write(file, lengths, pieces)
        file.seek(0)
        files, inner = filesystem(path)
        with writing(path), files.open_output_stream(inner) as stream:
            shutil.copyfileobj(file, stream)
    return path


def _write(file: BinaryIO, lengths: Mapping[str, int], pieces: Iterable[Mapping[str, npt.NDArray[Any]]]) -> None:
    arrays: dict[str, _Array] = {}
    ends: dict[str, int] = {}
    size = 0
    for piece in pieces:
        for name, values in piece.items():
            if name not in arrays:
                offset = -(-size // ALIGNED) * ALIGNED
                arrays[name] = _Array(values.dtype, (lengths[name], *values.shape[1:]), offset)
                ends[name], size = offset, offset + arrays[name].size
            file.seek(ends[name])
            ends[name] += file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    index = {
        name: [np.lib.format.dtype_to_descr(array.kind), array.shape, array.offset] for name, array in arrays.items()
    }
    text = json.dumps(index).encode()
    file.seek(size)
    file.write(text + _LENGTH.pack(len(text)))


# The file of a table never changes: its name is unique.
@lru_cache(maxsize=KEPT)
def _small(path: str) -> Mapping[str, npt.NDArray[Any]] | None:
    """Return the arrays of a local table of at most SMALL bytes, which must not be changed; None for a larger one."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > SMALL:
            return None
        arrays, data = _index(file), np.frombuffer(os.pread(file.fileno(), SMALL, 0), np.uint8)
    return {name: array.of(data) for name, array in arrays.items()}


@lru_cache(maxsize=64)
def _arrays(path: str) -> Mapping[str, _Array]:
    """Return where each array of a local table is."""
    with open(path, "rb") as file:
        return _index(file)


def _index(file: Any) -> dict[str, _Array]:
    """Return where each array is in the open file of a table."""
    file.seek(0, os.SEEK_END)
    end = file.tell() - _LENGTH.size
    file.seek(end)
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    file.seek(end - length)
    index = json.loads(file.read(length))
    return {name: _Array(_kind(kind), tuple(shape), offset) for name, (kind, shape, offset) in index.items()}


def _kind(description: str | list[list[Any]]) -> np.dtype[Any]:
    """Return a type from its description in JSON, where the fields of a structured type are lists."""
    return np.dtype(description if isinstance(description, str) else [(field[0], field[1]) for field in description])


# Each table that is open is a descriptor, so few are kept.
@lru_cache(maxsize=12)
def open_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Memory-map arrays that `save_tables` wrote; a process maps each path once."""
    return map_tables(path)


def map_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Memory-map arrays that `save_tables` wrote, for as long as the result is referenced; small tables are in memory.
    Remote ones are copied to the local disk first."""
    local = local_path(path)
    if (small := _small(local)) is not None:
        return small
    # np.asarray, because slicing an np.memmap takes several times as long.
    mapped = np.asarray(np.memmap(local, np.uint8, "r"))
    return {name: array.of(mapped) for name, array in sorted(_arrays(local).items())}


class Column:
    """An array that `save_tables` wrote, read block by block. Unlike those of a memory-mapped array, the blocks read
    do not stay in memory, except the only block of a small array.

    Args:
        path: as `save_tables` returned it.
        name: name of the array.
    """

    def __init__(self, path: str, name: str) -> None:
        self._file = local_path(path)
        self._whole: npt.NDArray[Any] | None = None
        if (small := _small(self._file)) is not None:
            self._whole = small[name]
            self.kind, self._start, self._length = self._whole.dtype, 0, len(self._whole)
            return
        array = _arrays(self._file)[name]
        self.kind, self._start, (self._length,) = array.kind, array.offset, array.shape

    def __len__(self) -> int:
        return self._length

    def read(self, first: int) -> npt.NDArray[Any]:
        """Return up to BLOCK values from index `first` on; they must not be changed."""
        if self._whole is not None:
            return self._whole
        offset = self._start + first * self.kind.itemsize
        values = np.fromfile(self._file, self.kind, min(BLOCK, len(self) - first), offset=offset)
        if len(values) == len(self):
            self._whole = values
        return values


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


def local_path(path: str) -> str:
    """Return the path of a local file with the tables at `path`: a remote one is copied, once for all processes of a
    machine."""
    if is_local(path):
        return path
    directory = private_directory()
    local = f"{directory}/{path.rpartition('/')[2]}"
    if not os.path.exists(local):
        files, inner = filesystem(path)
        partial = f"{local}.{uuid.uuid4().hex}"
        fs.copy_files(inner, partial, source_filesystem=files)
        os.replace(partial, local)
        atexit.register(Path(local).unlink, missing_ok=True)
    return local


def read_table(path: str, name: str) -> npt.NDArray[Any]:
    """Read one array that `save_tables` wrote into memory. Of a remote table no other array is read."""
    if is_local(path):
        return map_tables(path)[name].copy()
    files, inner = filesystem(path)
    with files.open_input_file(inner) as file:
        array = _index(file)[name]
        file.seek(array.offset)
        return np.frombuffer(bytearray(file.read(array.size)), array.kind).reshape(array.shape)


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


class HashSet:
    """Hashes in which others are searched for, in a fraction of the time of `find`: by their highest bits.

    Args:
        ascending: the hashes, of which there are fewer than 2**31.
    """

    def __init__(self, ascending: npt.NDArray[np.uint64]) -> None:
        self._ascending = ascending
        bits = min(len(ascending).bit_length() + 1, _MOST_BITS)
        self._shift = np.uint64(64 - bits)
        counts = np.bincount((ascending >> self._shift).astype(np.int64), minlength=1 << bits)
        # Where the hashes with the same highest bits begin, and where the last ones end.
        self._bounds = np.append(0, np.cumsum(counts)).astype(np.int32)

    def find(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Return the index of each hash, -1 for one that is not in the set."""
        buckets = (hashes >> self._shift).astype(np.int64)
        index = np.full(len(hashes), -1, np.int64)
        waiting = np.flatnonzero(self._bounds[buckets] < self._bounds[buckets + 1])
        at, ends = (self._bounds[buckets[waiting] + edge] for edge in (0, 1))
        for _ in range(_LOOKS):
            equal = self._ascending[at] == hashes[waiting]
            index[waiting[equal]] = at[equal]
            at += 1
            again = ~equal & (at < ends)
            waiting, at, ends = waiting[again], at[again], ends[again]
        index[waiting] = find(self._ascending, hashes[waiting])
        return index
