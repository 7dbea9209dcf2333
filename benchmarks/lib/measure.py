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
from operator import truediv
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from wikianchor.io.markdown import markdown_table
from wikianchor.pipelines.cli.commands import COMMANDS
from wikianchor.pipelines.dataset.reader import finished_datasets

ROOT = Path(__file__).resolve().parents[2]
ERROR_LINES = 15
T = TypeVar("T")


def run(
    command: Sequence[str | Path], look: Callable[[int], object] | None = None, every: float = 1.0
) -> resource.struct_rusage:
    """Run a command to its end and return what it and its children have used.

    Its peak memory is that of its largest process, and at least that of this process at the start (see `apart`).

    Args:
        command: the command line.
        look: is called with the id of the process again and again.
        every: seconds from one look to the next.

    Raises:
        SystemExit: the command fails; its last lines are printed.
    """
    words = [str(word) for word in command]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while look and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            look(process.pid)
            time.sleep(every)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            log.seek(0)
            tail = "\n".join(log.read().decode("utf-8", "replace").splitlines()[-ERROR_LINES:])
            raise SystemExit(f"{shlex.join(words)}\nended with {process.returncode}:\n{tail}")
    return usage


def watched(command: Sequence[str | Path], every: float = 1.0) -> tuple[int, int, int]:
    """Run a command; return its user CPU and wall time in seconds, and the peak memory of all its processes in MB, seen
    every so many seconds: what they share counts once."""
    start, sizes = time.monotonic(), [0]
    usage = run(command, lambda pid: sizes.append(sum(map(shared_size, family(pid)))), every)
    return round(usage.ru_utime), round(time.monotonic() - start), round(max(sizes) / 1024)


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


def wikianchor(command: str, *flags: str | Path) -> list[str | Path]:
    """Return the command line that runs a command of `wikianchor` with this Python.

    A pipeline has one worker unless a flag says otherwise, because the default depends on the machine.
    """
    is_pipeline = command in COMMANDS and COMMANDS[command].is_pipeline
    given = any(str(flag).startswith("--workers") for flag in flags)
    workers = ["--workers=1"] if is_pipeline and not given else []
    return [sys.executable, "-m", "wikianchor", command, *flags, *workers]


def fresh(directory: Path) -> Path:
    """Remove a directory and return its path, so that a job starts from nothing."""
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def job(stage: str, output: Path, *flags: str | Path) -> float:
    """Run a stage of `wikianchor` into a new directory and return its user CPU."""
    return run(wikianchor(stage, *flags, f"--output={fresh(output)}")).ru_utime


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
    content = [[dataset.configs, dataset.ledger] for dataset in finished_datasets(str(directory))]
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
