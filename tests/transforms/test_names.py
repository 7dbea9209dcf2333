"""The name table of a wiki: the same arrays in any number of parts."""

from pathlib import Path

import numpy as np
import pytest

from pipelines.linking.tables import open_tables, save_tables
from pipelines.transforms import names
from pipelines.transforms.names import Merged, build_name_table
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
    found = merged(tmp_path, "enwiki", ranges)
    other = [one._replace(order=9) for one in merged(tmp_path, "jawiki", [["x", "y"]])]
    wiki, built = build_name_table("enwiki", [*other, *reversed(found)], str(tmp_path / "out"))
    assert (wiki, built.starts) == ("enwiki", ((0, 0), (1, 15), (2, 20), (3, 200)))
    first = [nodes_of(keys, start) for keys, (_, start) in zip(ranges, built.starts, strict=True)]
    expected = table_of(merge(first))
    table = open_tables(built.path)
    assert {name: column.tolist() for name, column in table.items()} == {
        name: column.tolist() for name, column in expected.items()
    }
    assert {name: column.dtype for name, column in table.items()} == {
        name: column.dtype for name, column in expected.items()
    }


def test_a_wiki_without_names_has_an_empty_table(tmp_path: Path) -> None:
    _, built = build_name_table("enwiki", [], str(tmp_path))
    assert built.starts == ()
    assert open_tables(built.path)["values"].tolist() == [-2]
    assert np.array_equal(open_tables(built.path)["buckets"], [0, 0])
