"""The number of worker processes of a stage on this machine: by its work, the cores and the free memory.

Starting workers takes some seconds (`python benchmarks/scaling.py`), so a stage with little work runs in the process
of the command.
"""

from __future__ import annotations

import gc
import os
import subprocess
from contextlib import suppress
from typing import NamedTuple

# `--workers` accepts up to this number, or four for each core where that is more.
MAX_WORKERS = 64
# Each worker has at least so much work, and needs so much memory.
WORKER_SECONDS = 10.0
WORKER_BYTES = 400e6


class Load(NamedTuple):
    """The work of a stage, estimated.

    Attributes:
        seconds: for a single worker.
        memory: bytes that each worker needs.
    """

    seconds: float = 0.0
    memory: float = WORKER_BYTES


def raise_gc_threshold() -> None:
    """Let Python look for reference cycles a hundredth as often, because the pipelines make hardly any.

    It saves 15 % of the CPU of `entities`, whose parsed JSON consists of many small objects.
    """
    gc.set_threshold(100_000)


def default_workers(load: Load) -> int:
    """Return the number of workers of a stage if no flag sets it."""
    return max(1, min(cores(), int(available_memory() / load.memory), int(load.seconds / WORKER_SECONDS)))


def most_workers() -> int:
    """Return the largest number of workers that `--workers` accepts."""
    return max(MAX_WORKERS, 4 * cores())


def cores() -> int:
    """Return the number of cores that the affinity of this process and the limit of its container (cgroup v2) allow."""
    number = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, _, period = _first_line("/sys/fs/cgroup/cpu.max").partition(" ")
    if quota.isdigit() and period.isdigit():
        number = min(number, int(quota) // int(period))
    return max(1, number)


def available_memory() -> float:
    """Return the bytes of memory that a new program can use, within the limit of the container; half of all memory
    where /proc/meminfo does not exist."""
    limit = _first_line("/sys/fs/cgroup/memory.max")
    most = float(limit) if limit.isdigit() else float("inf")
    with suppress(OSError), open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return min(most, 1024 * float(line.split()[1]))
    return min(most, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2)


def private_memory(process: int) -> float:
    """Return the bytes of memory that only one process uses; all its memory where /proc/PID/smaps_rollup does not
    exist, and 0 for a process that has ended."""
    with suppress(OSError, ValueError, subprocess.CalledProcessError):
        if os.path.exists("/proc/self/smaps_rollup"):
            with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as file:
                return 1024 * sum(float(line.split()[1]) for line in file if line.startswith(_PRIVATE))
        return 1024 * float(
            subprocess.check_output(["ps", "-o", "rss=", "-p", str(process)], stderr=subprocess.DEVNULL)
        )
    return 0.0


_PRIVATE = ("Private_Clean:", "Private_Dirty:", "Swap:")


def _first_line(path: str) -> str:
    with suppress(OSError), open(path, encoding="ascii") as file:
        return file.readline().strip()
    return ""
