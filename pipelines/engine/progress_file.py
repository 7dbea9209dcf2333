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

from wikianchor.io.storage import is_local

# Seconds between two writes of a file.
INTERVAL = 1.0
DIRECTORY = "progress"


class ProgressFile:
    """The progress of one element.

    Args:
        scratch: directory of the run's workspace.
        name: the name of the element within its stage; a second attempt at it replaces the file of the first.
    """

    def __init__(self, scratch: str, name: str) -> None:
        self._path = f"{scratch}/{DIRECTORY}/{name}" if is_local(scratch) else None
        self._next = 0.0

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
            with open(self._path + ".new", "w", encoding="utf-8") as file:
                json.dump({"done": done, "counts": counts}, file)
            os.replace(self._path + ".new", self._path)


def read_progress(scratch: str) -> tuple[int, Counter[str]]:
    """Return the number of bytes that all workers have read, and the sums of their counts."""
    done, counts = 0, Counter[str]()
    with suppress(OSError):
        for entry in os.scandir(f"{scratch}/{DIRECTORY}") if is_local(scratch) else ():
            if not entry.name.endswith(".new"):
                with suppress(OSError, ValueError), open(entry.path, encoding="utf-8") as file:
                    progress = json.load(file)
                    done += progress["done"]
                    counts.update(progress["counts"])
    return done, counts
