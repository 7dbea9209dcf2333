"""The handler of signals, the thread behind it, and jobs that are cancelled; whole commands are in `test_faults.py`."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from wikianchor.pipelines.engine import interrupt

FIRST = 100.0


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The watcher of this process, which gets no signal."""
    watcher = interrupt._Watcher()
    monkeypatch.setattr(interrupt, "_watcher", watcher)
    handler = signal.getsignal(signal.SIGINT)
    yield watcher
    signal.signal(signal.SIGINT, handler)


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    os.close(reader)
    os.close(writer)


def test_the_first_signal_interrupts_and_the_next_is_left_to_the_thread(watcher: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        watcher.handle(signal.SIGINT, None)
    assert watcher.handle(signal.SIGINT, None) is None


def test_sigterm_calls_beams_handler_of_sigint(watcher: Any) -> None:
    calls: list[int] = []
    signal.signal(signal.SIGINT, lambda number, frame: calls.append(number))
    with pytest.raises(KeyboardInterrupt):
        watcher.handle(signal.SIGTERM, None)
    assert calls == [signal.SIGTERM]


def test_an_interrupted_job_is_cancelled_once_and_beams_handler_comes_after_it(watcher: Any) -> None:
    calls: list[str] = []

    def handler(number: int, frame: Any) -> None:
        calls.append("handler")
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, handler)

    def run() -> None:
        with interrupt.cancelling(lambda: calls.append("cancel")):
            assert signal.getsignal(signal.SIGINT) == watcher.handle
            (cancellation,) = watcher.cancellations
            cancellation.request()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert calls == ["cancel", "handler"]
    assert signal.getsignal(signal.SIGINT) is handler


@pytest.mark.parametrize("is_watched", [True, False])
def test_a_job_is_cancelled_where_beam_handles_no_signal(
    is_watched: bool, watcher: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With our handler of the command, or in a program that has none of ours."""
    calls: list[str] = []
    if is_watched:
        signal.signal(signal.SIGINT, watcher.handle)
    else:
        monkeypatch.setattr(interrupt, "_watcher", None)
    before = signal.getsignal(signal.SIGINT)

    def run() -> None:
        with interrupt.cancelling(lambda: calls.append("cancel")):
            assert signal.getsignal(signal.SIGINT) == before
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run()
    assert calls == ["cancel"]
    assert signal.getsignal(signal.SIGINT) == before


def test_a_job_that_ends_is_not_cancelled(watcher: Any) -> None:
    calls: list[str] = []
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupt.cancelling(lambda: calls.append("cancel")):
        assert len(watcher.cancellations) == 1
    assert (calls, watcher.cancellations) == ([], [])
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.parametrize(("reason", "words"), [("no\n route", "(no route)"), ("", "(OSError)")])
def test_a_cancellation_that_fails_is_one_line(
    reason: str, words: str, monkeypatch: pytest.MonkeyPatch, watcher: Any
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(logging.getLogger("wikianchor"), "warning", lambda text, *values: lines.append(text % values))

    def cancel() -> None:
        raise OSError(reason)

    with pytest.raises(SystemExit), interrupt.cancelling(cancel):
        raise SystemExit
    assert lines == [f"the job may still run: cancelling it failed {words}"]


def test_the_process_waits_for_the_answers_of_clusters(watcher: Any) -> None:
    assert watcher._deadline(FIRST) == FIRST + interrupt.GRACE_SECONDS
    answered, waiting = interrupt._Cancellation(int), interrupt._Cancellation(int)
    answered.answered = FIRST + 5
    watcher.cancellations = [answered]
    assert watcher._deadline(FIRST) == FIRST + 5 + interrupt.GRACE_SECONDS
    watcher.cancellations = [answered, waiting]
    assert watcher._deadline(FIRST) == FIRST + interrupt.CANCEL_SECONDS + interrupt.GRACE_SECONDS


def test_other_signals_are_not_ours(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    assert not interrupt._signalled(reader, 0)
    os.write(writer, bytes([signal.SIGCHLD]))
    assert not interrupt._signalled(reader, 0)
    os.write(writer, bytes([signal.SIGCHLD, signal.SIGTERM]))
    assert interrupt._signalled(reader, None)


class Exited(BaseException):
    pass


@pytest.mark.parametrize("again", [False, True], ids=["in time", "a second signal"])
def test_the_thread_ends_the_process_with_one_message(
    again: bool,
    watcher: Any,
    pipe: tuple[int, int],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def leave(status: int) -> None:
        raise Exited(status)

    reader, writer = pipe
    monkeypatch.setattr(os, "_exit", leave)
    if again:
        # The request to cancel does not come to an end, and the user presses Ctrl-C again.
        monkeypatch.setattr(interrupt, "REPEAT_SECONDS", -1.0)
        watcher.cancellations.append(interrupt._Cancellation(lambda: os.write(writer, bytes([signal.SIGINT]))))
    else:
        monkeypatch.setattr(interrupt, "GRACE_SECONDS", 0.0)
    os.write(writer, bytes([signal.SIGTERM]))
    with pytest.raises(Exited, match=f"^{interrupt.STATUS}$"):
        watcher._watch(reader)
    interrupt.say_interrupted()
    assert capfd.readouterr().err == f"{interrupt.MESSAGE}\n"


def test_the_message_is_printed_where_no_thread_watches(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(interrupt, "_watcher", None)
    interrupt.say_interrupted()
    assert capsys.readouterr().err == f"{interrupt.MESSAGE}\n"
