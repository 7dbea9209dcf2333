"""Deaths in the middle of a run, on engines of several processes: the same command again gives the same bytes, and
nothing of the dead run is left. `make chaos`."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from lib.measure import fresh

from tests.dumps import export, page
from tests.engine.kills import LIMIT, PATIENCE, PHASES, PROCESSES, Job, Launcher, digest, left_of, make_inputs
from tests.engines import answers, free_port, process, until
from tests.every_pipeline import all_digests

pytestmark = pytest.mark.nightly
ROOT = Path(__file__).parents[2]
TEXT = "The [[Moon]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows."


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of several ranges that takes some seconds."""
    path = tmp_path_factory.mktemp("dump") / "dump.xml"
    path.write_bytes(export([page(f"Page {number}", number, TEXT * 20) for number in range(1, 12_001)]))
    return path


@pytest.fixture(scope="module")
def expected(dump: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    out = tmp_path_factory.mktemp("expected")
    assert finished(start(dump, out)) == (0, "")
    return all_digests(str(out))


def start(dump: Path, out: Path, *flags: str) -> subprocess.Popen[str]:
    """Start the command as a user does."""
    command = [
        sys.executable,
        "-m",
        "wikianchor.pipelines.cli.command_line",
        "sentences",
        f"--dumps={dump}",
        f"--output={out}",
        *flags,
    ]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=surroundings, cwd=out.parent)


def finished(run: subprocess.Popen[str]) -> tuple[int, str]:
    """Return the exit status of a run, and what it says less its progress."""
    # Beam's threads may print at the same time.
    said = map(str.strip, run.communicate(timeout=180)[1].splitlines())
    return run.returncode, "\n".join(line for line in said if line.startswith("wikianchor:"))


def writing(out: Path) -> Callable[[], bool]:
    """Whether a run is in the middle of it."""
    return lambda: any(out.glob("_unfinished/**/*.parquet"))


def children(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]


def check_again(dump: Path, out: Path, expected: object, *flags: str) -> None:
    """Run the same command to its end: the same bytes, and nothing besides."""
    status, said = finished(start(dump, out, *flags))
    assert (status, said) == (0, "")
    assert all_digests(str(out)) == expected
    assert {path.name for path in out.iterdir()} == {"data", "manifest.json", "README.md"}


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Job]:
    """The commands of `benchmarks/resume.py`, measured."""
    directory = tmp_path_factory.mktemp("jobs")
    measured = {}
    for name, command in make_inputs(directory, 1500).items():
        measured[name] = Job([*command, f"--output={directory}/out-{name}", *PROCESSES], directory / f"out-{name}")
        measured[name].measure()
    return measured


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("target", ["worker", "launcher"])
@pytest.mark.parametrize("command", ["sentences", "pairs"])
def test_a_worker_or_the_launcher_is_killed(command: str, target: str, phase: str, jobs: dict[str, Job]) -> None:
    chance = random.Random(phase)
    for _ in range(2):
        ended = jobs[command].kill(target, phase, chance)
        assert (ended.hung, ended.orphans) == (False, 0)
        assert ended.is_clear(target), ended
        assert jobs[command].again()


def test_workers_are_stopped_at_twenty_moments(jobs: dict[str, Job]) -> None:
    chance = random.Random(20)
    stops = 0
    while stops < 20:
        job = jobs[("sentences", "pairs")[stops % 2]]
        fresh(job.output)
        # On a busy machine a worker may need longer to start, without a sign of it.
        launcher = Launcher([*job.command, f"--stall_limit={5 + round(job.seconds['start'])}"])
        launcher.until(launcher.workers)
        # The end of a run too, when one worker has work and the other has none.
        time.sleep(chance.random() * sum(job.seconds.values()))
        workers, committed = launcher.workers(), job.commits()
        if workers:
            os.kill(stopped := chance.choice(workers), signal.SIGSTOP)
        assert not launcher.end(PATIENCE)
        if workers:
            stops += 1
            lines = [
                line for line in launcher.log() if f"(process {stopped})" in line and "made no progress for" in line
            ]
            print(stops, "committed" if committed else "", lines, file=sys.stderr)
            assert launcher.status == 0, launcher.log()
            assert len(lines) == 1 or committed, launcher.log()
            assert digest(job.output) == job.digest
            assert left_of(workers, time.monotonic() + LIMIT) == []


