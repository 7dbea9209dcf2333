"""Errors of steps on their way through a runner: one line at the command line, the traceback with --verbose."""

import bz2
import errno
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.testing.util import assert_that, equal_to

from tests.stand_in import work_of
from wikianchor.io.errors import InputError, Truncated, UsageError
from wikianchor.pipelines.engine import transforms
from wikianchor.pipelines.engine.stage import _clear
from wikianchor.pipelines.engine.step_errors import MARKER, StepError, find_error, mark_errors
from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
JAPANESE = str(next(DEMO.glob("jawiki-*.xml.bz2")))
HARD = 'a "b" \\ c\n[while running \'x\'] {"kind": 1} 日本 ' + MARKER


def traceback_of(error: Exception) -> str:
    """Return what a runner makes of an error."""
    try:
        with mark_errors():
            raise error
    except StepError:
        return traceback.format_exc()


@pytest.mark.parametrize("text", ["dump.xml: cut off", "", HARD])
@pytest.mark.parametrize(
    ("kind", "expected"), [(InputError, InputError), (Truncated, InputError), (UsageError, UsageError)]
)
def test_an_error_is_found_in_a_traceback(kind: type[Exception], expected: type[Exception], text: str) -> None:
    found = find_error(f"RuntimeError: {traceback_of(kind(text)).rstrip()} [while running 'Read dump']\n")
    assert type(found) is expected
    assert str(found) == text


def test_the_last_error_counts_and_there_may_be_none() -> None:
    text = traceback_of(InputError("first")) + traceback_of(InputError("second"))
    assert str(find_error(text)) == "second"
    assert find_error("ValueError: InputError: not ours") is None
    for rest in ("itself", "{", '{"kind": "KeyError", "message": "x"}', '{"message": "x"}'):
        assert find_error(f"{MARKER} {rest}") is None


def test_other_errors_pass_unchanged() -> None:
    with pytest.raises(ValueError, match="ours to mend"), mark_errors():
        raise ValueError("ours to mend")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/x"), "data: the disk is full: free some space"),
        (RuntimeError("StatusCode.UNAVAILABLE\nsocket closed"), "data: a worker or the job service died"),
        (RuntimeError("Unable to fetch remote job server jar at https://a/b.jar: x"), "https://a/b.jar: Beam cannot"),
        (RuntimeError("Service failed to start up with error 1"), "the job server ended when it was started"),
        (FileNotFoundError(errno.ENOENT, "x", "java"), "java: not installed"),
    ],
)
def test_what_a_runner_raises_is_one_line(error: Exception, line: str) -> None:
    shown = _clear(error, "data")
    assert isinstance(shown, InputError)
    assert str(shown).startswith(line)
    assert "\n" not in str(shown)


def test_an_error_of_a_runner_that_is_not_known_is_left_as_it_is() -> None:
    error = RuntimeError("a bug")
    assert _clear(error, "data") is error


@pytest.mark.parametrize(("path", "where"), [("/data/run.arrow", "/data/run.arrow"), (None, "a file of this run")])
def test_a_disk_that_fails_is_an_error_of_the_user(path: str | None, where: str) -> None:
    error = find_error(traceback_of(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)))
    assert isinstance(error, InputError)
    assert str(error).startswith(f"{where}: cannot be read or written (No space left on device): check the disk")
    with pytest.raises(ProcessLookupError), mark_errors():
        raise ProcessLookupError(errno.ESRCH, "no such process")


def fail(*args: Any) -> Any:
    raise InputError("dump.xml: empty")


def fail_late() -> Iterator[int]:
    yield 1
    fail()


@pytest.mark.parametrize("name", ["step", "call", "list"])
def test_every_transform_marks_errors(name: str, tmp_path: Path) -> None:
    pipeline = beam.Pipeline(runner="FnApiRunner")
    if name == "step":
        _ = pipeline | beam.Create([1]) | RunStep(fail, work_of(tmp_path), "step", key=str)
    else:
        _ = pipeline | (CallOnce(fail) if name == "call" else ListElements(fail_late))
    with pytest.raises(Exception, match=MARKER) as error:
        pipeline.run()
    assert str(find_error(str(error.value))) == "dump.xml: empty"


def test_a_function_is_called_once_with_lists_of_elements(tmp_path: Path) -> None:
    calls: list[Any] = []
    transforms.test_calls = calls  # type: ignore[attr-defined]

    def call(name: str, numbers: list[int], table: dict[str, int]) -> int:
        from wikianchor.pipelines.engine import transforms

        transforms.test_calls.append((name, sorted(numbers), table))  # type: ignore[attr-defined]
        return sum(numbers)

    work = work_of(tmp_path)
    for _ in range(2):
        with beam.Pipeline(runner="FnApiRunner") as pipeline:
            numbers = pipeline | ListElements(range, 4)
            table = transforms.as_dict(numbers, "By name", str)
            total = pipeline | CallOnce(call, "sum", numbers, table, work=work, name="sum")
            assert_that(total, equal_to([6]))
    # The second run found the result of the first.
    assert calls == [("sum", [0, 1, 2, 3], {"0": 0, "1": 1, "2": 2, "3": 3})]
    del transforms.test_calls  # type: ignore[attr-defined]


@pytest.fixture
def quiet_again() -> Iterator[None]:
    """Leave Beam's log as it was for the tests that follow."""
    log = logging.getLogger("apache_beam")
    before = log.handlers, log.propagate, log.level
    yield
    log.handlers, log.propagate = before[0], before[1]
    log.setLevel(before[2])


@pytest.mark.usefixtures("quiet_again")
@pytest.mark.parametrize("workers", [1, 2])
def test_verbose_shows_beams_log(workers: int, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_bytes(bz2.decompress(Path(JAPANESE).read_bytes())[:30_000])
    command = ["sentences", f"--dumps={broken}", f"--output={tmp_path}/out", f"--workers={workers}"]
    quiet = wikianchor(*command)
    assert quiet.status == 1
    assert len(quiet.said) == 1
    loud = wikianchor(*command, "--verbose")
    assert loud.status == 1
    assert loud.said[-1] == quiet.said[0]
    assert any(line.startswith("Traceback (most recent call last)") for line in loud.said)
    assert any(MARKER in line for line in loud.said)
