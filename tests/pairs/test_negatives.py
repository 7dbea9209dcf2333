"""Hard negatives: who may be drawn, how evenly, how steadily, and the same as a plain program would allow."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.pairs import negatives
from wikianchor.pipelines.pairs.negatives import Draws, Excluded, draw_from_fixed, draw_negatives

# Rows with their own pool, positive and page; members of a pool are distinct and ascending, as in the entity table.
POOLS = st.lists(st.sets(st.integers(0, 30), min_size=2, max_size=20), min_size=1, max_size=4)


def draws_of(rows: list[tuple[int, int, int, int]], pools: list[list[int]]) -> tuple[Draws, np.ndarray]:
    """Return draws for rows of (pool, positive, page, key)."""
    starts = np.cumsum([0, *map(len, pools)])
    pool, entities, pages, keys = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    sizes = np.array([len(pools[number]) for number in pool])
    return (
        Draws(entities, pages, starts[pool], sizes, mix(42, keys)),
        np.array([member for members in pools for member in members], np.int32),
    )


def excluded_of(links: dict[int, set[int]]) -> Excluded:
    drawn_rows = [(page, entity) for page, entities in sorted(links.items()) for entity in sorted(entities)]
    pages, entities = (
        (np.array(column, np.int64) for column in zip(*drawn_rows, strict=True)) if drawn_rows else ([], [])
    )
    return Excluded(Excluded.keys_of(np.array(pages, np.int64), np.array(entities, np.int64)))


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[tuple[int, int, int, int]], list[list[int]], dict[int, set[int]]]:
    pools = [sorted(pool) for pool in draw(POOLS)]
    links = draw(st.dictionaries(st.integers(0, 3), st.sets(st.integers(0, 30), max_size=25)))
    rows = []
    for key in range(draw(st.integers(1, 12))):
        pool = draw(st.integers(0, len(pools) - 1))
        rows.append((pool, draw(st.sampled_from(pools[pool])), draw(st.integers(0, 3)), key))
    return rows, pools, links


def allowed(row: tuple[int, int, int, int], pools: list[list[int]], links: dict[int, set[int]]) -> list[int]:
    """The plain program: all that may be drawn."""
    pool, positive, page, _ = row
    return [member for member in pools[pool] if member != positive and member not in links.get(page, set())]


@given(cases(), st.integers(1, 5), st.sampled_from([0, 8, 100]), st.sampled_from([1, 6]))
def test_negatives_are_different_members_that_are_allowed_and_as_many_as_there_are(
    case, count: int, listed: int, attempts: int
) -> None:
    rows, pools, links = case
    draws, members = draws_of(rows, pools)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negatives, "LISTED_AT_ONCE", listed)
        patch.setattr(negatives, "ATTEMPTS", attempts)
        patch.setattr(negatives, "LISTED_TOGETHER", 7)
        drawn_rows = draw_negatives(draws, members, excluded_of(links), count)
    assert drawn_rows.shape == (len(rows), count)
    for row, drawn in zip(rows, drawn_rows.tolist(), strict=True):
        free = allowed(row, pools, links)
        real = [entity for entity in drawn if entity >= 0]
        assert len(real) == len(set(real)) == min(count, len(free))
        assert set(real) <= set(free)
        # What there is comes first.
        assert drawn[: len(real)] == real


@given(cases(), st.integers(1, 5), st.integers(0, 6))
def test_candidates_are_few_and_fixed_for_an_entity(case, count: int, more: int) -> None:
    rows, pools, links = case
    # An entity has one pool here, as `Decider` gives it one.
    first = {}
    rows = [(first.setdefault(positive, pool), positive, page, key) for pool, positive, page, key in rows]
    draws, members = draws_of(rows, pools)
    keys = mix(42, draws.entities)
    candidates = count + more
    drawn_rows = draw_from_fixed(draws, members, excluded_of(links), count, candidates, keys)
    everything = draw_from_fixed(draws, members, excluded_of({}), candidates, candidates, keys)
    fixed: dict[int, set[int]] = {}
    for row, drawn in zip(rows, everything.tolist(), strict=True):
        chosen = set(drawn) - {-1}
        assert fixed.setdefault(row[1], chosen) == chosen
        assert len(chosen) == min(candidates, len(pools[row[0]]) - 1)
    for row, drawn in zip(rows, drawn_rows.tolist(), strict=True):
        free = fixed[row[1]] & set(allowed(row, pools, links))
        real = [entity for entity in drawn if entity >= 0]
        assert len(real) == len(set(real)) == min(count, len(free))
        assert set(real) <= free


@given(cases(), st.integers(1, 4), st.randoms())
def test_a_row_draws_the_same_beside_other_rows(case, count: int, random) -> None:
    rows, pools, links = case
    draws, members = draws_of(rows, pools)
    excluded = excluded_of(links)
    together = draw_negatives(draws, members, excluded, count)
    alone = [draw_negatives(draws.at(np.array([row])), members, excluded, count)[0] for row in range(len(rows))]
    assert together.tolist() == np.array(alone).tolist()
    order = list(range(len(rows)))
    random.shuffle(order)
    assert draw_negatives(draws.at(np.array(order)), members, excluded, count).tolist() == together[order].tolist()


def chi_square(counts: np.ndarray) -> float:
    """How far counts are from even, in standard deviations of that distance."""
    expected = counts.sum() / len(counts)
    freedom = len(counts) - 1
    return (float(((counts - expected) ** 2 / expected).sum()) - freedom) / (2 * freedom) ** 0.5


@pytest.mark.parametrize("size", [6, 12, 40])
@pytest.mark.parametrize("linked", [0, 4, "most"])
@pytest.mark.parametrize("count", [1, 2])
def test_draws_are_uniform_over_what_is_allowed(size: int, linked: int | str, count: int) -> None:
    pool = list(range(100, 100 + size))
    out = size - 3 if linked == "most" else int(linked)
    links = {0: set(pool[1 : 1 + out])}
    rows = [(0, 100, 0, key) for key in range(40_000)]
    draws, members = draws_of(rows, [pool])
    drawn_rows = draw_negatives(draws, members, excluded_of(links), count)
    free = allowed(rows[0], [pool], links)
    if len(free) < count:
        assert (drawn_rows[:, -1] == -1).all()
        return
    # Each place for itself, and ordered pairs, are as even as can be.
    for slot in range(count):
        counts = np.array([(drawn_rows[:, slot] == entity).sum() for entity in free])
        assert counts.sum() == len(rows)
        assert len(free) == 1 or abs(chi_square(counts)) < 5
    if count == 2:
        pairs = np.unique(drawn_rows[:, 0] * 1000 + drawn_rows[:, 1], return_counts=True)[1]
        assert len(pairs) == len(free) * (len(free) - 1)
        assert len(pairs) == 1 or abs(chi_square(pairs)) < 5


@pytest.mark.parametrize("linked", [0, 5])
def test_draws_from_candidates_are_uniform_over_those_allowed(linked: int) -> None:
    pool = list(range(30))
    rows = [(0, 0, 0, key) for key in range(40_000)]
    draws, members = draws_of(rows, [pool])
    keys = mix(42, draws.entities)
    fixed = draw_from_fixed(draws, members, excluded_of({}), 10, 10, keys)[0].tolist()
    links = {0: set(fixed[:linked])}
    drawn_rows = draw_from_fixed(draws, members, excluded_of(links), 1, 10, keys)[:, 0]
    counts = np.array([(drawn_rows == entity).sum() for entity in fixed[linked:]])
    assert counts.sum() == len(rows)
    assert abs(chi_square(counts)) < 5


def test_candidates_themselves_are_uniform_over_the_pool() -> None:
    """Over many entities of one pool each member is a candidate as often as another."""
    size, candidates = 400, 10
    rows = [(0, entity, 0, entity) for entity in range(size)]
    draws, members = draws_of(rows, [list(range(size))])
    total = np.zeros(size)
    for seed in range(50):
        drawn_rows = draw_from_fixed(draws, members, excluded_of({}), candidates, candidates, mix(seed, draws.entities))
        assert (drawn_rows != draws.entities[:, None]).all()
        total += np.bincount(drawn_rows.ravel(), minlength=size)
    assert abs(chi_square(total)) < 5


def test_the_highest_ids_there_can_be_stay_apart() -> None:
    pages, entities = np.array([2**32 - 1, 2**32 - 2, 0]), np.array([2**31 - 1, 0, 2**31 - 1])
    excluded = Excluded(np.sort(Excluded.keys_of(pages, entities)))
    assert (excluded.keys >= 0).all()
    assert excluded.contains(pages, entities).all()
    assert not excluded.contains(pages, entities[[1, 0, 1]]).any()


def test_no_row_and_a_pool_of_the_positive_alone() -> None:
    draws, members = draws_of([(0, 5, 0, 0)], [[5]])
    none = draws.at(np.zeros(0, np.int64))
    assert draw_negatives(draws, members, excluded_of({}), 2).tolist() == [[-1, -1]]
    assert draw_negatives(none, members, excluded_of({}), 2).shape == (0, 2)
    assert draw_from_fixed(none, members, excluded_of({}), 2, 3, none.keys).shape == (0, 2)
    assert draw_from_fixed(draws, members, excluded_of({}), 1, 3, draws.keys).tolist() == [[-1]]


@settings(max_examples=20)
@given(st.integers(0, 2**64 - 1))
def test_a_large_pool_costs_no_list(seed: int) -> None:
    """Of a million members hardly any is linked: the first attempt does for nearly all rows."""
    size = 1_000_000
    members = np.arange(size, dtype=np.int32)
    rows = np.arange(50)
    draws = Draws(rows, rows, np.zeros(50, np.int64), np.full(50, size), mix(seed, rows))
    drawn_rows = draw_negatives(draws, members, excluded_of({}), 5)
    assert (drawn_rows >= 0).all()
