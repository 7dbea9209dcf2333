"""One shuffle for all stages: sort the rows of many units by key, cut them into output shards, and reduce each shard.

    units -> map step -> rows -> (by key and position) -> reduce step for each output shard -> results

By files, where all workers share a machine: each unit writes sorted runs to the scratch directory; runs are merged, in
at most two passes, until each group has so few that a worker can open all of them; each output shard reads its range of
keys from each run. By Beam, on a cluster: rows are cut into pieces by output shard, pieces go through `GroupByKey`, and
an output shard sorts its pieces. Both pass the reduce step the same rows in the same order, because the sort key of a
row includes its unit and its number in that unit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.typehints.decorators import no_annotations
from pyarrow import ipc

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.dataset.arrow_files import ArrowFile
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.resume import result_type
from wikianchor.pipelines.engine.sorted_runs import (
    KeyRange,
    MergeTask,
    SortedRows,
    SortedRun,
    Sorting,
    cut_rows,
    merge_runs,
    open_shard,
    plan_merges,
    remove_merged,
    shard_of_pieces,
    write_run,
)
from wikianchor.pipelines.engine.step_errors import mark_errors
from wikianchor.pipelines.engine.transforms import ListElements, RunStep, count

# With FAN_IN runs merged at a time, two passes and the reading of shards are enough for FAN_IN ** 3 runs.
MERGE_PASSES = 2
MapStep = Callable[..., Generator[pa.Table, None, Any]]


class Reduced(NamedTuple):
    """What a shuffle returns: the result of the map step for each unit, and of the reduce step for each shard."""

    units: beam.PCollection[Any]
    shards: beam.PCollection[Any]


class Shuffle(beam.PTransform):
    """Shuffle the rows of units into output shards.

    Args:
        name: the name of the shuffle, unique in its stage.
        work: the workspace of the run.
        sorting: columns of the rows, and which of them is the key.
        map_step: a generator of a unit and side inputs: it yields tables and returns a record. Units have an `order`
            (int) and a `wiki`, which is the group of their rows; with `grouped=False` all rows are of one group.
        map_sides: side inputs of the map step.
        ranges: returns, given the PCollection of the units' results, a side input with the list of `KeyRange` of all
            output shards; those of a group ascend and leave no gap.
        reduce_step: a function of a `KeyRange`, its `Shard` and side inputs, that returns a record.
        reduce_sides: side inputs of the reduce step, or what returns them, given the PCollection of the units' results.
        grouped: whether rows of different wikis are apart.
        empty: whether the reduce step is called for shards without a row, too.

    Raises:
        UsageError: the runner may be one machine or a cluster.
    """

    def __init__(
        self,
        name: str,
        work: Workspace,
        sorting: Sorting,
        map_step: MapStep,
        map_sides: Sequence[Any],
        ranges: Callable[[beam.PCollection[Any]], Any],
        reduce_step: Callable[..., Any],
        reduce_sides: Sequence[Any] | Callable[[beam.PCollection[Any]], Sequence[Any]] = (),
        grouped: bool = True,
        empty: bool = False,
    ) -> None:
        super().__init__()
        if not work.shuffle:
            raise UsageError(
                "--shuffle: this runner may be one machine or a cluster: "
                "give --shuffle=files where all workers share a local disk, else --shuffle=beam"
            )
        self._name, self._work, self._sorting = name, work, sorting
        self._map_step, self._map_sides, self._grouped = map_step, map_sides, grouped
        self._empty = empty
        self._ranges, self._reduce_step, self._reduce_sides = ranges, reduce_step, reduce_sides

    def _sides(self, results: beam.PCollection[Any]) -> Sequence[Any]:
        return self._reduce_sides(results) if callable(self._reduce_sides) else self._reduce_sides

    def expand(self, units: beam.PCollection[Any]) -> Reduced:
        return self._by_files(units) if self._work.shuffle == "files" else self._by_beam(units)

    def _by_files(self, units: beam.PCollection[Any]) -> Reduced:
        begin, directory = units.pipeline, self._work.scratch
        reduce = ReduceRuns(self._reduce_step, self._sorting, self._empty)
        spilled = units | "Map" >> self._run(
            spill_runs,
            "map",
            self._map_step,
            directory,
            self._sorting,
            self._grouped,
            *self._map_sides,
            result=tuple[result_type(self._map_step), tuple[SortedRun, ...]],  # type: ignore[misc]
        )
        results = spilled | "Results" >> beam.Map(lambda spilled: spilled[0])
        runs = spilled | "Runs" >> beam.FlatMap(lambda spilled: spilled[1])  # SortedRun
        for left in reversed(range(MERGE_PASSES)):
            runs = (
                begin
                | f"Plan merges, {left} more" >> ListElements(plan_merges, runs, left)  # MergeTask
                | f"Merge, {left} more"
                >> self._run(merge_runs, f"merge-{left}", directory, self._sorting, release=remove_merged)
            )  # SortedRun
        shards = (
            begin
            | "List shards" >> ListElements(list, self._ranges(results))  # KeyRange
            | "Reduce"
            >> self._run(reduce, "reduce", runs, *self._sides(results), result=result_type(self._reduce_step))
        )
        return Reduced(results, shards)

    def _by_beam(self, units: beam.PCollection[Any]) -> Reduced:
        mapped = units | "Map" >> beam.FlatMap(
            map_chunks, self._map_step, self._sorting, self._grouped, *self._map_sides
        ).with_outputs(CHUNKS, main="results")
        ranges = self._ranges(mapped.results)
        pieces = mapped[CHUNKS] | "Cut" >> beam.FlatMap(cut_chunk, self._sorting, ranges).with_output_types(
            tuple[int, bytes]
        )
        if self._empty:
            none = units.pipeline | "Sorting" >> beam.Create([self._sorting], reshuffle=False)
            nothing = none | "Empty pieces" >> beam.FlatMap(empty_pieces, ranges).with_output_types(tuple[int, bytes])
            pieces = (pieces, nothing) | "All pieces" >> beam.Flatten()
        sides = (self._reduce_step, self._sorting, ranges, *self._sides(mapped.results))
        shards = (
            pieces
            | "Group" >> beam.GroupByKey()  # (number of the shard, pieces)
            | "Reduce" >> self._run(reduce_pieces, "reduce", *sides, result=result_type(self._reduce_step))
        )
        return Reduced(mapped.results, shards)

    def _run(self, step: Callable[..., Any], name: str, *sides: Any, **settings: Any) -> RunStep:
        return RunStep(step, self._work, f"{self._name}-{name}", *sides, key=_key, **settings)


CHUNKS = "chunks"


def _key(element: Any) -> str:
    """Return what identifies a unit, a merge or an output shard among the elements of its step."""
    if isinstance(element, MergeTask):
        # Keeping a run as it is costs nothing.
        return "-".join(map(str, element.order)) if len(element.runs) > 1 else ""
    number = element.order if hasattr(element, "order") else element[0]
    return f"{number:06d}"


def spill_runs(
    unit: Any, step: MapStep, directory: str, sorting: Sorting, grouped: bool, *sides: Any
) -> tuple[Any, tuple[SortedRun, ...]]:
    """Run a map step for a unit and write its rows as sorted runs; return the result of the step, and the runs."""
    runs: list[SortedRun] = []
    group = unit.wiki if grouped else ""
    rows = SortedRows(step(unit, *sides), sorting, unit.order)
    for table in rows:
        release_memory()
        runs.append(write_run([table], (unit.order, len(runs)), group, directory, sorting))
        # It must not stay in memory while the rows of the next table are collected.
        del table
    return rows.result, tuple(runs)


@no_annotations
def map_chunks(unit: Any, step: MapStep, sorting: Sorting, grouped: bool, *sides: Any) -> Iterator[Any]:
    """Run a map step for a unit and yield its rows as sorted chunks, (group, serialised rows), beside its result."""
    group = unit.wiki if grouped else ""
    rows = SortedRows(step(unit, *sides), sorting, unit.order)
    with mark_errors():
        for table in rows:
            for batch in table.combine_chunks().to_batches():
                yield beam.pvalue.TaggedOutput(CHUNKS, (group, batch.serialize().to_pybytes()))
            del table
    count(rows.result)
    yield rows.result


def cut_chunk(chunk: tuple[str, bytes], sorting: Sorting, ranges: Sequence[KeyRange]) -> Iterator[tuple[int, bytes]]:
    """Yield the pieces of a chunk by the number of their output shard."""
    group, data = chunk
    rows = pa.Table.from_batches([ipc.read_record_batch(pa.py_buffer(data), sorting.stored)])
    yield from cut_rows(rows, sorting, [wanted for wanted in ranges if wanted.group == group])


def empty_pieces(sorting: Sorting, ranges: Sequence[KeyRange]) -> Iterator[tuple[int, bytes]]:
    """Yield a piece without rows for each output shard, so that Beam's GroupByKey returns all of them."""
    piece = pa.RecordBatch.from_pylist([], sorting.stored).serialize().to_pybytes()
    for wanted in ranges:
        yield wanted.number, piece


class ReduceRuns:
    """Reduce an output shard out of sorted runs; return None for a shard without rows, unless `empty` is set."""

    def __init__(self, step: Callable[..., Any], sorting: Sorting, empty: bool) -> None:
        self._step, self._sorting, self._empty = step, sorting, empty
        # Opening a run costs as much as reading a thousand rows: those of a group stay open for a bundle.
        self._files: dict[str, ArrowFile] = {}

    def __call__(self, wanted: KeyRange, runs: Iterable[SortedRun], *sides: Any) -> Any:
        shard = open_shard(sorted(runs), self._sorting, wanted, self._files)
        return self._step(wanted, shard, *sides) if shard.rows or self._empty else None

    def close(self) -> None:
        """Close all runs."""
        self._files.clear()


def reduce_pieces(
    element: tuple[int, Iterable[bytes]],
    step: Callable[..., Any],
    sorting: Sorting,
    ranges: Sequence[KeyRange],
    *sides: Any,
) -> Any:
    """Reduce an output shard out of the pieces that came through Beam's shuffle."""
    number, pieces = element
    wanted = next(candidate for candidate in ranges if candidate.number == number)
    return step(wanted, shard_of_pieces(pieces, sorting), *sides)
