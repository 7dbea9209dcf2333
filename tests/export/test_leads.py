"""`export` of leads and titles: which sentences a lead is, whose it is, and what goes together."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.conftest import Ended
from tests.engines import THREADS
from tests.stand_in import Item, Page, read_rows, run_pairs, write_entities, write_sentences
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.commands.verify.exported import Origins, PageTexts, Text, compare_texts, sources_of
from wikianchor.pipelines.dataset.reader import find_datasets
from wikianchor.pipelines.export import graph
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.export.page_texts import sentence_texts
from wikianchor.pipelines.export.texts import LEAD
from wikianchor.schemas.choices import KINDS, OF_WIKIDATA

COLOURS = ("Red", "Blue", "Green", "Grey", "Pink")
# Nearly equal ones would be left out.
SENTENCES = (
    "Many birds of {1} are {0} in summer.",
    "The old flag has a stripe of {0}, says {1}.",
    "Painters mixed {0} from plants; {1} lists them.",
    "A car in {0} costs less.",
    "{0} was worn by monks of {1} until the war.",
    "Nobody knows why she chose {0} for her house.",
    "In {1} the trains were all {0} once.",
    "Under water, {0} is seen no longer.",
    "Only {0} stones were found near the old mill of {1}.",
    "She signed her letters in {0} ink.",
    "A law of {1} forbids {0} on doors.",
    "{0} apples taste sweet.",
    "The river turned {0} after the storm, {1} reports.",
    "Their team plays in {0} since it moved.",
)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as `wikianchor build` makes it: two wikis with pages of colours, and pages that link to them."""
    directory = tmp_path_factory.mktemp("build")
    sentences = []
    for wiki, name, verb in (("enwiki", "{}", "is a colour"), ("dewiki", "{}e Farbe", "ist eine Farbe")):
        pages = [
            Page(
                name.format(colour),
                # The first sentence of Pink's page was lost, so it has no lead.
                [f"{name.format(colour)} {verb}.", "It is old.", f"Nobody owns {colour}.", f"{colour} fades."]
                if colour != "Pink"
                else [],
            )
            for colour in COLOURS
        ]
        links = [sentence.format(f"[[{name.format(colour)}]]", wiki) for sentence in SENTENCES for colour in COLOURS]
        pages += [Page(f"Page {number}", [link]) for number, link in enumerate(links)]
        sentences.append(write_sentences(directory / "sentences" / wiki, wiki, pages, shards=3))
    items = [Item(n, [9], {"enwiki": title, "dewiki": f"{title}e Farbe"}) for n, title in enumerate(COLOURS, 1)]
    entities = write_entities(directory / "entities", ["enwiki", "dewiki"], items)
    run_pairs(sentences, entities, directory / "pairs", negatives=2)
    return directory


