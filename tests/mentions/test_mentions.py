"""`mentions` as a whole: counts against counting by hand, its ledger, the same bytes however it is run, bad input."""

import json
import os
import resource
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ended
from tests.engines import THREADS
from tests.stand_in import (
    Item,
    Page,
    digests,
    read_rows,
    read_sentence,
    small_wiki,
    write_dataset,
    write_entities,
    write_sentences,
)
from wikianchor.aliases.folding import fold
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.mentions import graph as mentions
from wikianchor.pipelines.mentions import steps as names
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.trainer.mboe.detector import detect
from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions

PAGES = [
    Page("Apple", ["An [[Apple|apple]] is a [[fruit]].", "[[Apple Inc.|Apple]] is no apple.", "APPLE! Ap\u00adple"]),
    Page("Apple Inc.", ["[[Apple Inc.|Apple]] sells [[IPhone]]s in [[New York City|New  York]]."]),
    Page("Fruit", ["A [[Apple|Apple]], an apple, and new york.", "See [[Nowhere|apple]] or [[Mercury|mercury]]."]),
    Page("New York City", ["New York, New York: [[Fruit#Market|fruit]] of un[[fruit]]ful."]),
    Page("Big Apple (city)", redirect="New York City"),
    Page("fruit", redirect="Fruit"),
    Page("Pome", redirect="Fruit", fragment="Kinds"),
    Page("Mercury", ["[[Apple]]"], flags=["disambiguation"]),
    Page("IPhone"),
]
ITEMS = [
    Item(1, [100], {"enwiki": "Apple"}),
    Item(2, [100], {"enwiki": "Apple Inc."}),
    Item(3, [100], {"enwiki": "Fruit"}),
    Item(4, [100], {"enwiki": "New York City"}),
    Item(5, [4167410], {"enwiki": "IPhone"}),
]


def run(sentences: Path | list[Path], entities: Path, output: Path, flags: tuple[str, ...] = (), **options: Any) -> Any:
    given = ",".join(map(str, [sentences] if isinstance(sentences, Path) else sentences))
    return mentions.run(
        MentionsOptions(sentences=given, entities=str(entities), output=str(output), **options), list(flags)
    )


@pytest.fixture
def wiki(tmp_path: Path) -> tuple[Path, Path]:
    return write_sentences(tmp_path / "enwiki", "enwiki", PAGES, 2), write_entities(
        tmp_path / "items", ["enwiki"], ITEMS
    )


def test_counts_are_those_of_counting_by_hand(tmp_path: Path, wiki: tuple[Path, Path]) -> None:
    manifest = run(*wiki, tmp_path / "out")
    rows = {(row["key"], row["qid"]): row for row in read_rows(tmp_path / "out", "mentions")}
    counts = {
        pair: tuple(row[name] for name in ("links", "linked_documents", "occurrences", "documents", "name_links"))
        for pair, row in rows.items()
    }
    assert counts == {
        # Links: to the fruit "apple", "Apple" and the disambiguation page's; to the company two; to nowhere one.
        ("apple", 1): (3, 3, 9, 4, 6),
        ("apple", 2): (2, 2, 9, 4, 6),
        ("apple inc.", 2): (0, 0, 0, 0, 0),
        # Inside a word it counts because it is a link; that of a section is no link to the page.
        ("fruit", 3): (2, 2, 3, 2, 3),
        ("new york", 4): (1, 1, 4, 3, 1),
        ("new york city", 4): (0, 0, 0, 0, 0),
        ("big apple", 4): (0, 0, 0, 0, 0),
    }
    assert rows["apple", 1]["surface"] == "Apple"
    assert rows["new york", 4]["surface"] == "New  York"
    assert rows["fruit", 3]["origins"] == ["anchor", "title", "redirect"]
    assert rows["big apple", 4]["origins"] == ["redirect"]
    assert rows["apple", 1]["name_linked_documents"] == 4
    assert manifest["ledger"]["links"]["enwiki"] == {
        "kept": 8,
        "red_link": 1,
        "disambiguation": 1,
        "section_link": 1,
        "meta_item": 1,
        "seen": 12,
    }


