"""Memory that Arrow keeps after it was freed, given back to the system.

Arrow's allocator keeps what a thread has freed for that thread, and an engine runs each step on any of its threads:
after many shards every one of them holds as much as a step left behind. glibc does the same with what is NumPy's, for
which the environment of a worker has a variable, MALLOC_ARENA_MAX (docs/how-to/engines.md).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import pyarrow as pa

P = ParamSpec("P")
R = TypeVar("R")


def give_back() -> None:
    """Give back what Arrow keeps for this thread and does not use."""
    pa.default_memory_pool().release_unused()


def gives_back(step: Callable[P, R]) -> Callable[P, R]:
    """Let a step of a graph give back, when it has ended and all that it held is free."""

    @wraps(step)
    def done(*args: P.args, **named: P.kwargs) -> R:
        try:
            return step(*args, **named)
        finally:
            give_back()

    return done
