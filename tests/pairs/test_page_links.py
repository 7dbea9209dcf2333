"""What pages link to: all of it, redirects and sections followed, from the row groups that hold the pages."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import Item, Page, title_rows, write_entities
from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.titles.row_groups import GROUPS_HELD, row_groups
from wikianchor.pipelines.titles.title_build import build_title_index
from wikianchor.pipelines.titles.title_index import TitleIndex
from wikianchor.schemas import titles as schema

WIKI = "enwiki"
PAGES = [
    Page("A", ["To [[B]]."], links=["C", "Missing"]),
    Page("B", links=["Bee", "Section of D"]),
    Page("C", links=["D", "Cee"]),
    Page("D", flags=["list"], links=["Nothing"]),
    Page("E", ["To [[D]]."], flags=["disambiguation"]),
    Page("Bee", redirect="B"),
    Page("Cee", redirect="C"),
    Page("Section of D", redirect="D", fragment="Part"),
    Page("Nothing"),
]
QIDS = {"A": 10, "B": 11, "C": 12, "D": 13, "E": 14}
# Dense ids by item: E is not in the table.
TABLE = {"sorted_qids": np.array([10, 11, 12, 13]), "sorted_ids": np.array([3, 2, 1, 0], np.int32)}
IDS = {"A": 3, "B": 2, "C": 1, "D": 0}


def write(path: Path, pages: list[Page], group: int, statistics: bool = True) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(title_rows(WIKI, pages), schema.SCHEMA)
    pq.write_table(table, path, row_group_size=group, write_statistics=statistics)
    return str(path)


def index_of(tmp_path: Path, titles: list[str]) -> TitleIndex:
    entities = write_entities(tmp_path / "e", [WIKI], [Item(qid, sitelinks={WIKI: name}) for name, qid in QIDS.items()])
    sitelinks = [str(path) for path in (entities / "data/sitelinks").iterdir()]
    return TitleIndex(build_title_index(titles, sitelinks, WIKI, str(tmp_path))[0])


def ids(tmp_path: Path) -> EntityIds:
    return EntityIds(save_tables(str(tmp_path), "entities", TABLE))


def opened(tmp_path: Path, titles: list[str], own_page: bool) -> PageLinks:
    index = index_of(tmp_path, titles)
    return PageLinks(titles, row_groups(titles), index, ids(tmp_path), own_page)


def held(links: PageLinks, pages: list[int]) -> dict[int, set[str]]:
    """Return the names of the entities that each page holds."""
    excluded = links.of_pages(np.array(pages, np.int64))
    return {
        page: {name for name, number in IDS.items() if excluded.contains(np.array([page]), np.array([number]))[0]}
        for page in pages
    }


@pytest.mark.parametrize("group", [1, 2, 100])
@pytest.mark.parametrize("statistics", [True, False])
def test_links_are_followed_wherever_they_stand_on_the_page(tmp_path: Path, group: int, statistics: bool) -> None:
    shards = [write(tmp_path / "t/0", PAGES, group, statistics)]
    index = index_of(tmp_path, shards)
    expected = {1: {"B", "C"}, 2: {"B", "D"}, 3: {"D", "C"}, 4: set(), 5: {"D"}, 9: set()}
    assert (
        held(PageLinks(shards, row_groups(shards), index, ids(tmp_path), own_page=False), [1, 2, 3, 4, 5, 9])
        == expected
    )
    with_page = {
        page: targets | ({name} & set(IDS))
        for (page, targets), name in zip(expected.items(), [*"ABCDE", ""], strict=True)
    }
    assert (
        held(PageLinks(shards, row_groups(shards), index, ids(tmp_path), own_page=True), [1, 2, 3, 4, 5, 9])
        == with_page
    )


def test_a_page_that_is_not_there_links_to_nothing(tmp_path: Path) -> None:
    shards = [write(tmp_path / "t/0", PAGES, 2)]
    links = opened(tmp_path, shards, own_page=True)
    assert held(links, [77]) == {77: set()}
    assert held(links, []) == {}
    assert (
        len(
            PageLinks([], row_groups([]), index_of(tmp_path, shards), np.zeros(0, np.int32), own_page=True)
            .of_pages(np.array([1]))
            .keys
        )
        == 0
    )


@given(st.lists(st.lists(st.sampled_from([*"ABCDE"]), max_size=4), min_size=1, max_size=12), st.randoms())
def test_any_order_of_pages_and_any_cut_give_the_same(
    tmp_path_factory: pytest.TempPathFactory, linked: list[list[str]], random
) -> None:
    tmp_path = tmp_path_factory.mktemp("p")
    pages = [Page(f"P{number}", links=names, page_id=number + 1) for number, names in enumerate(linked)]
    order = pages.copy()
    random.shuffle(order)
    cut = random.randint(0, len(order))
    shards = [
        write(tmp_path / f"t/{number}", part, random.randint(1, 4))
        for number, part in enumerate((order[:cut], order[cut:]))
        if part
    ]
    links = opened(tmp_path, shards, own_page=False)
    wanted = random.sample(range(1, len(pages) + 1), random.randint(1, len(pages)))
    expected = {page: {name for name in linked[page - 1] if name in IDS} for page in wanted}
    assert held(links, wanted) == expected
    # And again, from what is held.
    assert held(links, wanted[::-1]) == expected


def test_each_row_group_is_read_once_when_pages_come_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [Page(f"P{number}", links=["A"], page_id=1 + number) for number in range(60)]
    shards = [write(tmp_path / "t/0", pages[:30], 5), write(tmp_path / "t/1", pages[30:], 5)]
    links = opened(tmp_path, shards, own_page=False)
    read = []
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", _counting(read))
    for first in range(1, 61, 3):
        links.of_pages(np.arange(first, first + 3))
    assert read == [*range(6), *range(6)]
    assert len(links._held) <= GROUPS_HELD


def _counting(read: list[int]):
    original = pq.ParquetFile.read_row_group

    def counted(self, number, **options):
        read.append(number)
        return original(self, number, **options)

    return counted


def test_a_file_written_anew_in_its_place_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "t/0"
    shards = [write(path, [Page("P", links=["A"], page_id=1)], 5)]
    index = index_of(tmp_path, shards)
    assert held(PageLinks(shards, row_groups(shards), index, ids(tmp_path), own_page=False), [1]) == {1: {"A"}}
    path.unlink()
    write(path, [Page("P", page_id=500), Page("Q", links=["B", "C"], page_id=501)], 1)
    assert held(PageLinks(shards, row_groups(shards), index, ids(tmp_path), own_page=False), [501]) == {501: {"B", "C"}}