def test_chinese_names_in_both_scripts_are_one_name(tmp_path: Path) -> None:
    pages = [
        Page("中国", ["[[中国]]和[[中国|中國]],中國。"]),
        Page("臺北", ["[[臺北|台北]]在[[中国|中國]]?"]),
    ]
    items = [Item(1, [100], {"zhwiki": "中国"}), Item(2, [100], {"zhwiki": "臺北"})]
    sentences = write_sentences(tmp_path / "zhwiki", "zhwiki", pages)
    entities = write_entities(tmp_path / "items", ["zhwiki"], items)
    run(sentences, entities, tmp_path / "out")
    rows = {row["key"]: row for row in read_rows(tmp_path / "out", "mentions")}
    assert {key: (row["links"], row["occurrences"]) for key, row in rows.items()} == {"中国": (3, 4), "台北": (1, 1)}
    # The spelling stays: the most frequent one.
    assert rows["中国"]["surface"] == "中國"
    dictionary = open_dictionary(open_mentions(str(tmp_path / "out")), "zh", str(tmp_path / "cache"))
    for text in ("中國", "中国"):
        assert detect(text, dictionary).qids.tolist() == [1]


def test_links_and_occurrences_in_fragments_count_by_region(
    tmp_path: Path, wiki: tuple[Path, Path], wikianchor: Callable[..., Ended]
) -> None:
    pages = [
        Page("Apple", ["An [[Apple|apple]] a day."], fragments=["[[Apple]]", "[[Fruit|some \ufffc fruit]], apple"]),
        Page("Fruit", fragments=["[[Fruit|pome]]"]),
        Page("New York City", ["An apple."]),
    ]
    sentences = write_sentences(tmp_path / "fragments", "enwiki", pages)
    manifest = run(sentences, wiki[1], tmp_path / "out")
    rows = {(row["key"], row["qid"]): row for row in read_rows(tmp_path / "out", "mentions")}
    names = ("links", "linked_documents", "occurrences", "documents", "name_links", "name_linked_documents")
    assert [rows["apple", 1][name] for name in names] == [2, 1, 4, 2, 2, 1]
    assert [rows["pome", 3][name] for name in names] == [1, 1, 1, 1, 1, 1]
    # A name with a gap is none.
    assert not any("\ufffc" in name for name, _ in rows)
    assert manifest["ledger"]["links"]["enwiki"] == {"kept": 3, "gap": 1, "seen": 4}
    assert manifest["ledger"]["regions"]["enwiki"] == {"lead": 1, "list": 2}
    said = wikianchor("report", f"{tmp_path}/out").output
    assert "enwiki: links that give a name: list 2, lead 1" in said
    assert wikianchor("verify", tmp_path / "out").status == 0
    alone = run(sentences, wiki[1], tmp_path / "lead", regions=("lead",))
    assert alone["ledger"]["regions"]["enwiki"] == {"lead": 1}
    rows = {(row["key"], row["qid"]): row for row in read_rows(tmp_path / "lead", "mentions")}
    assert [rows["apple", 1][name] for name in names] == [1, 1, 2, 2, 1, 1]


def test_numbers_in_tables_are_no_names(tmp_path: Path, wiki: tuple[Path, Path]) -> None:
    cells = ["| [[Apple|12]] of [[Apple|2–3]]", "| [[Apple|१२]] [[Apple|A 1]] [[Fruit|林]]", "The [[Apple|1987]]"]
    sentences = write_sentences(tmp_path / "s", "enwiki", [Page("Apple", ["In [[Apple|1988]]."], fragments=cells)])
    manifest = run(sentences, wiki[1], tmp_path / "out")
    assert manifest["ledger"]["links"]["enwiki"] == {"kept": 4, "number": 3, "seen": 7}
    assert manifest["ledger"]["regions"]["enwiki"] == {"lead": 1, "list": 1, "table": 2}
    names = {row["surface"] for row in read_rows(tmp_path / "out", "mentions") if row["links"]}
    assert names == {"1987", "1988", "A 1", "林"}


def test_quotation_marks_around_a_link_are_no_part_of_its_name(tmp_path: Path, wiki: tuple[Path, Path]) -> None:
    labels = ("«Apple»", "«Pink", 'the "Lady" apple')
    pages = [Page("Apple", [f"An [[Apple|{label}]] a day." for label in labels])]
    sentences = write_sentences(tmp_path / "quotes", "enwiki", pages)
    run(sentences, wiki[1], tmp_path / "out")
    names = {row["surface"] for row in read_rows(tmp_path / "out", "mentions") if row["links"]}
    assert names == {"Apple", "Pink", 'the "Lady" apple'}


