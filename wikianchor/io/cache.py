"""Directories that the first run writes and later runs read."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from wikianchor.io.storage import exists, fetch, is_local, publish, writing

CACHE_VARIABLE = "WIKIANCHOR_CACHE"
# The file that is sent last: a directory in a bucket without it is unfinished.
COMPLETE = "state.json"


def cache_directory() -> str:
    """Return the directory of this user's caches: $WIKIANCHOR_CACHE, $XDG_CACHE_HOME/wikianchor or ~/.cache/wikianchor.

    What is in it can be made again, so it may be removed while nothing uses it.
    """
    if directory := os.environ.get(CACHE_VARIABLE):
        return os.path.abspath(directory)
    return os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "wikianchor")


def open_cache(cache: str, key: str, write: Callable[[str], None], setting: str = "--cache") -> str:
    """Return the directory CACHE/KEY; if it does not exist, write it first.

    The directory gets its name by an atomic rename when it is complete. Of several processes that write it at the same
    time, the first one wins; they write the same content.

    A cache in a bucket is shared by machines: the first one that writes a directory sends it there, and the others
    copy it to `cache_directory()`, where every machine maps it into memory.

    Args:
        cache: directory of all caches, local or a URI.
        key: name that depends on everything the content depends on.
        write: writes the content into a directory.
        setting: what names the directory, for messages.

    Raises:
        InputError: the cache cannot be written.
    """
    if not is_local(cache):
        return open_cache(
            cache_directory(), key, lambda folder: _share(f"{cache}/{key}", write, folder), CACHE_VARIABLE
        )
    directory = os.path.join(cache, key)
    if os.path.isdir(directory):
        return directory
    with writing(cache, setting):
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


def is_cached(cache: str, key: str) -> bool:
    """Return whether `open_cache` finds a directory in a cache."""
    return os.path.isdir(os.path.join(cache, key)) if is_local(cache) else exists(f"{cache}/{key}/{COMPLETE}")


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
