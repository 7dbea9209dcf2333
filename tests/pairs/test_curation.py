"""What `pairs` leaves out by default: types of no use, negatives that the page names, texts that are everywhere."""

import os
import resource
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.stand_in import Item, Page, read_rows, run_pairs, work_of, write_entities, write_sentences
from wikianchor.io.errors import UsageError
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.commands.verify.negative_pages import compare_pages, need_pages
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.mentions import graph as mentions
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs import page_bitmaps as page_bitmaps_module
from wikianchor.pipelines.pairs import repeated_texts
from wikianchor.pipelines.pairs.decisions import FOREIGN_DIGITS, hash_texts
from wikianchor.pipelines.pairs.excluded_types import GROUPS, types_named
from wikianchor.pipelines.pairs.named_entities import EntityNames, NameSearch, name_keys
from wikianchor.pipelines.pairs.options import PairChoices, PairsOptions
from wikianchor.pipelines.pairs.page_bitmaps import NumpyBitmaps, PageBitmaps, page_bitmaps
from wikianchor.pipelines.pairs.words import WordFinder
from wikianchor.pipelines.wikimedia.core_record import core_with

CITY, YEAR, LEAP_YEAR, LUNAR_YEAR, MONTH, HOLIDAY, NAME = 515, 577, 19828, 900, 5151, 1445650, 101352


def written(tmp_path: Path, pages: list[Page], items: list[Item], **choices: Any) -> tuple[dict[str, int], list[Any]]:
    """Return the ledger and the rows of `pairs`."""
    sentences = write_sentences(tmp_path / "s", "enwiki", pages)
    entities = write_entities(tmp_path / "e", ["enwiki"], items, labels=("en", "de"))
    manifest = run_pairs([sentences], entities, tmp_path / "out", min_links=0, **choices)
    return manifest["ledger"]["links"]["enwiki"], read_rows(tmp_path / "out", "pairs")


# --- types ------------------------------------------------------------------------------------------------------------

TYPES = {
    "Rome": CITY,
    "Oslo": CITY,
    "1987": YEAR,
    "1988": LEAP_YEAR,
    "5748": LUNAR_YEAR,
    "May": MONTH,
    "Feast": HOLIDAY,
}


