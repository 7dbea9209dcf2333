"""`wikianchor linking`: mentions with contexts, candidates and splits; the knowledge base; the formats."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.commands.test_verify import rewrite
from tests.conftest import made_once
from tests.documents.test_documents import write_news, write_wiki
from tests.dumps import item, json_dump, page
from tests.engines import THREADS
from tests.stand_in import digests, read_rows
from wikianchor.aliases.folding import code_points, without_quotes
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.linking import graph, indexes
from wikianchor.pipelines.linking.options import LinkingOptions
from wikianchor.pipelines.linking.steps import CONTEXT
from wikianchor.pipelines.mentions.anchors import _without_quotes
from wikianchor.trainer.linking.command import run as run_link
from wikianchor.trainer.linking.options import parse

LONG = "The tree is tall. " * 80
ENGLISH = [
    page(
        "Apple",
        1,
        "An [[Old apple|apple]] grows on [[Tree|trees]].\n\n== Kinds ==\n=== Red ones ===\nA [[Red|colour]], the "
        f"[[Fruit#Kinds|kind]] and [[:de:Birne|pears]] of the [[Nothing]].\n\n{LONG}The [[Red|red]] one. {LONG}",
    ),
    page("Old apple", 2, redirect="Apple"),
    page("Fruit", 3, "An [[apple]], a “[[Red|Big Red]]” and the [[Red film|Big Red]] of [[Red film|Big Red]]."),
    page("Tree", 4, "It bears [[Fruit|fruits]] such as the [[apple]]."),
    page("Red", 5, "It is a colour."),
    page("Red film", 6, "It is a film about an [[Apple]]."),
]
EARLIER = [page("Apple", 1, "It grows on [[Tree|trees]]."), page("Tree", 4, "It is big."), page("Red", 5, "A colour.")]
GERMAN = [page("Birne", 1, "Eine Frucht, wie auch ein [[:en:Old apple|Apfel]] es ist, und mehr.")]
ITEMS = [
    {**item(89, {"enwiki": "Apple"}), "descriptions": {"en": {"language": "en", "value": "fruit"}}},
    item(3, {"enwiki": "Fruit"}),
    item(13, {"dewiki": "Birne"}),
    item(4, {"enwiki": "Tree"}),
    item(5, {"enwiki": "Red"}),
    item(6, {"enwiki": "Red film"}),
    item(7, {"dewiki": "Nichts"}),
]


def run(*command: str) -> None:
    assert main(list(command)) == 0


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents, mentions and entities of two wikis, and earlier documents, to be read only."""
    return made_once(tmp_path_factory, "linking_sources", _write_sources)


def _write_sources(directory: Path) -> None:
    class Ended:
        def __init__(self, *command: Any) -> None:
            self.status = main(list(map(str, command)))

    (directory / "wikidata.json.gz").write_bytes(gzip.compress(json_dump(ITEMS)))
    entities = f"--entities={directory}/entities"
    run(
        *("entities", f"--wikidata={directory}/wikidata.json.gz", "--wikis=en,de", "--texts=labels,descriptions"),
        f"--output={directory}/entities",
    )
    for name, english in {"now": ENGLISH, "earlier": EARLIER}.items():
        write_wiki(directory / name, "enwiki", english, Ended, "--documents")
        write_wiki(directory / name, "dewiki", GERMAN, Ended, "--documents")
        rows = f"--sentences={directory}/{name}/sentences"
        run("documents", rows, entities, f"--output={directory}/{name}/documents")
    run("mentions", f"--sentences={directory}/now/sentences", entities, f"--output={directory}/now/mentions")


def flags(sources: Path, output: Path, *more: str) -> list[str]:
    return [
        *(f"--documents={sources}/now/documents", f"--mentions={sources}/now/mentions"),
        *(f"--entities={sources}/entities", f"--output={output}", *more),
    ]


def config_of(sources: Path, output: Path, **more: Any) -> LinkingOptions:
    now = {name: f"{sources}/now/{name}" for name in ("documents", "mentions")}
    return LinkingOptions(**now, entities=f"{sources}/entities", output=str(output), **more)


def lines(directory: Path, config: str) -> Iterator[dict[str, Any]]:
    for path in sorted((directory / "data" / config).glob("*.jsonl.gz")):
        yield from map(json.loads, gzip.decompress(path.read_bytes()).splitlines())


