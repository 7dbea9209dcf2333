"""How many worker processes a stage gets on this machine: by its work, and by the cores and the memory that are free.

To start the workers of a stage takes some seconds (`python benchmarks/scaling.py`), so a stage without much work runs
in the process of the command.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

# What `--workers` accepts, at least; on a large machine four for each core.
MOST = 64
# The work for which another worker is started.
WORKER_SECONDS = 10.0
WORKER_BYTES = 400e6


class Load(NamedTuple):
    """What a stage asks of a machine, roughly.

    Attributes:
        seconds: that one worker takes.
        memory: bytes that one worker needs.
    """

    seconds: float = 0.0
    memory: float = WORKER_BYTES


def default_workers(load: Load) -> int:
    """Return how many workers a stage gets where no flag says it."""
    return max(1, min(cores(), int(available_memory() / load.memory), int(load.seconds / WORKER_SECONDS)))


def most_workers() -> int:
    """Return how many workers a user may ask for."""
    return max(MOST, 4 * cores())


def cores() -> int:
    """Return the cores that this process may use, by its affinity and by the limit of its container (cgroup v2)."""
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _first_line("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        number = min(number, int(quota) // int(period))
    return max(1, number)


def available_memory() -> float:
    """Return the bytes of memory that programs can get; half of all memory where the system does not tell."""
    limit = _first_line("/sys/fs/cgroup/memory.max")
    most = float(limit) if limit.isdigit() else float("inf")
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return min(most, 1024 * float(line.split()[1]))
    return min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2)


def _first_line(path: str) -> str:
    try:
        with open(path, encoding="ascii") as file:
            return file.readline().strip()
    except OSError:
        return ""
