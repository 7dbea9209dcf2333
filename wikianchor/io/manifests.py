"""Manifests as both sides read them: paths that may be opened, and a dataset that is rebuilt while it is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading

# The file that names the files of a dataset.
MANIFEST = "manifest.json"
# Without the characters that a URI or a shell reads in a way of its own.
_NAME = re.compile(r"[\w.,=+@~-]+")
T = TypeVar("T")


def is_inside(root: str, path: str) -> bool:
    """Return whether a path is one below a directory, by its text alone.

    Every path that comes from a manifest or a record is checked here before it is used. Symbolic links are followed
    when a file is read, because the cache of the Hugging Face Hub is made of them, and never when one is deleted.

    >>> is_inside("out", "out/data/train.parquet"), is_inside("out", "out/../thesis"), is_inside("out", "/etc/passwd")
    (True, False, False)
    """
    prefix = f"{root.rstrip('/')}/"
    names = path.removeprefix(prefix).split("/")
    return path.startswith(prefix) and all(_NAME.fullmatch(name) and name.strip(".") for name in names)


def read_dataset(directory: str, read: Callable[[], T]) -> T:
    """Call a function that reads a dataset, and once more if it fails because the dataset was replaced meanwhile.

    A rebuild deletes the shards of the older dataset as soon as the new manifest stands.

    Args:
        directory: of the dataset.
        read: reads the manifest first, and raises InputError where a shard is missing.
    """
    manifest = _state(directory)
    try:
        return read()
    except InputError:
        if _state(directory) == manifest:
            raise
    return read()


def _state(directory: str) -> tuple[int | None, int | None]:
    """Return what changes when the manifest of a dataset is replaced."""
    files, inner = filesystem(f"{directory}/{MANIFEST}")
    with reading(f"{directory}/{MANIFEST}"):
        info = files.get_file_info(inner)
    return info.mtime_ns, info.size
