"""One measurement of benchmarks/shuffle.py, in a process of its own.

python benchmarks/shuffle_cases.py FUNCTION CASE DIRECTORY OPTIONS
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.pairs import steps as pairs_rows
from wikianchor.pipelines.pairs.decisions import PLACE, ROW_SCHEMA

# Rows of a run, and rows that a map step gives at a time.
RUN_ROWS, GIVEN_ROWS = 100_000, 10_000
# So many files may be open in a process that runs the present code.
OPEN_FILES = 256
SAMPLE_SECONDS = 0.02
TEXT_BYTES = 208


class Case(NamedTuple):
    """What is shuffled.

    Attributes:
        runs: how many spill files there are.
        shards: how many output shards there are.
        rows: in all runs.
        block: how many output shards have rows: the first ones.
    """

    runs: int
    shards: int
    rows: int
    block: int


class Meter:
    """The user CPU of stages, and the most memory and open files of this process meanwhile."""

    def __init__(self) -> None:
        self.user: dict[str, float] = {}
        self.anonymous = self.files = 0
        self._ended = threading.Event()
        self._files_before = len(os.listdir("/proc/self/fd"))
        self._system = self._written = 0.0
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.files = max(self.files, len(os.listdir("/proc/self/fd")) - self._files_before)
            self.anonymous = max(self.anonymous, _proc("status", "RssAnon:"))

    @contextmanager
    def of(self, stage: str) -> Iterator[None]:
        """Add the CPU of what follows to a stage."""
        before, written = resource.getrusage(resource.RUSAGE_SELF), _proc("io", "wchar:")
        yield
        after = resource.getrusage(resource.RUSAGE_SELF)
        self.user[stage] = self.user.get(stage, 0.0) + after.ru_utime - before.ru_utime
        self._system += after.ru_stime - before.ru_stime
        self._written += _proc("io", "wchar:") - written

    def costs(self, rows: int) -> dict[str, float]:
        """Return everything, by the row."""
        self._ended.set()
        user = {stage: 1e6 * seconds / rows for stage, seconds in self.user.items()}
        return {
            **user,
            "total": sum(user.values()),
            "system": 1e6 * self._system / rows,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            "anonymous": self.anonymous / 1024,
            "files": self.files,
            "written": self._written / rows,
        }


def _proc(name: str, field: str) -> int:
    lines = Path(f"/proc/self/{name}").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


class Source:
    """Rows like those of `pairs`, 350 bytes each with what a run adds: the same ones again and again, at new places.

    Args:
        case: says how many, and in which part of all places.
    """

    def __init__(self, case: Case) -> None:
        self._random = np.random.default_rng(18)
        self._case = case
        self._pool = _pool(self._random)

    def unit(self, number: int) -> Iterator[pa.Table]:
        """Yield the rows of a run."""
        case = self._case
        rows = case.rows * (number + 1) // case.runs - case.rows * number // case.runs
        for first in range(0, rows, GIVEN_ROWS):
            count = min(GIVEN_ROWS, rows - first)
            yield self._given(count)

    def _given(self, count: int) -> pa.Table:
        first = int(self._random.integers(0, self._pool.num_rows - count + 1))
        places = self._random.integers(0, (self._case.block << 64) // self._case.shards, count, np.uint64)
        return self._pool.slice(first, count).append_column(ROW_SCHEMA.field(PLACE), pa.array(places))


def _pool(random: np.random.Generator) -> pa.Table:
    """Return rows without a place."""
    letters = random.integers(97, 123, 1 << 22, np.uint8)
    letters[random.integers(0, len(letters), len(letters) // 6)] = 32
    data = letters.tobytes().decode()

    def strings(mean: float) -> pa.Array:
        sizes = np.minimum(random.gamma(4.0, mean / 4, RUN_ROWS), 2000).astype(int)
        starts = random.integers(0, len(data) - 2000, RUN_ROWS)
        return pa.array([data[start : start + size] for start, size in zip(starts, sizes, strict=True)])

    def column(field: pa.Field) -> pa.Array:
        if field.name in ("text", "title"):
            return strings(TEXT_BYTES if field.name == "text" else 20)
        if pa.types.is_string(field.type):
            return pa.array(["enwiki" if field.name == "wiki" else "instance_of"] * RUN_ROWS)
        if pa.types.is_list(field.type):
            offsets = pa.array(np.arange(RUN_ROWS + 1, dtype=np.int32))
            ids = pa.array(random.integers(0, 1 << 22, RUN_ROWS), field.type.value_type)
            return pa.ListArray.from_arrays(offsets, ids, type=field.type)
        return pa.array(random.integers(0, 100, RUN_ROWS), field.type)

    fields = [field for field in ROW_SCHEMA if field.name != PLACE]
    return pa.Table.from_arrays([column(field) for field in fields], schema=pa.schema(fields))


class Dropped:
    """Stands in for the writer of Parquet: counts rows, and drops them."""

    part = None
    rows = 0

    def __init__(self, *arguments: Any) -> None:
        pass

    def __enter__(self) -> Dropped:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, rows: pa.Table) -> None:
        """Count rows."""
        Dropped.rows += rows.num_rows


def files(case: Case, directory: Path, **sizes: int) -> dict[str, float]:
    """Write sorted runs, merge them, and read output shards."""
    from wikianchor.pipelines.engine import sorted_runs
    from wikianchor.pipelines.engine.shuffle import MERGE_PASSES

    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, OPEN_FILES))
    for name, value in sizes.items():
        setattr(sorted_runs, name, value)
    source, meter, sorting = Source(case), Meter(), pairs_rows.BY_PLACE
    runs = []
    for number in range(case.runs):
        given = list(source.unit(number))
        with meter.of("write"):
            runs.append(_run_of(given, number, directory))
    merged = 0
    for left in reversed(range(MERGE_PASSES)):
        tasks = sorted_runs.plan_merges(runs, left)
        with meter.of("merge"):
            runs = [_merged(task, directory) for task in tasks]
        merged += sum(run.rows for task, run in zip(tasks, runs, strict=True) if len(task.runs) > 1)
    # As `engine.shuffle.ReduceRuns` does.
    opened: dict[str, Any] = {}
    with meter.of("read"):
        for wanted in sorted_runs.key_ranges("", _bounds(case))[: case.block]:
            _written(wanted, sorted_runs.open_shard(sorted(runs), sorting, wanted, opened), directory)
    return {**meter.costs(case.rows), "merged": merged / case.rows}


def _run_of(given: list[pa.Table], number: int, directory: Path) -> Any:
    from wikianchor.pipelines.engine.sorted_runs import RunWriter, SortedRun, Sorter

    sorter = Sorter(pairs_rows.BY_PLACE, number)
    tables = [table for rows in given if (table := sorter.add(rows)) is not None]
    tables += [rest] if (rest := sorter.rest()) is not None else []
    (table,) = tables
    release_memory()
    with RunWriter(str(directory), pairs_rows.BY_PLACE) as writer:
        writer.write(table)
    return SortedRun((number, 0), "", writer.path, writer.rows)


def _merged(task: Any, directory: Path) -> Any:
    from wikianchor.pipelines.engine.sorted_runs import merge_runs, remove_merged

    run = merge_runs(task, str(directory), pairs_rows.BY_PLACE)
    remove_merged(task)
    release_memory()
    return run


def _written(wanted: Any, shard: Any, directory: Path) -> None:
    from wikianchor.pipelines.dataset.workspace import Workspace

    if shard.rows:
        pairs_rows.write_shard(wanted, shard, Workspace(str(directory), str(directory), ""))
    release_memory()


def _bounds(case: Case) -> list[int]:
    return [(number << 64) // case.shards for number in range(1, case.shards)]


def old(case: Case, directory: Path) -> dict[str, float]:
    """Write spill files and read each output shard from all of them: the code before the shuffle."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    rows: Any = pairs_rows
    # A shard without rows, of which it writes an empty batch, would take as much disk as all rows.
    source, meter, bounds = Source(case), Meter(), np.array(_bounds(case)[: case.block - 1], np.uint64)
    spills = []
    for number in range(case.runs):
        given = list(source.unit(number))
        with meter.of("write"):
            spills.append(rows._spill(str(directory), number, given, bounds))
    with meter.of("read"):
        for task in rows.plan_shards([rows.Decided(0, "", (), tuple(spills))]):
            rows.write_shard(task, str(directory))
    return meter.costs(case.rows)


