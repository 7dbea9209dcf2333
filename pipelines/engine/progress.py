"""Progress of long work: bars on a terminal, a plain line now and then elsewhere.

sentences ukwiki                   [====      ]  43 %   5.1 MB/s  2 min left
  123,456 pages, 1,234,567 sentences, 2,345,678 links kept, 987,654 dropped

These bars use no library. By `python -X importtime`, importing tqdm or rich.progress takes 37 ms and this module 14 ms.
With either, code would still be needed for the four things that most of this module is about: a note on a second line,
a line in the log where there is no terminal, log lines above the bars, and control sequences that pass the stream which
escapes all others (`wikianchor.io.output`).
"""

from __future__ import annotations

import logging
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import TextIO

from wikianchor.io.output import control
from wikianchor.io.units import duration, size

# Seconds between two redraws of a terminal, and between two lines in the log.
REDRAW_SECONDS, LOG_SECONDS = 0.2, 10.0
# Columns of a bar, and of a name.
BAR_WIDTH, NAME_WIDTH = 10, 34
# Control sequence: to the start of the line above, and erase it.
LINE_UP = "\x1b[F\x1b[K"
# The rate is the mean of so many seconds.
RATE_SECONDS = 30.0
# The remaining time is shown from this share on.
MIN_SHARE = 0.01
_active: list[Progress] = []
log = logging.getLogger("wikianchor")


class _TaskProgress:
    def __init__(self, total: int, done: int, now: float) -> None:
        self.total, self.done, self.note, self.logged = total, done, "", now
        self.began, self.begun_with = now, done
        self._points = [(now, done)]

    def rate(self, now: float) -> float:
        """Return the bytes per second."""
        if now - self._points[-1][0] >= 1:
            self._points.append((now, self.done))
            while len(self._points) > 2 and now - self._points[1][0] > RATE_SECONDS:
                del self._points[0]
        begin, done = self._points[0]
        return (self.done - done) / (now - begin) if now > begin else 0.0

    def line(self, name: str, now: float) -> str:
        """Return the line of the bar."""
        share = min(1.0, self.done / self.total) if self.total else 1.0
        rate = self.rate(now)
        bar = "=" * round(BAR_WIDTH * share)
        left = f"  {duration((self.total - self.done) / rate)} left" if rate > 0 and MIN_SHARE < share < 1 else ""
        if len(name) > NAME_WIDTH:
            name = "..." + name[3 - NAME_WIDTH :]
        return f"{name:{NAME_WIDTH}} [{bar:{BAR_WIDTH}}] {100 * share:3.0f} %  {size(rate):>7}/s{left}"


class Progress:
    """Shows the progress of tasks, each measured in bytes. It is thread-safe.

    Args:
        stream: the terminal, stderr by default; where it is none, progress is logged.
        clock: returns seconds.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock
        self._tasks: dict[str, _TaskProgress] = {}
        self._lock = threading.RLock()
        self._drawn, self._lines = 0.0, 0
        self._terminal = self._stream.isatty() and log.isEnabledFor(logging.WARNING)

    def __enter__(self) -> Progress:
        _active.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        for name in list(self._tasks) if error[0] is None else ():
            self.end(name)
        self.wipe()
        _active.remove(self)

    def begin(self, name: str, total: int, done: int = 0) -> None:
        """Begin a task of `total` bytes, of which `done` are done; a task of the same name is replaced."""
        with self._lock:
            self._tasks[name] = _TaskProgress(total, done, self._clock())

    def advance(self, name: str, amount: int, note: str = "") -> None:
        """Add bytes to a task; `note` is shown below its bar."""
        now = self._clock()
        with self._lock:
            task = self._tasks[name]
            task.done += amount
            task.note = note or task.note
            if self._terminal:
                if now - self._drawn >= REDRAW_SECONDS:
                    self._draw(now)
            elif now - task.logged >= LOG_SECONDS:
                task.logged = now
                log.info("%s", " ".join(f"{task.line(name, now)} {task.note}".split()))

    def end(self, name: str) -> None:
        """End a task, and log it if it took long."""
        with self._lock:
            task = self._tasks.pop(name, None)
            self.wipe()
            if task and (seconds := self._clock() - task.began) >= LOG_SECONDS:
                done = task.done - task.begun_with
                about = f"{size(done)} in {duration(seconds)}, {size(done / seconds)}/s"
                log.info("%s", f"{name}: done, {about}{task.note and ': ' + task.note}")

    def _draw(self, now: float) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.wipe()
        lines = []
        for name, task in self._tasks.items():
            lines.append(task.line(name, now))
            lines += [f"  {task.note}"] if task.note else []
        self._stream.write("".join(line[:width] + "\n" for line in lines))
        self._stream.flush()
        self._drawn, self._lines = now, len(lines)

    def wipe(self) -> None:
        """Erase the bars, so that other lines can be written there."""
        with self._lock:
            if self._lines:
                control(self._stream, LINE_UP * self._lines)
                self._stream.flush()
                self._lines = 0


def wipe_bars() -> None:
    """Erase all bars, so that other lines can be written there."""
    for progress in list(_active):
        progress.wipe()


class LogHandler(logging.StreamHandler):  # type: ignore[type-arg]  # not generic at run time before Python 3.11
    """Writes log lines above the bars."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        wipe_bars()
        super().emit(record)
