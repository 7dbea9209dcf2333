"""Sorted runs: whatever the rows, runs, merges and cuts, all rows come out by (key, position), each once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikianchor.pipelines.engine import sorted_runs
from wikianchor.pipelines.engine.sorted_runs import (
    UNIT_ROWS,
    KeyRange,
    Shard,
    SortedRows,
    SortedRun,
    Sorting,
    cut_rows,
    key_ranges,
    merge_runs,
    open_shard,
    plan_merges,
    remove_merged,
    shard_of_pieces,
    write_run,
)

INTEGERS = Sorting(pa.schema([pa.field("text", pa.string()), pa.field("key", pa.uint64(), False)]), "key")
STRINGS = Sorting(pa.schema([pa.field("key", pa.string(), False), pa.field("text", pa.string())]), "key")
# Few different keys, so that rows share them, and the ends of what a key can be.
KEYS = {
    INTEGERS: st.sampled_from([0, 1, 2, 5, (1 << 53) + 1, 1 << 63, (1 << 64) - 2, (1 << 64) - 1]),
    STRINGS: st.sampled_from(["", "a", "aa", "b", "é", "木", "𝄞", "z"]),
}
Row = tuple[Any, int, str]


class Given(NamedTuple):
    """The rows of units, with the sizes of tables that they come in, and bounds of output shards."""

    sorting: Sorting
    units: list[list[Any]]
    table_rows: int
    run_rows: int
    bounds: list[Any]


@st.composite
def cases(draw: st.DrawFn) -> Given:
    sorting = draw(st.sampled_from([INTEGERS, STRINGS]))
    units = draw(st.lists(st.lists(KEYS[sorting], max_size=40), max_size=8))
    bounds = sorted(draw(st.sets(KEYS[sorting], max_size=4)))
    return Given(sorting, units, draw(st.integers(1, 20)), draw(st.integers(1, 30)), bounds)


def rows_of(case: Given) -> list[Row]:
    """Return all rows by sort key, as (key, position, text)."""
    rows = [
        (key, unit * UNIT_ROWS + number, f"row {unit}.{number}")
        for unit, keys in enumerate(case.units)
        for number, key in enumerate(keys)
    ]
    return sorted(rows, key=lambda row: (_bytes(row[0]), row[1]))


def _bytes(key: Any) -> Any:
    return key.encode() if isinstance(key, str) else key


def chunks_of(case: Given) -> list[tuple[int, pa.Table]]:
    """Return the sorted tables that the units give, with their units."""
    found = []
    for unit, keys in enumerate(case.units):
        texts = [f"row {unit}.{number}" for number in range(len(keys))]
        schema = case.sorting.schema
        rows = pa.table({"key": pa.array(keys, schema.field("key").type), "text": texts}).select(schema.names)
        tables = [rows.slice(at, case.table_rows) for at in range(0, len(keys), case.table_rows)]
        found += [(unit, table) for table in SortedRows(tables, case.sorting, unit)]
    return found


def write_runs(case: Given, directory: str) -> list[SortedRun]:
    """Write a run for each sorted table."""
    chunks = enumerate(chunks_of(case))
    return [write_run([table], (unit, number), "", directory, case.sorting) for number, (unit, table) in chunks]


def as_rows(tables: Sequence[pa.Table]) -> list[Row]:
    """Return the rows of tables."""
    return [(row["key"], row["position"], row["text"]) for table in tables for row in table.to_pylist()]


def within(rows: Sequence[Row], wanted: KeyRange) -> list[Row]:
    """Return the rows of a range of keys."""
    low, high = wanted.low, wanted.high
    return [
        row
        for row in rows
        if (low is None or _bytes(row[0]) >= _bytes(low)) and (high is None or _bytes(row[0]) < _bytes(high))
    ]


def check_shard(shard: Shard, expected: list[Row], case: Given) -> None:
    """Check that every way to read a shard gives these rows."""
    assert shard.rows == len(expected)
    if expected:
        assert shard.ends() == (expected[0][0], expected[-1][0])
    cuts = list(shard.cut_at(case.bounds))
    assert as_rows(cuts) == expected
    present = [rows for one in key_ranges("", case.bounds) if (rows := within(expected, one))]
    assert [as_rows([cut]) for cut in cuts] == present
    windows = list(shard.windows(2))
    assert as_rows(windows) == expected
    keys = [set(window["key"].to_pylist()) for window in windows]
    assert sum(map(len, keys)) == len(set().union(*keys)), "rows of one key are in two windows"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make everything small, so that few rows fill several batches, windows and merges."""
    for name, value in {"FAN_IN": 3, "BATCH_ROWS": 4, "SAMPLED": 2, "WINDOW_ROWS": 8}.items():
        monkeypatch.setattr(sorted_runs, name, value)


