"""Tables on disk: what is read a block at a time is what is there."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.arrays import tables
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.tables import (
    Column,
    HashSet,
    distinct,
    find,
    look_up,
    map_tables,
    read_table,
    save_tables,
)


@given(
    kept=st.dictionaries(st.integers(0, 40), st.integers(-(2**62), 2**62)),
    wanted=st.lists(st.integers(-1, 41)),
    block=st.sampled_from([1, 2, 7, 1000]),
    small=st.sampled_from([0, tables.SMALL]),
)
def test_a_look_up_is_that_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, kept: dict[int, int], wanted: list[int], block: int, small: int
) -> None:
    keys = np.array(sorted(kept), np.int64)
    values = np.array([kept[key] for key in sorted(kept)], np.int64)
    arrays = {"keys": keys, "values": values, "narrow": (values % 7).astype(np.int8)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", block)
        patch.setattr(tables, "SMALL", small)
        path = save_tables(str(tmp_path_factory.mktemp("t")), "tables", arrays)
        columns = [Column(path, name) for name in ("values", "narrow")]
        looked_up, narrow = look_up(Column(path, "keys"), columns, np.array(wanted, np.int64), (5, -1))
    assert looked_up.tolist() == [kept.get(key, 5) for key in wanted]
    assert narrow.tolist() == [kept[key] % 7 if key in kept else -1 for key in wanted]
    assert (looked_up.dtype, narrow.dtype) == (np.int64, np.int8)


@pytest.mark.parametrize("small", [0, tables.SMALL])
def test_small_tables_are_opened_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: int) -> None:
    monkeypatch.setattr(tables, "SMALL", small)
    arrays = {"counts": np.arange(3), "keys": np.zeros((2, 2), np.int8)}
    path = save_tables(str(tmp_path), "tables", arrays)
    for _ in range(2):
        for name, array in arrays.items():
            for read in (map_tables(path)[name], read_table(path, name)):
                assert np.array_equal(read, array)
                assert read.dtype == array.dtype
        assert Column(path, "counts").read(0).tolist() == [0, 1, 2]
        # What a caller does with the array of a column is not seen by the next one.
        read_table(path, "counts")[:] = 7
        if small:
            Path(path).unlink(missing_ok=True)


def test_hashes_are_found_as_other_numbers_are() -> None:
    wanted = mix(1, np.arange(5000) // 2)
    # Many with the same highest bits, too.
    wanted[::5] >>= np.uint64(30)
    for known in (distinct(wanted[::3]), distinct(wanted), wanted[:0]):
        assert np.array_equal(HashSet(known).find(wanted), find(known, wanted))
