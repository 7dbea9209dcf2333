"""What two workers gain over one, beside what this machine allows.

    WIKIANCHOR_DATA=data python benchmarks/scaling.py

What --workers=2 gains over --workers=1 in `sentences` (a multistream dump, and one bz2 stream), `pairs` and `mentions`,
beside what this machine allows in the same minutes: two processes that only decompress the dump, and two copies of the
stage on half of the input each, both 2 at most. "Start" is the same command on the sample. "Serial"
are the seconds of steps that only one worker has, read from the status of the workers (`engine/worker_status.py`), by
step; "waiting" those of other steps in which a worker has nothing to do. Speed-ups are less the start and the serial
steps. `workers`: what a further worker costs, in CPU of its start and in memory.
"""

import bz2
import os
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from lib import generate, slices
from lib.many_links import entities, many_sentences, sample
from lib.measure import fresh, job, less, ratio, report, rounds_of, run_parts, table, watched, wikianchor

from tests.engine.kills import workers_of
from wikianchor.pipelines.engine.worker_status import STATUS_BYTES, WorkerStatus

LOOK_SECONDS = 0.1
# A program that decompresses the bz2 file of its argument.
UNPACK = """
import bz2, sys
with bz2.open(sys.argv[1]) as file:
    while file.read(4 << 20):
        pass
"""


def compare_sentences(arguments: Namespace) -> None:
    """Print what two workers gain in `sentences`, beside what the machine allows."""
    work, language = arguments.work, arguments.language
    rows: list[list[Any]] = []
    for packing, packed in {"multistream": slices.dump, "single": single_stream}.items():
        whole, half = (packed(work, language, arguments.megabytes / parts) for parts in (1, 2))
        inputs = [[f"--dumps={path}"] for path in (whole, half, slices.DEMO)]
        rows.append(limits_of(arguments, f"sentences, {packing}", "sentences", inputs, whole))
    print_limits("sentences by two workers", rows, "Target: 95 % of decompressing.")