def of_types(tmp_path: Path, **choices: Any) -> tuple[dict[str, int], set[str]]:
    """Return the ledger, and which of TYPES come out: as entities or as negatives."""
    titles = list(TYPES)
    pages = [Page(f"On {title}", [f"It is about [[{title}]]."]) for title in titles]
    items = [Item(number, [TYPES[title]], {"enwiki": title}) for number, title in enumerate(titles, 1)]
    # Superclasses are those of the pages about the types.
    items += [
        Item(LUNAR_YEAR, [], {"enwiki": "Lunar year"}, superclasses=[YEAR]),
        Item(HOLIDAY, [], {"enwiki": "Holiday"}, superclasses=[YEAR]),
    ]
    links, rows = written(tmp_path, [*pages, *map(Page, titles)], items, **choices)
    qids = {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"])}
    return links, {title for number, title in enumerate(titles, 1) if number in qids}


def test_dates_and_parts_of_calendars_are_left_out_with_their_subclasses(tmp_path: Path) -> None:
    links, titles = of_types(tmp_path, negatives=0)
    assert links["excluded_type"] == 4
    # A holiday is more than a date, whatever its superclasses.
    assert titles == {"Rome", "Oslo", "Feast"}


@pytest.mark.parametrize(
    ("names", "left"),
    [
        ((), set(TYPES)),
        (("dates",), {"Rome", "Oslo", "May", "Feast"}),
        (("calendar", f"Q{CITY}"), {"1987", "1988", "5748", "Feast"}),
    ],
)
def test_types_are_named_by_groups_and_items(tmp_path: Path, names: tuple[str, ...], left: set[str]) -> None:
    assert of_types(tmp_path, negatives=0, exclude_types=names)[1] == left


def test_an_excluded_entity_is_no_negative(tmp_path: Path) -> None:
    """An item that is a city and a year is a negative of cities unless years are left out."""
    pages = [Page(f"On {title}", [f"It is about [[{title}]]."]) for title in ("A", "B", "C")]
    items = [Item(number, [CITY], {"enwiki": title}) for number, title in enumerate("AB", 1)]
    items.append(Item(3, [CITY, YEAR], {"enwiki": "C"}))
    everything = [*pages, Page("A"), Page("B"), Page("C")]
    negatives = {qid for row in written(tmp_path / "on", everything, items)[1] for qid in row["hard_negative_qids"]}
    assert negatives == {1, 2}
    links, rows = written(tmp_path / "off", everything, items, exclude_types=())
    assert "excluded_type" not in links
    assert {row["entity_qid"] for row in rows} == {1, 2, 3}


def test_an_item_without_types_is_not_excluded(tmp_path: Path) -> None:
    links, _ = written(
        tmp_path, [Page("P", ["In [[1987]]."]), Page("1987")], [Item(1, [], {"enwiki": "1987"})], negatives=0
    )
    assert links == {"kept": 1, "seen": 1}


@pytest.mark.parametrize("value", ["years", "Q", "Q0", "none,dates", ""])
def test_names_that_are_no_types_are_refused(value: str) -> None:
    with pytest.raises(UsageError, match=r"--exclude_types=.* is none of dates, calendar, .* Q101352"):
        types_named(value, "exclude_types")


def test_no_type_is_in_two_groups() -> None:
    assert sum(map(len, GROUPS.values())) == len({qid for group in GROUPS.values() for qid in group})


# --- negatives that the page names ------------------------------------------------------------------------------------


def drawn(tmp_path: Path, *texts: str, **choices: Any) -> list[set[int]]:
    """Return the negatives of many rows of a page with each text; all cities but its own are 2 to 5."""
    pages = [
        *(
            Page(f"P{page}", [*(_in_rome(page, number) for number in range(40)), text])
            for page, text in enumerate(texts)
        ),
        *(Page(f"On {title}", [f"It is about [[{title}]]."]) for title in ("Oslo", "New Delhi", "Łódź", "Bern")),
        *map(Page, ("Rome", "Oslo", "New Delhi", "Łódź", "Bern")),
        Page("Christiania", redirect="Oslo"),
    ]
    items = [
        Item(1, [CITY], {"enwiki": "Rome"}),
        Item(2, [CITY], {"enwiki": "Oslo"}),
        Item(3, [CITY], {"enwiki": "New Delhi"}, labels={"en": "New Delhi", "de": "Neu-Delhi"}),
        Item(4, [CITY], {"enwiki": "Łódź"}),
        Item(5, [CITY], {"enwiki": "Bern"}, labels={"en": "City of Bern"}),
    ]
    _, rows = written(tmp_path, pages, items, **choices)
    return [
        {qid for row in rows if row["title"] == f"P{number}" for qid in row["hard_negative_qids"]}
        for number in range(len(texts))
    ]


def _in_rome(page: int, number: int) -> str:
    return f"Number {'ab'[number % 2]}{'x' * number} of {'c' * page}d is in [[Rome]]."


def test_negatives_that_the_page_names_are_not_drawn(tmp_path: Path) -> None:
    left = {
        "Nothing else.": {2, 3, 4, 5},
        "It is larger than Oslo.": {3, 4, 5},
        "Its sister is OSLO": {3, 4, 5},
        "In Christiania, too.": {3, 4, 5},
        "See «New Delhi».": {2, 4, 5},
        "New in Delhi, and Osl.": {2, 3, 4, 5},
        "He met Osloers.": {3, 4, 5},
        "* A list\n* To Oslo": {3, 4, 5},
        "It is the city of Bern.": {2, 3, 4},
        "From łódź on.": {2, 3, 5},
        # German labels are no names in English.
        "Neu-Delhi.": {2, 3, 4, 5},
    }
    on, off = (drawn(tmp_path / name, *left, named_negatives=name == "off") for name in ("on", "off"))
    assert dict(zip(left, on, strict=True)) == left
    assert off == [{2, 3, 4, 5}] * len(left)


def test_rows_of_a_page_keep_their_number_of_negatives(tmp_path: Path) -> None:
    assert drawn(tmp_path, "Oslo and New Delhi.", negatives=2) == [{4, 5}]


def test_names_of_mentions_count_where_they_are_given(tmp_path: Path) -> None:
    text = [f"Number {'x' * number} is in [[Rome]]." for number in range(20)]
    pages = [
        Page("P", [*text, "It is no capital town."]),
        Page("On Bern", ["It is the [[Bern|capital town]] in [[Oslo]]."]),
        *map(Page, ("Rome", "Bern", "Oslo")),
    ]
    items = [Item(number, [CITY], {"enwiki": title}) for number, title in enumerate(("Rome", "Bern", "Oslo"), 1)]
    sentences = str(write_sentences(tmp_path / "s", "enwiki", pages))
    entities = str(write_entities(tmp_path / "e", ["enwiki"], items))
    mentions.run(MentionsOptions(sentences=sentences, entities=entities, output=str(tmp_path / "m")), [])
    for names, negatives in (("", {2, 3}), (str(tmp_path / "m"), {3})):
        output = tmp_path / f"out-{bool(names)}"
        choices = PairChoices(min_links=0, max_repeats=0)
        pairs.run(
            PairsOptions(sentences=sentences, entities=entities, output=str(output), mentions=names, choices=choices),
            [],
        )
        rows = [row for row in read_rows(output, "pairs") if row["title"] == "P"]
        assert {qid for row in rows for qid in row["hard_negative_qids"]} == negatives


LETTERS = st.text(alphabet="ab АБ éß東京ンก '-«».,", max_size=12)


@given(
    st.lists(st.tuples(st.integers(0, 2), LETTERS), min_size=1, max_size=12),
    st.lists(LETTERS, max_size=8),
    st.booleans(),
)
def test_a_page_names_what_its_text_contains_however_pages_come(
    sentences: list[tuple[int, str]], names: list[str], unspaced: bool
) -> None:
    finder = WordFinder(unspaced)
    keys, usable = name_keys(names, finder)
    search = NameSearch(EntityNames(np.arange(len(names) + 1), keys), page_bitmaps(unspaced))
    sentences = sorted(sentences, key=lambda sentence: sentence[0])
    pages = np.array([page for page, _ in sentences])

    def named(texts: list[str], ids: np.ndarray, page: int) -> list[bool]:
        wanted = np.arange(len(names))
        rows = np.arange(len(texts))
        named = search.open(pa.array(texts, pa.string()), ids, rows).contains(np.full(len(names), page), wanted)
        return (named & usable).tolist()

    for page in set(pages.tolist()):
        of_page = [text for number, text in sentences if number == page]
        together = named([text for _, text in sentences], pages, page)
        assert together == named(of_page, np.full(len(of_page), page), page)
        for name, is_usable, is_named in zip(names, usable.tolist(), together, strict=True):
            if is_usable and any(f" {name} " in f" {text} " for text in of_page):
                assert is_named


def named(text: str, *names: str) -> list[bool]:
    """Return which names a page with a text has."""
    finder = WordFinder(False)
    keys, usable = name_keys(names, finder)
    search = NameSearch(EntityNames(np.arange(len(names) + 1), keys), page_bitmaps(False))
    on_page = search.open(pa.array([text]), np.array([7]), np.array([0]))
    named = on_page.contains(np.full(len(names), 7), np.arange(len(names)))
    return (named & usable).tolist()


def test_names_count_with_another_ending() -> None:
    text = (
        "By Dionis Tanasogludan in Osloers, из Волгограда до Риму, у Сполученим Штатам Індії, Grüningens ইউরোপের চীনে."
    )
    names = ["Dionis Tanasoglu", "Oslo", "Волгоград", "Рим", "Сполучені Штати", "Індія", "Grüningen", "ইউরোপ", "চীন"]
    assert named(text, *names) == [True] * len(names)
    assert named(text, "Os", "Wolga", "Ри", "Індик", "Штати Сполучені", "ইউ", "Denis Tanasoglu") == [False] * 7


def test_a_name_of_one_letter_is_a_whole_word() -> None:
    assert named("In C, a tongue.", "C", "T") == [True, False]
    # Most words of such a script have a character of others.
    assert named("水素", "水", "水素") == [False, True]


@example(["শিশ"], [(0, "ি")] * 3)
@given(
    st.lists(st.text(alphabet="abАБéশি", min_size=1, max_size=9), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), st.text(alphabet="abАБéশি", max_size=3)), min_size=3, max_size=3),
)
def test_a_word_has_the_first_letters_of_that_of_the_name(words: list[str], endings: list[tuple[int, str]]) -> None:
    forms = [
        word[: max(4, len(word) - less)] + ("" if len(word) < 3 else ending)
        for word, (less, ending) in zip(words, endings, strict=False)
    ]
    assert named(f"b {' '.join(forms)} a", " ".join(words)) == [True]


