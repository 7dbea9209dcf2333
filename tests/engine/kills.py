"""Kill workers and launchers of `wikianchor` at random moments: for tests and for benchmarks/resume.py."""

from __future__ import annotations

import hashlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from lib import generate
from lib.measure import fresh

from wikianchor.pipelines.engine.worker_server import WORKER_NAME

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2"
PROCESSES = ("--workers=2",)
PHASES = ("start", "work", "close")
# What the end of a run may take after a kill, and a whole run, in seconds.
LIMIT, PATIENCE = 10.0, 300.0
_PROGRESS = re.compile(r"\d\d:\d\d:\d\d ")


def make_inputs(directory: Path, pages: int) -> dict[str, list[str]]:
    """Make the inputs unless they are there, and return the commands without their output."""
    directory.mkdir(parents=True, exist_ok=True)
    dump, wikidata = directory / "enwiki-20260101-pages-articles.xml", directory / "wikidata.json"
    if not (directory / "entities/manifest.json").exists():
        generate.write_dump(generate.read_source([str(DEMO)]), dump, pages=pages)
        generate.write_items("enwiki", generate.article_titles(str(dump)), wikidata)
        for command in (
            ["sentences", f"--dumps={dump}", f"--output={directory}/sentences"],
            ["entities", f"--wikidata={wikidata}", "--wikis=enwiki", f"--output={directory}/entities"],
        ):
            subprocess.run(
                [sys.executable, "-m", "wikianchor", *command],
                check=True,
                env=environment(),
                stdout=subprocess.DEVNULL,
            )
    return {
        "sentences": ["sentences", f"--dumps={dump}"],
        "pairs": ["pairs", f"--sentences={directory}/sentences", f"--entities={directory}/entities", "--min_links=1"],
    }


@dataclass(frozen=True)
class Ended:
    """How a run ended that was hit by a kill.

    Attributes:
        phase: the phase that the kill hit, by what was in the output directory.
        status: exit status of the command.
        seconds: time from the kill to the end of the command and its workers.
        hung: the command had to be killed, after `LIMIT` seconds where it was hit itself.
        orphans: workers that were left.
        lines: lines of stderr, without those of progress.
    """

    phase: str
    status: int
    seconds: float
    hung: bool
    orphans: int
    lines: tuple[str, ...]

    def is_clear(self, target: str) -> bool:
        """Return whether the command ended as it should: without a line, and well where a worker was killed."""
        return not self.lines and (target == "launcher" or self.status == 0)


@dataclass
class Job:
    """A command that is killed again and again.

    Attributes:
        command: its arguments, with the output.
        output: directory of its dataset.
        digest: digest of the dataset that it makes without a kill.
        seconds: that each phase takes without a kill.
    """

    command: Sequence[str]
    output: Path
    digest: str = ""
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))

    def measure(self) -> None:
        """Run the command to its end, and learn how long its phases take and what it makes."""
        fresh(self.output)
        launcher, moments = Launcher(self.command), []
        for event in (launcher.workers, self.writes, self.commits, lambda: not any(map(alive, launcher.workers()))):
            launcher.until(event)
            moments.append(time.monotonic())
        launcher.end(PATIENCE)
        self.seconds = {phase: last - first for phase, (first, last) in zip(PHASES, pairwise(moments), strict=True)}
        self.digest = digest(self.output)

    def writes(self) -> bool:
        """Return whether the workers have begun to write."""
        return any(path.is_file() for path in self.output.glob("_unfinished/**/*")) or self.commits()

    def commits(self) -> bool:
        """Return whether the dataset is finished."""
        return (self.output / "manifest.json").exists()

    def phase(self) -> str:
        """Return the phase of the run by what is in its output directory."""
        return "close" if self.commits() else "work" if self.writes() else "start"

    def kill(self, target: str, phase: str, chance: random.Random) -> Ended:
        """Kill a worker or the launcher of a new run; run again where it had just ended by itself.

        Args:
            target: "worker" or "launcher".
            phase: the phase to kill in.
            chance: draws the moment within the phase, and of the worker.
        """
        while (ended := self._kill(target, phase, chance)) is None:
            pass
        print(f"{target}: {ended}", file=sys.stderr)
        return ended

    def _kill(self, target: str, wanted: str, chance: random.Random) -> Ended | None:
        fresh(self.output)
        launcher = Launcher(self.command)
        launcher.until(launcher.workers)
        launcher.until({"start": lambda: True, "work": self.writes, "close": self.commits}[wanted])
        time.sleep(chance.random() * self.seconds[wanted])
        workers, phase = launcher.workers(), self.phase()
        pids = [launcher.pid] if target == "launcher" else workers
        killed = bool(pids) and kill(chance.choice(pids))
        begin = time.monotonic()
        # With a worker less the command goes on.
        hung = launcher.end(LIMIT if killed and target == "launcher" else PATIENCE)
        if not killed:
            return None
        orphans = left_of(workers, begin + LIMIT)
        return Ended(phase, launcher.status, time.monotonic() - begin, hung, len(orphans), launcher.lines())

    def again(self) -> bool:
        """Run the command to its end, and return whether its bytes are those of a run without a kill."""
        launcher = Launcher(self.command)
        hung = launcher.end(PATIENCE)
        return not hung and launcher.status == 0 and digest(self.output) == self.digest


