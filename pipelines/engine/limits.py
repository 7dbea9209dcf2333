"""What ends a worker process of this machine."""

from __future__ import annotations

from typing import NamedTuple


class Limits(NamedTuple):
    """What ends a worker.

    Attributes:
        stall_seconds: time without progress.
        memory: bytes of its private memory.
    """

    stall_seconds: float = 600.0
    memory: float = float("inf")


NO_LIMITS = Limits()