def test_portions_of_text_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, firsts = pa.array(["ab ba."] * 3 + ["b" * 30] * 3 + ["ab bb"] * 3), np.array([0, 3, 6])
    whole = bitmaps(NumpyBitmaps(False), texts, firsts, firsts + 3)
    monkeypatch.setattr(page_bitmaps_module, "AT_ONCE", 8)
    assert bitmaps(NumpyBitmaps(False), texts, firsts, firsts + 3) == whole


def bitmaps(search: PageBitmaps, texts: pa.StringArray, firsts: np.ndarray, lasts: np.ndarray) -> list[bytes]:
    """Return the bitmap of each page."""
    bits, exponents = search(texts, firsts, lasts)
    ends = np.cumsum(1 << exponents.astype(np.int64) >> 3)
    assert len(bits) == ends[-1]
    return [part.tobytes() for part in np.split(bits, ends[:-1])]


core = core_with("page_bitmaps")
needs_core = pytest.mark.skipif(core is None, reason="NO COMPILED CORE: make core")
# Letters of one to four bytes, some with signs of several bytes beside, and long words.
HOSTILE = st.one_of(
    st.text(max_size=20),
    st.text(alphabet="aZ09 éßÀ×«Ωб،ة؟শি中ア한ﬁ，😀\u2014\u0301\0", max_size=40),
    st.builds(lambda word, times: word * times, st.text("aéশ中😀 .", max_size=5), st.integers(0, 40)),
)


