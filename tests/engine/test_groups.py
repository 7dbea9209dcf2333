"""Groups of small elements: consecutive, bounded, and with one kept result each."""

from pathlib import Path
from typing import NamedTuple

import apache_beam as beam
from apache_beam.testing.util import assert_that, equal_to
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import work_of
from wikianchor.pipelines.dataset.workspace import RECORDS
from wikianchor.pipelines.engine.transforms import GROUP_BYTES, MEMBER_BYTES, ListElements, RunGroups, groups_of


class Doubled(NamedTuple):
    number: int


def doubled(number: int, log: str) -> Doubled:
    with Path(log).open("a") as file:
        file.write(f"{number}\n")
    return Doubled(2 * number)


@given(st.lists(st.integers(0, 2 * GROUP_BYTES), max_size=50))
def test_groups_are_consecutive_and_bounded(sizes: list[int]) -> None:
    groups = groups_of(range(len(sizes)), sizes)
    assert [member for group in groups for member in group.members] == list(range(len(sizes)))
    for group in groups:
        assert group.order == group.members[0]
        assert len(group.members) <= GROUP_BYTES // MEMBER_BYTES
        assert sum(sizes[member] for member in group.members[:-1]) <= GROUP_BYTES


def test_a_group_has_one_result_that_is_kept(tmp_path: Path) -> None:
    work, log = work_of(tmp_path / "out"), str(tmp_path / "log")
    groups = groups_of(range(40), [0] * 40)
    for _ in range(2):
        with beam.Pipeline() as pipeline:
            results = pipeline | ListElements(list, groups) | RunGroups(doubled, work, "double", log)
            assert_that(results, equal_to([Doubled(2 * number) for number in range(40)]))
    assert sorted(map(int, Path(log).read_text().split())) == list(range(40)), "none twice"
    records = sorted(path.name for path in Path(work.scratch, RECORDS).iterdir())
    assert records == ["double-000000", "double-000016", "double-000032"]
