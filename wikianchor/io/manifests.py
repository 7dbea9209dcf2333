"""Manifests as both sides read them: paths that may be opened, and a dataset that is rebuilt while it is read."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from wikianchor.io.errors import InputError
from wikianchor.io.storage import exists, read_bytes

# The file that names the files of a dataset.
MANIFEST = "manifest.json"
# Without the characters that a URI or a shell reads in a way of its own.
_NAME = re.compile(r"[\w.,=+@~-]+")
T = TypeVar("T")
P = ParamSpec("P")


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


def read_dataset(read: Callable[[], T], *directories: str) -> T:
    """Call a function that reads datasets, and again where it fails because one of them was replaced meanwhile.

    A rebuild deletes the shards of the older dataset as soon as the new manifest stands.

    Args:
        read: reads the manifests first, and raises InputError where a shard is missing.
        directories: the directories of the datasets.
    """
    while True:
        manifests = [_content(directory) for directory in directories]
        try:
            return read()
        except InputError:
            if [_content(directory) for directory in directories] == manifests:
                raise
        logging.getLogger("wikianchor").info("%s: rebuilt while it was read: read again", ", ".join(directories))


def reread(read: Callable[Concatenate[str, P], T]) -> Callable[Concatenate[str, P], T]:
    """Decorator of a function of the directory of a dataset: `read_dataset` calls it, without a slash at the end."""

    @functools.wraps(read)
    def call(path: str, /, *arguments: P.args, **named: P.kwargs) -> T:
        directory = path.rstrip("/")
        return read_dataset(lambda: read(directory, *arguments, **named), directory)

    return call


def _content(directory: str) -> bytes:
    """Return the manifest of a dataset, or b"" where there is none. Stores know the time of a change to the second."""
    path = f"{directory}/{MANIFEST}"
    return read_bytes(path) if exists(path) else b""