@needs_core
@given(st.lists(st.tuples(st.booleans(), HOSTILE), min_size=1, max_size=12), st.integers(0, 12), st.booleans())
def test_the_core_and_numpy_make_the_same_bits(rows: list[tuple[bool, str]], sliced: int, unspaced: bool) -> None:
    texts = pa.array([text for _, text in rows], pa.string()).slice(min(sliced, len(rows) - 1))
    heads = np.flatnonzero([True, *(begins for begins, _ in rows[-len(texts) :][1:])])
    # All pages, and every other one.
    for step in (1, 2):
        firsts, lasts = heads[::step], np.append(heads[1:], len(texts))[::step]
        of_core = bitmaps(page_bitmaps(unspaced), texts, firsts, lasts)
        assert of_core == bitmaps(NumpyBitmaps(unspaced), texts, firsts, lasts)


@needs_core
def test_the_core_refuses_offsets_outside_the_text() -> None:
    for offsets, first, last in (([0, 9], 0, 1), ([2, 1], 0, 1), ([0, 1], 0, 2), ([0, 1], -1, 1), ([], 0, 0)):
        numbers = (np.array([number], "<i8").tobytes() for number in (first, last))
        with pytest.raises(ValueError, match="a text is not in the data"):
            core.page_bitmaps(b"ab", np.array(offsets, "<i4").tobytes(), *numbers, 0xE3, 16)


# --- negatives with a page in the wiki of the row ---------------------------------------------------------------------

# By wiki, the numbers of cities and rivers that have a page there, and of those whose page has no sentence.
CITIES = {"enwiki": ((1, 2, 3), (4,)), "jawiki": ((1, 5, 6, 7, 8), ())}
RIVERS = {"enwiki": ((11,), ()), "jawiki": ((12, 13), ())}
# A city that is a lake, as some with a page in jawiki are.
LAKES = (3, 7, 8)
RIVER, LAKE = 4022, 23397


