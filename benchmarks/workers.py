"""From which size on worker processes pay: `wikianchor sentences` and `build` with one worker, with one for each core,
and with the default.

    WIKIANCHOR_DATA=data python benchmarks/workers.py

Starting the workers of a stage takes some seconds. Dumps are real pages copied under new titles, from a tenth of a MB
to some dozen; `build` runs on the sample in demo/dumps, whose five stages take no time at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import slices
from measure import fresh, parser, report, rounds_of, run, table, wikianchor

from wikianchor.pipelines.engine.machine import Load, cores, default_workers
from wikianchor.pipelines.engine.rates import dump_seconds

DEMO = Path(__file__).parent.parent / "demo" / "dumps"
MEGABYTES = (0.5, 30.0, 60.0, 90.0, 120.0)


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__, rounds=2)
    flags.add_argument("--megabytes", default=",".join(map(str, MEGABYTES)), help="XML of each dump")
    arguments = flags.parse_args()
    work: Path = arguments.work
    sample = ("build", f"--dumps={DEMO}", "--min_links=2")
    rows: list[list[Any]] = [["build, the sample", *measured(arguments, sample), 1]]
    for megabytes in map(float, arguments.megabytes.split(",")):
        dump = slices.dump(work, "en", megabytes)
        default = default_workers(Load(dump_seconds([str(dump)])))
        name = f"sentences, {os.path.getsize(dump) / 1e6:.1f} MB of bz2"
        rows.append([name, *measured(arguments, ("sentences", f"--dumps={dump}")), default])
    head = ["job", "one worker, s", f"{cores()} workers, s", "default, s", "workers by default"]
    report("workers by default", f"{table(head, rows)}\n\nTarget: the default takes no longer than one worker.")


def measured(arguments: Any, command: tuple[str, ...]) -> list[float]:
    """Return the wall seconds of a command with one worker, with one for each core, and by default."""
    executable = wikianchor()[0]

    def job(*flags: str) -> Callable[[], float]:
        output = arguments.work / "workers"
        return lambda: run([executable, *command, *flags, f"--output={fresh(output)}"]).wall

    cases = {"one": job("--workers=1"), "all": job(f"--workers={cores()}"), "default": job()}
    return [median(walls) for walls in rounds_of(arguments.rounds, cases).values()]


if __name__ == "__main__":
    main()