def export(build: Path, output: Path, **options: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Export with the default options; return the rows with their sources."""
    graph.run(ExportOptions(pairs=f"{build}/pairs", output=str(output), **options).completed(), [])
    return list(zip(read_rows(output, "export"), read_rows(output, "sources"), strict=True))


@pytest.mark.parametrize(
    ("title", "sentences", "lead"),
    [
        ("Oslo", [(0, "Oslo is a city."), (1, "It is old."), (2, "It is big.")], "Oslo is a city. It is old."),
        # A sentence that is missing ends the lead.
        ("Oslo", [(0, "Oslo is a city."), (2, "It is big.")], "Oslo is a city."),
        # What stands before the first sentence does not count if that names the title.
        ("Mercury (planet)", [(2, "Mercury is a planet.")], "Mercury is a planet."),
        ("Oslo", [(1, "It is old.")], ""),
        # A part of the title is enough, in the first sentence of the page.
        ("Politics of Oslo", [(0, "Oslo is governed by a council.")], "Oslo is governed by a council."),
        ("Politics of Oslo", [(1, "Oslo is governed by a council.")], ""),
        ("Politics of Oslo", [(0, "The city is governed by a council.")], ""),
        # "His father left Oslo" is no first sentence.
        ("Oslo", [(1, "Its mayor left Oslo.")], ""),
        ("Oslo (song)", [(1, "The Oslo song is old.")], "The Oslo song is old."),
        ("Portuguese", [(0, "It is a language that comes from Latin.")], ""),
        ("東京", [(0, "東京は日本の首都である。")], "東京は日本の首都である。"),
    ],
)
def test_a_lead_begins_with_the_first_sentence(title: str, sentences: list[tuple[int, str]], lead: str) -> None:
    rows = [
        {"page_id": 1, "rev_id": 2, "title": title, "region": "lead", "sentence_index": index, "text": text}
        for index, text in sentences
    ]
    assert sentence_texts(LEAD, pa.RecordBatch.from_pylist(rows), 2)["text"].to_pylist() == [lead][: bool(lead)]


def test_by_default_a_sentence_and_the_leads_of_its_entity_and_of_the_negatives(build: Path, tmp_path: Path) -> None:
    rows = export(build, tmp_path / "out")
    titles = dict(enumerate(COLOURS, 1))
    for row, source in rows:
        name = "{}e Farbe ist eine Farbe." if source["wiki"] == "dewiki" else "{} is a colour."
        texts = [f"{name.format(titles[qid])} It is old." for qid in (source["entity_qid"], *source["negative_qids"])]
        assert [row["positive"], row["negative_1"], row["negative_2"]] == texts
        assert f"{titles[source['entity_qid']]}" in row["anchor"]
        page = COLOURS.index(titles[source["entity_qid"]]) + 1
        assert (source["positive_page_id"], source["positive_rev_id"]) == (page, 1000 + page)
        # One language in a row.
        assert {source["wiki"]} == {source["positive_wiki"], *source["negative_wikis"]}
        assert source["negative_rev_ids"] == [1000 + page for page in source["negative_page_ids"]]
    # No positive stands too often, and only because rows lack a negative does one stand less often.
    assert max(Counter(row["positive"] for row, _ in rows).values()) == 5
    ledger = json.loads((tmp_path / "out" / "manifest.json").read_text())["ledger"]
    links = ledger["rows"]["enwiki"]
    assert (links["no_positive_text"], links["seen"]) == (len(SENTENCES), len(SENTENCES) * len(COLOURS))
    assert links["kept"] == sum(source["wiki"] == "enwiki" for _, source in rows) >= 10
    assert ledger["entities"]["enwiki"] == {"seen": 5, "eligible": 4, "kept": 4}


def test_titles_and_leads_in_two_languages_stand_once(build: Path, tmp_path: Path) -> None:
    rows = export(build, tmp_path / "titles", kind="title-lead", negatives=1)
    assert sorted(row["anchor"] for row, _ in rows) == sorted(
        title for colour in COLOURS[:-1] for title in (colour, f"{colour}e Farbe")
    )
    assert all(row["positive"].startswith(f"{row['anchor']} is") for row, _ in rows)
    rows = export(build, tmp_path / "leads", kind="cross-lingual-lead", negatives=1)
    assert len(rows) == 8
    for row, source in rows:
        assert {row["anchor"].split()[0], row["positive"].split()[0]} in [{name, f"{name}e"} for name in COLOURS]
        assert source["wiki"] != source["positive_wiki"]
        assert {source["positive_wiki"]} == {*source["negative_wikis"]}


def test_adjacent_sentences_of_a_page(build: Path, tmp_path: Path) -> None:
    rows = export(build, tmp_path / "out", kind="neighbour")
    adjacent = {
        (f"{name} {verb}.", "It is old.")
        for colour in COLOURS
        for name, verb in ((colour, "is a colour"), (f"{colour}e Farbe", "ist eine Farbe"))
    }
    for colour in COLOURS:
        adjacent |= {("It is old.", f"Nobody owns {colour}."), (f"Nobody owns {colour}.", f"{colour} fades.")}
    assert {(row["anchor"], row["positive"]) for row, _ in rows} <= adjacent
    assert len(rows) >= 10
    assert len({(source["wiki"], row["anchor"]) for row, source in rows}) == len(rows)
    assert all(source["page_id"] == source["positive_page_id"] for _, source in rows)
    assert all(source["page_id"] not in source["negative_page_ids"] for _, source in rows)


def test_the_first_sentence_of_a_page_and_its_title(build: Path, tmp_path: Path) -> None:
    rows = export(build, tmp_path / "out", kind="first-sentence", negatives=1)
    assert {(row["anchor"], row["positive"]) for row, _ in rows} == {
        pair
        for colour in COLOURS[:-1]
        for pair in ((f"{colour} is a colour.", colour), (f"{colour}e Farbe ist eine Farbe.", f"{colour}e Farbe"))
    }
    for row, source in rows:
        assert row["negative_1"] in {*COLOURS, *(f"{colour}e Farbe" for colour in COLOURS)}
        assert {source["wiki"]} == {source["positive_wiki"], *source["negative_wikis"]}


def test_verify_compares_leads_with_their_pages(build: Path, tmp_path: Path) -> None:
    directory = tmp_path / "build"
    shutil.copytree(build, directory)
    for kind in KINDS:
        # Sections have a test of theirs.
        if kind not in (*OF_WIKIDATA, "section"):
            options = ExportOptions(pairs=f"{directory}/pairs", output=f"{directory}/{kind}", kind=kind)
            graph.run(options.completed(), [])
    datasets = find_datasets(str(directory))
    for dataset in (dataset for dataset in datasets if dataset.manifest["dataset"] == "export"):
        sources = sources_of(dataset, datasets)
        assert sorted(sources) == (["pairs"] if "mention" in dataset.directory else ["entities", "pairs", "sentences"])
        assert compare_texts(dataset, sources, 20, 1) == (min(20, dataset.rows("export")), [])
    # A lead that is not that of the page.
    lead = "Red is a colour. It is old."
    other = next(row["positive"] for row in read_rows(directory / "lead", "export") if row["positive"] != lead)
    text = Text("positive", "lead", other, 1, "enwiki", 1)
    origins = Origins({}, {("enwiki", 1): PageTexts(1, "Red", {"lead": {0: lead}})}, {("enwiki", "Red"): 1}, {})
    assert origins.problem(text) == "no lead text of enwiki page 1"
    assert origins.problem(text._replace(text=lead)) == ""
    assert origins.problem(text._replace(text=lead, qid=2)) == "a text of a page of Q1, not of Q2"


def test_what_leads_are_read_from(build: Path, tmp_path: Path) -> None:
    for kind, language, only in (("cross-lingual-lead", "same", "other"), ("neighbour", "any", "same")):
        with pytest.raises(UsageError, match=f"--language={language}: rows of --kind={kind} have --language={only}"):
            export(build, tmp_path / "out", kind=kind, language=language)
    # Pairs that stand alone: the other datasets have to be named.
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "pairs").symlink_to(build / "pairs")
    with pytest.raises(InputError, match=r"--sentences=.*/alone/sentences: no such directory"):
        export(alone, tmp_path / "out")
    datasets = {"sentences": f"{build}/sentences", "entities": f"{build}/entities"}
    assert export(alone, tmp_path / "out", **datasets) == export(build, tmp_path / "same")
    other = write_sentences(tmp_path / "other" / "enwiki", "enwiki", [Page("Red", ["Red is new."])])
    both = {**datasets, "sentences": f"{other},{build}/sentences/dewiki"}
    with pytest.raises(InputError, match=r"was built from another dataset of sentences of enwiki than --sentences="):
        export(alone, tmp_path / "no", **both)


def test_the_bytes_do_not_depend_on_bundles(build: Path, tmp_path: Path, wikianchor: Callable[..., Ended]) -> None:
    rows = export(build, tmp_path / "one")
    ended = wikianchor("export", f"--pairs={build}/pairs", f"--output={tmp_path}/two", *THREADS)
    assert (ended.status, ended.said) == (0, [])
    assert [row for row, _ in rows] == read_rows(tmp_path / "two", "export")
    manifests = [json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("one", "two")]
    assert manifests[0]["configs"] == manifests[1]["configs"]
