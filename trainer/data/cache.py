"""Directories of arrays that the first run writes and later runs map into memory."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, fetch, is_local, publish, writing

# Where caches in buckets are copied to.
LOCAL_CACHE = "~/.cache/wikianchor"
# The file that is sent last: a directory in a bucket without it is unfinished.
COMPLETE = "state.json"


def open_cache(cache: str, key: str, write: Callable[[str], None]) -> str:
    """Return the directory CACHE/KEY; if it does not exist, write it first.

    The directory gets its name by an atomic rename when it is complete. Of several processes that write it at the same
    time, the first one wins; they write the same content.

    A cache in a bucket is shared by machines: the first one that writes a directory sends it there, and the others
    copy it to ~/.cache/wikianchor, where every machine maps it into memory.

    Args:
        cache: directory of all caches, local or a URI.
        key: name that depends on everything the content depends on.
        write: writes the content into a directory.

    Raises:
        InputError: the cache cannot be written.
    """
    if not is_local(cache):
        return open_cache(os.path.expanduser(LOCAL_CACHE), key, lambda place: _share(f"{cache}/{key}", write, place))
    directory = os.path.join(cache, key)
    if os.path.isdir(directory):
        return directory
    with writing(cache, "--cache"):
        os.makedirs(cache, exist_ok=True)
        unfinished = tempfile.mkdtemp(prefix="unfinished-", dir=cache)
        try:
            write(unfinished)
            os.rename(unfinished, directory)
        except OSError:
            if not os.path.isdir(directory):
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return directory


def _share(remote: str, write: Callable[[str], None], directory: str) -> None:
    """Copy a directory from a bucket; if it is not there, write it and send it there."""
    if exists(f"{remote}/{COMPLETE}"):
        fetch(remote, directory)
        return
    write(directory)
    Path(directory, COMPLETE).write_text("{}\n", "utf-8")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(directory)) as scratch:
        copy = os.path.join(scratch, "copy")
        # What is sent is moved, so links are sent.
        shutil.copytree(directory, copy, copy_function=os.link)
        publish(copy, remote)


def save_arrays(directory: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write each array to DIRECTORY/NAME.npy."""
    for name, array in arrays.items():
        np.save(os.path.join(directory, f"{name}.npy"), array)


def map_arrays(directory: str, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Map what `save_arrays` wrote into memory, read-only.

    Raises:
        InputError: a file is missing or damaged.
    """
    with broken_cache(directory):
        mapped = {name: np.load(os.path.join(directory, f"{name}.npy"), mmap_mode="r") for name in names}
    # A plain array over the same memory map: indexing it takes a tenth of the time of indexing a memmap.
    return {name: array.view(np.ndarray) for name, array in mapped.items()}


@contextmanager
def broken_cache(directory: str) -> Iterator[None]:
    """Turn errors of reading a cache into an InputError that says to remove it."""
    try:
        yield
    except (OSError, EOFError, ValueError, KeyError) as error:
        raise InputError(f"{directory}: a broken cache ({error}): remove it") from error
