"""Bars on a terminal, lines elsewhere."""

import io
import logging

import pytest

from wikianchor.io.units import duration, size
from wikianchor.pipelines.engine.progress import Progress


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (99_400, "99.4 kB"), (123_456_789, "123 MB"), (1.3e11, "130 GB")],
)
def test_sizes(number: float, shown: str) -> None:
    assert size(number) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.2, "1 s"), (89, "89 s"), (600, "10 min"), (7200, "2.0 h")])
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_bars() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress(terminal, clock) as progress:
        progress.begin("a", 1000, 500)
        clock.now += 2
        progress.advance("a", 250, "12 pages")
        shown = terminal.getvalue()
        assert "75 %" in shown
        assert "125 B/s" in shown
        assert "2 s left" in shown
        assert shown.endswith("left\n  12 pages\n")
        clock.now += 0.01
        progress.advance("a", 1)
        assert terminal.getvalue() == shown
        progress.end("a")
    assert terminal.getvalue() == shown + "\x1b[F\x1b[K" * 2


def test_the_rate_is_that_of_the_last_half_minute() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress(terminal, clock) as progress:
        progress.begin("a", 10_000)
        for step in [1] * 60 + [100] * 40:
            clock.now += 1
            progress.advance("a", step)
        assert "100 B/s" in terminal.getvalue().rpartition("\n")[0].rpartition("\n")[2]


def test_lines_where_there_is_no_terminal(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("wikianchor"), "propagate", True)
    stream, clock = io.StringIO(), Clock()
    with caplog.at_level("INFO", "wikianchor"), Progress(stream, clock) as progress:
        progress.begin("a", 1000)
        for _ in range(25):
            clock.now += 1
            progress.advance("a", 10)
    assert stream.getvalue() == ""
    assert list(dict.fromkeys(record.message for record in caplog.records)) == [
        "a [= ] 10 % 10 B/s 2 min left",
        "a [== ] 20 % 10 B/s 80 s left",
        "a: done, 250 B in 25 s, 10 B/s",
    ]


def test_a_total_of_nothing() -> None:
    terminal, clock = Terminal(), Clock()
    with Progress(terminal, clock) as progress:
        progress.begin("a" * 100, 0)
        clock.now += 1
        progress.advance("a" * 100, 0)
    assert "100 %" in terminal.getvalue()


def test_the_end_of_a_long_task_is_logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.getLogger("wikianchor"), "propagate", True)
    caplog.set_level(logging.INFO, "wikianchor")
    clock = Clock()
    with Progress(Terminal(), clock) as progress:
        progress.begin("short", 10)
        progress.begin("long", 5000, 1000)
        clock.now += 5
        progress.end("short")
        clock.now += 35
        progress.advance("long", 4000, "12 pages")
    assert list(dict.fromkeys(caplog.messages)) == ["long: done, 4.0 kB in 40 s, 100 B/s: 12 pages"]
    failing = Progress(Terminal(), clock)
    failing.__enter__().begin("failed", 5000)
    clock.now += 60
    failing.__exit__(KeyError)
    assert not any("failed" in message for message in caplog.messages)