def beam(case: Case, directory: Path) -> dict[str, float]:
    """Cut chunks into pieces for all output shards, and read shards out of as many pieces as a shard has of all chunks.

    Fewer chunks than the case has give the pieces: those of a shard here come from anywhere, which costs the same.
    """
    from wikianchor.pipelines.engine import sorted_runs
    from wikianchor.pipelines.engine.shuffle import cut_chunk

    chunks = case.rows // RUN_ROWS
    source, meter, sorting = Source(Case(chunks, case.shards, case.rows, case.shards)), Meter(), pairs_rows.BY_PLACE
    ranges = sorted_runs.key_ranges("", _bounds(case))
    pieces: list[bytes] = []
    for number in range(chunks):
        given = list(source.unit(number))
        with meter.of("sort"):
            sorter = sorted_runs.Sorter(sorting, number)
            (table,) = [table for rows in given if (table := sorter.add(rows)) is not None]
            (batch,) = table.combine_chunks().to_batches()
            chunk = batch.serialize().to_pybytes()
        with meter.of("cut"):
            pieces += [piece for _, piece in cut_chunk(("", chunk), sorting, ranges)]
    sent = sum(map(len, pieces))
    with meter.of("read"):
        while pieces:
            _written(ranges[0], sorted_runs.shard_of_pieces(pieces[-case.runs :], sorting), directory)
            del pieces[-case.runs :]
    return {**meter.costs(case.rows), "sent": sent / case.rows}


