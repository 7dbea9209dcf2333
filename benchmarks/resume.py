"""What a kill costs, and whether a killed run ends cleanly and can be started again.

    WIKIANCHOR_DATA=data python benchmarks/resume.py [cost] [kills] [--stages pairs mentions]

- `cost`: each stage runs once to its end, on the inputs of memory.py. Then, for each share, it runs until its processes
  have used that share of the CPU of the whole run, is killed with SIGKILL with all its workers, and the same command
  runs to its end. "Again" is the CPU of both runs beyond the whole run, start-up excluded. A killed run loses the unit
  of work of its worker; the longest unit is the most CPU that the whole run took between two finished steps.
- `kills`: `sentences` and `pairs` on two worker processes are killed at random moments, a third of them while the
  workers start, a third while they work and a third after the dataset is committed. The work of a killed worker is
  tried again, so the command ends with status 0; a killed launcher must leave no worker after ten seconds.

After each kill the same command must give the same bytes as a run without one.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import memory
from lib.measure import ROOT, digest, fresh, parser, report, run, run_parts, table, wikianchor

sys.path.insert(0, str(ROOT))

from tests.engine.kills import LIMIT, PHASES, PROCESSES, Ended, Job, make_inputs

SHARES = (25, 50, 75, 95)
# Multiples of the smallest inputs of memory.py, with which a stage takes two minutes of CPU or more.
TIMES = {"sentences": 96, "entities": 512, "pairs": 128, "mentions": 64, "mewsc16": 192, "corpus": 112}
LOOK_SECONDS = 0.05
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, rounds=1, parts=list(PARTS))
    memory.add_sizes(flags)
    flags.add_argument("--stages", nargs="+", default=list(TIMES), choices=list(TIMES), help="of `cost` (all)")
    flags.add_argument("--times", type=int, default=0, help="times the smallest input (by stage)")
    flags.add_argument("--kills", type=int, default=60, help="of workers, and of launchers, of each command (60)")
    flags.add_argument("--seed", type=int, default=1, help="of the random moments (1)")
    run_parts(PARTS, flags)


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
    start = run(command).user
    rows = []
    for share in SHARES:
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
    steps, at, longest = 0, 0.0, 0.0
    before = os.times().children_user
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        finished = sum(1 for _ in output.glob("_unfinished/*/finished/*"))
        if finished > steps:
            now = cpu(process.pid)
            # What comes before the first step is the start.
            longest = max(longest, now - at if steps else 0.0)
            steps, at = finished, now
        time.sleep(LOOK_SECONDS)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}: {process.communicate()[1].decode()[-500:]}")
    whole = os.times().children_user - before
    return max(longest, whole - at), whole


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
    return (int(fields[11]) + int(fields[13])) / TICKS


def compare_kills(arguments: Namespace) -> None:
    """Kill workers and launchers at random moments, and print how the runs ended."""
    directory = (arguments.work / f"kills-{arguments.pages}").resolve()
    commands, chance = make_inputs(directory, arguments.pages), random.Random(arguments.seed)
    rows: list[list[Any]] = []
    for name, command in commands.items():
        output = directory / f"out-{name}"
        job = Job([*command, f"--output={output}", *PROCESSES], output)
        job.measure()
        for target in ("worker", "launcher"):
            phases = [PHASES[number % len(PHASES)] for number in range(arguments.kills)]
            trials = [(job.kill(target, phase, chance), job.again()) for phase in phases]
            rows += [row_of(f"{name}, {target}, {phase}", target, phase, trials) for phase in PHASES]
    head = ["killed", "of them hung", "slowest end, s", "orphans", "other lines", "other bytes"]
    text = table(["command, process, phase", *head], rows)
    report(
        "kills",
        f"{text}\n\nTarget: the slowest end of a launcher within {LIMIT:.0f} s, and 0 in the columns beside it.",
    )


def row_of(name: str, target: str, phase: str, trials: Sequence[tuple[Ended, bool]]) -> list[Any]:
    """Return the row about the kills in a phase.

    Args:
        name: of the row.
        target: "worker" or "launcher".
        phase: one of PHASES.
        trials: how each run ended, and whether the same command then gave the same bytes.
    """
    chosen = [trial for trial in trials if trial[0].phase == phase]
    ends = [ended for ended, _ in chosen]
    counts = [sum(ended.hung for ended in ends), max((ended.seconds for ended in ends), default=0.0)]
    counts += [sum(ended.orphans for ended in ends), sum(not ended.is_clear(target) for ended in ends)]
    return [name, len(chosen), *counts, sum(not same for _, same in chosen)]


PARTS: dict[str, Callable[[Namespace], None]] = {"cost": compare_cost, "kills": compare_kills}

if __name__ == "__main__":
    main()
