"""How often items are linked to: which links count, sums in any order, and floors by scope."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import Item, Page, write_entities, write_sentences
from wikianchor.pipelines.titles.counts import ItemCounts, above_floor, count_links, frequent_items, sum_counts
from wikianchor.pipelines.titles.title_build import build_title_index
from wikianchor.pipelines.titles.title_index import FINE, NO_ITEM, RED, TitleIndex

COUNTED = {"enwiki": {1: 5, 2: 12, 3: 11}, "jawiki": {1: 6, 3: 2, 4: 11, 5: 10}}


def arrays(counts: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    return np.array(sorted(counts), np.int64), np.array([counts[item] for item in sorted(counts)], np.int64)


def test_links_count_by_what_they_lead_to(tmp_path: Path) -> None:
    pages = [
        Page("A", ["To [[B]] and [[Bee]].", "To [[B#Part|b]], [[Missing]] and [[Nothing known]]."]),
        Page("B"),
        Page("Bee", redirect="B"),
        Page("Nothing known"),
    ]
    sentences = write_sentences(tmp_path / "s", "enwiki", pages)
    entities = write_entities(tmp_path / "e", ["enwiki"], [Item(2, sitelinks={"enwiki": "B"})])
    path, _ = build_title_index(
        [str(next((sentences / "data/titles").iterdir()))],
        [str(next((entities / "data/sitelinks").iterdir()))],
        "enwiki",
        str(tmp_path),
    )
    shard = str(next((sentences / "data/sentences").iterdir()))
    in_memory = count_links(shard, TitleIndex(path), sections=False)
    assert (in_memory.items.tolist(), in_memory.counts.tolist()) == ([2], [2])
    assert in_memory.which.tolist() == [0, 0, -1, -1, -1]
    assert in_memory.codes.tolist() == [FINE, FINE, FINE, RED, NO_ITEM]
    # Of four pages one has sentences.
    assert (in_memory.pages.tolist(), in_memory.page_items.tolist()) == ([1], [0])
    in_memory = count_links(shard, TitleIndex(path), sections=True)
    assert (in_memory.items.tolist(), in_memory.counts.tolist()) == ([2], [3])
    assert in_memory.which.tolist() == [0, 0, 0, -1, -1]


@given(st.lists(st.dictionaries(st.integers(1, 9), st.integers(1, 99), max_size=5), max_size=5), st.randoms())
def test_sums_are_those_of_a_counter_in_any_order(parts: list[dict[int, int]], random) -> None:
    expected: dict[int, int] = {}
    for part in parts:
        for item, count in part.items():
            expected[item] = expected.get(item, 0) + count
    random.shuffle(parts)
    items, counts = sum_counts([arrays(part) for part in parts])
    assert dict(zip(items.tolist(), counts.tolist(), strict=True)) == expected
    assert items.tolist() == sorted(expected)


@pytest.mark.parametrize(
    ("floor", "kept"),
    [
        ("corpus", {1: 11, 2: 12, 3: 13, 4: 11}),
        ("wiki", {2: 12, 3: 13, 4: 11}),
        ("enwiki", {2: 12, 3: 13}),
        ("jawiki", {4: 11}),
        ("dewiki", {}),
    ],
)
def test_an_item_is_kept_when_it_is_linked_to_more_than_ten_times_where_that_counts(
    floor: str, kept: dict[int, int]
) -> None:
    items, counts = above_floor({wiki: arrays(counts) for wiki, counts in COUNTED.items()}, floor, 10)
    # Whatever the floor, frequency is that in all wikis.
    assert dict(zip(items.tolist(), counts.tolist(), strict=True)) == kept


def test_no_wiki_gives_no_item() -> None:
    assert above_floor({}, "corpus", 0)[0].tolist() == []
    assert above_floor({}, "wiki", 0)[0].tolist() == []


@given(
    st.dictionaries(
        st.sampled_from(["enwiki", "jawiki"]),
        st.lists(st.dictionaries(st.integers(1, 300), st.integers(1, 8), max_size=20), max_size=4),
    ),
    st.sampled_from(["corpus", "wiki", "jawiki"]),
)
def test_counts_on_disk_are_the_counts_in_memory(in_memory: dict[str, list[dict[int, int]]], floor: str) -> None:
    whole = {wiki: sum_counts(map(arrays, shards)) for wiki, shards in in_memory.items()}
    with ItemCounts(
        {wiki: map(arrays, shards) for wiki, shards in in_memory.items()}, tempfile.gettempdir()
    ) as counted:
        items, counts = frequent_items(counted, floor, 10)
        for wiki, (expected, sums) in whole.items():
            parts = [part[wiki] for part in counted.parts() if wiki in part]
            assert sorted(item for part in parts for item in part[0].tolist()) == expected.tolist()
            assert sum(int(part[1].sum()) for part in parts) == int(sums.sum())
    expected_items, expected_counts = above_floor(whole, floor, 10)
    assert items.tolist() == expected_items.tolist()
    assert counts.tolist() == expected_counts.tolist()
