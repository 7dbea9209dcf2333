"""External merge sort: write tables as sorted runs on disk, and read a range of keys from all runs in order.

A run is an Arrow file of rows in ascending order of their sort key. The sort key of a row is its shuffle key, a uint64
or a string, and then its position: the number of its unit (such as an input shard) and the number of the row in the
unit. No two rows have the same sort key, so the order of all rows does not depend on their distribution over runs.
"""

from __future__ import annotations

import os
import uuid
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from wikianchor.io.storage import sync_scratch
from wikianchor.pipelines.dataset.arrow_files import ArrowFile, new_arrow_file
from wikianchor.pipelines.dataset.workspace import WorkPath

Key = Any  # int or str
POSITION = pa.field("position", pa.int64(), nullable=False)
# A unit has fewer rows than this.
UNIT_ROWS = 1 << 32
# Rows of a record batch of a run.
BATCH_ROWS = 4096
# Rows in memory, and their bytes, before they are sorted and written as a run.
RUN_ROWS, RUN_BYTES = 100_000, 1 << 26
# Runs that one worker has open at a time; with the file that it writes, 64.
FAN_IN = 63
# Approximate number of rows that are merged at a time.
WINDOW_ROWS = 1 << 16
# Windows are planned by every 256th key.
SAMPLED = 256


class Sorting(NamedTuple):
    """The columns of the rows, without their position, and the name of the column of the shuffle key."""

    schema: pa.Schema
    key: str

    @property
    def stored(self) -> pa.Schema:
        """The columns of a run."""
        return self.schema.append(POSITION)


class SortedRun(NamedTuple):
    """A run on disk, of rows of one group; runs ascend by `order`."""

    order: tuple[int, ...]
    group: str
    path: WorkPath
    rows: int


class KeyRange(NamedTuple):
    """The keys of an output shard: those of a group with low <= key < high, None for no bound."""

    number: int
    group: str
    low: int | str | None
    high: int | str | None


class SortedRows:
    """Iterate over the rows of a unit in sorted tables of bounded size.

    Args:
        tables: the rows.
        sorting: their sorting.
        unit: number of the unit.

    Attributes:
        result: what the generator `tables` returns, once all rows have been read.
    """

    def __init__(self, tables: Iterable[pa.Table], sorting: Sorting, unit: int) -> None:
        self._sorting, self._next = sorting, unit * UNIT_ROWS
        # A generator has a result, other iterables do not.
        self._tables: Any = tables
        self.result: Any = None

    def __iter__(self) -> Iterator[pa.Table]:
        waiting: list[pa.Table] = []
        rows = size = 0
        for table in self._unsorted():
            positions = pa.array(np.arange(self._next, self._next + table.num_rows))
            self._next += table.num_rows
            waiting.append(table.select(self._sorting.schema.names).append_column(POSITION, positions))
            rows, size = rows + table.num_rows, size + table.nbytes
            # It must not stay in memory while the next table is made.
            del table
            if rows >= RUN_ROWS or size >= RUN_BYTES:
                yield sort_rows(waiting, self._sorting)
                rows = size = 0
        if rows:
            yield sort_rows(waiting, self._sorting)

    def _unsorted(self) -> Iterator[pa.Table]:
        self.result = yield from self._tables


def sort_rows(tables: list[pa.Table], sorting: Sorting) -> pa.Table:
    """Return the rows of all tables by sort key; empty the list, so that there are never three copies of the rows."""
    rows = pa.concat_tables(tables)
    tables.clear()
    key = rows[sorting.key]
    if _ascends(key.combine_chunks(), rows["position"].to_numpy()):
        return rows.cast(sorting.stored).combine_chunks()
    if pa.types.is_string(key.type):
        order = pc.sort_indices(
            pa.table({"key": key, "position": rows["position"]}),
            sort_keys=[("key", "ascending"), ("position", "ascending")],
        )
    else:
        order = pa.array(_order(key.to_numpy(), rows["position"].to_numpy()))
    return rows.take(order).cast(sorting.stored)


