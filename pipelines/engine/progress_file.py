"""How many bytes the workers of a running stage have read, by files that the launcher adds up.

Each element that is worked on has a small file in the scratch directory of the run, which its worker writes at most
once a second. Nothing is written where the scratch directory is in an object store: a cluster has its own progress
pages.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from wikianchor.io.storage import is_local

# Seconds between two writes of a file.
INTERVAL = 1.0
DIRECTORY = "progress"


class ProgressFile:
    """The progress of one element.

    Args:
        scratch: directory of the run's workspace.
        name: the name of the element within its stage; a second attempt at it replaces the file of the first.

    Attributes:
        pages: the number of pages that are read, which its user counts.
    """

    def __init__(self, scratch: str, name: str) -> None:
        self._path = f"{scratch}/{DIRECTORY}/{name}" if is_local(scratch) else None
        self._next, self.pages = 0.0, 0

    def is_due(self) -> bool:
        """Return whether the file is to be written again."""
        return self._path is not None and time.monotonic() >= self._next

    def write(self, done: int, counts: Mapping[str, int]) -> None:
        """Write the number of bytes that are read of the input, and counts for the user. A full disk is no error."""
        if self._path is None:
            return
        self._next = time.monotonic() + INTERVAL
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            Path(self._path + ".new").write_text(json.dumps({"done": done, "counts": counts}), "utf-8")
            os.replace(self._path + ".new", self._path)


class ProgressReader:
    """Reads the progress of all elements of a run, again and again.

    A file that has not changed is not read again: of hundreds of shards, few make progress between two looks.

    Args:
        scratch: directory of the run's workspace.
    """

    def __init__(self, scratch: str) -> None:
        self._directory = f"{scratch}/{DIRECTORY}" if is_local(scratch) else None
        # By name of a file, its version and what it says.
        self._files: dict[str, tuple[tuple[int, int], int, dict[str, int]]] = {}
        self._done, self._counts = 0, Counter[str]()

    def read(self) -> tuple[int, Counter[str]]:
        """Return the number of bytes that all workers have read, and the sums of their counts."""
        with suppress(OSError):
            for entry in os.scandir(self._directory) if self._directory else ():
                if not entry.name.endswith(".new"):
                    with suppress(OSError, ValueError):
                        self._read(entry)
        return self._done, self._counts.copy()

    def _read(self, entry: os.DirEntry[str]) -> None:
        info = os.stat(entry.path)
        version = (info.st_ino, info.st_mtime_ns)
        before, done, counts = self._files.get(entry.name, ((0, 0), 0, {}))
        if version == before:
            return
        progress = json.loads(Path(entry.path).read_text("utf-8"))
        self._done += progress["done"] - done
        self._counts.subtract(counts)
        self._counts.update(progress["counts"])
        self._files[entry.name] = (version, progress["done"], progress["counts"])
