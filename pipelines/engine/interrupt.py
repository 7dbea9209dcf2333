"""End a command within seconds at SIGINT and SIGTERM, also while a library blocks the main thread.

Python runs a signal handler between two bytecodes of the main thread: never while that thread waits in C++ code, such
as the client of an object store. But its C-level handler writes the number of the signal to a pipe at once
(https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd). A thread reads that pipe:

    signal -> handler in the main thread: raise KeyboardInterrupt, for an orderly end
           -> thread: request the cancellation of jobs on clusters at once; end the process if it has not ended in time
"""

from __future__ import annotations

import logging
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from wikianchor.pipelines.dataset.temporary import remove_beams_temporary_files
from wikianchor.pipelines.engine.progress import wipe_bars

STATUS = 130
MESSAGE = "wikianchor: interrupted; what was finished stays, run the same command again to go on"
# Time for an orderly end after the signal, or after the answer to a request to cancel a job on a cluster.
GRACE_SECONDS = 3.0
# Time for that answer.
CANCEL_SECONDS = 15.0
# A terminal, `timeout` or a scheduler may send one signal twice; a second signal after this time is from the user.
REPEAT_SECONDS = 0.2
# Time for the message: writing to a stopped terminal blocks.
MESSAGE_SECONDS = 0.5
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Cancellation:
    """The request to cancel a job, sent once, in a thread of its own."""

    def __init__(self, cancel: Callable[[], object]) -> None:
        self._cancel, self._error = cancel, "no answer"
        self._thread = threading.Thread(target=self._run, name="cancel", daemon=True)
        self._lock = threading.Lock()
        self.requested = False
        self.answered: float | None = None

    def _run(self) -> None:
        try:
            self._cancel()
        except Exception as error:
            self._error = str(error) or type(error).__name__
        else:
            self._error = ""
        self.answered = time.monotonic()

    def request(self) -> None:
        """Send the request, unless it was sent."""
        with self._lock:
            if not self.requested:
                self.requested = True
                self._thread.start()

    def wait(self) -> None:
        """Wait for the answer to the request, and warn if there is none."""
        self._thread.join(CANCEL_SECONDS)
        if self._error:
            reason = " ".join(self._error.split())
            logging.getLogger("wikianchor").warning("the job may still run: cancelling it failed (%s)", reason)


class _Watcher:
    """The handler of the signals of this process, and the thread that makes sure that it ends."""

    def __init__(self) -> None:
        self._interrupted = False
        self._printed = threading.Lock()
        # Of the jobs that run.
        self.cancellations: list[_Cancellation] = []

    def start(self) -> None:
        """Handle SIGINT, unless it is ignored, and SIGTERM. To be called in the main thread."""
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # A forked child that gets a signal must not write to the pipe of its parent.
        os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, self.handle)
        signal.signal(signal.SIGTERM, self.handle)
        threading.Thread(target=self._watch, args=(reader,), name="signals", daemon=True).start()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt for the first signal; the thread acts on the others."""
        if self._interrupted:
            return
        self._interrupted = True
        handler = signal.getsignal(signal.SIGINT)
        if number == signal.SIGTERM and callable(handler) and handler != self.handle:
            # Beam's handler of SIGINT stops the job server that it has started.
            handler(number, frame)
        raise KeyboardInterrupt

    def may_print(self) -> bool:
        """Return True at the first call: only one thread prints the message."""
        return self._printed.acquire(blocking=False)

    def _watch(self, reader: int) -> None:
        while not _signalled(reader, None):
            pass
        first = time.monotonic()
        while time.monotonic() < self._deadline(first):
            for cancellation in list(self.cancellations):
                cancellation.request()
            if _signalled(reader, 0.1) and time.monotonic() - first > REPEAT_SECONDS:
                break
        self._end()

    def _deadline(self, first: float) -> float:
        last = first
        for cancellation in list(self.cancellations):
            if cancellation.answered is None:
                return first + CANCEL_SECONDS + GRACE_SECONDS
            last = max(last, cancellation.answered)
        return last + GRACE_SECONDS

    def _end(self) -> None:
        thread = threading.Thread(target=self._print, daemon=True)
        thread.start()
        thread.join(MESSAGE_SECONDS)
        remove_beams_temporary_files()
        os._exit(STATUS)

    def _print(self) -> None:
        if self.may_print():
            wipe_bars()
            # sys.stderr may be redirected, or locked by the blocked thread.
            os.write(2, f"{MESSAGE}\n".encode())


def _signalled(reader: int, seconds: float | None) -> bool:
    """Return whether one of our signals arrives within some seconds; None for no limit."""
    if not select.select([reader], [], [], seconds)[0]:
        return False
    return any(number in _SIGNALS for number in os.read(reader, 512))


_watcher: _Watcher | None = None


def install() -> None:
    """Make SIGINT and SIGTERM end this process within seconds. To be called once, in the main thread."""
    global _watcher
    _watcher = _Watcher()
    _watcher.start()


def say_interrupted() -> None:
    """Print the message about an interrupt, unless the thread has printed it."""
    if _watcher is None or _watcher.may_print():
        print(MESSAGE, file=sys.stderr)


@contextmanager
def cancelling(cancel: Callable[[], object]) -> Iterator[None]:
    """Request the cancellation of a job on a cluster when the body is interrupted, and wait for the answer.

    The request is sent at the signal, even if the main thread is blocked, and before Beam stops a job server that it
    has started, because that server cancels the job.

    Args:
        cancel: sends the request; called at most once, in another thread.
    """
    cancellation = _Cancellation(cancel)
    watcher = _watcher
    handler = _take_sigint(watcher)
    try:
        if watcher is not None:
            watcher.cancellations.append(cancellation)
        yield
    except (KeyboardInterrupt, SystemExit):
        cancellation.request()
        cancellation.wait()
        if handler is not None:
            with suppress(KeyboardInterrupt):
                handler(signal.SIGINT, None)
        raise
    finally:
        if watcher is not None and not cancellation.requested:
            watcher.cancellations.remove(cancellation)
        if handler is not None:
            signal.signal(signal.SIGINT, handler)


def _take_sigint(watcher: _Watcher | None) -> Any:
    """Replace another handler of SIGINT by ours, and return it; None if there is none."""
    if watcher is None or threading.current_thread() is not threading.main_thread():
        return None
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or handler == watcher.handle:
        return None
    signal.signal(signal.SIGINT, watcher.handle)
    return handler