class Launcher:
    """A command that runs the code of this checkout, with its stderr in a file.

    Args:
        arguments: those of the command.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 open as long as the command runs
        command = [sys.executable, "-m", "wikianchor", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._errors, env=environment())
        self.pid = self._process.pid

    @property
    def status(self) -> int:
        """Exit status of the command, once it has ended."""
        return self._process.wait(0)

    def workers(self) -> list[int]:
        """Return its worker processes."""
        return workers_of(self.pid)

    def signal(self, number: int) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def until(self, event: Callable[[], object]) -> None:
        """Wait for an event.

        Raises:
            RuntimeError: the command ends without it.
        """
        while not event():
            if self._process.poll() is not None and not event():
                raise RuntimeError(f"the command ended with {self.status} too early: {self.lines()}")
            time.sleep(0.005)

    def end(self, seconds: float) -> bool:
        """Wait for its end; where it does not come in time, kill it and its workers, and return True."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            for pid in (*self.workers(), self.pid):
                kill(pid)
            self._process.wait()
            return True
        return False

    def lines(self) -> tuple[str, ...]:
        """Return the lines of its stderr without those of progress."""
        return tuple(line for line in self.log() if not _PROGRESS.match(line))

    def log(self) -> list[str]:
        """Return the lines of its stderr."""
        self._errors.seek(0)
        return self._errors.read().splitlines()


def environment() -> dict[str, str]:
    """Return the environment in which commands run the code of this checkout."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def workers_of(launcher: int) -> list[int]:
    """Return the worker processes of a launcher, which may have ended, without the process that forks them."""
    words = f"\0wikianchor.pipelines.engine.worker\0{launcher}\0".encode()
    pids = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                is_worker = (entry / "comm").read_text() == f"{WORKER_NAME}\n"
                if is_worker and words in (entry / "cmdline").read_bytes():
                    pids.append(int(entry.name))
            except OSError:
                continue
    return sorted(pids)


def left_of(workers: Sequence[int], last: float) -> list[int]:
    """Wait until workers have ended, until `last` by the monotonic clock, and return those that have not."""
    while (left := [pid for pid in workers if alive(pid)]) and time.monotonic() < last:
        time.sleep(0.01)
    return left


def alive(pid: int) -> bool:
    """Return whether a process runs: it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def kill(pid: int) -> bool:
    """Kill a process, and return whether it was still running."""
    if not alive(pid):
        return False
    os.kill(pid, signal.SIGKILL)
    return True


def digest(directory: Path) -> str:
    """Return one checksum for all files of a directory."""
    checksum = hashlib.sha256()
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            checksum.update(f"{path.relative_to(directory)}\n".encode() + path.read_bytes())
    return checksum.hexdigest()
