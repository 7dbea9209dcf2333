"""What a kill costs, and whether a killed run can be started again.

    WIKIANCHOR_DATA=data python benchmarks/resume.py cost [--stages pairs mentions]

Each stage runs once to its end, on the inputs of memory.py. Then, for each share, it runs until its processes have used
that share of the CPU of the whole run, is killed with SIGKILL with all its workers, and the same command runs to its
end, with the same bytes. "Again" is the CPU of both runs beyond the whole run, start-up excluded. A killed run loses
the unit of work of its worker; the longest unit is the most CPU that the whole run took between two finished steps.

`make chaos` kills workers and launchers at random moments (tests/engine/test_chaos.py).
"""

import os
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import memory
from lib.measure import digest, fresh, report, run, run_parts, table, wikianchor

# Multiples of the smallest inputs of memory.py, with which a stage takes two minutes of CPU or more.
TIMES = {"sentences": 96, "entities": 512, "pairs": 128, "mentions": 64, "mewsc16": 192, "corpus": 112}
LOOK_SECONDS = 0.05


def compare_cost(arguments: Namespace) -> None:
    """Print what each stage costs that is killed and started again."""
    rows = [row for stage in arguments.stages for row in measure(arguments, stage)]
    head = ["stage", "killed at, %", "whole run, CPU s", "again, s", "again, %", "longest unit, s", "bytes"]
    target = "Target: at most one unit for the worker, and 5 % of the whole run."
    report("killed and started again", f"{table(head, rows)}\n\n{target}")


def measure(arguments: Namespace, stage: str) -> list[list[Any]]:
    """Return the rows of a stage."""
    given = memory.INPUTS[stage](arguments, arguments.times or TIMES[stage])
    output = arguments.work / "resume"
    command = [*wikianchor(stage, *given.flags, f"--output={output}")]
    fresh(output)
    unit, whole = finish(command, output)
    expected = digest(output)
    start = run(command).ru_utime
    rows = []
    for share in (25, 50, 75, 95):
        fresh(output)
        spent = kill_at(command, start + (whole - start) * share / 100)
        again = spent - start + finish(command, output)[1] - start - (whole - start)
        same = "the same" if digest(output) == expected else "DIFFERENT"
        work = whole - start
        rows.append([f"{stage} ({given.size})", share, work, again, 100 * again / work, unit, same])
        print(rows[-1], file=sys.stderr)
    return rows


def finish(command: Sequence[str | Path], output: Path) -> tuple[float, float]:
    """Run a command to its end; return the most user CPU between two finished steps, and all of it."""
    times: dict[int, float] = {}

    def look(pid: int) -> None:
        times.setdefault(sum(1 for _ in output.glob("_unfinished/*/finished/*")), cpu(pid))

    whole = run(command, look, LOOK_SECONDS).ru_utime
    # What comes before the first step is the start.
    moments = [*(time for steps, time in times.items() if steps), whole]
    return max((later - earlier for earlier, later in pairwise(moments)), default=whole), whole


def kill_at(command: Sequence[str | Path], seconds: float) -> float:
    """Run a command until it has used so much user CPU, and kill it; return what it has used."""
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    used = 0.0
    while process.poll() is None and used < seconds:
        time.sleep(LOOK_SECONDS)
        used = max(used, cpu(process.pid))
    # It may have come to its end in the last moment.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return used


def cpu(pid: int) -> float:
    """Return the user CPU that a process and its ended children have used, 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[13])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    flags = {
        **memory.SIZES,
        "--stages": (list(TIMES), "to measure"),
        "--times": (0, "times the smallest input (by stage)"),
    }
    run_parts(__doc__, {"cost": compare_cost}, flags, rounds=1)
