"""Arrays in a cache (`io.cache.open_cache`), which later runs map into memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.parsing import unreadable


def save_arrays(directory: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to DIRECTORY/NAME.npy."""
    for name, array in arrays.items():
        np.save(os.path.join(directory, f"{name}.npy"), array)


def map_arrays(directory: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Map what `save_arrays` wrote into memory, read-only.

    Raises:
        InputError: a file is missing or damaged.
    """
    with unreadable(f"{directory}: a broken cache", "remove it"):
        mapped = {name: np.load(os.path.join(directory, f"{name}.npy"), mmap_mode="r") for name in names}
    # A plain array over the same memory map: indexing it takes a tenth of the time of indexing a memmap.
    return {name: array.view(np.ndarray) for name, array in mapped.items()}
