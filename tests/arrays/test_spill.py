"""Rows on disk, part by part."""

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays import spill
from wikianchor.pipelines.arrays.spill import Spill, rows_of

ROW = np.dtype([("key", np.uint64), ("flag", np.bool_)])


@given(
    st.lists(st.lists(st.integers(0, 2**64 - 1), max_size=20), max_size=5),
    st.integers(1, 4),
    st.sampled_from([0, 50, spill.IN_MEMORY]),
)
def test_each_part_holds_its_rows_in_the_order_in_which_they_came(
    batches: list[list[int]], parts: int, in_memory: int
) -> None:
    with pytest.MonkeyPatch.context() as patch, Spill(ROW, parts, tempfile.gettempdir()) as held:
        patch.setattr(spill, "IN_MEMORY", in_memory)
        for batch in batches:
            keys = np.array(batch, np.uint64)
            held.add(rows_of(ROW, key=keys, flag=keys % 3 == 0), keys % np.uint64(parts))
        came = [key for batch in batches for key in batch]
        assert len(held) == len(came)
        for part in range(parts):
            rows = held.read(part)
            assert rows["key"].tolist() == [key for key in came if key % parts == part]
            assert rows["flag"].tolist() == [key % 3 == 0 for key in came if key % parts == part]
            assert held.count(part) == len(rows)


def test_what_was_read_may_be_changed_and_the_part_stays() -> None:
    with Spill(ROW, 1, tempfile.gettempdir()) as held:
        held.add(rows_of(ROW, key=np.array([1, 2], np.uint64)), np.zeros(2, np.int64))
        held.read(0)["key"][:] = 9
        assert held.read(0)["key"].tolist() == [1, 2]


def test_a_full_disk_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spill, "IN_MEMORY", 0)
    (tmp_path / "named").touch()
    full = os.open("/dev/full", os.O_RDWR)
    monkeypatch.setattr(spill.tempfile, "mkstemp", lambda dir: (full, str(tmp_path / "named")))
    held = Spill(ROW, 1, str(tmp_path))
    with pytest.raises(InputError, match="the disk is full: free some space"):
        held.add(rows_of(ROW, key=np.array([1], np.uint64)), np.zeros(1, np.int64))


def test_a_small_spill_makes_no_file(tmp_path: Path) -> None:
    """A build of hundreds of tiny wikis makes thousands of spills."""
    row = rows_of(ROW, key=np.array([1], np.uint64))
    with Spill(ROW, 1, str(tmp_path / "made")) as held:
        held.add(row, np.zeros(1, np.int64))
        assert not (tmp_path / "made").exists()
        many = np.repeat(row, spill.IN_MEMORY // ROW.itemsize)
        held.add(many, np.zeros(len(many), np.int64))
        assert (tmp_path / "made").exists()
        assert held.read(0).tolist() == [*row.tolist(), *many.tolist()]
