"""Titles to items: redirects followed as far as they go, both routes to an item, and why a link is none."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import Item, Page, write_entities, write_sentences
from wikianchor.pipelines.arrays.tables import open_tables
from wikianchor.pipelines.titles import title_build
from wikianchor.pipelines.titles.title_build import MAX_HOPS, build_title_index
from wikianchor.pipelines.titles.title_index import (
    BROKEN,
    DISAMBIGUATION,
    FINE,
    LIST,
    LOOP,
    NO_ITEM,
    RED,
    SECTION,
    TitleIndex,
)

WIKI = "enwiki"


def build(
    tmp_path: Path,
    pages: list[Page],
    items: dict[str, int],
    page_props: dict[int, int] | None = None,
    shards: int = 1,
) -> tuple[TitleIndex, dict[str, int]]:
    """Build the index of a wiki with items by title and by page id."""
    sentences = write_sentences(tmp_path / "s", WIKI, pages, shards)
    result = [Item(qid, sitelinks={WIKI: title}) for title, qid in items.items()]
    # Items of another wiki are no items of this one.
    result.append(Item(999, sitelinks={"jawiki": "Elsewhere only"}))
    entities = write_entities(tmp_path / "e", [WIKI, "jawiki"], result, {WIKI: page_props or {}})
    path, counts = build_title_index(
        [str(path) for path in sorted((sentences / "data/titles").iterdir())],
        [str(path) for path in sorted((entities / "data/sitelinks").iterdir())],
        WIKI,
        str(tmp_path),
    )
    return TitleIndex(path), counts


def look_up(index: TitleIndex, *titles: str) -> list[tuple[int, int]]:
    items, codes = index.look_up([pa.array(titles, pa.string())])
    return list(zip(items.tolist(), codes.tolist(), strict=True))


def test_an_article_is_its_item_and_a_title_that_nobody_knows_is_red(tmp_path: Path) -> None:
    index, counts = build(tmp_path, [Page("A"), Page("B")], {"A": 1})
    assert look_up(index, "A", "B", "C", "Elsewhere only", "A") == [
        (1, FINE),
        (0, NO_ITEM),
        (0, RED),
        (0, RED),
        (1, FINE),
    ]
    assert counts["titles"] == 2
    assert counts["by_sitelink"] == 1


def test_a_page_outside_a_part_of_a_dump_is_known_from_wikidata(tmp_path: Path) -> None:
    pages = [Page("Here", redirect="There"), Page("Section", redirect="There", fragment="Part")]
    index, counts = build(tmp_path, pages, {"There": 7})
    assert look_up(index, "There", "Here", "Section") == [(7, FINE), (7, FINE), (7, SECTION)]
    assert (counts["titles"], counts["elsewhere"], counts["redirects"]) == (2, 1, 2)


def test_redirects_are_followed_to_the_end(tmp_path: Path) -> None:
    chain = [Page(f"R{hop}", redirect=f"R{hop - 1}" if hop else "A") for hop in range(MAX_HOPS + 1)]
    index, _ = build(tmp_path, [*chain, Page("A")], {"A": 1})
    result = look_up(index, *(page.title for page in chain))
    assert result[:MAX_HOPS] == [(1, FINE)] * MAX_HOPS
    # What is longer than that is a mistake in the making.
    assert result[MAX_HOPS] == (0, LOOP)


def test_loops_and_redirects_to_nothing_are_told_apart(tmp_path: Path) -> None:
    pages = [
        Page("Self", redirect="Self"),
        Page("One", redirect="Two"),
        Page("Two", redirect="One"),
        Page("Into the loop", redirect="One"),
        Page("Dead end", redirect="Gone"),
        Page("To the dead end", redirect="Dead end"),
        Page("To a category", redirect="Category:Things"),
    ]
    index, _ = build(tmp_path, pages, {})
    assert look_up(index, *(page.title for page in pages)) == [(0, LOOP)] * 4 + [(0, BROKEN)] * 3


def test_a_redirect_to_a_section_is_no_link_to_the_page_but_opens_it(tmp_path: Path) -> None:
    pages = [
        Page("A"),
        Page("Part of A", redirect="A", fragment="Part"),
        Page("Other name of the part", redirect="Part of A"),
        Page("Section of a redirect", redirect="Alias", fragment="Part"),
        Page("Alias", redirect="A"),
        Page("Part of what has no item", redirect="B", fragment="Part"),
        Page("B"),
    ]
    index, _ = build(tmp_path, pages, {"A": 1})
    assert look_up(index, *(page.title for page in pages)) == [
        (1, FINE),
        (1, SECTION),
        (1, SECTION),
        (1, SECTION),
        (1, FINE),
        (0, SECTION),
        (0, NO_ITEM),
    ]


def test_a_redirect_with_an_item_of_its_own_is_that_item(tmp_path: Path) -> None:
    pages = [
        Page("A"),
        Page("Own", redirect="A", page_id=2),
        Page("Own by table", redirect="A", fragment="Part", page_id=3),
        Page("To own", redirect="Own", page_id=4),
        Page("To the part that is an entity", redirect="Own by table", page_id=5),
    ]
    index, _ = build(tmp_path, pages, {"A": 1, "Own": 20}, {3: 30})
    assert look_up(index, *(page.title for page in pages)) == [
        (1, FINE),
        (20, FINE),
        (30, FINE),
        (20, FINE),
        (30, FINE),
    ]


def test_the_wikis_own_table_goes_before_wikidatas_sitelinks(tmp_path: Path) -> None:
    pages = [
        Page("Both agree", page_id=1),
        Page("Conflict", page_id=2),
        Page("Table only", page_id=3),
        Page("Link only"),
    ]
    index, counts = build(tmp_path, pages, {"Both agree": 1, "Conflict": 2, "Link only": 4}, {1: 1, 2: 22, 3: 3})
    assert look_up(index, *(page.title for page in pages)) == [(1, FINE), (22, FINE), (3, FINE), (4, FINE)]
    assert (counts["by_sitelink"], counts["by_page_props"], counts["conflicts"]) == (3, 3, 1)


def test_disambiguation_pages_and_lists_are_no_entities_even_with_an_item(tmp_path: Path) -> None:
    pages = [
        Page("Mercury", flags=["disambiguation"]),
        Page("List of gods", flags=["list"]),
        Page("Lists of gods", flags=["list", "disambiguation"]),
        Page("Gods", redirect="List of gods"),
    ]
    index, _ = build(tmp_path, pages, {"Mercury": 1, "List of gods": 2})
    result = look_up(index, *(page.title for page in pages))
    assert result == [(1, DISAMBIGUATION), (2, LIST), (0, DISAMBIGUATION), (2, LIST)]


def test_no_title_and_no_sitelink_make_an_empty_index(tmp_path: Path) -> None:
    path, counts = build_title_index([], [], WIKI, str(tmp_path))
    index = TitleIndex(path)
    assert counts["titles"] == 0
    assert look_up(index, "A") == [(0, RED)]
    assert look_up(index) == []


@pytest.mark.parametrize("shards", [1, 3])
def test_a_title_twice_means_the_first(tmp_path: Path, shards: int) -> None:
    pages = [Page("A", page_id=1), Page("B", page_id=2), Page("A", page_id=3)]
    index, _ = build(tmp_path, pages, {}, {1: 10, 2: 20, 3: 30}, shards)
    assert look_up(index, "A", "B") == [(10, FINE), (20, FINE)]


@given(
    targets=st.lists(st.integers(0, 9), min_size=8, max_size=8),
    sections=st.lists(st.booleans(), min_size=8, max_size=8),
    owned=st.lists(st.booleans(), min_size=10, max_size=10),
    rows_at_once=st.sampled_from([1, 3, 1000]),
)
def test_any_net_of_redirects_ends_where_a_walk_ends(
    tmp_path_factory: pytest.TempPathFactory,
    targets: list[int],
    sections: list[bool],
    owned: list[bool],
    rows_at_once: int,
) -> None:
    """Titles 0 to 7 are redirects, 8 is an article, 9 is missing."""
    pages = [
        Page(str(number), redirect=str(target), fragment="x" if section else "")
        for number, (target, section) in enumerate(zip(targets, sections, strict=True))
    ]
    items = {str(number): 100 + number for number in range(9) if owned[number]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(title_build, "ROWS_AT_ONCE", rows_at_once)
        index, counts = build(tmp_path_factory.mktemp("net"), [*pages, Page("8")], items)

    def walk(number: int) -> tuple[int, int]:
        section = False
        for _ in range(MAX_HOPS + 1):
            if owned[number] and number < 9:
                return 100 + number, SECTION if section else FINE
            if number == 8:
                return 0, SECTION if section else NO_ITEM
            if number == 9:
                return 0, BROKEN
            section |= sections[number]
            number = targets[number]
        return 0, LOOP

    assert look_up(index, *map(str, range(8))) == [walk(number) for number in range(8)]
    assert counts == {
        "titles": 9,
        "elsewhere": 0,
        "redirects": 8,
        "by_sitelink": len(items),
        "by_page_props": 0,
        "conflicts": 0,
    }


def test_the_table_is_the_same_in_any_number_of_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages, items, page_props = [], {}, {}
    for number in range(400):
        if number % 3 == 0:
            pages.append(Page(f"T{number}", redirect=f"T{number * 7 % 500}", page_id=number + 1))
        else:
            pages.append(Page(f"T{number}", page_id=number + 1, flags=["list"] if number % 11 == 0 else []))
        if number % 4 == 0:
            items[f"T{number * 2}"] = 1000 + number
        if number % 5 == 0:
            page_props[number + 1] = 5000 + number
    result = []
    for rows_at_once in (1 << 18, 100, 7):
        monkeypatch.setattr(title_build, "ROWS_AT_ONCE", rows_at_once)
        _, counts = build(tmp_path / str(rows_at_once), pages, items, page_props)
        (path,) = (tmp_path / str(rows_at_once)).glob("titles-*")
        table = open_tables(str(path))
        assert (np.diff(table["keys"].astype(object)) > 0).all()
        result.append(({name: column.tolist() for name, column in table.items()}, counts))
    assert result[0] == result[1] == result[2]
    assert counts["elsewhere"] == 50
    assert counts["conflicts"] > 0