def engine(case: Case, directory: Path, shuffle: str) -> dict[str, float]:
    """Run a graph whose units are runs of the case through the direct runner."""
    import apache_beam as beam_api

    from wikianchor.pipelines.dataset.workspace import Workspace
    from wikianchor.pipelines.engine.shuffle import Shuffle
    from wikianchor.pipelines.engine.sorted_runs import key_ranges

    work = Workspace(str(directory), str(directory), shuffle)
    meter, ranges = Meter(), key_ranges("", _bounds(case))
    with meter.of("total"), beam_api.Pipeline("FnApiRunner") as pipeline:
        once = pipeline | "Once" >> beam_api.Create([None], reshuffle=False)
        listed = beam_api.pvalue.AsSingleton(once | "Ranges" >> beam_api.Map(lambda _: ranges))
        units = pipeline | "Units" >> beam_api.Create([Unit(number, case) for number in range(case.runs)])
        _ = units | "Shuffle" >> Shuffle(
            "rows",
            work,
            pairs_rows.BY_PLACE,
            Unit.rows,
            (),
            lambda _: listed,
            pairs_rows.write_shard,
            lambda _: (work,),
            grouped=False,
        )
    return meter.costs(case.rows)


class Unit(NamedTuple):
    """A unit of the shuffle: a run of a case."""

    order: int
    case: Case

    def rows(self) -> Generator[pa.Table, None, int]:
        """Yield its rows, and return how many there were."""
        given = list(_source(Case(*self.case)).unit(self.order))
        yield from given
        return sum(table.num_rows for table in given)


@lru_cache(maxsize=1)
def _source(case: Case) -> Source:
    return Source(case)


def main() -> None:
    """Measure, check that no row was lost, and print the costs."""
    function, case, directory = sys.argv[1], Case(*json.loads(sys.argv[2])), Path(sys.argv[3])
    options = json.loads(sys.argv[4])
    directory.mkdir(parents=True, exist_ok=True)
    encoded = options.pop("parquet", False)
    if not encoded:
        setattr(pairs_rows, "PartWriter", Dropped)  # noqa: B010
    costs = FUNCTIONS[function](case, directory, **options)
    assert encoded or Dropped.rows == case.rows, Dropped.rows
    print(json.dumps(costs))


FUNCTIONS: Mapping[str, Callable[..., dict[str, float]]] = {"files": files, "old": old, "beam": beam, "engine": engine}

if __name__ == "__main__":
    main()
