"""Which rows come when."""

import numpy as np
import pytest

from wikianchor.io.errors import UsageError
from wikianchor.trainer.data import order
from wikianchor.trainer.data.order import (
    Mix,
    by_wiki,
    held_out_rows,
    parse_quota,
    pick_negatives,
    select_rows,
    shuffled,
    wiki_counts,
)

NONE = np.empty(0, np.int64)
NAMES = ("dewiki", "enwiki", "jawiki")
WIKIS = np.array([0] * 10 + [1] * 80 + [2] * 10, np.int16)


def test_an_epoch_is_a_permutation_of_its_own() -> None:
    rows = np.arange(1000)
    first, again, second = (shuffled(rows, 1, epoch) for epoch in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert np.array_equal(np.sort(first), rows)


def test_above_the_limit_only_windows_are_shuffled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "STREAM_ABOVE", 999)
    monkeypatch.setattr(order, "BLOCK", 10)
    monkeypatch.setattr(order, "BLOCKS_IN_WINDOW", 4)
    rows = np.arange(1000)
    results = shuffled(rows, 1, 0)
    assert np.array_equal(np.sort(results), rows)
    for start in range(0, 1000, 40):
        assert len(set(results[start : start + 40] // 10)) == 4
    assert np.array_equal(results, shuffled(rows, 1, 0))


def test_all_rows_but_those_held_out() -> None:
    held = held_out_rows(100, 7, 3)
    results = select_rows(WIKIS, NAMES, Mix(), held, 3, 0)
    assert len(held) == 7
    assert np.array_equal(np.sort(np.concatenate((results, held))), np.arange(100))


@pytest.mark.parametrize(
    ("mix", "expected"),
    [
        (Mix(quota=20), [20, 20, 20]),
        (Mix(quota={"dewiki": 3, "enwiki": 15}), [3, 15, 0]),
        (Mix(alpha=0.0), [34, 33, 33]),
    ],
)
def test_a_quota_is_kept_to_the_row(mix: Mix, expected: list[int]) -> None:
    results = select_rows(WIKIS, NAMES, mix, NONE, 3, 0)
    assert np.bincount(WIKIS[results], minlength=3).tolist() == expected
    # A wiki with fewer rows gives each of them as often as any other, give or take one.
    times = np.bincount(results, minlength=100)[WIKIS == 0]
    assert times.max() - times.min() <= 1
    other = select_rows(WIKIS, NAMES, mix, NONE, 3, 1)
    assert not np.array_equal(results, other)


def test_temperature_lies_between_equal_and_proportional() -> None:
    counts = wiki_counts([10, 80, 10], NAMES, Mix(alpha=0.5))
    assert counts is not None
    assert sum(counts) == 100
    assert counts[0] == counts[2] == pytest.approx(100 * 10**0.5 / (80**0.5 + 2 * 10**0.5), abs=1)
    assert wiki_counts([10, 80, 10], NAMES, Mix()) is None


def test_quotas_are_read() -> None:
    assert parse_quota("", NAMES) is None
    assert parse_quota("50", NAMES) == 50
    assert parse_quota("dewiki=3,jawiki=4", NAMES) == {"dewiki": 3, "jawiki": 4}
    with pytest.raises(UsageError, match="no rows of ukwiki"):
        parse_quota("ukwiki=3", NAMES)
    with pytest.raises(UsageError, match="must be a number"):
        parse_quota("dewiki=many", NAMES)


def test_negatives_are_new_in_each_epoch_until_used_up() -> None:
    stored = np.array([[1, 2, 3, 4], [5, 6, -1, -1], [-1, -1, -1, -1]], np.int32)
    assert pick_negatives(stored, 2, 0).tolist() == [[1, 2], [5, 6], [-1, -1]]
    assert pick_negatives(stored, 2, 1).tolist() == [[3, 4], [5, 6], [-1, -1]]
    assert pick_negatives(stored, 3, 0).tolist() == [[1, 2, 3], [5, 6, -1], [-1, -1, -1]]
    assert pick_negatives(stored[:, :0], 2, 0).tolist() == [[-1, -1]] * 3
    assert pick_negatives(stored, 0, 0).shape == (3, 0)


def test_more_rows_held_out_than_there_are() -> None:
    with pytest.raises(UsageError, match="100 rows only"):
        held_out_rows(100, 100, 1)


def test_softmaxes_of_one_wiki() -> None:
    random = np.random.default_rng(0)
    wikis = random.integers(0, 3, 1000).astype(np.int16)
    rows = shuffled(np.arange(1000), 1, 0)
    first, second = (by_wiki(rows, wikis, 16, seed=1, epoch=epoch) for epoch in (0, 1))
    assert sorted(first.tolist()) == list(range(1000))
    assert not np.array_equal(first, second)
    whole = sum(int(count) // 16 for count in np.bincount(wikis))
    groups = wikis[first][: 16 * whole].reshape(whole, 16)
    assert (groups == groups[:, :1]).all()
    # Wikis follow each other in a random order.
    assert np.count_nonzero(np.diff(groups[:, 0])) > whole / 3