def test_regions_that_are_not_there(tmp_path: Path, wiki: tuple[Path, Path], wikianchor: Callable[..., Ended]) -> None:
    flags = (f"--sentences={wiki[0]}", f"--entities={wiki[1]}", f"--output={tmp_path / 'out'}")
    ended = wikianchor("mentions", *flags, "--regions=lead,footer")
    assert (ended.status, ended.said) == (
        2,
        [
            "wikianchor: --regions=lead,footer: footer is none of lead, body, list, back_matter, preformatted, "
            "disambiguation, table, caption"
        ],
    )
    manifest = json.loads((wiki[0] / "manifest.json").read_text())
    manifest["options"]["fragments"] = False
    (wiki[0] / "manifest.json").write_text(json.dumps(manifest))
    assert wikianchor("mentions", *flags, "--regions=lead,body,list").status == 0
    ended = wikianchor("mentions", *flags, "--regions=lead,back_matter")
    assert (ended.status, "was made with --no-fragments and has no back_matter" in ended.said[0]) == (2, True)


def test_the_report_says_what_became_of_links_and_shows_names(
    tmp_path: Path, wiki: tuple[Path, Path], wikianchor: Callable[..., Ended]
) -> None:
    run(*wiki, tmp_path / "out")
    said = wikianchor("report", f"{tmp_path}/out").output
    assert "7 pairs of a name and an item, 4 above link probability 0.01, commonness 0.05" in said
    assert "enwiki: 8 of 12 links give a name; else: disambiguation 1, meta_item 1, red_link 1, section_link 1" in said
    assert "enwiki   Apple (0.67): Q1 0.50, Q2 0.33" in said


def test_candidates_are_rows_above_the_thresholds(tmp_path: Path, wiki: tuple[Path, Path]) -> None:
    run(*wiki, tmp_path / "out", link_probability=0.5, commonness=0.4)
    rows = read_rows(tmp_path / "out", "candidates")
    shares = {(row["key"], row["qid"]): (row["link_probability"], row["commonness"]) for row in rows}
    assert shares == {
        ("apple", 1): pytest.approx((6 / 9, 3 / 6)),
        ("fruit", 3): pytest.approx((1.0, 2 / 3)),
    }


def slow_counts(wiki: str, pages: list[Page]) -> tuple[Counter[str], Counter[str]]:
    """Return links by name, and occurrences of words by name, of pages without overlapping names."""
    links, words = Counter[str](), Counter[str]()
    for page in pages:
        for marked in page.sentences:
            text, sentence_links = read_sentence(marked)
            links.update(fold(text[link["start"] : link["end"]]) for link in sentence_links)
            words.update(text.rstrip(".").lower().split())
    return links, words


def test_a_wiki_of_many_ranges_and_shards(tmp_path: Path) -> None:
    pages, items = small_wiki(100)
    entities = write_entities(tmp_path / "items", ["enwiki"], items)
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages, 7)
    manifest = run(sentences, entities, tmp_path / "one")
    many = run(sentences, entities, tmp_path / "many", rows_per_shard=50)
    rows = read_rows(tmp_path / "one", "mentions")
    assert read_rows(tmp_path / "many", "mentions") == rows
    assert [row["key"] for row in rows] == sorted(row["key"] for row in rows)
    assert manifest["ledger"] == many["ledger"]
    links, words = slow_counts("enwiki", pages)
    for row in rows:
        assert row["name_links"] == links[row["key"]]
        if " " not in row["key"]:
            assert row["occurrences"] == words[row["key"]]
    assert digests(run(sentences, entities, tmp_path / "threads", THREADS)) == digests(manifest)
    by_beam = run(sentences, entities, tmp_path / "beam", ("--shuffle=beam",), rows_per_shard=50)
    assert digests(by_beam) == digests(many)


