"""Workers that make no progress, need too much memory, or die of a page: the range is tried again alone, the page is
named, and `--skip_bad_pages` leaves it out."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, page
from tests.engine.kills import Launcher
from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.engine import local_workers, stage, worker_status
from wikianchor.pipelines.engine.local_workers import LocalWorkers, Worker
from wikianchor.pipelines.engine.machine import private_memory
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.retries import ELEMENT_DEATHS, Retries
from wikianchor.pipelines.engine.worker_status import (
    Limits,
    Position,
    WorkerDied,
    WorkerStatus,
    new_status_file,
    watched,
    watched_pages,
)
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds

TEXT = "The [[Moon]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows.\n\n"
# What Python imports when it starts: in a worker, two titles do harm.
HARM = """
import os, sys, time
if "wikianchor.pipelines.engine.worker" in sys.orig_argv:
    from wikianchor.pipelines.sentences.page_reader import PageReader
    read_page = PageReader.read_page
    def harmful(self, page):
        if page.title == "Abort":
            os.abort()
        if page.title == "Hang":
            time.sleep(1000)
        if page.title == "Eat":
            eaten = b"1" * 1_000_000_000
            time.sleep(1000)
        return read_page(self, page)
    PageReader.read_page = harmful
"""


def start(place: Path, monkeypatch: pytest.MonkeyPatch, title: str, *flags: str) -> Launcher:
    """Start the command on a dump with a page of this title."""
    titles = [f"Page {number}" for number in range(1, 200)]
    titles[150] = title
    (place / "dump.xml").write_bytes(export([page(name, n, TEXT * 5) for n, name in enumerate(titles, 1)]))
    (place / "site").mkdir()
    (place / "site/sitecustomize.py").write_text(HARM)
    monkeypatch.setattr("tests.engine.kills.ROOT", f"{place}/site:{os.environ.get('PYTHONPATH', '')}:{os.getcwd()}")
    return Launcher(["sentences", f"--dumps={place}/dump.xml", f"--output={place}/out", "--engine=python", *flags])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "flags", "words"),
    [
        ("Abort", ["--workers=2"], "was killed by SIGABRT"),
        pytest.param("Hang", ["--workers=1", "--stall_limit=5"], "made no progress for 5 s", marks=pytest.mark.nightly),
        pytest.param(
            "Eat", ["--worker_memory=700"], "of memory, more than --worker_memory allows", marks=pytest.mark.nightly
        ),
    ],
)
def test_a_bad_page_is_left_out_and_counted(
    title: str, flags: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = start(tmp_path, monkeypatch, title, "--skip_bad_pages", *flags)
    assert not launcher.end(120)
    said = [line for line in launcher.log() if words in line]
    assert (launcher.status, len(said)) == (0, 2), launcher.log()
    assert all(f"dump.xml from byte 0, page '{title}'," in line for line in said)
    assert said[0].endswith("its work is tried again alone")
    assert said[1].endswith("this page has ended 2 workers: it is left out")
    manifest = read_manifest(f"{tmp_path}/out")
    assert manifest is not None
    assert manifest["ledger"]["enwiki"]["pages"] == {"articles": 198, "crashed": 1}


@pytest.mark.slow
def test_a_bad_page_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # One worker, in a process of its own.
    launcher = start(tmp_path, monkeypatch, "Abort", "--stall_limit=600")
    assert not launcher.end(120)
    assert launcher.status == 1
    (line,) = launcher.lines()
    assert line.startswith("wikianchor: worker ")
    assert (
        "page 'Abort', was killed by SIGABRT: this page has ended 2 workers: leave it out with --skip_bad_pages" in line
    )


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.xml"
    path.write_bytes(export([page(f"Page {number}", number, TEXT) for number in range(1, 21)]))
    return path


def pages_of(output: Path) -> dict[str, int]:
    manifest = read_manifest(str(output))
    assert manifest is not None
    pages: dict[str, int] = manifest["ledger"]["enwiki"]["pages"]
    return pages


def as_worker(monkeypatch: pytest.MonkeyPatch, *bad_pages: tuple[str, int]) -> WorkerStatus:
    """Let this process be a worker that leaves out pages; return its status."""
    # They have to stay open.
    files = [new_status_file(), new_status_file()]
    monkeypatch.setattr(worker_status, "files_of_the_test", files, raising=False)
    monkeypatch.setattr(worker_status, "_this_worker", None)
    status = WorkerStatus(files[0].fileno())
    worker_status.join(status, files[1].fileno(), [], bad_pages)
    return status


def test_a_dataset_that_lacks_pages_is_rebuilt_without_the_flag(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wikianchor: Callable[..., Any]
) -> None:
    output, command = tmp_path / "out", ["sentences", f"--dumps={dump}", f"--output={tmp_path}/out", "--workers=1"]
    with monkeypatch.context() as patch:
        as_worker(patch, ("read-000000", 7), ("templates-000000", 3))
        assert wikianchor(*command).status == 0
    assert pages_of(output) == {"articles": 19, "crashed": 1, "crashed_template": 1}
    # Links of the page that was left out are in no bucket, and the others balance.
    checked = wikianchor("verify", output, f"--against={dump}")
    assert (checked.status, "is right" in checked.output) == (0, True), checked
    assert "up to date, skipped" in str(wikianchor(*command, "--skip_bad_pages"))
    ended = wikianchor(*command)
    assert f"{output}: rebuild, it was made with --skip_bad_pages, which left out 2 pages; the dataset" in str(ended)
    assert pages_of(output) == {"articles": 20}
    for flags in ([], ["--skip_bad_pages"]):
        assert "up to date, skipped" in str(wikianchor(*command, *flags))


def test_work_that_lacks_pages_is_done_again_without_the_flag(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wikianchor: Callable[..., Any]
) -> None:
    output, command = tmp_path / "out", ["sentences", f"--dumps={dump}", f"--output={tmp_path}/out", "--workers=1"]

    def fail(*_: Any) -> None:
        raise InputError("no commit")

    with monkeypatch.context() as patch:
        as_worker(patch, ("read-000000", 7))
        patch.setattr(stage, "commit", fail)
        assert wikianchor(*command).status == 1
    deaths = [WorkerDied("it", Position("read-000000", "d.xml", 7, "A"))] * 2
    with monkeypatch.context() as patch:
        patch.setattr(stage, "_run_watched", lambda *_: fail() if not deaths else _raise(deaths.pop()))
        assert wikianchor(*command, "--skip_bad_pages").status == 1
    assert [path.name for path in output.glob("_unfinished/*/skipped_pages")] == ["skipped_pages"]
    assert f"{output}: beginning again: an earlier run left pages out with --skip_bad_pages" in str(
        wikianchor(*command)
    )
    assert pages_of(output) == {"articles": 20}


def _raise(error: Exception) -> None:
    raise error


@pytest.fixture
def sleeper() -> Any:
    """A worker that only sleeps."""
    process = subprocess.Popen([sys.executable, "-c", "x = b'1' * 100_000_000; import time; time.sleep(1000)"])
    yield Worker(1, process)
    process.kill()
    process.wait()


def workers_with(worker: Worker, limits: Limits) -> LocalWorkers:
    workers = LocalWorkers(1, limits=limits)
    workers._workers.append(worker)
    return workers


def test_a_stopped_worker_is_reported_and_ended(sleeper: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    now, lines = [0.0], list[str]()
    monkeypatch.setattr(local_workers.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(logging.getLogger("wikianchor"), "warning", lambda text, *values: lines.append(text % values))
    workers = workers_with(sleeper, Limits(stall_seconds=100))

    def look(times: int) -> None:
        for _ in range(times):
            now[0] += 0.5
            workers.check()

    sleeper.status.begin("read-000001", "d.xml from byte 7")
    look(100)
    sleeper.status.beat()
    look(119)
    assert lines == []
    look(30)
    assert len(lines) == 1
    assert "at d.xml from byte 7, makes no progress: it is ended after 2 min" in lines[0]
    # The launcher was stopped as well, for an hour.
    now[0] += 3600
    look(1)
    with pytest.raises(WorkerDied, match="made no progress for 2 min"):
        look(100)


def test_a_worker_that_stays_at_one_page_makes_no_progress() -> None:
    file = new_status_file()
    status = WorkerStatus(file.fileno())
    status.begin("read-000001", "")
    status.begin_page(1, b"<page><title>A</title>")
    seen = status.progress()
    status.beat()
    assert status.progress() == seen
    status.begin_page(2, b"<page><title>B</title>")
    assert status.progress() != seen


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="memory of processes is read in /proc")
def test_memory_of_a_worker_is_bounded(sleeper: Worker) -> None:
    while private_memory(sleeper.process.pid) < 100e6:
        pass
    workers_with(sleeper, Limits(memory=500e6)).check()
    with pytest.raises(WorkerDied, match=r"needed 1\d\d MB of memory, more than --worker_memory allows"):
        workers_with(sleeper, Limits(memory=50e6)).check()


def test_what_is_tried_again_and_what_is_left_out() -> None:
    retries = Retries(skip_bad_pages=True)
    first, other = Position("read-000001", "d.xml", 7, "A"), Position("read-000001", "d.xml", 9, "B")
    assert retries.after(WorkerDied("it", first)) == "it: its work is tried again alone"
    assert retries.after(WorkerDied("it", other)) == "it: its work is tried again alone"
    assert retries.alone == ["read-000001"]
    assert retries.after(WorkerDied("it", first)) == "it: this page has ended 2 workers: it is left out"
    assert retries.bad_pages == [("read-000001", 7)]
    for _ in range(ELEMENT_DEATHS - 1):
        retries.after(WorkerDied("it", Position("merge-000001")))
    with pytest.raises(InputError, match="it, for the 4th time: more memory, finished work is kept"):
        retries.after(WorkerDied("it", Position("merge-000001"), "more memory, "))


def test_a_worker_leaves_out_bad_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_status, "_this_worker", None)
    file, lock = new_status_file(), new_status_file()
    status = WorkerStatus(file.fileno())
    worker_status.join(status, lock.fileno(), ["read-000001"], [("read-000001", 2)])
    counts: Counter[str] = Counter()
    pages = [(f"<page><title>A&amp;{n}</title>".encode() + b"x" * 5000, n) for n in (1, 2, 3)]
    seen = []
    with watched("read-000001", type("Element", (), {"path": "d.xml", "start": 4})):
        for _, offset in watched_pages(pages, counts, "crashed", ProgressFile("", "")):
            seen.append((offset, WorkerStatus(file.fileno()).position()))
    assert seen == [(n, Position("read-000001", "d.xml from byte 4", n, f"A&{n}")) for n in (1, 3)]
    assert counts == {"crashed": 1}
    assert status.position() == Position()


def test_the_core_says_which_page_it_reads(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wikianchor: Callable[..., Any]
) -> None:
    pytest.importorskip("wikianchor_core")
    status = as_worker(monkeypatch)
    positions = []

    def is_list(kinds: PageKinds, title: str) -> bool:
        positions.append(status.position())
        return False

    monkeypatch.setattr(PageKinds, "is_list", is_list)
    assert not wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out", "--engine=core").status
    assert [(page.page, page.title) for page in positions] == [(n, f"Page {n}") for n in range(1, 21)]


@pytest.mark.parametrize("flag", ["--worker_memory=0", "--stall_limit=-1", "--skip_bad_pages --runner=FlinkRunner"])
def test_wrong_limits(flag: str, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    (tmp_path / "dump.xml").write_bytes(export([page("A", 1, TEXT)]))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/dump.xml", f"--output={tmp_path}/out", *flag.split())
    assert ended.status == 2
    assert len(ended.said) == 1
    assert ended.said[0].startswith(f"wikianchor: {flag.partition(' ')[0]}")
