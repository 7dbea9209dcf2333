"""Look-up tables on disk: named NumPy arrays in a directory, written once, memory-mapped by every worker process."""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from pyarrow import fs

from pipelines.dataset.parts import writing
from pipelines.errors import InputError
from pipelines.storage import filesystem

# Items looked up at a time, which bounds memory.
FOUND_TOGETHER = 1 << 20


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
    return path


@lru_cache(maxsize=64)
def open_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Open arrays that `save_tables` wrote; all openings in a process share one mapping, and all processes of a machine
    one page cache."""
    directory = _local_copy(path) if "://" in path else filesystem(path)[1]
    names = sorted(name for name in os.listdir(directory) if name.endswith(".npy"))
    # A plain array on the mapping: slices of np.memmap cost several times as much.
    return {
        name[: -len(".npy")]: np.asarray(np.load(f"{directory}/{name}", mmap_mode="r", allow_pickle=False))
        for name in names
    }


def _local_copy(path: str) -> str:
    """Fetch a directory from remote storage, once for all processes of a machine, and return where it is."""
    place = _private_directory()
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


def _private_directory() -> str:
    """Return a directory for temporary files that nobody else can read or plant anything in.

    Raises:
        InputError: something else has its name.
    """
    path = f"{tempfile.gettempdir()}/wikianchor-{os.geteuid()}"
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise InputError(f"{path}: is no private directory of this user: remove it, or set TMPDIR to another place")
    return path


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


def find_ids(table: Mapping[str, npt.NDArray[Any]], qids: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the dense id of each item, -1 for what is not in the table."""
    found = np.full(len(qids), -1, np.int32)
    for first in range(0, len(qids), FOUND_TOGETHER):
        place = find(table["sorted_qids"], qids[first : first + FOUND_TOGETHER])
        there = place >= 0
        found[first : first + FOUND_TOGETHER][there] = table["sorted_ids"][place[there]]
    return found
