"""The name table of a wiki: the same arrays in any number of parts."""

from pathlib import Path

import numpy as np
import pytest

from pipelines.linking.tables import open_tables, save_tables
from pipelines.transforms import names
from pipelines.transforms.names import Merged, build_name_table, number_names
from tests.stand_in import work_of
from schemas.name_table import merge, nodes_of, table_of

KEYS = sorted({f"{first} {second}" for first in "abcdefgh" for second in range(40)} | set("abcd"))


def merged(tmp_path: Path, wiki: str, keys: list[list[str]]) -> list[Merged]:
    """Save ranges of keys as `merge_range` does."""
    found = []
    for order, some in enumerate(keys):
        path = save_tables(str(tmp_path), f"range-{order}", nodes_of(some)._asdict())
        found.append(Merged(order, wiki, path, "", len(some)))
    return found


@pytest.mark.parametrize("at_once", [1, 7, 100, 1 << 19])
def test_the_table_is_that_of_all_nodes_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(names, "NAMES_AT_ONCE", at_once)
    # The nodes "a" to "h" are in two ranges or more.
    ranges = [KEYS[:15], KEYS[15:20], KEYS[20:200], KEYS[200:]]
    others = [part._replace(order=9) for part in merged(tmp_path, "jawiki", [["x", "y"]])]
    every = [*others, *reversed(merged(tmp_path, "enwiki", ranges))]
    numbered = number_names(every)
    built = build_name_table("enwiki", {part.order: part for part in every}, numbered, work_of(tmp_path))
    assert [numbers.low for numbers in numbered] == [0, 15, 20, 200, 0]
    first = [nodes_of(keys, numbers.low) for keys, numbers in zip(ranges, numbered, strict=False)]
    expected = table_of(merge(first))
    table = open_tables(built.path)
    assert {name: column.tolist() for name, column in table.items()} == {
        name: column.tolist() for name, column in expected.items()
    }
    assert {name: column.dtype for name, column in table.items()} == {
        name: column.dtype for name, column in expected.items()
    }


def test_a_wiki_without_names_has_an_empty_table(tmp_path: Path) -> None:
    built = build_name_table("enwiki", {}, [], work_of(tmp_path))
    assert open_tables(built.path)["values"].tolist() == [-2]
    assert np.array_equal(open_tables(built.path)["buckets"], [0, 0])
