"""The entity table: dense ids by frequency, pools by type, and which pool an entity's negatives may come from."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import Item, write_entities
from wikianchor.pipelines.pairs.entity_table import ABSENT, HUMAN, META, ROUTES, TableOptions, build_entity_table

CITY, RIVER, VILLAGE, SINGER, WRITER, PLACE = 515, 4022, 532, 177220, 36180, 82794
OPTIONS = TableOptions(negatives=1, types="best_rank", refine_humans=0, back_off=False)


class Table:
    """A table with names for what is in it."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.arrays = arrays
        self.qids = arrays["qids"].tolist()

    def pools(self) -> dict[tuple[int, ...], list[int]]:
        """Types with the items in their pools; the pool of a type's subclasses comes after that of its instances."""
        starts, built = self.arrays["pool_starts"], {}
        for number, kind in enumerate(self.arrays["pool_types"].tolist()):
            members = self.arrays["pool_members"][starts[number] : starts[number + 1]]
            key = (kind,) if (kind,) not in built else (kind, 1)
            built[key] = sorted(self.qids[member] for member in members)
        return built

    def choices(self, qid: int) -> list[tuple[int, str]]:
        """Types and routes that an entity's negatives may come from."""
        dense = self.qids.index(qid)
        first, last = self.arrays["choice_starts"][dense : dense + 2]
        return [
            (int(self.arrays["pool_types"][pool]), ROUTES[route])
            for pool, route in zip(
                self.arrays["choice_pools"][first:last], self.arrays["choice_routes"][first:last], strict=True
            )
        ]


def table(
    tmp_path: Path,
    items: list[Item],
    options: TableOptions = OPTIONS,
    counts: dict[int, int] | None = None,
    present: list[int] | None = None,
) -> Table:
    """Build a table of all items, each linked to ten times where nothing else is said."""
    counts = counts or dict.fromkeys((item.qid for item in items), 10)
    directory = write_entities(tmp_path / "e", ["enwiki"], items)
    qids = sorted(counts)
    frequent = (np.array(qids, np.int64), np.array([counts[qid] for qid in qids], np.int64))
    shards = [str(path) for path in sorted((directory / "data/entities").glob("*"))]
    return Table(build_entity_table(frequent, shards, None if present is None else np.array(present), options))


def test_dense_ids_are_most_frequent_first_and_ties_by_item(tmp_path: Path) -> None:
    built = table(tmp_path, [Item(1)], counts={5: 3, 9: 7, 2: 3, 8: 7, 1: 100})
    assert built.qids == [1, 8, 9, 2, 5]
    assert built.arrays["counts"].tolist() == [100, 7, 7, 3, 3]
    assert built.arrays["sorted_qids"].tolist() == [1, 2, 5, 8, 9]
    assert [built.qids[dense] for dense in built.arrays["sorted_ids"]] == [1, 2, 5, 8, 9]


def test_items_that_are_pages_of_the_wiki_are_left_out_and_so_are_those_absent_where_they_must_be(
    tmp_path: Path,
) -> None:
    items = [Item(1, [CITY]), Item(2, [CITY, 4167410]), Item(3, [CITY]), Item(4, [13406463])]
    built = table(tmp_path, items, present=[1, 2])
    assert built.qids == [1]
    why = dict(zip(built.arrays["left_out"].tolist(), built.arrays["left_out_why"].tolist(), strict=True))
    # What is absent is absent, whatever else it is.
    assert why == {2: META, 3: ABSENT, 4: ABSENT}
    assert built.pools() == {(CITY,): [1]}


