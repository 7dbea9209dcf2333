"""`wikianchor retrieval`: which sentences are queries, what is masked, what is relevant, and what the corpus lacks."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import made_once
from tests.documents.test_documents import write_wiki
from tests.dumps import item, json_dump, page
from tests.stand_in import digests, read_rows
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.retrieval import candidates, graph
from wikianchor.pipelines.retrieval.options import RetrievalOptions
from wikianchor.schemas.retrieval import LEAD, OTHER

TOWN = "The river flows through [[Port|the harbour]] and the old town, where Port has its mill."
BRIDGE = "A bridge of stone leads from the mill over to [[Hill|the green hill]] with its church."
OLD = "In summer its water is low, and people of [[Hill]] walk through it on foot."
CHANGED = "In winter its water is high, and the people of [[Hill]] take a boat to the other bank of it."
GLOSS = "It has another name in the books of the monks ([[Hill|Collis]]), who lived beside it."
MILL = "Its mill has stood there for more than a thousand years."
OTHERS = [
    page(
        "Port",
        2,
        "A harbour at the mouth of the [[River]], full of ships.\n\nIts mill has stood there since the year 9.",
    ),
    page("Haven", 3, redirect="Port"),
    page("Hill", 4, "A green hill above the [[River]], with a church and some houses."),
    page("Dale", 5, "A green dale between two hills, with a church and no house at all."),
    page("Isle", 6, "An isle in the sea from which ships go to [[Port]] and up the [[River]] each day."),
    page("Mill", 7, "A mill in the town of [[Port]], which is said to be the oldest of all mills."),
]
RIVER = page("River", 1, f"{TOWN} {BRIDGE} {OLD} {CHANGED} {GLOSS}")
ENGLISH = [RIVER, *OTHERS, page("Copy", 8, TOWN.replace("[[Port|the harbour]]", "the harbour"))]
EARLIER = [page("River", 1, f"{OLD} {CHANGED.replace('a boat', 'the boat')}"), *OTHERS]
GERMAN = [page("Hafen", 1, "Ein Hafen an der Mündung des [[:en:River|Flusses]] mit vielen Schiffen.")]
NAMES = ("River", "Port", "Hill", "Dale", "Isle", "Mill", "Copy")
LANDFORM, PLACE = 271669, 486972
TYPES = {"Hill": LANDFORM, "Dale": LANDFORM, "Port": PLACE}


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of two dates and of another language, mentions and entities, to be read only."""
    return made_once(tmp_path_factory, "retrieval_sources", _write_sources)


def _write_sources(directory: Path) -> None:
    class Ended:
        def __init__(self, *command: Any) -> None:
            self.status = main(list(map(str, command)))

    links = {name: {"enwiki": name} for name in NAMES}
    links["Port"]["dewiki"] = "Hafen"
    items = [
        item(number, links[name], [TYPES[name]] if name in TYPES else [], {"en": name, "de": "Pforte"})
        for number, name in enumerate(NAMES, 1)
    ]
    (directory / "wikidata.json.gz").write_bytes(gzip.compress(json_dump(items)))
    entities = f"{directory}/entities"
    main(["entities", f"--wikidata={directory}/wikidata.json.gz", "--wikis=en,de", f"--output={entities}"])
    for name, wiki, pages in (("now", "en", ENGLISH), ("earlier", "en", EARLIER), ("german", "de", GERMAN)):
        write_wiki(directory / name, f"{wiki}wiki", pages, Ended, "--documents")
        rows = f"--sentences={directory}/{name}/sentences"
        main(["documents", rows, f"--entities={entities}", f"--output={directory}/{name}/documents"])
    rows = f"--sentences={directory}/now/sentences"
    main(["mentions", rows, f"--entities={entities}", f"--output={directory}/now/mentions"])


def config_of(sources: Path, output: Path, **more: Any) -> RetrievalOptions:
    now = {name: f"{sources}/now/{name}" for name in ("documents", "mentions")}
    return RetrievalOptions(**now, entities=f"{sources}/entities", output=str(output), **more)


