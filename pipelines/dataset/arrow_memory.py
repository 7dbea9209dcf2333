"""Memory that Arrow keeps after it was freed, given back to the system.

Arrow's allocator keeps what a thread has freed for that thread, and an engine runs each step on any of its threads:
after many shards every one of them holds as much as a step left behind. glibc does the same with what is NumPy's, for
which the environment of a worker has a variable, MALLOC_ARENA_MAX (docs/how-to/engines.md).
"""

from __future__ import annotations

import pyarrow as pa


def give_back() -> None:
    """Give back what Arrow keeps for this thread and does not use. `engine.steps.Run` does so after every step."""
    pa.default_memory_pool().release_unused()