def negatives_by_entity(tmp_path: Path, wiki: str, **choices: Any) -> dict[int, set[int]]:
    """Return the negatives that rows of a wiki have, by the entity."""
    titles = {
        name: [number for of_type in (CITIES, RIVERS) for numbers in of_type[name] for number in numbers]
        for name in CITIES
    }
    sentences = [
        write_sentences(
            tmp_path / name,
            name,
            [
                *(Page(f"On {n}", [f"Number {'x' * k} is in [[T{n}]]." for k in range(60)]) for n in titles[name]),
                *(
                    Page(f"T{n}", [] if n in CITIES[name][1] else [f"It is a thing named {'y' * n}."])
                    for n in titles[name]
                ),
            ],
        )
        for name in CITIES
    ]
    items = [
        Item(
            n,
            [CITY if n < 10 else RIVER, *([LAKE] if n in LAKES else [])],
            {name: f"T{n}" for name in CITIES if n in titles[name]},
        )
        for n in sorted({*titles["enwiki"], *titles["jawiki"]})
    ]
    entities = write_entities(tmp_path / "e", list(CITIES), items)
    run_pairs(sentences, entities, tmp_path / "out", **{"named_negatives": True, "max_repeats": 0, **choices})
    negatives: dict[int, set[int]] = {}
    for row in read_rows(tmp_path / "out", "pairs"):
        if row["wiki"] == wiki:
            negatives.setdefault(row["entity_qid"], set()).update(row["hard_negative_qids"])
    return negatives


def test_negatives_have_a_page_in_the_wiki_of_the_row(tmp_path: Path) -> None:
    assert negatives_by_entity(tmp_path / "en", "enwiki") == {
        1: {2, 3},
        2: {1, 3},
        # Of its two types, the one is taken that others there have.
        3: {1, 2},
        4: {1, 2, 3},
        # No other river has a page there.
        11: {12, 13},
    }
    of_ja = negatives_by_entity(tmp_path / "ja", "jawiki")
    assert (of_ja[5], of_ja[12]) == ({1, 6, 7, 8}, {13})


def test_negatives_need_no_page_if_asked_for(tmp_path: Path) -> None:
    of_en = negatives_by_entity(tmp_path, "enwiki", pageless_negatives=True)
    assert of_en[1] == {2, 3, 4, 5, 6, 7, 8}
    assert {7, 8} <= of_en[3]


def test_fixed_candidates_are_those_of_all_wikis(tmp_path: Path) -> None:
    assert negatives_by_entity(tmp_path, "enwiki", candidates=7)[1] == {2, 3, 4, 5, 6, 7, 8}


def test_a_page_that_lacks_negatives_takes_those_of_all_wikis(tmp_path: Path) -> None:
    """Two negatives are as many as there are; a row with three has none of the wiki alone."""
    of_en = negatives_by_entity(tmp_path, "enwiki", negatives=3)
    assert of_en[4] == {1, 2, 3}
    assert of_en[1] == {2, 3, 4, 5, 6, 7, 8}


def test_verify_finds_negatives_without_a_page(tmp_path: Path) -> None:
    """Twenty cities have a page in enwiki, and twenty in jawiki; a page links to all but a few, or names them."""
    cities = {"enwiki": range(1, 21), "jawiki": range(21, 41)}
    names = {number: f"{chr(96 + (number - 1) // 26 + 1)}{chr(97 + (number - 1) % 26)}qz" for number in range(1, 41)}
    linking, naming = (" ".join(form.format(names[number]) for number in range(2, 16)) for form in ("[[{}]]", "{}"))
    pages = [
        Page("P", ["It is in [[aaqz]]."]),
        Page("L", [f"From [[aaqz]] to {linking}."]),
        Page("N", [f"[[aaqz]] {naming}."]),
    ]
    sentences = [
        write_sentences(
            tmp_path / wiki,
            wiki,
            [
                *(pages if wiki == "enwiki" else ()),
                *(Page(names[n], ["It is a place."]) for n in numbers),
                *(Page(f"On {n}", [f"Of [[{names[n]}]]."]) for n in numbers),
            ],
        )
        for wiki, numbers in cities.items()
    ]
    items = [Item(n, [CITY], {wiki: names[n]}) for wiki, numbers in cities.items() for n in numbers]
    entities = write_entities(tmp_path / "e", list(cities), items)
    of_all = run_pairs(sentences, entities, tmp_path / "all", min_links=0, negatives=3, pageless_negatives=True)
    of_wiki = run_pairs(sentences, entities, tmp_path / "wiki", min_links=0, negatives=3)
    opened = {
        name: [Dataset(str(path), read_manifest(str(path)) or {}) for path in paths]
        for name, paths in (("sentences", sentences), ("entities", [entities]))
    }
    assert [need_pages(Dataset("", manifest)) for manifest in (of_all, of_wiki)] == [False, True]
    checked = [
        compare_pages(Dataset(str(tmp_path / name), manifest), opened, 100, 0)
        for name, manifest in (("all", of_all), ("wiki", of_wiki))
    ]
    assert checked[1] == (len(read_rows(tmp_path / "wiki", "pairs")), [])
    # Of the page that links to most of them, or names them, too few are left to say so.
    wrong = {problem.partition(": ")[0] for problem in checked[0][1]}
    assert "enwiki page 1 (P)" in wrong
    assert not {"enwiki page 2 (L)", "enwiki page 3 (N)"} & wrong
    assert "19 others of Q515 have one" in checked[0][1][0]


