"""What `--help` of each command takes, and what progress and the ledger take of the CPU of `wikianchor sentences`.

    WIKIANCHOR_DATA=data python benchmarks/overhead.py

The functions that do nothing but tell of progress or keep the ledger are timed where they are called, in one process
that reads a slice of a real dump. What the clock itself takes is in their share, so the share is an upper bound. The
process that waits looks twice a second at what all workers tell, and draws a bar: that is measured by itself, for as
many ranges as a large dump has, and its share is that of one worker's time.
"""

from __future__ import annotations

import io
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from statistics import median
from time import thread_time
from typing import Any
from unittest import mock

import slices
from measure import fresh, parser, report, run, table, wikianchor

from wikianchor.pipelines.cli.commands import COMMANDS
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import progress_file as pulse
from wikianchor.pipelines.engine import runner, stage
from wikianchor.pipelines.sentences import steps as dump
from wikianchor.pipelines.sentences.columns import LedgerColumns
from wikianchor.pipelines.wikimedia.inventory import read_site

RANGES = 64
LOOKS = 40
TARGET = 2.0
HELP_SECONDS = 0.4
TRAINER = ("task", "evaluate", "entities", "recipes", "figures", "construction", "detect")


def main() -> None:
    """Measure and print a table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="uk", choices=sorted(slices.SLICES))
    arguments = flags.parse_args()
    report("help", f"{helps(arguments.rounds)}\n\nTarget: less than {HELP_SECONDS:g} s.")
    path = str(slices.dump(arguments.work, arguments.language))
    spent: dict[str, float] = defaultdict(float)
    wrap_all(spent)
    shares: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        spent.clear()
        total = read(path, fresh(arguments.work / "overhead"))
        for name, seconds in spent.items():
            shares.setdefault(name, []).append(100 * seconds / total)
    shares["progress: the process that waits"] = [100 * look(fresh(arguments.work / "overhead")) / runner.LOOK_SECONDS]
    rows: list[list[Any]] = [[name, median(found)] for name, found in sorted(shares.items())]
    rows.append(["all of it", sum(row[1] for row in rows)])
    report("progress and ledger", table(["what", "% of CPU"], rows) + f"\n\nTarget: at most {TARGET:g} %.")


def helps(rounds: int) -> str:
    """Return a table of what each command takes to print its help."""
    commands: dict[str, Sequence[str | Path]] = {f"wikianchor {name}": wikianchor(name) for name in COMMANDS}
    commands |= {f"trainer.{name}": [sys.executable, "-m", f"wikianchor.trainer.{name}"] for name in TRAINER}
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            found[name].append(run([*command, "--help"]).user)
    return table(["command", "user CPU, s", "the most"], [[name, median(of), max(of)] for name, of in found.items()])


def wrap_all(spent: dict[str, float]) -> None:
    """Time what does nothing else."""
    for place, name, what in (
        (pulse.Pulse, "due", "progress: a worker"),
        (pulse.Pulse, "beat", "progress: a worker"),
        (dump, "so_far", "progress: a worker"),
        (dump, "add_counts", "ledger: adding up"),
        (LedgerColumns, "add", "ledger: page by page"),
        (LedgerColumns, "take", "ledger: page by page"),
    ):
        setattr(place, name, timed(getattr(place, name), what, spent))
    write = PartWriter.write

    def written(self: PartWriter, batch: Any) -> None:
        start = thread_time()
        write(self, batch)
        spent["ledger: page by page"] += (thread_time() - start) * ("counts" in batch.schema.names)

    mock.patch.object(PartWriter, "write", written).start()


def timed(function: Callable[..., Any], what: str, spent: dict[str, float]) -> Callable[..., Any]:
    """Return a function that counts its own CPU."""

    def found(*arguments: Any) -> Any:
        start = thread_time()
        result = function(*arguments)
        spent[what] += thread_time() - start
        return result

    return found


def read(path: str, output: Path) -> float:
    """Read a dump as a worker does and return the CPU seconds."""
    site, _ = read_site([path], None)
    reader = dump.DumpReader(site, Workspace(str(output), str(output), ""), "rules", "wikianchor", False)
    pages = dump.PageReader(reader)
    start = thread_time()
    for task in dump.list_ranges([path]):
        dump.read_dump(task, reader, pages)
    return thread_time() - start


class Terminal(io.StringIO):
    """What a bar is drawn on."""

    def isatty(self) -> bool:
        return True


def look(output: Path) -> float:
    """Return the CPU seconds of looking once at what the workers of a large dump tell, a bar drawn."""
    counts = {"pages": 123_456, "sentences": 1_234_567, "links kept": 2_345_678, "dropped": 987_654}
    for number in range(RANGES):
        pulse.Pulse(str(output), f"{number}").beat(1000 * number, counts)
    with redirect_stderr(Terminal()), stage.Watch("sentences", "enwiki", str(output), 1 << 40) as watch:
        start = thread_time()
        for _ in range(LOOKS):
            watch.look()
        taken = thread_time() - start
    return taken / LOOKS


if __name__ == "__main__":
    main()
