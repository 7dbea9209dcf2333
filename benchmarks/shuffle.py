"""The cost of shuffling the rows of `pairs`, by the number of sorted runs and output shards.

    python benchmarks/shuffle.py --work=/a/disk/with/25/GB

The rows are like those of `pairs`, 350 bytes each, with random keys. Every measurement is a process of its own.

Sorted runs are written, merged, and read shard by shard by the functions that `wikianchor pairs --shuffle=files` calls,
with at most 256 open files; only the Parquet encoder is replaced by one that drops the rows. A run has 100,000 rows.
Where that makes more than --rows in all, a size is measured twice: `thin` has all runs and all shards, but fewer rows
in each; `block` has all runs and as many rows in each shard as there really are, but only the first shards.

`tests/engine/test_shuffle_requests.py` counts the requests to an object store.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from lib.measure import fresh, parser, report, table

from wikianchor.pipelines.dataset.arrow_memory import give_back
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import sorted_runs
from wikianchor.pipelines.engine.shuffle import MERGE_PASSES
from wikianchor.pipelines.pairs import steps as pairs_steps
from wikianchor.pipelines.pairs.decisions import PLACE, ROW_SCHEMA

SIZES = ("20x8", "980x400", "2300x920", "7000x3100")
# Rows of a run, and rows that a map step yields at a time.
RUN_ROWS, BATCH_ROWS = 100_000, 10_000
OPEN_FILES = 256
FILES_COLUMNS = {
    **{name: name for name in ("write", "merge", "read")},
    "total": "in all",
    "system": "system CPU",
    "merged": "times merged",
    "written": "bytes written / row",
    "peak": "peak MB",
    "files": "open files",
}


class Case(NamedTuple):
    """What is shuffled: the number of runs, of output shards, and of rows in all runs; only the first `block` shards
    have rows."""

    runs: int
    shards: int
    rows: int
    block: int


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--sizes", nargs="+", default=SIZES, metavar="RUNSxSHARDS", help=f"({' '.join(SIZES)})")
    flags.add_argument("--rows", type=int, default=20_000_000, help="rows of a size, at most (20000000)")
    arguments = flags.parse_args()
    lines = []
    for size in arguments.sizes:
        for kind, case in cases_of(size, arguments.rows).items():
            costs = [measure(case, arguments.work) for _ in range(arguments.rounds)]
            lines.append([size.replace("x", " x "), kind, case.rows, case.block, *figures(costs, FILES_COLUMNS)])
    head = ["runs x shards", "rows are", "rows", "shards with rows", *FILES_COLUMNS.values()]
    target = f"Target: at most 3 in all, 2 times merged, 64 open files. A process may open {OPEN_FILES}."
    report("shuffle by files", f"{table(head, lines)}\n\nus of user CPU per row. {target}")


def cases_of(size: str, rows: int) -> dict[str, Case]:
    """Return the cases that represent a size with at most so many rows."""
    runs, shards = map(int, size.split("x"))
    whole = runs * RUN_ROWS
    if whole <= rows:
        return {"whole": Case(runs, shards, whole, shards)}
    block = max(1, shards * rows // whole)
    return {"thin": Case(runs, shards, rows, shards), "block": Case(runs, shards, whole * block // shards, block)}


def figures(costs: Sequence[Mapping[str, float]], names: Mapping[str, str]) -> list[float | int]:
    """Return the median of each time, and the largest of each size."""
    columns = {name: [cost[name] for cost in costs] for name in names}
    sizes = ("written", "peak", "files")
    return [round(max(column)) if name in sizes else float(median(column)) for name, column in columns.items()]


def measure(case: Case, work: Path) -> dict[str, float]:
    """Measure a case in a process of its own."""
    directory = fresh(work / "shuffle")
    directory.mkdir(parents=True)
    command = [sys.executable, __file__, "--case", json.dumps(case), str(directory)]
    costs: dict[str, float] = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    print(f"{case}: {costs}", file=sys.stderr)
    fresh(directory)
    return costs


# ----------------------------------------------------------------------------------------------- one case, in a process


class Meter:
    """The user CPU of stages, and the highest number of open files of this process meanwhile."""

    def __init__(self) -> None:
        self.user: dict[str, float] = {}
        self.files = 0
        self._ended = threading.Event()
        self._files_before = len(os.listdir("/proc/self/fd"))
        self._system = self._written = 0.0
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while not self._ended.wait(0.02):
            self.files = max(self.files, len(os.listdir("/proc/self/fd")) - self._files_before)

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Add the CPU of the block to a stage."""
        before, written = resource.getrusage(resource.RUSAGE_SELF), _written()
        yield
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.user[stage] = self.user.get(stage, 0.0) + after.ru_utime - before.ru_utime
        self._system += after.ru_stime - before.ru_stime
        self._written += _written() - written

    def costs(self, rows: int) -> dict[str, float]:
        """Return times in us and bytes, each by row; memory in MB; and the number of open files."""
        self._ended.set()
        user = {stage: 1e6 * seconds / rows for stage, seconds in self.user.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        by_row = {"total": sum(user.values()), "system": 1e6 * self._system / rows, "written": self._written / rows}
        return {**user, **by_row, "peak": peak, "files": self.files}


def _written() -> int:
    """Return the bytes that this process has written."""
    lines = Path("/proc/self/io").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


class Source:
    """Rows like those of `pairs`, 350 bytes each: the same ones repeatedly, with new keys.

    Args:
        case: the number of rows, and the part of all keys that they have.
    """

    def __init__(self, case: Case) -> None:
        self._random = np.random.default_rng(18)
        self._case = case
        self._pool = _pool(self._random)

    def unit(self, number: int) -> Iterator[pa.Table]:
        """Yield the rows of a run."""
        case = self._case
        rows = case.rows * (number + 1) // case.runs - case.rows * number // case.runs
        for first in range(0, rows, BATCH_ROWS):
            count = min(BATCH_ROWS, rows - first)
            start = int(self._random.integers(0, self._pool.num_rows - count + 1))
            keys = self._random.integers(0, (case.block << 64) // case.shards, count, np.uint64)
            yield self._pool.slice(start, count).append_column(ROW_SCHEMA.field(PLACE), pa.array(keys))


def _pool(random: np.random.Generator) -> pa.Table:
    """Return rows without a key."""
    letters = random.integers(97, 123, 1 << 22, np.uint8)
    letters[random.integers(0, len(letters), len(letters) // 6)] = 32
    text = letters.tobytes().decode()

    def column(field: pa.Field) -> pa.Array:
        if field.name in ("text", "title"):
            mean = 208 if field.name == "text" else 20
            sizes = np.minimum(random.gamma(4.0, mean / 4, RUN_ROWS), 2000).astype(int)
            starts = random.integers(0, len(text) - 2000, RUN_ROWS)
            return pa.array([text[start : start + size] for start, size in zip(starts, sizes, strict=True)])
        if pa.types.is_string(field.type):
            return pa.array(["enwiki" if field.name == "wiki" else "instance_of"] * RUN_ROWS)
        if pa.types.is_list(field.type):
            offsets = pa.array(np.arange(RUN_ROWS + 1, dtype=np.int32))
            ids = pa.array(random.integers(0, 1 << 22, RUN_ROWS), field.type.value_type)
            return pa.ListArray.from_arrays(offsets, ids, type=field.type)
        return pa.array(random.integers(0, 100, RUN_ROWS), field.type)

    fields = [field for field in ROW_SCHEMA if field.name != PLACE]
    return pa.Table.from_arrays([column(field) for field in fields], schema=pa.schema(fields))


class DroppingWriter:
    """Replaces the Parquet writer: counts rows, and drops them."""

    part = None
    rows = 0

    def __init__(self, *arguments: Any) -> None:
        pass

    def __enter__(self) -> DroppingWriter:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, rows: pa.Table) -> None:
        """Count rows."""
        DroppingWriter.rows += rows.num_rows


def measure_files(case: Case, directory: Path) -> dict[str, float]:
    """Write sorted runs, merge them, and read output shards, as `engine.shuffle` does."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    source, meter, sorting = Source(case), Meter(), pairs_steps.BY_PLACE
    runs = []
    for number in range(case.runs):
        rows = list(source.unit(number))
        with meter.of("write"):
            runs.append(_sorted_run(rows, number, directory))
    merged = 0
    for left in reversed(range(MERGE_PASSES)):
        tasks = sorted_runs.plan_merges(runs, left)
        with meter.of("merge"):
            runs = [_merge(task, directory) for task in tasks]
        merged += sum(run.rows for task, run in zip(tasks, runs, strict=True) if len(task.runs) > 1)
    opened: dict[str, Any] = {}
    with meter.of("read"):
        for wanted in sorted_runs.key_ranges("", _bounds(case))[: case.block]:
            shard = sorted_runs.open_shard(sorted(runs), sorting, wanted, opened)
            if shard.rows:
                pairs_steps.write_shard(wanted, shard, Workspace(str(directory), str(directory), ""))
            give_back()
    return {**meter.costs(case.rows), "merged": merged / case.rows}


def _sorted_run(rows: list[pa.Table], number: int, directory: Path) -> sorted_runs.SortedRun:
    sorter = sorted_runs.Sorter(pairs_steps.BY_PLACE, number)
    tables = [*map(sorter.add, rows), sorter.rest()]
    (whole,) = (rows for rows in tables if rows is not None)
    give_back()
    with sorted_runs.RunWriter(str(directory), pairs_steps.BY_PLACE) as writer:
        writer.write(whole)
    return sorted_runs.SortedRun((number, 0), "", writer.path, writer.rows)


def _merge(task: Any, directory: Path) -> sorted_runs.SortedRun:
    run = sorted_runs.merge_runs(task, str(directory), pairs_steps.BY_PLACE)
    sorted_runs.remove_merged(task)
    give_back()
    return run


def _bounds(case: Case) -> list[int]:
    return [(number << 64) // case.shards for number in range(1, case.shards)]


def measure_case(values: str, directory: str) -> None:
    """Measure a case, check that no row was lost, and print its costs."""
    setattr(pairs_steps, "PartWriter", DroppingWriter)  # noqa: B010
    case = Case(*json.loads(values))
    costs = measure_files(case, Path(directory))
    assert DroppingWriter.rows == case.rows, DroppingWriter.rows
    print(json.dumps(costs))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        measure_case(*sys.argv[2:])
    else:
        main()
