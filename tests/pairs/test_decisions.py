"""Decisions: every bucket from the smallest case that ends there, rows that say what was linked, keys and limits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stand_in import Item, Page, read_sentence, sentence_rows, small_wiki, write_entities, write_sentences
from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.pairs.decisions import (
    ANY_KEY,
    BUCKETS,
    ROW_SCHEMA,
    Decider,
    DecisionOptions,
    KeyLimits,
    linked_of,
)
from wikianchor.pipelines.pairs.entity_table import EntityIds, TableOptions, build_entity_table
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.titles.counts import above_floor, count_links
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.pipelines.titles.title_build import build_title_index
from wikianchor.pipelines.titles.title_index import TitleIndex
from wikianchor.schemas import sentences as sentences_schema

WIKI = "enwiki"
OPTIONS = DecisionOptions(seed=42, negatives=1, candidates=0, sections=False, duplicates=False)
CITY, RIVER = 515, 4022


class Case:
    """A wiki with its items, decided on in one batch."""

    def __init__(
        self,
        tmp_path: Path,
        pages: Sequence[Page],
        items: Sequence[Item],
        options: DecisionOptions = OPTIONS,
        min_links: int = 0,
        own_page: bool = True,
        present: Sequence[int] | None = None,
        frequent: Sequence[int] | None = None,
    ) -> None:
        sentences = write_sentences(tmp_path / "s", WIKI, pages)
        entities = write_entities(tmp_path / "e", [WIKI], items)
        titles, sitelinks, checked = (
            [str(path) for path in sorted((directory / "data" / config).glob("*"))]
            for directory, config in ((sentences, "titles"), (entities, "sitelinks"), (entities, "entities"))
        )
        self.batch = pa.Table.from_pylist(sentence_rows(WIKI, pages), sentences_schema.SCHEMA).to_batches()[0]
        index = TitleIndex(build_title_index(titles, sitelinks, WIKI, str(tmp_path))[0])
        (shard,) = map(str, (sentences / "data/sentences").iterdir())
        links = count_links(shard, index, options.sections)
        self.table = build_entity_table(
            above_floor({WIKI: (links.items, links.counts)}, "corpus", min_links),
            checked,
            None if present is None else np.array(present, np.int64),
            TableOptions(options.negatives, "best_rank", 0, False),
        )
        if frequent is not None:
            self.table[f"frequent-{WIKI}"] = np.isin(self.table["qids"], frequent)
        self.qids = self.table["qids"].tolist()
        ids = EntityIds(save_tables(str(tmp_path), "entities", self.table))
        self.linked = linked_of(links, ids)
        page_links = PageLinks(titles, row_groups(titles), index, ids, own_page)
        self.decider = Decider(WIKI, (links.pages, links.page_items), self.table, page_links, options)

    def buckets(self, limits: KeyLimits | None = None) -> dict[str, int]:
        counts = self.decider.decide(self.batch, self.linked, limits or KeyLimits())[0]
        assert counts.sum() == len(self.linked.codes)
        return {name: number for name, number in zip(BUCKETS, counts.tolist(), strict=True) if number}

    def rows(self, limits: KeyLimits | None = None) -> list[dict[str, Any]]:
        table = self.decider.decide(self.batch, self.linked, limits or KeyLimits())[1]
        assert table.schema.equals(ROW_SCHEMA)
        return table.to_pylist()


def city(qid: int, title: str, **more: Any) -> Item:
    return Item(qid, [CITY], {WIKI: title}, **more)


# Each on a page of its own, so that cities have somebody to be told from.
OTHERS = [*(Page(f"On {name}", [f"Of [[{name}]]."]) for name in "XYZ"), Page("X"), Page("Y"), Page("Z")]
CITIES = [city(101, "X"), city(102, "Y"), city(103, "Z")]


@pytest.mark.parametrize(
    ("bucket", "pages", "items", "more"),
    [
        ("kept", [Page("P", ["In [[A]]."]), Page("A")], [city(1, "A")], {}),
        ("section_link", [Page("P", ["In [[A#Part|A]]."]), Page("A")], [city(1, "A")], {}),
        (
            "section_redirect",
            [Page("P", ["In [[R]]."]), Page("A"), Page("R", redirect="A", fragment="Part")],
            [city(1, "A")],
            {},
        ),
        ("disambiguation", [Page("P", ["In [[A]]."]), Page("A", flags=["disambiguation"])], [city(1, "A")], {}),
        ("list", [Page("P", ["In [[A]]."]), Page("A", flags=["list"])], [city(1, "A")], {}),
        ("red_link", [Page("P", ["In [[A]]."])], [], {}),
        ("broken_redirect", [Page("P", ["In [[R]]."]), Page("R", redirect="A")], [], {}),
        ("redirect_loop", [Page("P", ["In [[R]]."]), Page("R", redirect="R")], [], {}),
        ("no_item", [Page("P", ["In [[A]]."]), Page("A")], [], {}),
        ("own_page", [Page("A", ["In [[R]]."]), Page("R", redirect="A")], [city(1, "A")], {}),
        ("meta_item", [Page("P", ["In [[A]]."]), Page("A")], [Item(1, [CITY, 4167410], {WIKI: "A"})], {}),
        (
            "not_in_required_wiki",
            [Page("P", ["In [[A]]."]), Page("A")],
            [city(1, "A")],
            {"present": [101, 102, 103]},
        ),
        (
            "below_floor",
            [Page("P", ["In [[A]]."]), Page("A"), Page("More", ["Of [[X]], [[Y]] and [[Z]]."])],
            [city(1, "A")],
            {"min_links": 1},
        ),
        ("below_floor", [Page("P", ["In [[A]]."]), Page("A")], [city(1, "A")], {"frequent": [101, 102, 103]}),
        ("no_type", [Page("P", ["In [[A]]."]), Page("A")], [Item(1, [], {WIKI: "A"})], {}),
        ("small_pool", [Page("P", ["In [[A]]."]), Page("A")], [Item(1, [RIVER], {WIKI: "A"})], {}),
        ("no_negative", [Page("P", ["In [[A]]."], links=["X", "Y", "Z"]), Page("A")], [city(1, "A")], {}),
    ],
)
def test_a_link_ends_in_the_bucket_that_says_why(
    tmp_path: Path, bucket: str, pages: list[Page], items: list[Item], more: dict[str, Any]
) -> None:
    case = Case(tmp_path, [*pages, *OTHERS], [*items, *CITIES], **more)
    without = Case(tmp_path / "without", [Page("P"), *pages[1:], *OTHERS], [*items, *CITIES], **more)
    extra = dict(case.buckets())
    for name, number in without.buckets().items():
        extra[name] -= number
    assert {name: number for name, number in extra.items() if number} == {bucket: 1}


def test_the_other_buckets_come_from_limits(tmp_path: Path) -> None:
    case = Case(tmp_path, [Page("P", ["In [[A]]."]), Page("A"), *OTHERS], [city(1, "A"), *CITIES])
    assert case.buckets() == {"kept": 4}
    dense = case.qids.index(1)
    none = KeyLimits()
    assert case.buckets(KeyLimits(0, none.capped, none.caps)) == {"not_sampled": 4}
    assert case.buckets(KeyLimits(ANY_KEY, np.array([dense]), np.zeros(1, np.uint64))) == {"kept": 3, "over_cap": 1}
    # "duplicate" alone is found when rows of all shards meet.
    assert set(BUCKETS) - {"duplicate"} >= set(case.buckets())


def test_a_row_says_what_was_linked(tmp_path: Path) -> None:
    pages = [Page("P", ["No link here.", "The river 𝒜 flows from [[A|Ä 𝒜]] to [[B]]."]), Page("A"), Page("B"), *OTHERS]
    case = Case(tmp_path, pages, [city(1, "A"), Item(2, [RIVER], {WIKI: "B"}), *CITIES])
    (row,) = (row for row in case.rows() if row["title"] == "P")
    assert row["text"][row["mention_start"] : row["mention_end"]] == "Ä 𝒜"
    assert (row["entity_qid"], row["entity_id"]) == (1, case.qids.index(1))
    assert (row["page_id"], row["rev_id"], row["wiki"], row["type_qid"]) == (1, 1001, WIKI, CITY)
    assert row["type_route"] == "instance_of"
    assert set(row["hard_negative_qids"]) <= {101, 102, 103}
    assert [case.qids[number] for number in row["hard_negative_ids"]] == row["hard_negative_qids"]


def test_rows_of_one_sentence_share_its_id_and_no_others(tmp_path: Path) -> None:
    pages, items = small_wiki()
    rows = Case(tmp_path, pages, items).rows()
    by_id: dict[int, set[tuple[int, str]]] = {}
    for row in rows:
        by_id.setdefault(row["sentence_id"], set()).add((row["page_id"], row["text"]))
    assert all(len(checked) == 1 for checked in by_id.values())
    assert len(by_id) == len({(row["page_id"], row["text"]) for row in rows})


@pytest.mark.parametrize(("count", "expected"), [(1, 0), (9, 0), (10, 1), (99, 1), (100, 2), (999, 2), (1000, 3)])
def test_frequency_bins_are_powers_of_ten(tmp_path: Path, count: int, expected: int) -> None:
    case = Case(tmp_path, [Page("P", ["In [[A]]."]), Page("A"), *OTHERS], [city(1, "A"), *CITIES])
    case.table["counts"][case.qids.index(1)] = count
    assert [row["frequency_bin"] for row in case.rows() if row["entity_qid"] == 1] == [expected]


@pytest.mark.parametrize("negatives", [0, 1, 2, 5])
@pytest.mark.parametrize("candidates", [0, 7])
@pytest.mark.parametrize("own_page", [True, False])
def test_negatives_are_of_the_type_and_nowhere_on_the_page(
    tmp_path: Path, negatives: int, candidates: int, own_page: bool
) -> None:
    pages, items = small_wiki(60)
    pages.append(Page("enwiki alias", redirect=pages[30].title))
    pages[5] = Page(pages[5].title, pages[5].sentences, links=["enwiki alias", *(page.title for page in pages[31:50])])
    options = DecisionOptions(1, negatives, candidates, False, False)
    case = Case(tmp_path, pages, items, options, own_page=own_page)
    rows = case.rows()
    assert rows
    qid_of, types = {item.sitelinks[WIKI]: item.qid for item in items}, {item.qid: item.types for item in items}
    qid_of["enwiki alias"] = qid_of[pages[30].title]
    seen_own = False
    for row in rows:
        page = pages[row["page_id"] - 1]
        linked = {link["target"] for marked in page.sentences for link in read_sentence(marked)[1]} | set(page.links)
        drawn = row["hard_negative_qids"]
        assert len(drawn) == len(set(drawn)) == negatives
        assert not {qid_of[title] for title in linked} & set(drawn)
        assert row["entity_qid"] not in drawn
        assert all(row["type_qid"] in types[qid] for qid in [row["entity_qid"], *drawn] if negatives)
        seen_own |= qid_of[page.title] in drawn
    assert seen_own == (not own_page and negatives > 0)
    if not negatives:
        assert {(row["type_qid"], row["type_route"]) for row in rows} == {(None, "none")}


def test_without_negatives_an_entity_needs_no_type(tmp_path: Path) -> None:
    options = DecisionOptions(1, 0, 0, False, False)
    case = Case(tmp_path, [Page("P", ["In [[A]]."]), Page("A")], [Item(1, [], {WIKI: "A"})], options)
    assert case.buckets() == {"kept": 1}


def test_a_type_is_one_of_several_by_chance(tmp_path: Path) -> None:
    pages = [Page(f"P{number}", [f"In [[A]] number {'x' * number}."]) for number in range(300)]
    pages += [Page("A"), *OTHERS, Page("Rivers", ["Of [[R]]."]), Page("R")]
    items = [Item(1, [CITY, RIVER], {WIKI: "A"}), Item(2, [RIVER], {WIKI: "R"}), *CITIES]
    rows = [row for row in Case(tmp_path, pages, items).rows() if row["entity_qid"] == 1]
    cities = sum(row["type_qid"] == CITY for row in rows)
    assert 110 < cities < 190
    # With fixed candidates the type is fixed too.
    fixed = DecisionOptions(1, 1, 2, False, False)
    rows = [row for row in Case(tmp_path / "fixed", pages, items, fixed).rows() if row["entity_qid"] == 1]
    assert len({row["type_qid"] for row in rows}) == 1


def test_rows_that_say_the_same_draw_the_same_lot(tmp_path: Path) -> None:
    pages = [
        Page("P1", ["In 1990 came [[A]]."]),
        Page("P2", ["In 2024 came [[A]]."]),
        Page("P3", ["In ১৯৯০ came [[A]]."]),
        Page("P4", ["In 1990 went [[A]]."]),
        Page("P5", ["In 1990 came [[B|A]]."]),
        Page("A"),
        Page("B"),
        *OTHERS,
    ]
    items = [city(1, "A"), city(2, "B"), *CITIES]
    places = [row["shuffle_key"] for row in Case(tmp_path, pages, items).rows()[:5]]
    assert places[0] == places[1] == places[2]
    assert len(set(places)) == 3
    apart = Case(tmp_path / "apart", pages, items, DecisionOptions(42, 1, 0, False, True))
    assert len({row["shuffle_key"] for row in apart.rows()}) == len(apart.rows())


@pytest.mark.parametrize("limited", [False, True])
def test_lots_are_those_of_the_rows_kept(tmp_path: Path, limited: bool) -> None:
    pages, items = small_wiki()
    case = Case(tmp_path, pages, items)
    entities, keys = case.decider.sample_keys(case.batch, case.linked, KeyLimits())
    limits = KeyLimits()
    if limited:
        limits = KeyLimits(int(np.sort(keys)[len(keys) // 2]), np.array([0, 3]), np.array([0, 1 << 61], np.uint64))
        entities, keys = case.decider.sample_keys(case.batch, case.linked, limits)
    rows = case.rows(limits)
    assert entities.tolist() == [row["entity_id"] for row in rows]
    some = np.zeros(len(case.qids), np.bool_)
    some[:2] = True
    assert set(case.decider.sample_keys(case.batch, case.linked, limits, some)[0].tolist()) <= {0, 1}


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_a_batch_may_be_cut_anywhere(tmp_path_factory: pytest.TempPathFactory, sizes: list[int]) -> None:
    pages, items = small_wiki()
    case = Case(tmp_path_factory.mktemp("c"), pages, items)
    counts, rows = case.decider.decide(case.batch, case.linked, KeyLimits())
    total, parts, first, done = np.zeros(len(BUCKETS), np.int64), [], 0, 0
    for size in [*sizes, case.batch.num_rows]:
        part = case.batch.slice(first, size)
        first += size
        if part.num_rows:
            links = len(part.column("links").flatten())
            some, table = case.decider.decide(part, case.linked.slice(done, done + links), KeyLimits())
            done += links
            total += some
            parts.append(table)
    assert total.tolist() == counts.tolist()
    assert pa.concat_tables(parts).equals(rows)


def test_a_batch_without_links_and_a_table_without_entities(tmp_path: Path) -> None:
    case = Case(tmp_path, [Page("P", ["In [[A]].", "No link."])], [])
    assert case.buckets() == {"red_link": 1}
    counts, rows = case.decider.decide(case.batch.slice(1), case.linked.slice(0, 0), KeyLimits())
    assert (counts.sum(), rows.num_rows) == (0, 0)
    counts, rows = case.decider.decide(case.batch.slice(2), case.linked.slice(0, 0), KeyLimits())
    assert (counts.sum(), rows.num_rows) == (0, 0)