@pytest.mark.parametrize("shuffle", ["files", "beam"])
def test_names_of_a_range_that_occur_nowhere_are_written(tmp_path: Path, shuffle: str) -> None:
    # Shards are ranges of titles here, and those from "m" on are in no text.
    pages = [Page(f"{letter} page", ["[[A page]]", "[[B page]]"] if letter < "m" else []) for letter in "abcdmnop"]
    items = [Item(number, [100], {"enwiki": page.title}) for number, page in enumerate(pages, 1)]
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages, 8)
    entities = write_entities(tmp_path / "items", ["enwiki"], items)
    run(sentences, entities, tmp_path / "out", (f"--shuffle={shuffle}",), rows_per_shard=1)
    assert len(list((tmp_path / "out/data/mentions").iterdir())) > 4
    counts = {row["key"]: row["occurrences"] for row in read_rows(tmp_path / "out", "mentions")}
    assert counts == {**dict.fromkeys((f"{letter} page" for letter in "cdmnop"), 0), "a page": 4, "b page": 4}


def test_open_files_do_not_grow_with_the_number_of_shards(tmp_path: Path) -> None:
    pages, items = small_wiki(160)
    entities = write_entities(tmp_path / "items", ["enwiki"], items)
    sentences = write_sentences(tmp_path / "enwiki", "enwiki", pages, 80)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # `sentences` and `titles` are 160 shards, and a worker opens 64 at a time.
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/dev/fd")) + 90, hard))
    try:
        limited = run(sentences, entities, tmp_path / "limited")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert digests(limited) == digests(run(sentences, entities, tmp_path / "beam", ("--shuffle=beam",)))


def test_a_repeated_command_does_not_repeat_steps(
    tmp_path: Path, wiki: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise InputError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(mentions, "commit_dataset", fail)
        with pytest.raises(InputError, match="stopped"):
            run(*wiki, tmp_path / "out")
    for step in ("count_anchors", "title_names", "merge_names", "count_occurrences", "table_pieces", "PartWriter"):
        monkeypatch.setattr(names, step, fail)
    again = run(*wiki, tmp_path / "out")
    monkeypatch.undo()
    assert digests(run(*wiki, tmp_path / "other")) == digests(again)


def test_bad_input(tmp_path: Path, wiki: tuple[Path, Path], wikianchor: Callable[..., Ended]) -> None:
    sentences, entities = wiki
    flags = [f"--sentences={sentences}", f"--output={tmp_path / 'out'}"]
    assert wikianchor("mentions", *flags, f"--entities={entities}").status == 0
    for wrong in ("--commonness=2", "--link_probability=-1", "--max_length=0"):
        ended = wikianchor("mentions", *flags, f"--entities={entities}", wrong)
        assert (ended.status, len(ended.said)) == (2, 1), ended
    with pytest.raises(InputError, match=r"built for dewiki: build it again with enwiki"):
        run(sentences, write_entities(tmp_path / "de", ["dewiki"], ITEMS), tmp_path / "other")
    with pytest.raises(UsageError, match=r"names 2 datasets of enwiki"):
        run([sentences, write_sentences(tmp_path / "again", "enwiki", PAGES)], entities, tmp_path / "other")
    with pytest.raises(InputError, match=r"no name of enwiki stands for an item: most links ended as"):
        run(
            sentences,
            write_entities(tmp_path / "noitems", ["enwiki"], [Item(9, [], {"enwiki": "X"})]),
            tmp_path / "none",
        )
    manifest = json.loads((sentences / "manifest.json").read_text())
    (sentences / "manifest.json").write_text(json.dumps({**manifest, "schema_version": "2.0"}))
    with pytest.raises(InputError, match=r"has schema version 2\.0, this program reads 1\.0: build it again"):
        run(sentences, entities, tmp_path / "newer")


def test_a_wiki_without_sentences(tmp_path: Path, wiki: tuple[Path, Path]) -> None:
    from wikianchor.schemas import sentences as sentences_schema
    from wikianchor.schemas import titles as titles_schema

    empty = write_dataset(
        tmp_path / "dewiki",
        "sentences",
        {"wiki": "dewiki", "language": "de"},
        {"sentences": (sentences_schema.SCHEMA, []), "titles": (titles_schema.SCHEMA, [])},
    )
    items = [Item(1, [100], {"enwiki": "Apple", "dewiki": "Apfel"})]
    entities = write_entities(tmp_path / "both", ["dewiki", "enwiki"], items)
    run([wiki[0], empty], entities, tmp_path / "out")
    assert {row["wiki"] for row in read_rows(tmp_path / "out", "mentions")} == {"enwiki"}