def test_the_job_service_is_killed_and_comes_back(dump: Path, expected: object, tmp_path: Path) -> None:
    def service(directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[str]]]:
        directory.mkdir()
        module, port_file = "apache_beam.runners.portability.local_job_service_main", directory / "port"
        with process(directory, sys.executable, "-m", module, "--port=0", f"--port_file={port_file}") as started:
            until(lambda: port_file.exists() and port_file.read_text().strip() != "", "the job service to start")
            endpoint = f"--job_endpoint=localhost:{port_file.read_text().strip()}"
            yield started, ["--runner=PortableRunner", endpoint, "--environment_type=LOOPBACK"]

    with contextmanager(service)(tmp_path / "one") as (started, flags):
        run = start(dump, tmp_path / "out", *flags)
        until(writing(tmp_path / "out"), "the first part")
        started.kill()
        status, said = finished(run)
    assert status == 1
    assert said.endswith("run it again")
    with contextmanager(service)(tmp_path / "two") as (_, flags):
        check_again(dump, tmp_path / "out", expected, *flags)


def test_a_worker_pool_dies_and_comes_back(dump: Path, expected: object, tmp_path: Path) -> None:
    port = free_port()
    surroundings = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    command = [sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main", f"--service_port={port}"]
    flags = ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=EXTERNAL"]
    flags += [f"--environment_config=localhost:{port}"]
    with process(tmp_path, *command, environment=surroundings) as pool:
        until(lambda: answers(port), "the worker pool to start")
        run = start(dump, tmp_path / "out", *flags)
        until(writing(tmp_path / "out"), "the first part")
        for worker in children(pool.pid):
            os.kill(worker, signal.SIGKILL)
        pool.kill()
        status, said = finished(run)
    assert status == 1
    assert said.endswith("run it again")
    with process(tmp_path, *command, environment=surroundings):
        until(lambda: answers(port), "the worker pool to start")
        check_again(dump, tmp_path / "out", expected, *flags)


def test_a_corrupt_block_in_the_middle_is_no_end(dump: Path, expected: object, tmp_path: Path) -> None:
    import bz2

    packed = bytearray(bz2.compress(dump.read_bytes(), 1))
    whole = bytes(packed)
    packed[len(packed) // 2] ^= 0x10
    broken = tmp_path / "dump.xml"
    broken.write_bytes(packed)
    status, said = finished(start(broken, tmp_path / "out", *PROCESSES))
    assert status == 1
    assert "damaged bz2 data" in said
    assert not (tmp_path / "out/manifest.json").exists()
    broken.write_bytes(whole)
    assert finished(start(broken, tmp_path / "out", *PROCESSES)) == (0, "")


def test_the_clock_jumps(dump: Path, expected: object, tmp_path: Path) -> None:
    # The clock of the machine, as every process sees it, goes back a day in the middle.
    code = (
        "import sys, time; real = time.time; begin = real();"
        "time.time = lambda: real() - (86_400 if real() > begin + 2 else 0);"
        "from wikianchor.pipelines.cli.command_line import main; raise SystemExit(main())"
    )
    command = [sys.executable, "-c", code, "sentences", f"--dumps={dump}", f"--output={tmp_path}/out"]
    surroundings = {**os.environ, "PYTHONPATH": str(ROOT)}
    begin = time.monotonic()
    assert subprocess.run(command, env=surroundings, capture_output=True, timeout=180).returncode == 0
    assert time.monotonic() - begin > 2
    assert all_digests(f"{tmp_path}/out") == expected