def test_new_sentences_are_queries_and_their_targets_are_graded(
    sources: Path, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    config = config_of(sources, tmp_path / "out", previous=f"{sources}/earlier/documents", negatives=1)
    manifest = graph.run(config, [])
    queries = {row["target"]: row for row in read_rows(tmp_path / "out", "queries")}
    # Every name of the target is masked: the text of the link, its title, and its article keeps what is no name.
    assert queries["Port"]["text"] == ("River: The river flows through ___ and the old town, where ___ has its mill.")
    assert queries["Port"]["masked"] == ["the harbour", "Port"]
    assert queries["Hill"]["text"].startswith("River: A bridge of stone leads from the mill over to ___ with")
    assert len(queries) == 2
    corpus = {row["id"]: row for row in read_rows(tmp_path / "out", "corpus")}
    grades = [
        (row["query-id"], corpus[row["corpus-id"]]["text"].split()[0], row["score"])
        for row in read_rows(tmp_path / "out", "qrels")
    ]
    port, hill = queries["Port"]["id"], queries["Hill"]["id"]
    assert sorted(grades) == sorted([(port, "A", LEAD), (port, "Its", OTHER), (hill, "A", LEAD)])
    # The page of the queries, one that says the same, and one that names river and harbour are no passages.
    assert sorted(row["title"] for row in corpus.values()) == ["Dale", "Hill", "Mill", "Port", "Port"]
    assert queries["Hill"]["distractors"] == [4]
    assert manifest["ledger"]["links"]["enwiki"] == {
        **{"kept": 2, "near_previous": 1, "previous": 6, "weak_anchor": 1},
        "seen": 10,
    }
    assert manifest["ledger"]["passages"]["enwiki"] == {
        **{"answer": 1, "kept": 5, "near_duplicate": 1, "query_page": 1, "seen": 8}
    }
    ended = wikianchor("verify", tmp_path / "out")
    assert ended.status == 0, ended
    assert "2 queries, 3 relevant passages of 5" in wikianchor("report", tmp_path / "out").output


def test_the_same_bytes_come_out_again(sources: Path, tmp_path: Path) -> None:
    first, second = (graph.run(config_of(sources, tmp_path / name), []) for name in ("one", "two"))
    assert digests(first) == digests(second)


def test_targets_are_found_in_another_language_by_their_items(sources: Path, tmp_path: Path) -> None:
    graph.run(config_of(sources, tmp_path / "out", corpus=f"{sources}/german/documents"), [])
    assert {row["target"] for row in read_rows(tmp_path / "out", "queries")} == {"Port"}
    grades = {(row["corpus-id"], row["score"]) for row in read_rows(tmp_path / "out", "qrels")}
    assert grades == {("dewiki:1:0", LEAD)}


def test_the_numbers_of_queries_and_passages_are_bounded(sources: Path, tmp_path: Path) -> None:
    manifest = graph.run(config_of(sources, tmp_path / "out", sample=1, max_passages=1, negatives=0), [])
    assert manifest["configs"]["queries"]["rows"] == 1
    assert manifest["ledger"]["passages"]["enwiki"]["over_max_passages"] > 0


@pytest.mark.parametrize(
    ("text", "names", "expected"),
    [
        ("In Rome, Romans met in ROME.", {"rome"}, "In ___, Romans met in ___."),
        ("New  York is York.", {"new york", "york"}, "___ is ___."),
        ("東京都は東京にある。", {"東京"}, "___都は___にある。"),
        ("Nothing here.", {"", "rome"}, "Nothing here."),
    ],
)
def test_names_are_masked_where_a_name_may_stand(text: str, names: set[str], expected: str) -> None:
    assert candidates.mask(text, names)[0] == expected


def test_a_wiki_that_a_dataset_lacks_is_an_error(sources: Path, wikianchor: Callable[..., Any], tmp_path: Path) -> None:
    ended = wikianchor(
        *("retrieval", f"--documents={sources}/german/documents", f"--mentions={sources}/now/mentions"),
        *(f"--entities={sources}/entities", f"--output={tmp_path}/out"),
    )
    assert ended.status == 1
    assert f"--mentions={sources}/now/mentions has nothing of dewiki, which --documents has" in " ".join(ended.said)
