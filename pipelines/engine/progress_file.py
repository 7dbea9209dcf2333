"""How far a running stage has come, told by its workers to the one that started them, on one machine.

A worker writes a small file into the scratch directory of the run, once a second; the launcher adds them up. Nothing is
written where the scratch directory is on an object store: a cluster has its own pages.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress

SECONDS = 1.0
PULSES = "pulses"


class Pulse:
    """What one worker tells of one element.

    Args:
        scratch: directory of the run's workspace.
        name: of the element among those of the stage; a second attempt at it takes the place of the first.
    """

    def __init__(self, scratch: str, name: str) -> None:
        self._place = None if "://" in scratch else f"{scratch}/{PULSES}"
        self._name, self._next = name, 0.0

    def due(self) -> bool:
        """Whether it is time to tell."""
        return self._place is not None and time.monotonic() >= self._next

    def beat(self, done: int, counts: Mapping[str, int]) -> None:
        """Tell how many bytes of the input are read, and what came of them."""
        if self._place is None:
            return
        self._next = time.monotonic() + SECONDS
        # Nothing depends on it: a full disk is told of by who writes rows.
        with suppress(OSError):
            os.makedirs(self._place, exist_ok=True)
            path = f"{self._place}/{self._name}"
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump({"done": done, "counts": counts}, file)
            os.replace(path + ".new", path)


def pulses(scratch: str) -> tuple[int, Counter[str]]:
    """Return the bytes read so far by all workers, and the sums of what they count."""
    done, counts = 0, Counter[str]()
    if "://" in scratch:
        return done, counts
    place = f"{scratch}/{PULSES}"
    with suppress(OSError):
        for entry in os.scandir(place):
            if not entry.name.endswith(".new"):
                with suppress(OSError, ValueError), open(entry.path, encoding="utf-8") as file:
                    found = json.load(file)
                    done += found["done"]
                    counts.update(found["counts"])
    return done, counts
