"""Look-up tables on disk: named NumPy arrays in a directory, written once, memory-mapped by every worker process."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pipelines.dataset.parts import writing
from pipelines.wikimedia.dumps import filesystem


def save_tables(directory: str, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """Write arrays and return where; the name is new for each attempt."""
    path = f"{directory}/{name}-{uuid.uuid4().hex}"
    files, inner = filesystem(path)
    with writing(path):
        files.create_dir(inner, recursive=True)
        for key, array in arrays.items():
            with files.open_output_stream(f"{inner}/{key}.npy") as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return path


@lru_cache(maxsize=64)
def open_tables(path: str) -> Mapping[str, npt.NDArray[Any]]:
    """Open arrays that `save_tables` wrote; all openings in a process share one mapping, and all processes one page
    cache."""
    files, inner = filesystem(path)
    if "://" in path:
        local = tempfile.mkdtemp(prefix="wikianchor-")
        from pyarrow import fs

        fs.copy_files(inner, local, source_filesystem=files)
        inner = local
    names = sorted(name for name in os.listdir(inner) if name.endswith(".npy"))
    return {name[:-4]: np.load(f"{inner}/{name}", mmap_mode="r", allow_pickle=False) for name in names}


def find(ascending: npt.NDArray[Any], values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the place of each value in an ascending array, -1 where it is not there."""
    if not len(ascending):
        return np.full(len(values), -1, np.int64)
    at = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return np.where(ascending[at] == values, at, -1)


def find_ids(table: Mapping[str, npt.NDArray[Any]], qids: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the dense id of each item, -1 for what is not in the table."""
    place = find(table["sorted_qids"], qids)
    ids = table["sorted_ids"]
    return np.where(place >= 0, ids[np.maximum(place, 0)] if len(ids) else -1, -1).astype(np.int64)
