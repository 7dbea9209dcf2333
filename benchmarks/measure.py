"""Measuring: commands and functions in, CPU seconds and peak memory out, as tables in Markdown.

All times are user CPU of whole processes, their children included, so that a busy machine disturbs them as little as
may be. What is compared is run turn by turn, several rounds, and a ratio is the median of the rounds' own ratios.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ERROR_LINES = 15


@dataclass(frozen=True)
class Cost:
    """What a process and its children took: user and system CPU and wall time in seconds, and the most memory that
    any one of them held, in MB."""

    user: float
    system: float
    wall: float
    peak: float


def run(command: Sequence[str | Path], environment: Mapping[str, str] | None = None) -> Cost:
    """Run a command to its end and return its cost; a command that fails ends the benchmark with its last lines."""
    with tempfile.TemporaryFile() as log:
        start = time.monotonic()
        # No vfork here: a child's peak begins with its parent's, so benchmarks keep their own process small.
        pid = os.posix_spawnp(
            str(command[0]),
            [str(part) for part in command],
            {**os.environ, **(environment or {})},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
            ],
        )
        try:
            _, status, usage = os.wait4(pid, 0)
        except BaseException:
            os.kill(pid, signal.SIGTERM)
            os.waitpid(pid, 0)
            raise
        wall = time.monotonic() - start
        if status:
            log.seek(0)
            tail = "\n".join(log.read().decode("utf-8", "replace").splitlines()[-ERROR_LINES:])
            line, code = shlex.join(map(str, command)), os.waitstatus_to_exitcode(status)
            raise SystemExit(f"{line}\nended with {code}:\n{tail}")
    return Cost(usage.ru_utime, usage.ru_stime, wall, usage.ru_maxrss / 1024)


# Commands that run a Beam pipeline, and the beginnings of flags that say how many workers it has.
STAGES = ("build", "sentences", "entities", "pairs", "mentions", "interlanguage", "corpus", "mewsc16", "negatives")
WORKER_FLAGS = ("--workers", "--direct_", "--runner")


def wikianchor(*arguments: str | Path) -> list[str | Path]:
    """Return the command line that runs `wikianchor` as it is installed for this Python.

    One worker, unless a flag says otherwise: the default follows the machine, and figures should not.
    """
    given = any(str(argument).startswith(WORKER_FLAGS) for argument in arguments)
    one = ["--workers=1"] if arguments[:1] and arguments[0] in STAGES and not given else []
    return [Path(sys.executable).with_name("wikianchor"), *arguments, *one]


def fresh(directory: Path) -> Path:
    """Remove a directory and return it, so that a job finds nothing done."""
    shutil.rmtree(directory, ignore_errors=True)
    return directory


def rounds_of(number: int, cases: Mapping[str, Callable[[], float]]) -> dict[str, list[float]]:
    """Call each case in turn, `number` times over, and return what each returned."""
    found: dict[str, list[float]] = {name: [] for name in cases}
    for turn in range(number):
        for name, case in cases.items():
            found[name].append(case())
            print(f"round {turn + 1} of {number}: {name}: {found[name][-1]:.2f}", file=sys.stderr)
    return found


def seconds(function: Callable[[], object]) -> float:
    """Return the user CPU of calling a function in this process."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    function()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - start


def ratio(above: Sequence[float], below: Sequence[float]) -> float:
    """Return the median of the ratios round by round."""
    return median(one / other for one, other in zip(above, below, strict=True))


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; the first column is text, the others are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def report(title: str, text: str) -> None:
    """Print a table under its title, the command and the machine."""
    command = shlex.join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    print(f"### {title}\n\n`{command}`, Python {platform.python_version()}, {os.cpu_count()} cores\n\n{text}\n")


def parser(description: str | None, rounds: int = 3) -> argparse.ArgumentParser:
    """Return a parser with the flags that all benchmarks have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--work", type=Path, default=Path("out/benchmarks"), help="where generated files are kept")
    found.add_argument("--rounds", type=int, default=rounds, help=f"rounds of each measurement ({rounds})")
    return found
