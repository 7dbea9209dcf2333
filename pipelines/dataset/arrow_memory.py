"""Release memory that Arrow's allocator keeps after it was freed.

The allocator keeps what a thread has freed for that thread, and an engine runs each step on any of its threads: after
many shards each thread holds as much as a step has used. glibc does the same with the memory of NumPy, for which a
worker's environment sets MALLOC_ARENA_MAX (docs/how-to/engines.md).
"""

from __future__ import annotations

import pyarrow as pa


def release_memory() -> None:
    """Return the unused memory of Arrow's allocator to the system. Every step of a graph does so when it ends."""
    pa.default_memory_pool().release_unused()
