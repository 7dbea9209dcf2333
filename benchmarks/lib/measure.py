"""Measure commands and functions in CPU seconds and peak memory, and print tables in Markdown.

All times are user CPU of whole processes, their children included, so that a busy machine disturbs them as little as
possible. Cases that are compared take turns for several rounds, and a ratio is the median of the rounds' own ratios.
"""

import argparse
import bz2
import gzip
import hashlib
import json
import multiprocessing
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from wikianchor.io.markdown import markdown_table
from wikianchor.pipelines.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
ERROR_LINES = 15
T = TypeVar("T")


@dataclass(frozen=True)
class Cost:
    """User CPU of a process and its children in seconds, and the highest peak memory of one of them in MB."""

    user: float
    peak: float


def run(command: Sequence[str | Path]) -> Cost:
    """Run a command to its end and return its cost.

    Raises:
        SystemExit: the command fails; its last lines are printed.
    """
    with tempfile.TemporaryFile() as log:
        # Not subprocess, which may use vfork: a child's peak memory would begin with that of this process.
        pid = os.posix_spawnp(
            str(command[0]),
            [str(part) for part in command],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
            ],
        )
        _, status, usage = os.wait4(pid, 0)
        if status:
            log.seek(0)
            tail = "\n".join(log.read().decode("utf-8", "replace").splitlines()[-ERROR_LINES:])
            line, code = shlex.join(map(str, command)), os.waitstatus_to_exitcode(status)
            raise SystemExit(f"{line}\nended with {code}:\n{tail}")
    return Cost(usage.ru_utime, usage.ru_maxrss / 1024)


# A program that decompresses the bz2 file of its argument.
UNPACK = """
import bz2, sys
with bz2.open(sys.argv[1]) as file:
    while file.read(4 << 20):
        pass
"""


def watched(command: Sequence[str | Path], look: float = 1.0) -> tuple[int, int, int]:
    """Run a command; return its user CPU and wall time in seconds, and the peak memory of all its processes in MB, seen
    every `look` seconds: what they share counts once."""
    start, before, peak = time.monotonic(), os.times().children_user, 0
    with subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=sys.stderr) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(shared_size, family(process.pid))))
            time.sleep(look)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return round(os.times().children_user - before), round(time.monotonic() - start), round(peak / 1024)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    pids = [pid]
    for parent in pids:
        try:
            for task in Path(f"/proc/{parent}/task").iterdir():
                pids += map(int, (task / "children").read_text().split())
        except OSError:
            continue
    return pids


def shared_size(pid: int) -> int:
    """Return the proportional set size of a process in KB, 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def unpack(path: Path) -> int:
    """Decompress a file, 4 MB at a time, and return its size in bytes."""
    openers: dict[str, Callable[..., Any]] = {".bz2": bz2.open, ".gz": gzip.open}
    with openers.get(path.suffix, open)(path, "rb") as file:
        return sum(map(len, iter(lambda: file.read(4 << 20), b"")))


# The beginnings of flags that set the number of workers.
WORKER_FLAGS = ("--workers", "--direct_", "--runner")


def wikianchor(*arguments: str | Path) -> list[str | Path]:
    """Return the command line that runs `wikianchor` with this Python.

    It has one worker unless a flag says otherwise, because the default depends on the machine.
    """
    given = any(str(argument).startswith(WORKER_FLAGS) for argument in arguments)
    command = COMMANDS.get(str(arguments[0])) if arguments else None
    workers = ["--workers=1"] if command and command.is_pipeline and not given else []
    return [sys.executable, "-m", "wikianchor", *arguments, *workers]


def fresh(directory: Path) -> Path:
    """Remove a directory and return its path, so that a job starts from nothing."""
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def job(stage: str, output: Path, *flags: str | Path) -> float:
    """Run a stage of `wikianchor` into a new directory and return its user CPU."""
    return run(wikianchor(stage, *flags, f"--output={fresh(output)}")).user


def apart(function: Callable[..., T], *arguments: Any) -> T:
    """Return what a function returns in a new process, so that this one stays small: a child's peak memory begins with
    that of its parent."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as processes:
        return processes.submit(function, *arguments).result()


def rounds_of(number: int, cases: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Call each case in turn, `number` times, and return their results by name."""
    results: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(number):
        for name, case in cases.items():
            results[name].append(case())
            print(f"round {turn + 1} of {number}: {name}: {results[name][-1]:.2f}", file=sys.stderr)
    return results


def seconds(function: Callable[[], object]) -> float:
    """Return the user CPU of calling a function in this process."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    function()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - start


def less(times: Sequence[float], start: Sequence[float]) -> list[float]:
    """Subtract the start-up time of the same round from each time."""
    return [time - early for time, early in zip(times, start, strict=True)]


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median of the ratios round by round."""
    return median(map(truediv, above, below))


def digest(directory: Path) -> str:
    """Return a checksum of the shards and ledgers of all datasets below a directory."""
    manifests = [json.loads(path.read_text()) for path in sorted(directory.rglob("manifest.json"))]
    content = [[manifest["configs"], manifest["ledger"]] for manifest in manifests]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    return markdown_table(head, [[_cell(value) for value in row] for row in rows])


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def report(title: str, text: str) -> None:
    """Print a table under its title."""
    print(f"### {title}\n\n{text}\n")


def run_parts(
    description: str | None,
    parts: Mapping[str, Callable[[argparse.Namespace], None]],
    flags: Mapping[str, tuple[Any, str]] | None = None,
    rounds: int = 3,
) -> None:
    """Parse the command line and print the tables that it names.

    Args:
        description: the docstring of the command.
        parts: the function that prints each table; all are called by default.
        flags: the default and the help of each flag; a list takes several values, None takes a path.
        rounds: how often each case is measured by default.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="part", help=f"of {', '.join(parts)} (all)")
    shared = {
        "--work": (Path("out/benchmarks"), "where generated files are kept"),
        "--rounds": (rounds, "rounds of each measurement"),
    }
    for name, (default, text) in {**shared, **(flags or {})}.items():
        values = default if isinstance(default, list) else [default]
        first = next(iter(values), "")
        kind = Path if first is None or isinstance(first, Path) else type(first)
        shown = f"{text} ({' '.join(map(str, values))})" if default else text
        several = "+" if isinstance(default, list) else None
        parser.add_argument(name, type=kind, default=default, help=shown, nargs=several)
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(parts):
        parser.error(f"no such part: {', '.join(sorted(unknown))}: choose from {', '.join(parts)}")
    for part in arguments.parts or parts:
        parts[part](arguments)