@settings(max_examples=100, deadline=None)
@given(case=cases())
def test_all_rows_come_out_in_order_whatever_the_runs_and_the_cuts(case: Given) -> None:
    expected = rows_of(case)
    with TemporaryDirectory() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_runs, "RUN_ROWS", case.run_rows)
        runs = write_runs(case, directory)
        left = 0
        while len(runs) > sorted_runs.FAN_IN ** (left + 1):
            left += 1
        for passes_left in reversed(range(left)):
            tasks = plan_merges(runs, passes_left)
            runs = [merge_runs(task, directory, case.sorting) for task in tasks]
            for task in tasks:
                remove_merged(task)
            assert len({run.order for run in runs}) == len(runs)
        assert len(runs) <= sorted_runs.FAN_IN
        assert sorted(os.listdir(directory)) == sorted(os.path.basename(run.path) for run in runs)
        for wanted in key_ranges("", case.bounds):
            check_shard(open_shard(runs, case.sorting, wanted), within(expected, wanted), case)


@settings(max_examples=100, deadline=None)
@given(case=cases(), data=st.data())
def test_pieces_in_any_order_give_the_rows_of_runs(case: Given, data: st.DataObject) -> None:
    expected = rows_of(case)
    ranges = key_ranges("", case.bounds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_runs, "RUN_ROWS", case.run_rows)
        chunks = [table for _, table in chunks_of(case)]
    # Few bytes are sorted together, so that a shard has several tables.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_runs, "RUN_BYTES", 8 * data.draw(st.integers(1, 1000)))
        pieces = [piece for table in chunks for piece in cut_rows(table, case.sorting, ranges)]
        for wanted in ranges:
            arrived = data.draw(st.permutations([piece for number, piece in pieces if number == wanted.number]))
            check_shard(shard_of_pieces(arrived, case.sorting), within(expected, wanted), case)


@given(
    sizes=st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 1000)), max_size=80),
    passes_left=st.integers(0, 2),
)
def test_a_plan_leaves_what_the_next_passes_can_take(sizes: list[tuple[str, int]], passes_left: int) -> None:
    runs = [SortedRun((number,), group, f"{number}", rows) for number, (group, rows) in enumerate(sizes)]
    tasks = plan_merges(runs[::-1], passes_left)
    assert tasks == plan_merges(runs, passes_left)
    taken = [run for task in tasks for run in task.runs]
    assert sorted(taken) == sorted(runs)
    assert all(len({run.group for run in task.runs}) == 1 for task in tasks)
    assert all(len(task.runs) <= sorted_runs.FAN_IN for task in tasks)
    assert len({task.order for task in tasks}) == len(tasks)
    most = sorted_runs.FAN_IN ** (passes_left + 1)
    for group in {run.group for run in runs}:
        left = [task for task in tasks if task.runs[0].group == group]
        before = sum(run.group == group for run in runs)
        if before <= most * sorted_runs.FAN_IN:
            assert len(left) == min(before, most), "more was merged than had to be, or less"


def test_merges_of_one_pass_are_of_about_one_size() -> None:
    sizes = [50] * 3 + [1] * 24
    runs = [SortedRun((number,), "", f"{number}", rows) for number, rows in enumerate(sizes)]
    merges = [sum(run.rows for run in task.runs) for task in plan_merges(runs, 1)]
    assert sorted(merges) == [3] * 6 + [52] * 3


def test_no_more_files_are_open_than_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_runs, "FAN_IN", 4)
    case = Given(INTEGERS, [list(range(unit, 400, 40)) for unit in range(40)], 100, 100, [])
    runs = write_runs(case, str(tmp_path))
    before, most = len(os.listdir("/proc/self/fd")), 0
    original = Shard.cut_at

    def counted(shard: Shard, bounds: Sequence[Any]) -> Any:
        nonlocal most
        for rows in original(shard, bounds):
            most = max(most, len(os.listdir("/proc/self/fd")) - before)
            yield rows

    monkeypatch.setattr(Shard, "cut_at", counted)
    for passes_left in (2, 1, 0):
        runs = [merge_runs(task, str(tmp_path), INTEGERS) for task in plan_merges(runs, passes_left)]
    shard = open_shard(runs, INTEGERS, KeyRange(0, "", None, None))
    assert as_rows(list(shard.windows())) == rows_of(case)
    # Those of the runs, and the one that is written.
    assert 4 <= most <= 5


def test_runs_that_stay_open_do_not_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Given(INTEGERS, [list(range(unit, 90, 3)) for unit in range(3)], 100, 100, [])
    runs, opened, forgotten = write_runs(case, str(tmp_path)), {}, []
    monkeypatch.setattr(sorted_runs, "WINDOW_ROWS", 1 << 16)
    monkeypatch.setattr(sorted_runs.ArrowFile, "forget", lambda file: forgotten.append(file))
    for wanted in key_ranges("", [20, 40, 60]):
        list(open_shard(runs, INTEGERS, wanted, opened).cut_at([wanted.low or 0]))
    assert [forgotten.count(file) for file in opened.values()] == [4, 4, 4]