def test_a_pool_is_all_items_of_a_type_and_its_subclasses_are_another(tmp_path: Path) -> None:
    items = [
        Item(1, [CITY, RIVER]),
        Item(2, [CITY]),
        Item(3, [CITY], route="subclass_of"),
        Item(4, [CITY], route="subclass_of"),
        Item(5, [RIVER]),
        Item(6, [VILLAGE]),
        Item(7),
    ]
    built = table(tmp_path, items)
    assert built.pools() == {(CITY,): [1, 2], (CITY, 1): [3, 4], (RIVER,): [1, 5], (VILLAGE,): [6]}
    assert built.choices(1) == [(CITY, "instance_of"), (RIVER, "instance_of")]
    assert built.choices(3) == [(CITY, "subclass_of")]
    # A pool with nobody else in it is no use; nor is no type at all.
    assert built.choices(6) == []
    assert built.choices(7) == []
    assert dict(zip(built.qids, built.arrays["typed"].tolist(), strict=True)) == {
        **dict.fromkeys(range(1, 7), True),
        7: False,
    }


@pytest.mark.parametrize(("negatives", "served"), [(0, True), (1, True), (2, True), (3, False), (5, False)])
def test_a_pool_serves_when_it_holds_enough_others(tmp_path: Path, negatives: int, served: bool) -> None:
    options = TableOptions(negatives, "best_rank", 0, False)
    built = table(tmp_path, [Item(number, [CITY]) for number in range(1, 4)], options)
    assert built.choices(1) == ([(CITY, "instance_of")] if served else [])


def test_which_types_count(tmp_path: Path) -> None:
    items = [
        Item(1, [CITY], any_rank=[CITY, RIVER]),
        Item(2, [CITY], any_rank=[CITY]),
        Item(3, [PLACE], route="subclass_of", any_rank=[RIVER]),
        Item(4, [PLACE], route="subclass_of", any_rank=[]),
    ]
    best, instances, any_rank = (
        table(tmp_path / kind, items, TableOptions(1, kind, 0, False))
        for kind in ("best_rank", "instance_of", "any_rank")
    )
    assert best.pools() == {(CITY,): [1, 2], (PLACE,): [3, 4]}
    assert instances.pools() == {(CITY,): [1, 2]}
    assert any_rank.pools() == {(CITY,): [1, 2], (RIVER,): [1, 3]}
    assert any_rank.choices(3) == [(RIVER, "instance_of")]


def humans() -> list[Item]:
    return [
        Item(1, [HUMAN], occupations=[SINGER]),
        Item(2, [HUMAN], occupations=[SINGER, WRITER]),
        Item(3, [HUMAN], occupations=[WRITER]),
        Item(4, [HUMAN], occupations=[4444]),
        Item(5, [HUMAN]),
        Item(6, [HUMAN, CITY], occupations=[SINGER]),
        Item(7, [CITY], occupations=[SINGER]),
    ]