def test_each_link_to_an_item_is_a_mention(sources: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    manifest = graph.run(config_of(sources, tmp_path / "out", previous=f"{sources}/earlier/documents"), [])
    rows = read_rows(tmp_path / "out", "linking")
    documents = read_rows(sources / "now/documents", "documents")
    texts = {(row["wiki"], row["page_id"]): row["text"] for row in documents}
    expected = Counter(
        (row["wiki"], row["page_id"], link["start"], link["end"], link["qid"])
        for row in documents
        for link in row["links"]
        if link["qid"] is not None
    )
    mentions = Counter(tuple(row[name] for name in ("wiki", "page_id", "start", "end", "qid")) for row in rows)
    assert mentions == expected
    assert manifest["ledger"]["links"] == {
        "dewiki": {"kept": 1, "no_item": 0, "seen": 1},
        "enwiki": {"kept": 13, "no_item": 1, "seen": 14},
    }
    for row in rows:
        text = texts[row["wiki"], row["page_id"]]
        assert text[row["start"] : row["end"]] == row["surface"]
        around = text[row["start"] - len(row["left"]) : row["end"] + len(row["right"])]
        assert around == row["left"] + row["surface"] + row["right"]
        assert max(len(row["left"]), len(row["right"])) <= CONTEXT
    by_surface = {row["surface"]: row for row in rows}
    assert by_surface["apple"]["target"] == "Apple"
    assert by_surface["colour"]["section"] == ["Kinds", "Red ones"]
    assert (by_surface["kind"]["fragment"], by_surface["trees"]["block"]) == ("Kinds", "paragraph")
    assert len(by_surface["red"]["left"]) == CONTEXT
    assert (by_surface["pears"]["target_wiki"], by_surface["pears"]["qid"]) == ("dewiki", 13)
    assert (by_surface["Apfel"]["target_wiki"], by_surface["Apfel"]["target"]) == ("enwiki", "Apple")
    # Only this link of the page was there before.
    assert [row["surface"] for row in rows if row["date_split"] == "train"] == ["trees"]
    ended = wikianchor("verify", tmp_path / "out")
    assert ended.status == 0, ended
    assert "enwiki: 13 mentions of 14 links" in wikianchor("report", tmp_path / "out").output


def test_candidates_are_ranked_with_and_without_the_link(sources: Path, tmp_path: Path) -> None:
    graph.run(config_of(sources, tmp_path / "out"), [])
    rows = [row for row in read_rows(tmp_path / "out", "linking") if row["key"] == "big red"]
    # Two links lead to the film, one to the colour, which is none without itself.
    assert [(row["qid"], row["rank"], row["held_out_rank"]) for row in rows] == [(5, 1, None), (6, 0, 1), (6, 0, 1)]
    assert [candidate["qid"] for candidate in rows[0]["candidates"]] == [6, 5]
    assert [round(candidate["prior"], 3) for candidate in rows[0]["candidates"]] == [0.667, 0.333]
    assert {row["date_split"] for row in rows} == {None}
    (name,) = (row for row in read_rows(tmp_path / "out", "names") if row["key"] == "big red")
    assert name["surfaces"] == ["Big Red"]
    assert (name["name_links"], name["candidates"]) == (3, rows[0]["candidates"])
    items = {row["qid"]: row for row in read_rows(tmp_path / "out", "items")}
    # An item without a page or a link is no part of the knowledge base.
    assert sorted(items) == [3, 4, 5, 6, 13, 89]
    assert items[89]["descriptions"] == [{"language": "en", "text": "fruit"}]
    lead = {"wiki": "enwiki", "page_id": 1, "title": "Apple", "lead": "An apple grows on trees."}
    assert (items[89]["pages"], items[6]["links"]) == ([lead], 2)


def test_splits_are_by_page_and_by_item(sources: Path, tmp_path: Path) -> None:
    config = config_of(sources, tmp_path / "out", split=(0.25, 0.25), seed=4)
    manifest = graph.run(config, [])
    rows = {name: read_rows(tmp_path / "out", name) for name in manifest["configs"] if name.startswith("linking")}
    pages = {name: {(row["wiki"], row["page_id"]) for row in of_split} for name, of_split in rows.items()}
    assert len(rows) > 1
    assert sum(map(len, pages.values())) == len(set().union(*pages.values()))
    assert sum(map(len, rows.values())) == 14
    # An item is in one split, as the item of a page as well.
    splits: dict[int, set[str]] = {}
    for name, of_split in rows.items():
        for row in of_split:
            splits.setdefault(row["qid"], set()).add(row["item_split"])
            splits.setdefault(row["page_qid"], set()).add(name.removeprefix("linking").strip("_") or "train")
    assert {len(of_item) for of_item in splits.values()} == {1}
    again = config_of(sources, tmp_path / "again", split=(0.25, 0.25), seed=4)
    assert digests(graph.run(again, [*THREADS])) == digests(manifest)


@pytest.mark.parametrize("format", ["kilt", "blink", "mgenre", "spacy"])
def test_formats(format: str, sources: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    ended = wikianchor("linking", *flags(sources, tmp_path / "out", f"--format={format}"))
    assert ended.status == 0, ended
    (row,) = (row for row in lines(tmp_path / "out", "linking") if row["id"] == "enwiki:4:9")
    items = list(lines(tmp_path / "out", "items"))
    rest = {
        "kilt": {
            "input": "It bears [START_ENT] fruits [END_ENT] such as the apple.",
            "output": [{"answer": "Fruit", "provenance": [{"wikipedia_id": "enwiki:3", "title": "Fruit"}]}],
        },
        "blink": {
            "context_left": "It bears ",
            "mention": "fruits",
            "label_title": "Fruit",
            "label_id": 3,
            "label": "An apple, a “Big Red” and the Big Red of Big Red.",
        },
        "mgenre": {"source": "It bears [START] fruits [END] such as the apple.", "target": "Fruit >> en"},
        "spacy": {"text": "It bears fruits such as the apple.", "start": 9, "end": 15, "entity": "Q3"},
    }[format]
    assert {name: row[name] for name in rest} == rest
    assert {
        "kilt": lambda: items[0]["wikipedia_title"] and items[0]["text"][0] == items[0]["wikipedia_title"],
        "blink": lambda: {line["idx"].partition("curid=")[2] for line in items} == set("13456"),
        "mgenre": lambda: {"wikidata_id": "Q89", "titles": ["Apple >> en"]} in items,
        "spacy": lambda: {"entity": "Q6", "freq": 2, "text": "It is a film about an Apple."} in items,
    }[format]()
    aliases = {line["alias"]: line for line in lines(tmp_path / "out", "names")}
    assert ("Big Red" in aliases) == (format == "spacy")
    assert all(sum(line["probabilities"]) <= 1 for line in aliases.values())
    ended = wikianchor("verify", tmp_path / "out")
    assert ended.status == 0, ended


def test_spacy_takes_the_knowledge_base(sources: Path, tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="NO SPACY: pip install '.[ja]'")
    from spacy.kb import InMemoryLookupKB

    graph.run(config_of(sources, tmp_path / "out", format="spacy"), [])
    kb = InMemoryLookupKB(spacy.blank("en").vocab, entity_vector_length=2)
    for row in lines(tmp_path / "out", "items"):
        kb.add_entity(row["entity"], row["freq"], np.zeros(2))
    for row in lines(tmp_path / "out", "names"):
        if row["wiki"] == "enwiki":
            kb.add_alias(row["alias"], row["entities"], row["probabilities"])
    first, second = sorted(kb.get_alias_candidates("Big Red"), key=lambda candidate: -candidate.prior_prob)
    assert (first.entity_, second.entity_) == ("Q6", "Q5")
    assert (round(first.prior_prob, 3), first.entity_freq) == (0.667, 2)


def test_verify_finds_wrong_mentions(sources: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    rows = f"--sentences={sources}/now/sentences/enwiki"
    assert wikianchor("documents", rows, f"--entities={sources}/entities", f"--output={tmp_path}/one").status == 0
    assert wikianchor("linking", *flags(sources, tmp_path / "out", f"--documents={tmp_path}/one")).status == 0
    rewrite(tmp_path / "out", "linking", lambda rows: rows[0].update(end=rows[0]["end"] + 1, qid=1))
    ended = wikianchor("verify", tmp_path / "out")
    assert ended.status == 1
    assert "the mention has another length" in ended.output
    assert "the item is not the candidate of its rank" in ended.output


def test_a_wiki_that_a_dataset_lacks_is_named(sources: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    rows = f"--sentences={sources}/now/sentences/enwiki"
    assert wikianchor("mentions", rows, f"--entities={sources}/entities", f"--output={tmp_path}/few").status == 0
    ended = wikianchor("linking", *flags(sources, tmp_path / "out", f"--mentions={tmp_path}/few"))
    assert ended.status == 1
    assert f"--mentions={tmp_path}/few has nothing of dewiki, which --documents has" in ended.said[0]


@pytest.mark.parametrize("name", ["«Таймс»", "«А» і «Б»", "“The", "”", "«»", "It", "«It", '"a"', "x" * 9])
def test_names_lose_the_quotes_that_mentions_leaves_out(name: str) -> None:
    first, last = _without_quotes(code_points(name), np.array([0]), np.array([len(name)]))
    assert without_quotes(name) == name[int(first[0]) : int(last[0])]


def test_tables_of_many_partitions_are_the_same(sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = digests(graph.run(config_of(sources, tmp_path / "one"), []))
    monkeypatch.setattr(indexes, "ROWS_AT_ONCE", 1)
    assert digests(graph.run(config_of(sources, tmp_path / "many"), [])) == whole


def test_mentions_of_wikinews_have_the_names_of_wikipedia(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    news = write_news(tmp_path, wikianchor, "enwiki")
    entities, now = f"--entities={tmp_path}/entities", tmp_path
    rows = f"--sentences={tmp_path}/sentences/enwiki"
    assert wikianchor("documents", *news).status == 0
    assert wikianchor("mentions", rows, entities, f"--output={now}/mentions").status == 0
    inputs = [f"--documents={now}/out", f"--mentions={now}/mentions", entities]
    ended = wikianchor("linking", *inputs, f"--output={now}/linking")
    assert ended.status == 0, ended
    rows_of = {row["surface"]: row for row in read_rows(now / "linking", "linking")}
    apple = rows_of["an apple"]
    assert (apple["wiki"], apple["target_wiki"], apple["target"], apple["qid"]) == (
        "enwikinews",
        "enwiki",
        "Old apple",
        89,
    )
    assert [candidate["qid"] for candidate in rows_of["fruit"]["candidates"]] == [3]
    # No count of Wikipedia has the link.
    assert (rows_of["fruit"]["rank"], rows_of["fruit"]["held_out_rank"]) == (0, 0)
    scored = run_link(parse([f"--linking={now}/linking"]))
    assert "| linking | en | prior | 2 | 0 | 0.500 |" in scored


@pytest.mark.real
def test_a_whole_wiki(data_dir: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    dumps = {date: data_dir / f"states/kwwiki-{date}-pages-articles.xml.bz2" for date in ("20210701", "20220701")}
    if not all(path.exists() for path in dumps.values()):
        pytest.skip("NO REAL DATA: states/kwwiki-*.xml.bz2")

    def made(*command: str) -> None:
        ended = wikianchor(*command)
        assert ended.status == 0, ended

    entities = f"--entities={tmp_path}/entities"
    made("items", f"--dumps={dumps['20220701']}", f"--output={tmp_path}/items.json.gz")
    made("entities", f"--wikidata={tmp_path}/items.json.gz", "--wikis=kw", f"--output={tmp_path}/entities")
    for date, dump in dumps.items():
        rows = f"{tmp_path}/{date}/sentences/kwwiki"
        made("sentences", f"--dumps={dump}", "--documents", f"--output={rows}")
        made("documents", f"--sentences={rows}", entities, f"--output={tmp_path}/{date}/documents")
    now = tmp_path / "20220701"
    made("mentions", f"--sentences={now}/sentences/kwwiki", entities, f"--output={now}/mentions")
    inputs = [f"--documents={now}/documents", f"--mentions={now}/mentions", entities, "--split=0.1,0.1"]
    for name in ("one", "two"):
        made("linking", *inputs, f"--previous={tmp_path}/20210701/documents", f"--output={tmp_path}/{name}")
    manifests = [read_manifest(str(tmp_path / name)) or {} for name in ("one", "two")]
    assert digests(manifests[0]) == digests(manifests[1])
    ledger, documents = manifests[0]["ledger"], read_manifest(f"{now}/documents") or {}
    assert ledger["links"]["kwwiki"]["kept"] == documents["ledger"]["links"]["kwwiki"]["with_item"]
    counts, kept = ledger["candidates"]["kwwiki"], ledger["links"]["kwwiki"]["kept"]
    assert counts["among_30"] > 0.99 * kept
    assert 0.94 * kept < counts["held_out_among_30"] < counts["among_30"]
    ended = wikianchor("verify", tmp_path / "one")
    assert ended.status == 0, ended