def _order(keys: npt.NDArray[Any], positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the permutation that sorts rows by key and then by position.

    Few rows share a key, so only these are sorted by position: `np.lexsort` of all rows takes several times as long,
    and so does a stable sort.
    """
    if keys.dtype == np.int32:
        # The numbers of names, of which most are in many units: a key and the rank of its position are one number.
        ranked = np.argsort(positions)
        return ranked[np.sort(keys[ranked].astype(np.int64) << 32 | np.arange(len(keys))) & 0xFFFFFFFF]
    order = np.argsort(keys)
    ascending = keys[order]
    same = ascending[1:] == ascending[:-1]
    if same.any():
        tied = np.append(same, False) | np.append(False, same)
        rows = order[tied]
        order[tied] = rows[np.lexsort((positions[rows], keys[rows]))]
    return order


def _ascends(keys: pa.Array, positions: npt.NDArray[np.int64]) -> bool:
    """Return whether rows are sorted by key and then by position, as those of some map steps are."""
    return bool((positions[1:] > positions[:-1]).all() and pc.all(pc.less_equal(keys[:-1], keys[1:])).as_py())


def write_run(
    tables: Iterable[pa.Table], order: tuple[int, ...], group: str, directory: str, sorting: Sorting
) -> SortedRun:
    """Write sorted tables, each of which comes after those before, as a run. The name of its file is new for each
    attempt."""
    path, rows = f"{directory}/run-{uuid.uuid4().hex}.arrow", 0
    with new_arrow_file(path, sorting.stored) as file:
        for table in tables:
            rows += table.num_rows
            for batch in table.combine_chunks().to_batches(BATCH_ROWS):
                file.write_batch(batch)
    sync_scratch(path)
    return SortedRun(order, group, path, rows)


class Batches:
    """Record batches in memory, read as those of an `ArrowFile`."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = batches
        self.count = len(batches)
        self.heads: dict[int, Key] = {}

    def batch(self, number: int) -> pa.RecordBatch:
        """Return a record batch."""
        return self._batches[number]

    def forget(self) -> None:
        """Do nothing: these rows are not mapped."""


class Span(NamedTuple):
    """Rows of a record batch, from the row `begin` on."""

    number: int
    begin: int
    rows: int


class View:
    """A view of the rows of one run with low <= key < high, without a copy.

    Args:
        run: its record batches, none of them empty, in the order of their keys.
        key: name of the column of the key.
        low, high: bounds of the range; None for no bound.
    """

    def __init__(self, run: ArrowFile | Batches, key: str, low: Key | None = None, high: Key | None = None) -> None:
        self._run, self._key = run, key
        self._spans: list[Span] = []
        # The range may begin inside the batch before the first one whose first key is in it.
        first = 0 if low is None else max(0, bisect_left(range(run.count), low, key=self._head) - 1)
        for number in range(first, run.count):
            keys = run.batch(number).column(key)
            end = len(keys) if high is None else first_from(keys, high)
            if end == 0:
                break
            begin = first_from(keys, low) if number == first and low is not None else 0
            if begin < end:
                self._spans.append(Span(number, begin, end - begin))
        self.rows = sum(span.rows for span in self._spans)

    def _head(self, number: int) -> Key:
        heads = self._run.heads
        if number not in heads:
            heads[number] = self._run.batch(number).column(self._key)[0].as_py()
        return heads[number]

    def _batch(self, span: Span) -> pa.RecordBatch:
        return self._run.batch(span.number).slice(span.begin, span.rows)

    def cut(self, bounds: Iterable[Key]) -> Iterator[list[pa.RecordBatch]]:
        """Yield the rows before the first bound, between each two bounds, and from the last bound on."""
        batches = map(self._batch, self._spans)
        batch = next(batches, None)
        for bound in [*bounds, None]:
            rows = []
            while batch is not None:
                end = batch.num_rows if bound is None else first_from(batch.column(self._key), bound)
                if end:
                    rows.append(batch.slice(0, end))
                if end < batch.num_rows:
                    batch = batch.slice(end)
                    break
                batch = next(batches, None)
            yield rows

    def sampled(self) -> list[Key]:
        """Return every `SAMPLED`-th key of each record batch."""
        sampled: list[Key] = []
        for span in self._spans:
            keys = self._batch(span).column(self._key)
            sampled += keys.take(pa.array(range(0, len(keys), SAMPLED))).to_pylist()
        return sampled

    def ends(self) -> tuple[Key, Key]:
        """Return the lowest and the highest key."""
        first, last = (self._batch(self._spans[at]).column(self._key) for at in (0, -1))
        return first[0].as_py(), last[-1].as_py()

    def forget(self) -> None:
        """Release the memory of rows that have been read."""
        self._run.forget()


class Shard:
    """The rows of a range of keys of all runs.

    Args:
        views: the rows of each run.
        sorting: the sorting of the rows.
    """

    def __init__(self, views: Iterable[View], sorting: Sorting) -> None:
        self._views, self._sorting = [view for view in views if view.rows], sorting
        self.rows = sum(view.rows for view in self._views)

    def ends(self) -> tuple[Key, Key]:
        """Return the lowest and the highest key; there must be rows."""
        lows, highs = zip(*(view.ends() for view in self._views), strict=True)
        return min(lows), max(highs)

    def cut_at(self, bounds: Sequence[Key]) -> Iterator[pa.Table]:
        """Yield the rows by sort key, in a table for each range of keys with rows.

        Args:
            bounds: the lowest key of each range but the first, ascending.
        """
        read = 0
        for cuts in zip(*(view.cut(bounds) for view in self._views), strict=True):
            tables = [pa.Table.from_batches(batches) for batches in cuts if batches]
            if not tables:
                continue
            rows = sort_rows(tables, self._sorting)
            read += rows.num_rows
            if read >= WINDOW_ROWS:
                self._forget()
                read = 0
            yield rows
        self._forget()

    def _forget(self) -> None:
        """Release the memory of rows that have been read: the tables yielded are copies, and runs may stay open."""
        for view in self._views:
            view.forget()

    def windows(self, rows: int = WINDOW_ROWS) -> Iterator[pa.Table]:
        """Yield the rows by sort key, in tables of about `rows` rows; rows of one key are in one table."""
        sampled = sorted(key for view in self._views for key in view.sampled())
        step = max(1, rows // SAMPLED)
        yield from self.cut_at(sorted(set(sampled[step::step])))


def open_shard(
    runs: Iterable[SortedRun], sorting: Sorting, wanted: KeyRange, files: dict[str, ArrowFile] | None = None
) -> Shard:
    """Open the rows of a range of keys.

    Args:
        runs: the runs of all groups; those of the group of the range, at most `FAN_IN`, are opened.
        sorting: the sorting of their rows.
        wanted: the range.
        files: runs that stay open from one call to the next; those of other groups are closed.
    """
    opened = {} if files is None else files
    paths = [run.path for run in runs if run.group == wanted.group]
    for path in opened.keys() - set(paths):
        del opened[path]
    for path in paths:
        if path not in opened:
            opened[path] = ArrowFile(path)
    return Shard((View(opened[path], sorting.key, wanted.low, wanted.high) for path in paths), sorting)


def shard_of_pieces(pieces: Iterable[bytes], sorting: Sorting) -> Shard:
    """Return the rows of serialised record batches in any order.

    Small pieces are sorted together into a few large tables first.
    """
    views: list[View] = []
    waiting: list[pa.RecordBatch] = []
    size, stored = 0, sorting.stored

    def flush() -> None:
        rows = sort_rows([pa.Table.from_batches(waiting)], sorting)
        waiting.clear()
        views.append(View(Batches(rows.to_batches(BATCH_ROWS)), sorting.key))

    for piece in pieces:
        waiting.append(ipc.read_record_batch(pa.py_buffer(piece), stored))
        size += len(piece)
        if size >= RUN_BYTES // 8:
            flush()
            size = 0
    if waiting:
        flush()
    return Shard(views, sorting)


def cut_rows(rows: pa.Table, sorting: Sorting, ranges: Sequence[KeyRange]) -> Iterator[tuple[int, bytes]]:
    """Yield the number of each range with rows, and these rows, serialised without a schema.

    Args:
        rows: sorted rows of one group.
        sorting: the sorting of the rows.
        ranges: those of the group, ascending and without a gap.
    """
    (batch,) = rows.combine_chunks().to_batches()
    keys = batch.column(sorting.key)
    starts = [0 if part.low is None else first_from(keys, part.low) for part in ranges]
    for part, (first, last) in zip(ranges, pairwise([*starts, rows.num_rows]), strict=True):
        if first < last:
            yield part.number, batch.slice(first, last - first).serialize().to_pybytes()


def key_ranges(group: str, bounds: Sequence[Key], first: int = 0) -> list[KeyRange]:
    """Return the ranges between ascending bounds of the keys of a group, numbered from `first` on.

    >>> [(part.low, part.high) for part in key_ranges("enwiki", [5, 9])]
    [(None, 5), (5, 9), (9, None)]
    """
    return [
        KeyRange(number, group, low, high) for number, (low, high) in enumerate(pairwise([None, *bounds, None]), first)
    ]


class MergeTask(NamedTuple):
    """Runs to merge into one."""

    order: tuple[int, ...]
    runs: tuple[SortedRun, ...]


def plan_merges(runs: Iterable[SortedRun], passes_left: int) -> list[MergeTask]:
    """Return the merges that leave at most FAN_IN ** (passes_left + 1) runs of each group.

    As few runs as possible are merged; a task with one run keeps that run.

    Args:
        runs: the runs of all groups.
        passes_left: number of merge passes after this one.
    """
    groups: dict[str, list[SortedRun]] = {}
    for run in sorted(runs):
        groups.setdefault(run.group, []).append(run)
    tasks: list[MergeTask] = []
    for _, members in sorted(groups.items()):
        # The smallest runs are merged, distributed so that all merges have about the same size.
        members.sort(key=lambda run: run.rows)
        surplus = max(0, len(members) - FAN_IN ** (passes_left + 1))
        merges = -(-surplus // (FAN_IN - 1))
        merged = [members[: surplus + merges][number::merges] for number in range(merges)]
        kept = [[run] for run in members[surplus + merges :]]
        tasks += [MergeTask(min(taken).order, tuple(taken)) for taken in [*merged, *kept]]
    return tasks


def merge_runs(task: MergeTask, directory: str, sorting: Sorting) -> SortedRun:
    """Merge runs into one."""
    if len(task.runs) == 1:
        return task.runs[0]
    group = task.runs[0].group
    tables = open_shard(task.runs, sorting, KeyRange(0, group, None, None)).windows()
    return write_run(tables, task.order, group, directory, sorting)


def remove_merged(task: MergeTask) -> None:
    """Remove the runs that a finished merge has replaced."""
    for run in task.runs if len(task.runs) > 1 else ():
        if os.path.exists(run.path):
            os.unlink(run.path)


def first_from(keys: pa.Array, low: Key) -> int:
    """Return the index of the first of ascending keys that is not below `low`."""
    if isinstance(low, str):
        return bisect_left(range(len(keys)), low, key=lambda index: keys[index].as_py())
    values = keys.to_numpy()
    # A Python int would turn unsigned keys into floats.
    return int(values.searchsorted(values.dtype.type(low)))