def compare_join(arguments: Namespace, stage: str) -> None:
    """Print what two workers gain in `pairs` or `mentions`, beside what the machine allows."""
    work, language = arguments.work, arguments.language
    datasets = [many_sentences(work, language, arguments.links // parts) for parts in (1, 2)]
    tables = [*((path, entities(work, path)) for path in datasets), sample(work)]
    inputs = [[f"--sentences={sentences}", f"--entities={items}"] for sentences, items in tables]
    print_limits(f"{stage} by two workers", [limits_of(arguments, stage, stage, inputs)], "Target: 90 % of two copies.")


def print_limits(title: str, rows: Sequence[Sequence[Any]], target: str) -> None:
    """Print the table of `limits_of` rows, with the share of the limit that is asked."""
    head = ["job", "one worker, s", "two, s", "start, s", "serial, s", "waiting, s", "speed-up", "two copies"]
    report(title, f"{table([*head, 'decompressing', 'share of the limit, %', 'serial steps'], rows)}\n\n{target}")


def single_stream(work: Path, language: str, megabytes: float) -> Path:
    """Return a dump as a single bz2 stream; write it unless it exists."""
    plain = slices.dump(work, language, megabytes, "xml")

    def write(path: Path) -> None:
        with plain.open("rb") as source, bz2.open(path, "wb") as file:
            shutil.copyfileobj(source, file)

    return generate.kept(plain.with_suffix(".single.xml.bz2"), write)


def limits_of(
    arguments: Namespace, name: str, stage: str, inputs: Sequence[Sequence[str]], dump: Path | None = None
) -> list[Any]:
    """Return the row of a job.

    Args:
        arguments: those of the command.
        name: the name of the job.
        stage: the command.
        inputs: its flags for the whole input, half of it, and the sample.
        dump: the file that two processes decompress; None for none.
    """
    whole, half, small = inputs
    alone: list[defaultdict[str, float]] = []

    def measure(given: Sequence[str], workers: int, copies: int = 1) -> float:
        outputs = [fresh(arguments.work / f"limits-{number}") for number in range(copies)]
        commands = [wikianchor(stage, *given, f"--workers={workers}", f"--output={output}") for output in outputs]
        watched = workers if given is whole and workers > 1 else 0
        seconds, idle = run_beside(commands, watched)
        if watched:
            alone.append(idle)
        return seconds

    cases: dict[str, Callable[[], float]] = {
        "one": partial(measure, whole, 1),
        "two": partial(measure, whole, 2),
        "copies": partial(measure, half, 1, copies=2),
        "start of one": partial(measure, small, 1),
        "start of two": partial(measure, small, 2),
    }
    if dump is not None:
        cases["decompressing"] = partial(gain_of_two, dump)
    walls = rounds_of(arguments.rounds, cases)
    steps = {step for idle in alone for step in idle if not step.startswith("waiting")}
    serial = {step: median(idle[step] for idle in alone) for step in sorted(steps)}
    both = sum(serial.values())
    # Less the start, round by round.
    single, double = less(walls["one"], walls["start of one"]), less(walls["two"], walls["start of two"])
    gain = ratio([seconds - both for seconds in single], [seconds - both for seconds in double])
    # Two processes gain 2 at most; more is a machine that was slower for the one.
    copies = min(2.0, ratio(single, less(walls["copies"], walls["start of one"])))
    unpacking = median(walls["decompressing"]) if dump else None
    return [
        *(name, median(walls["one"]), median(walls["two"]), median(walls["start of two"]), both),
        *(median(idle["waiting"] for idle in alone), gain, copies, unpacking or "", 100 * gain / (unpacking or copies)),
        ", ".join(f"{step} {seconds:.1f}" for step, seconds in serial.items() if seconds >= LOOK_SECONDS),
    ]


def run_beside(commands: Sequence[Sequence[str | Path]], watched: int = 0) -> tuple[float, defaultdict[str, float]]:
    """Run commands at the same time; return the seconds until the last has ended, and those in which only one worker
    process of the first had an element: by step, "waiting" for steps that others have been seen at too.

    Args:
        commands: the command lines.
        watched: how many workers the first has, 0 not to look at them: looking takes time of a core.

    Raises:
        SystemExit: a command fails.
    """
    start, seen, shared = time.monotonic(), Counter[str](), set[str]()
    with tempfile.TemporaryFile() as log:
        processes = [subprocess.Popen(command, stdout=log, stderr=log) for command in commands]
        statuses: dict[int, WorkerStatus] = {}
        while any(process.poll() is None for process in processes):
            time.sleep(LOOK_SECONDS)
            if not watched:
                continue
            steps = steps_of(processes[0].pid, statuses, watched)
            shared |= {step for step in steps if steps.count(step) > 1}
            if len(steps) == 1:
                seen[steps[0]] += 1
        wall = time.monotonic() - start
        if any(process.returncode for process in processes):
            log.seek(0)
            raise SystemExit(f"{commands}: {log.read().decode()[-2000:]}")
    idle = defaultdict[str, float](float)
    for step, looks in seen.items():
        idle["waiting" if step in shared else step] += looks * LOOK_SECONDS
    return wall, idle


def steps_of(launcher: int, statuses: dict[int, WorkerStatus], workers: int) -> list[str]:
    """Return the steps that the worker processes of a launcher work on now; `statuses` keeps those that were found."""
    for process in workers_of(launcher) if len(statuses) < workers else ():
        with suppress(OSError, StopIteration):
            if process not in statuses:
                temporary = (name for name in Path(f"/proc/{process}/fd").iterdir() if "deleted" in os.readlink(name))
                with next(name for name in temporary if name.stat().st_size == STATUS_BYTES).open("r+b") as file:
                    statuses[process] = WorkerStatus(file.fileno())
    return [step for status in statuses.values() if (step := status.position().unit.rpartition("-")[0])]


def gain_of_two(path: Path) -> float:
    """Return how much more two processes that decompress a file do than one, each on a core of its own: 2 at most.

    No job on this machine gains more: cores share memory, and often more than that. The one process runs before and
    after the two; where the machine was slower for it than for the two, the gain is 2.
    """
    program = [sys.executable, "-c", UNPACK, str(path)]
    pinned = [["taskset", "--cpu-list", str(core), *program] for core in sorted(os.sched_getaffinity(0))]
    walls = [run_beside(pinned[:number])[0] for number in (1, 2, 1)]
    return min(2.0, (walls[0] + walls[2]) / walls[1])


def compare_workers(arguments: Namespace) -> None:
    """Print what more workers cost: the CPU of their start, and memory while they work."""
    dump = slices.dump(arguments.work, arguments.language, arguments.megabytes / 4)
    output = arguments.work / "workers"
    rows: list[list[Any]] = []
    for count in (1, 2, 4, 8):
        workers = f"--workers={count}"
        starts = [job("sentences", output, f"--dumps={slices.DEMO}", workers) for _ in range(arguments.rounds)]
        start = median(starts)
        command = wikianchor("sentences", f"--dumps={dump}", workers, f"--output={fresh(output)}")
        memory = watched(command, LOOK_SECONDS)[2]
        more = (count - rows[-1][0], start - rows[-1][1], memory - rows[-1][3]) if rows else None
        rows.append([count, start, more[1] / more[0] if more else "", memory, more[2] / more[0] if more else ""])
    head = ["workers", "user CPU of the sample, s", "each more, s", "memory of all, MB", "each more, MB"]
    report("what a worker costs", f"{table(head, rows)}")


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"sentences": compare_sentences, "workers": compare_workers}
        | {name: partial(compare_join, stage=name) for name in ("pairs", "mentions")},
        {
            "--language": ("en", "whose slices"),
            "--megabytes": (200.0, "XML of the dump"),
            "--links": (1_500_000, "number of links of `pairs` and `mentions`, about"),
        },
    )
