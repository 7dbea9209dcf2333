"""A profile of a job by its own functions and lines, taken from outside: a thread looks at the stacks now and then.

Each look counts for the innermost function of `pipelines` that is at work, with all that it calls (regular
expressions, Arrow, zlib), so the profile names our lines and hardly slows them, whatever the job's inside looks like.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from types import CodeType, FrameType

INTERVAL = 0.002
OTHER = "Beam, imports and the rest"
# A thread that waits stands in one of these.
WAITING = ("threading.py", "_base.py", "queue.py", "selectors.py", "thread.py")


@dataclass
class Samples:
    """CPU seconds of each function and of each line, with what they call."""

    functions: dict[str, float] = field(default_factory=dict)
    lines: dict[str, float] = field(default_factory=dict)

    def total(self) -> float:
        """Return the seconds of the job."""
        return sum(self.functions.values())

    def by_step(self, steps: dict[str, tuple[str, ...]]) -> dict[str, float]:
        """Return the seconds of each step: a name, and what the functions' places begin with."""
        found: dict[str, float] = dict.fromkeys((*steps, OTHER), 0.0)
        for place, time_taken in self.functions.items():
            step = next((name for name, starts in steps.items() if place.startswith(starts)), OTHER)
            found[step] += time_taken
        return found


def sample(job: Callable[[], object]) -> Samples:
    """Run a job in this process and return where it spent its time."""
    found, done = Samples(), threading.Event()
    switch = sys.getswitchinterval()

    def watch() -> None:
        own, last = threading.get_ident(), time.process_time()
        while not done.is_set():
            time.sleep(INTERVAL)
            frames = [frame for thread, frame in sys._current_frames().items() if thread != own]
            # Python code lets the watcher in less readily than C code that needs no lock: each look counts for the
            # time since the last one.
            now = time.process_time()
            _count(frames, now - last, found)
            last = now

    watcher = threading.Thread(target=watch, daemon=True)
    sys.setswitchinterval(INTERVAL / 10)
    watcher.start()
    try:
        job()
    finally:
        done.set()
        watcher.join()
        sys.setswitchinterval(switch)
    return found


def _count(frames: list[FrameType], elapsed: float, found: Samples) -> None:
    """Give the time that went by to what is at work now, in equal parts where several threads are."""
    busy: list[FrameType | None] = [frame for frame in frames if not frame.f_code.co_filename.endswith(WAITING)]
    for frame in busy or [None]:
        function, line = _place(frame)
        share = elapsed / max(1, len(busy))
        found.functions[function] = found.functions.get(function, 0.0) + share
        found.lines[line] = found.lines.get(line, 0.0) + share


def _place(frame: FrameType | None) -> tuple[str, str]:
    """Return the innermost function and line of `pipelines` on a stack."""
    while frame is not None and not _ours(frame.f_code):
        frame = frame.f_back
    if frame is None:
        return OTHER, OTHER
    code, parts = frame.f_code, PurePath(frame.f_code.co_filename).parts
    place = "/".join(parts[len(parts) - parts[::-1].index("pipelines") :])
    # Python 3.11 knows the class as well.
    name = getattr(code, "co_qualname", code.co_name)
    return f"{place} {name}", f"{place}:{frame.f_lineno}"


def _ours(code: CodeType) -> bool:
    return "/pipelines/" in code.co_filename and "site-packages" not in code.co_filename