def test_many_humans_are_typed_by_occupation(tmp_path: Path) -> None:
    built = table(tmp_path, humans(), TableOptions(1, "best_rank", 5, False))
    assert built.choices(1) == [(SINGER, "occupation")]
    assert built.choices(2) == [(WRITER, "occupation"), (SINGER, "occupation")]
    # Nobody shares the occupation of 4, and 5 has none: they stay humans, among all humans.
    assert built.choices(4) == [(HUMAN, "instance_of")]
    assert built.choices(5) == [(HUMAN, "instance_of")]
    assert built.choices(6) == [(CITY, "instance_of"), (SINGER, "occupation")]
    # What is no human has no occupation.
    assert built.choices(7) == [(CITY, "instance_of")]
    assert built.pools()[(SINGER,)] == [1, 2, 6]
    assert built.pools()[(HUMAN,)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("limit", [0, 6])
def test_few_humans_stay_humans(tmp_path: Path, limit: int) -> None:
    built = table(tmp_path, humans(), TableOptions(1, "best_rank", limit, False))
    assert built.choices(1) == [(HUMAN, "instance_of")]
    assert (SINGER,) not in built.pools()


def test_a_type_with_too_few_gives_way_to_its_superclass(tmp_path: Path) -> None:
    items = [
        Item(1, [VILLAGE]),
        Item(2, [RIVER]),
        Item(3, [PLACE]),
        Item(4, [CITY]),
        Item(5, [CITY]),
        # The types themselves, which say what they are subclasses of.
        Item(VILLAGE, [PLACE], route="subclass_of", superclasses=[PLACE]),
        Item(RIVER, [PLACE], route="subclass_of", superclasses=[PLACE, 7777]),
        Item(CITY, [PLACE], route="subclass_of", superclasses=[PLACE]),
    ]
    counts = dict.fromkeys(range(1, 6), 10)
    without = table(tmp_path / "no", items, OPTIONS, counts)
    assert without.choices(1) == []
    built = table(tmp_path / "yes", items, TableOptions(1, "best_rank", 0, True), counts)
    assert built.choices(1) == [(PLACE, "parent")]
    assert built.choices(2) == [(PLACE, "parent")]
    # A place by itself becomes one of several; a city has cities enough and stays.
    assert built.choices(3) == [(PLACE, "instance_of")]
    assert built.choices(4) == [(CITY, "instance_of")]
    assert built.pools()[(PLACE,)] == [1, 2, 3]


def test_two_small_types_with_one_superclass_give_one_choice(tmp_path: Path) -> None:
    items = [
        Item(1, [VILLAGE, RIVER]),
        Item(2, [PLACE]),
        Item(VILLAGE, [PLACE], route="subclass_of", superclasses=[PLACE]),
        Item(RIVER, [PLACE], route="subclass_of", superclasses=[PLACE]),
    ]
    built = table(tmp_path, items, TableOptions(1, "best_rank", 0, True), {1: 1, 2: 1})
    assert built.choices(1) == [(PLACE, "parent")]
    assert built.pools()[(PLACE,)] == [1, 2]


@pytest.mark.parametrize("types", ["best_rank", "instance_of", "any_rank"])
def test_no_entity_makes_an_empty_table(tmp_path: Path, types: str) -> None:
    options = TableOptions(1, types, 1000, True)
    for built in (
        table(tmp_path / "a", [Item(1, [CITY])], options, counts={3: 1}, present=[]),
        Table(build_entity_table((np.zeros(0, np.int64), np.zeros(0, np.int64)), [], None, options)),
    ):
        assert built.qids == []
        assert built.pools() == {}
        assert built.arrays["choice_starts"].tolist() == [0]


KINDS = st.lists(st.integers(1, 6), max_size=3, unique=True)


@given(st.lists(st.tuples(KINDS, st.booleans(), KINDS), min_size=1, max_size=12), st.integers(1, 3), st.booleans())
def test_pools_and_choices_are_what_a_plain_program_makes_of_the_types(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Any, ...]], negatives: int, back_off: bool
) -> None:
    """Types are numbers to six, and items of the same numbers say what their superclasses are."""
    items = [
        Item(number, kinds, route="subclass_of" if subclass else "instance_of", superclasses=parents)
        for number, (kinds, subclass, parents) in enumerate(drawn, 1)
    ]
    built = table(
        tmp_path_factory.mktemp("t"),
        items,
        TableOptions(negatives, "best_rank", 0, back_off),
        {i.qid: 1 for i in items},
    )
    pools: dict[tuple[int, bool], dict[int, str]] = {}
    for item in items:
        for kind in item.types:
            pools.setdefault((kind, item.route == "subclass_of"), {})[item.qid] = item.route
    small = {key: list(members) for key, members in pools.items() if len(members) <= negatives}
    superclasses = {item.qid: item.superclasses for item in items}
    if back_off:
        for (kind, subclass), members in small.items():
            for parent in superclasses.get(kind, ()):
                for qid in members:
                    pools.setdefault((parent, subclass), {}).setdefault(qid, "parent")
    expected = {}
    for kind, subclass in sorted(pools):
        key = (kind,) if (kind,) not in expected else (kind, 1)
        expected[key] = sorted(pools[kind, subclass])
    assert built.pools() == expected
    for item in items:
        choices = [
            (kind, members[item.qid])
            for (kind, _), members in sorted(pools.items())
            if item.qid in members and len(members) > negatives
        ]
        of_items = [choice for choice in choices if choice[1] != "parent"]
        assert built.choices(item.qid) == (of_items or choices)
