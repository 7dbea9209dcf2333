"""Tables on disk: what is read a block at a time is what is there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.arrays import tables
from wikianchor.pipelines.arrays.tables import Column, look_up, save_tables


@given(
    kept=st.dictionaries(st.integers(0, 40), st.integers(-(2**62), 2**62)),
    wanted=st.lists(st.integers(-1, 41)),
    block=st.sampled_from([1, 2, 7, 1000]),
)
def test_a_look_up_is_that_of_a_dictionary(
    tmp_path_factory: pytest.TempPathFactory, kept: dict[int, int], wanted: list[int], block: int
) -> None:
    keys = np.array(sorted(kept), np.int64)
    values = np.array([kept[key] for key in sorted(kept)], np.int64)
    arrays = {"keys": keys, "values": values, "small": (values % 7).astype(np.int8)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK", block)
        path = save_tables(str(tmp_path_factory.mktemp("t")), "tables", arrays)
        columns = [Column(path, name) for name in ("values", "small")]
        looked_up, small = look_up(Column(path, "keys"), columns, np.array(wanted, np.int64), (5, -1))
    assert looked_up.tolist() == [kept.get(key, 5) for key in wanted]
    assert small.tolist() == [kept[key] % 7 if key in kept else -1 for key in wanted]
    assert (looked_up.dtype, small.dtype) == (np.int64, np.int8)
