"""What each worker process of this machine does at the moment, in memory that it shares with its launcher.

The launcher reads it when the worker has died, and sees from it whether the worker makes progress. What is written for
a page is one copy of some hundred bytes.
"""

from __future__ import annotations

import fcntl
import mmap
import re
import struct
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.wikimedia.dumps import Chunk
from wikianchor.pipelines.wikimedia.pages import CLOSE, unescape

# The number of times that a thread of the worker has run, of pages begun, and of the page that is being read, 0 for
# none; then three texts.
_NUMBERS = struct.Struct("=3Q")
_UNIT, _PLACE, _PAGE, STATUS_BYTES = 64, 256, 2048, 4096
_TITLE = re.compile(r"<title>([^<]*)</title>")


class Position(NamedTuple):
    """What a worker does.

    Attributes:
        unit: the step and its element; "" for none.
        place: the file of the element, and where it begins there; "" where it is none.
        page: number of the page in the range; 0 for none.
        title: the title of the page, as far as it is known.
    """

    unit: str = ""
    place: str = ""
    page: int = 0
    title: str = ""

    def __str__(self) -> str:
        if not self.unit:
            return ""
        page = f", page {self.title!r}" if self.title else f", page {self.page} of the range" if self.page else ""
        return f", at {self.place or self.unit}{page},"


class Limits(NamedTuple):
    """What ends a worker.

    Attributes:
        stall_seconds: time without progress.
        memory: bytes of its private memory.
    """

    stall_seconds: float = 600.0
    memory: float = float("inf")


NO_LIMITS = Limits()


class WorkerDied(InputError):
    """A worker process was killed, or ended before it had finished.

    Attributes:
        position: what it did.
        advice: what the user can do.
    """

    def __init__(self, message: str, position: Position, advice: str = "") -> None:
        super().__init__(message)
        self.position, self.advice = position, advice


class WorkerStatus:
    """The memory about one worker.

    Args:
        file: descriptor of the file that both processes map.

    Attributes:
        file: the same.
    """

    def __init__(self, file: int) -> None:
        self._memory = mmap.mmap(file, STATUS_BYTES)
        self.file, self._beats = file, 0

    def beat(self) -> None:
        """Say that a thread of the worker runs."""
        self._beats += 1
        self._memory[:8] = self._beats.to_bytes(8, "little")

    def begin(self, unit: str, place: str) -> None:
        """Say which element of which step is next; "" for none."""
        self._memory[8:STATUS_BYTES] = b"\0" * (STATUS_BYTES - 8)
        self._memory[_PLACE:_PAGE] = place.encode()[: _PAGE - _PLACE].ljust(_PAGE - _PLACE, b"\0")
        self._memory[_UNIT:_PLACE] = unit.encode()[: _PLACE - _UNIT].ljust(_PLACE - _UNIT, b"\0")

    def begin_page(self, number: int, raw: bytes) -> None:
        """Say which page is read. The core does the same for pages that it reads by itself."""
        head = raw[: STATUS_BYTES - _PAGE]
        self._memory[_PAGE : _PAGE + len(head)] = head
        self._memory[8:24] = 2 * number.to_bytes(8, "little")

    def end_page(self) -> None:
        """Say that the page is read."""
        self._memory[16:24] = bytes(8)

    def progress(self) -> tuple[Any, ...]:
        """Return what changes while the worker makes progress."""
        beats, begun, page = _NUMBERS.unpack(self._memory[: _NUMBERS.size])
        # Each page takes seconds at most. Other work has no such measure.
        return (self._text(_UNIT, _PLACE), begun, page) if begun else (beats, self._memory[_UNIT:_PAGE])

    def position(self) -> Position:
        """Return what the worker does."""
        page = _NUMBERS.unpack(self._memory[: _NUMBERS.size])[2]
        title = _TITLE.search(self._text(_PAGE, STATUS_BYTES)) if page else None
        return Position(self._text(_UNIT, _PLACE), self._text(_PLACE, _PAGE), page, unescape(title[1]) if title else "")

    def _text(self, begin: int, end: int) -> str:
        return self._memory[begin:end].rstrip(b"\0").decode(errors="replace")


