"""The steps of `mentions`: how ranges are planned and names numbered, what merging does not depend on, and the name
table of a wiki, which has the same arrays in any number of parts."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.stand_in import work_of
from wikianchor.aliases.name_table import merge, nodes_of, table_of
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.engine.sorted_runs import KeyRange
from wikianchor.pipelines.mentions import steps as names
from wikianchor.pipelines.mentions.anchors import ANCHOR, ROWS, TITLE, merge_names
from wikianchor.pipelines.mentions.steps import Gathered, Merged, build_name_table, number_names, plan_ranges

KEYS = sorted({f"{first} {second}" for first in "abcdefgh" for second in range(40)} | set("abcd"))


def merged(tmp_path: Path, wiki: str, keys: list[list[str]]) -> list[Merged]:
    """Save ranges of keys as `merge_range` does."""
    tables = []
    for order, some in enumerate(keys):
        path = save_tables(str(tmp_path), f"range-{order}", nodes_of(some)._asdict())
        tables.append(Merged(order, wiki, path, "", len(some)))
    return tables


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
    first = [nodes_of(keys, int(numbers.low or 0)) for keys, numbers in zip(ranges, numbered, strict=False)]
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


def gathered(order: int, wiki: str, *heads: str) -> Gathered:
    return Gathered(order, wiki, len(heads) * 4096, heads, {}, {})


def test_ranges_are_cut_at_heads_and_numbered_over_all_wikis() -> None:
    shards = [
        gathered(2, "enwiki", "b", "d", "f"),
        gathered(0, "dewiki", "", "m"),
        gathered(1, "enwiki", "a", "c", "e"),
        gathered(3, "frwiki"),
    ]
    assert plan_ranges(shards, 2 * 4096) == [
        KeyRange(0, "dewiki", None, None),
        KeyRange(1, "enwiki", None, "c"),
        KeyRange(2, "enwiki", "c", "e"),
        KeyRange(3, "enwiki", "e", None),
    ]
    # However few rows are wanted, a range begins at a head.
    assert [wanted.high for wanted in plan_ranges(shards[:1], 1)] == ["d", "f", None]


def test_names_are_numbered_within_their_wiki() -> None:
    parts = [Merged(2, "enwiki", "", "", 5), Merged(0, "dewiki", "", "", 3), Merged(1, "enwiki", "", "", 4)]
    assert number_names(parts) == [
        KeyRange(0, "dewiki", 0, 3),
        KeyRange(1, "enwiki", 0, 4),
        KeyRange(2, "enwiki", 4, 9),
    ]


def test_what_is_merged_does_not_depend_on_the_order_of_rows_with_one_key() -> None:
    rows = [
        ("apple", "apple", 1, 3, 2, 3, ANCHOR),
        ("apple", "Apple", 1, 3, 2, 3, ANCHOR),
        ("apple", "Apple", 2, 4, 1, 1, ANCHOR),
        ("apple", "Apple", 1, 0, 0, 0, TITLE),
        ("nothing", "nothing", 0, 2, 1, 1, ANCHOR),
        ("pear", "Pear", 3, 1, 1, 1, ANCHOR),
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    table = pa.Table.from_arrays([pa.array(column) for column in columns], ROWS.names).cast(ROWS)
    whole = merge_names(table)
    assert whole.keys.to_pylist() == ["apple", "pear"]
    assert whole.links.tolist() == [10, 1]
    assert [row["qid"] for row in whole.rows.to_pylist()] == [1, 2, 3]
    assert [row["surface"] for row in whole.rows.to_pylist()] == ["Apple", "Apple", "Pear"]
    for order in ([3, 2, 1, 0, 4, 5], [1, 0, 3, 2, 4, 5]):
        other = merge_names(table.take(pa.array(order)))
        assert other.rows.equals(whole.rows)
        assert np.array_equal(other.documents, whole.documents)
    assert merge_names(table.slice(0, 0)).rows.num_rows == 0
