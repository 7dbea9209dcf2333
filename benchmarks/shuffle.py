"""The cost of shuffling the rows of `pairs`, by the number of sorted runs and output shards.

    python benchmarks/shuffle.py --work=/a/disk/with/25/GB

The rows are like those of `pairs`, 350 bytes each, with random keys. Every measurement is a process of its own.

Sorted runs are written, merged, and read shard by shard by the functions that `wikianchor pairs --shuffle=files` calls,
with at most 256 open files; only the Parquet encoder is replaced by one that drops the rows. A run has 100,000 rows.
Where that makes more than --rows in all, runs and shards have fewer rows each.

`tests/engine/test_shuffle_requests.py` counts the requests to an object store.
"""

import resource
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pyarrow as pa
from lib.measure import apart, fresh, report, run_parts, table

from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import sorted_runs
from wikianchor.pipelines.engine.shuffle import MERGE_PASSES
from wikianchor.pipelines.pairs import steps as pairs_steps
from wikianchor.pipelines.pairs.decisions import ROW_SCHEMA, SHUFFLE_KEY

SIZES = ["20x8", "980x400", "2300x920", "7000x3100"]
# Rows of a run, and rows that a map step yields at a time.
RUN_ROWS, BATCH_ROWS = 100_000, 10_000
OPEN_FILES = 256
# Of the table; sizes are the largest of the rounds, times their median.
COLUMNS = {
    "write": "write",
    "merge": "merge",
    "read": "read",
    "total": "in all",
    "merged": "times merged",
    "peak": "peak MB",
    "files": "open files",
}


class Case(NamedTuple):
    """What is shuffled: the number of runs, of output shards, and of rows in all runs."""

    runs: int
    shards: int
    rows: int


def compare(arguments: Namespace) -> None:
    """Measure and print the table."""
    lines: list[list[Any]] = []
    for runs, shards in (map(int, size.split("x")) for size in arguments.sizes):
        case = Case(runs, shards, min(runs * RUN_ROWS, arguments.rows))
        costs = [measure(case, arguments.work) for _ in range(arguments.rounds)]
        columns = {name: [cost[name] for cost in costs] for name in COLUMNS}
        times = [max(column) if name in ("peak", "files") else median(column) for name, column in columns.items()]
        lines.append([f"{runs} x {shards}", case.rows, *times])
    shown = table(["runs x shards", "rows", *COLUMNS.values()], lines)
    report("shuffle by files", f"{shown}\n\nA process may open {OPEN_FILES} files.")


def measure(case: Case, work: Path) -> dict[str, float]:
    """Measure a case in a process of its own."""
    directory = fresh(work / "shuffle")
    directory.mkdir(parents=True)
    costs = apart(measure_files, case, directory)
    print(f"{case}: {costs}", file=sys.stderr)
    fresh(directory)
    return costs


# ----------------------------------------------------------------------------------------------- one case, in a process


@contextmanager
def added(user: Counter[str], stage: str) -> Iterator[None]:
    """Add the user CPU of the block to a stage, in microseconds."""
    start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    yield
    user[stage] += round(1e6 * (resource.getrusage(resource.RUSAGE_SELF).ru_utime - start))


def source(case: Case) -> Iterator[list[pa.Table]]:
    """Yield the rows of each run, like those of `pairs`, 350 bytes each: the same ones repeatedly, with new keys."""
    random = np.random.default_rng(18)
    pool = _pool(random)
    for number in range(case.runs):
        size = case.rows * (number + 1) // case.runs - case.rows * number // case.runs
        rows = []
        for count in (min(BATCH_ROWS, size - first) for first in range(0, size, BATCH_ROWS)):
            start = int(random.integers(0, pool.num_rows - count + 1))
            keys = random.integers(0, 1 << 64, count, np.uint64)
            rows.append(pool.slice(start, count).append_column(ROW_SCHEMA.field(SHUFFLE_KEY), pa.array(keys)))
        yield rows


def _pool(random: np.random.Generator) -> pa.Table:
    """Return rows without a key."""

    def column(field: pa.Field) -> pa.Array:
        if pa.types.is_string(field.type):
            length = {"text": 208, "title": 20}.get(field.name, 6)
            letters = random.integers(97, 123 if length > 6 else 98, (RUN_ROWS, length), np.uint8)
            return pa.array([row.tobytes().decode() for row in letters])
        numbers = pa.array(random.integers(0, 100, RUN_ROWS), getattr(field.type, "value_type", field.type))
        if pa.types.is_list(field.type):
            return pa.ListArray.from_arrays(pa.array(np.arange(RUN_ROWS + 1, dtype=np.int32)), numbers, type=field.type)
        return numbers

    fields = [field for field in ROW_SCHEMA if field.name != SHUFFLE_KEY]
    return pa.Table.from_arrays([column(field) for field in fields], schema=pa.schema(fields))


def measure_files(case: Case, directory: Path) -> dict[str, float]:
    """Write sorted runs, merge them, and read output shards, as `engine.shuffle` does; return times in us and sizes by
    row, memory in MB, and the number of open files."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    user: Counter[str] = Counter()
    runs, merged, kept, files = [], 0, 0, 0
    for number, rows in enumerate(source(case)):
        with added(user, "write"):
            runs.append(_sorted_run(rows, number, directory))
    for left in reversed(range(MERGE_PASSES)):
        tasks = sorted_runs.plan_merges(runs, left)
        with added(user, "merge"):
            runs = [sorted_runs.merge_runs(task, str(directory), pairs_steps.BY_SHUFFLE_KEY) for task in tasks]
        for task in tasks:
            sorted_runs.remove_merged(task)
        merged += sum(run.rows for task, run in zip(tasks, runs, strict=True) if len(task.runs) > 1)
        files = max(files, *(len(task.runs) for task in tasks))
    opened: dict[str, Any] = {}
    bounds = [(number << 64) // case.shards for number in range(1, case.shards)]
    # Without the Parquet encoder.
    with added(user, "read"), mock.patch.object(PartWriter, "write", _drop):
        for wanted in sorted_runs.key_ranges("", bounds):
            shard = sorted_runs.open_shard(sorted(runs), pairs_steps.BY_SHUFFLE_KEY, wanted, opened)
            if shard.rows:
                written = pairs_steps.write_shard(wanted, shard, Workspace(str(directory), str(directory), ""))
                kept += sum(written.kept.values()) + sum(written.duplicates.values())
            files = max(files, len(opened))
            release_memory()
    assert kept == case.rows, kept
    costs = {stage: time / case.rows for stage, time in user.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**costs, "total": sum(costs.values()), "merged": merged / case.rows, "peak": round(peak), "files": files}


def _drop(writer: PartWriter, rows: pa.Table) -> None:
    """Write nothing. A mock would keep all rows that it is given."""


def _sorted_run(rows: list[pa.Table], number: int, directory: Path) -> sorted_runs.SortedRun:
    whole = list(sorted_runs.SortedRows(rows, pairs_steps.BY_SHUFFLE_KEY, number))
    release_memory()
    return sorted_runs.write_run(whole, (number, 0), "", str(directory), pairs_steps.BY_SHUFFLE_KEY)


if __name__ == "__main__":
    flags: dict[str, tuple[Any, str]] = {
        "--sizes": (SIZES, "RUNSxSHARDS"),
        "--rows": (20_000_000, "rows of a size, at most"),
    }
    run_parts(__doc__, {"shuffle": compare}, flags, rounds=1)