def new_status_file() -> IO[bytes]:
    """Return a new file for `WorkerStatus`, which no directory lists."""
    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 open as long as the worker runs
    file.write(bytes(STATUS_BYTES))
    return file


class _ThisWorker(NamedTuple):
    """What this worker process was told.

    Attributes:
        status: its status.
        lock: descriptor of a file: whoever tries an element alone has a lock on it, and so has every other worker on
            its own element, which they can share.
        alone: units that are tried alone.
        bad_pages: pages that are left out: the unit, and the number of the page.
    """

    status: WorkerStatus
    lock: int
    alone: frozenset[str]
    bad_pages: frozenset[tuple[str, int]]


_this_worker: _ThisWorker | None = None
_unit = ""


def join(status: WorkerStatus, lock: int, alone: Iterable[str], bad_pages: Iterable[tuple[str, int]]) -> None:
    """Make this process one whose status is watched; see `_ThisWorker`."""
    global _this_worker
    _this_worker = _ThisWorker(status, lock, frozenset(alone), frozenset(bad_pages))


@contextmanager
def watched(unit: str, element: Any) -> Iterator[None]:
    """Tell the launcher that a step works on an element. Outside of worker processes nothing happens.

    Args:
        unit: the step and its element.
        element: what the step is given.
    """
    global _unit
    if (worker := _this_worker) is None:
        yield
        return
    _unit = unit
    worker.status.begin(unit, _place_of(element))
    # Memory that a range needs beside other ranges may be why its worker has died.
    fcntl.lockf(worker.lock, fcntl.LOCK_EX if unit in worker.alone else fcntl.LOCK_SH)
    try:
        yield
    finally:
        fcntl.lockf(worker.lock, fcntl.LOCK_UN)
        worker.status.begin("", "")


def _place_of(element: Any) -> str:
    part = getattr(element, "part", element)
    path, start = getattr(part, "path", ""), getattr(part, "start", None)
    return f"{path} from byte {start}" if start is not None else str(path)


def read_ahead(
    chunks: Iterator[Chunk], read: Callable[[bytes, int, bool, int, int], tuple[int, int, int]], progress: ProgressFile
) -> Iterator[Chunk]:
    """Let the core read whole pages at once, and yield the chunks of a range less these pages.

    What is yielded has the first page of the range, pages that lie in two chunks, and those that the core leaves. When
    it reads, all pages that come before have been read.

    Args:
        chunks: those of the range.
        read: `PageReader.read_pages` of the core, or a function with the same arguments.
        progress: the progress of the range, to which the pages are added.
    """
    worker, inside = _this_worker, True
    # A page that is left out is found by its number.
    never = worker is not None and any(unit == _unit for unit, _ in worker.bad_pages)
    for chunk in chunks:
        end, status = 0, worker.status.file if worker else -1
        while end < len(chunk.data):
            passes = inside or never or not chunk.owned
            begin, end, progress.pages = read(chunk.data, end, passes, status, progress.pages)
            inside = not chunk.data.endswith(CLOSE, begin, end)
            yield chunk._replace(data=chunk.data[begin:end], offset=chunk.offset + begin * chunk.exact)


def watched_pages(
    pages: Iterable[tuple[bytes, int]], counts: Counter[str], bad: str, progress: ProgressFile
) -> Iterator[tuple[bytes, int]]:
    """Yield the pages of a range, and tell the launcher which one is read.

    Args:
        pages: from `cut_pages`.
        counts: the counts of the range, added to.
        bad: what pages are counted as that ended their worker before, and are left out.
        progress: the progress of the range; has the number of each page while that is read.
    """
    worker = _this_worker
    for raw, offset in pages:
        progress.pages += 1
        if worker is None:
            yield raw, offset
        elif (_unit, progress.pages) in worker.bad_pages:
            counts[bad] += 1
        else:
            worker.status.begin_page(progress.pages, raw)
            yield raw, offset
            worker.status.end_page()
