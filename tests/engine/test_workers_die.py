"""Worker processes and launchers that are killed: the kills of `benchmarks/resume.py` in small."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.dumps import export, page
from tests.engine.kills import PROCESSES, Job, Launcher, digest, left_of
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.engine.local_workers import LocalWorkers, Worker
from wikianchor.pipelines.engine.worker_status import WorkerDied, new_status_file

TEXT = "The [[Moon]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows."


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """The command on a dump, and what it makes in one process."""
    place = tmp_path_factory.mktemp("expected")
    (place / "dump.xml").write_bytes(export([page(f"Page {number}", number, TEXT * 20) for number in range(1, 1501)]))
    command = ["sentences", f"--dumps={place}/dump.xml"]
    assert main([*command, f"--output={place}/out"]) == 0
    return Job(command, place, digest(place / "out"))


@pytest.fixture
def job(expected: Job, tmp_path: Path) -> Job:
    output = tmp_path / "out"
    return Job([*expected.command, f"--output={output}", *PROCESSES], output, expected.digest)


@pytest.mark.slow
# The last phase is in `test_chaos.py`, and here as `test_a_released_worker_may_end_but_not_be_killed`.
@pytest.mark.parametrize("phase", ["start", "work"])
def test_the_work_of_a_killed_worker_is_tried_again(phase: str, job: Job) -> None:
    ended = job.kill("worker", phase, random.Random(phase))
    assert (ended.status, ended.hung, ended.orphans, ended.lines) == (0, False, 0, ())
    assert digest(job.output) == job.digest


def test_a_killed_launcher_leaves_no_worker(job: Job) -> None:
    ended = job.kill("launcher", "start", random.Random(1))
    assert (ended.orphans, ended.lines) == (0, ())


@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_an_interrupt_ends_workers_that_are_starting(number: int, job: Job) -> None:
    launcher = Launcher(job.command)
    launcher.until(lambda: len(launcher.workers()) == 2)
    workers = launcher.workers()
    launcher.signal(number)
    sent = time.monotonic()
    assert not launcher.end(5)
    assert left_of(workers, sent + 5) == []
    assert launcher.status == 130
    assert len(launcher.lines()) == 1


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("kill -KILL $$", "was killed by SIGKILL (by the kernel for memory?)"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
        ("exit 3", "ended too early with exit status 3"),
        ("exit 0", "ended too early with exit status 0"),
    ],
)
def test_the_line_says_which_worker_died_and_how(script: str, line: str) -> None:
    workers = LocalWorkers(4)
    worker = Worker(2, subprocess.Popen(["sh", "-c", script]))
    workers._workers.append(worker)
    worker.process.wait()
    with pytest.raises(WorkerDied) as raised:
        workers.check()
    assert str(raised.value) == f"worker 2 of 4 (process {worker.process.pid}) {line}"


def test_a_released_worker_may_end_but_not_be_killed() -> None:
    workers = LocalWorkers(2)
    for script in ("exec sleep 0.1", "exec sleep 100"):
        worker = Worker(len(workers._workers) + 1, subprocess.Popen(["sh", "-c", script]))
        workers._workers.append(worker)
        workers.release(worker)
    workers._workers[0].process.wait()
    workers.check()
    worker.process.kill()
    worker.process.wait()
    with pytest.raises(WorkerDied, match="worker 2 of 2"):
        workers.check()


def test_a_worker_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikianchor.pipelines.engine.local_workers.EXIT_SECONDS", 0.1)
    workers = LocalWorkers(1)
    worker = Worker(1, subprocess.Popen(["sleep", "100"]))
    workers._workers.append(worker)
    workers.release(worker)
    workers.wait(worker)
    assert worker.process.poll() == -signal.SIGKILL
    workers.check()


# A worker whose launcher is the test, and in which Beam's worker fails.
FAILS = """
import json, sys
from wikianchor.pipelines.engine import worker
from apache_beam.runners.worker import sdk_worker_main
def fail(arguments):
    print("of Beam", file=sys.stderr)
    raise ConnectionError("lost")
sdk_worker_main.main = fail
worker.work(int(sys.argv[1]), json.loads(sys.argv[2]), *map(int, sys.argv[3:]))
"""


@pytest.mark.parametrize(
    ("verbose", "launcher", "words"),
    [
        (False, "alive", ["ConnectionError: lost"]),
        (True, "alive", ["of Beam", "ConnectionError: lost"]),
        (False, "dead", []),
    ],
)
def test_a_worker_that_fails_says_why_where_its_launcher_lives(verbose: bool, launcher: str, words: list[str]) -> None:
    files = [new_status_file(), new_status_file()]
    descriptors = [file.fileno() for file in files]
    told = {"alone": [], "bad_pages": [], "directory": os.getcwd(), "environment": {}, "verbose": verbose}
    # No process has the number of a launcher that has ended.
    number = os.getpid() if launcher == "alive" else 2**22 + 1
    command = [sys.executable, "-c", FAILS, str(number), json.dumps(told), *map(str, [*descriptors, 2])]
    ended = subprocess.run(command, pass_fds=descriptors, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 1
    for word in ("of Beam", "ConnectionError: lost"):
        assert (word in ended.stderr) == (word in words), ended.stderr


def test_no_worker_starts_after_the_others_were_killed() -> None:
    workers = LocalWorkers(1)
    workers.kill()
    with pytest.raises(RuntimeError):
        workers.start({})