# --- texts that are everywhere ----------------------------------------------------------------------------------------


def test_a_text_of_many_pages_is_kept_a_few_times(tmp_path: Path) -> None:
    cities = [f"City {chr(97 + number)}" for number in range(12)]
    pages = [
        Page(f"On {city}", [f"In {number} there were 7 people in [[{city}|it]].", f"Of [[{city}]]."])
        for number, city in enumerate(cities)
    ]
    items = [Item(number, [CITY], {"enwiki": city}) for number, city in enumerate(cities, 1)]
    links, rows = written(tmp_path / "on", [*pages, *map(Page, cities)], items)
    assert links == {"kept": 17, "repeated_text": 7, "seen": 24}
    assert sum("people" in row["text"] for row in rows) == 5
    again, _ = written(tmp_path / "again", [*map(Page, cities), *reversed(pages)], items, max_repeats=2)
    assert again["repeated_text"] == 10
    assert written(tmp_path / "off", [*pages, *map(Page, cities)], items, max_repeats=0)[0] == {"kept": 24, "seen": 24}


def test_a_wiki_of_few_sentences(tmp_path: Path) -> None:
    pages = [Page(f"P{letter}", [f"On {letter}, [[A]] or [[B]]."]) for letter in "wxyz"]
    items = [Item(1, [CITY], {"enwiki": "A"}), Item(2, [CITY], {"enwiki": "B"})]
    links, _ = written(tmp_path, [*pages, Page("A"), Page("B")], items, negatives=0)
    assert links == {"kept": 8, "seen": 8}


def test_only_digits_are_equal() -> None:
    texts = pa.array(["In 7 of 12.", "In 1987 of 1.", "In ٧ of १२.", "In x of 1.", "No digit.", "„Кафе“ — 東京"])
    hashes = hash_texts(texts, np.arange(6)).tolist()
    assert hashes[0] == hashes[1] == hashes[2]
    assert len(set(hashes)) == 4
    assert hash_texts(texts.slice(2), np.array([0, 2])).tolist() == [hashes[2], 0, hashes[4], 0]
    foreign = {chr(code) for code in range(0x80, sys.maxunicode + 1) if chr(code).isdecimal()}
    assert {digit.encode()[0] for digit in foreign} <= set(FOREIGN_DIGITS)


def test_texts_of_many_shards_are_limited_with_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As those of hundreds of wikis are; in any number of partitions."""
    hashes = [(shard, text << 57) for shard in range(150) for text in {shard % 7, shard % 60, 60}]
    rows = [(text, shard * 7919 % 101 * 100 + number) for number, (shard, text) in enumerate(hashes)]
    paths = [
        save_tables(str(tmp_path), f"texts-{number}", {"texts": np.array([row], repeated_texts.TEXT)})
        for number, row in enumerate(rows)
    ]
    keys: dict[int, list[int]] = {}
    for text, key in rows:
        keys.setdefault(text, []).append(key)
    expected = {text: sorted(of_text)[4] for text, of_text in sorted(keys.items()) if len(of_text) > 5}
    assert 5 < len(expected) < len(keys)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for rows_at_once in (1 << 20, 100, 9):
        monkeypatch.setattr(repeated_texts, "ROWS_AT_ONCE", rows_at_once)
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 30, hard))
        try:
            limits = open_tables(repeated_texts.limit_texts(paths, 5, work_of(tmp_path)))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert dict(zip(limits["texts"].tolist(), limits["greatest_keys"].tolist(), strict=True)) == expected
        assert limits["texts"].tolist() == list(expected)
