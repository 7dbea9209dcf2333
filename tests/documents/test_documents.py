"""`wikianchor documents`: items of pages and links, by sitelinks, page_props and redirects."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.dumps import export, page
from tests.stand_in import Item, digests, read_rows, write_entities
from wikianchor.pipelines.documents import graph
from wikianchor.pipelines.documents.options import DocumentsOptions

ENGLISH = [
    page(
        "Apple",
        1,
        "An [[old apple]] is a [[fruit#Kinds|fruit]] and no [[:de:Birne|pear]]. [[:fr:Poire|It]] is [[Red]].",
    ),
    page("Old apple", 2, redirect="Apple"),
    page("Fruit", 3, "It is a part of a plant, as each [[part]] of an [[apple]] shows."),
    page("Part", 4, redirect="Fruit#Parts"),
]
GERMAN = [page("Birne", 1, "Sie ist eine Frucht und kein [[:en:Old apple|Apfel]] von früher.")]


def write_wiki(directory: Path, wiki: str, pages: list[bytes], run: Callable[..., Any], *flags: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    dump = directory / f"{wiki}-20260201-pages-articles.xml.bz2"
    dump.write_bytes(bz2.compress(export(pages, wiki)))
    ended = run("sentences", f"--dumps={dump}", f"--output={directory}/sentences/{wiki}", *flags)
    assert ended.status == 0, ended


def test_pages_and_links_get_their_items(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    write_wiki(tmp_path, "enwiki", ENGLISH, wikianchor, "--documents")
    write_wiki(tmp_path, "dewiki", GERMAN, wikianchor, "--documents")
    items = [Item(89, [], {"enwiki": "Apple"}), Item(3, [], {"enwiki": "Fruit"}), Item(13, [], {"dewiki": "Birne"})]
    entities = write_entities(tmp_path / "entities", ["dewiki", "enwiki"], items)
    config = DocumentsOptions(sentences=f"{tmp_path}/sentences", entities=str(entities), output=f"{tmp_path}/out")
    manifest = graph.run(config, [])
    rows = read_rows(tmp_path / "out", "documents")
    assert [(row["wiki"], row["title"], row["qid"]) for row in rows] == [
        ("dewiki", "Birne", 13),
        ("enwiki", "Apple", 89),
        ("enwiki", "Fruit", 3),
    ]
    assert [[(link["target"], link["qid"]) for link in row["links"]] for row in rows] == [
        [("Old apple", 89)],
        [("Old apple", 89), ("Fruit", 3), ("Birne", 13), ("Poire", None), ("Red", None)],
        # A redirect to a section stands for no item.
        [("Part", None), ("Apple", 89)],
    ]
    assert manifest["ledger"]["links"] == {
        "dewiki": {"with_item": 1, "without_item": 0, "other_wiki": 0, "seen": 1},
        "enwiki": {"with_item": 4, "without_item": 2, "other_wiki": 1, "seen": 7},
    }
    ended = wikianchor("verify", tmp_path / "out")
    assert ended.status == 0, ended
    assert "with_item 4" in wikianchor("report", tmp_path / "out").output
    again = DocumentsOptions(sentences=config.sentences, entities=str(entities), output=f"{tmp_path}/two")
    assert digests(graph.run(again, ["--workers=2"])) == digests(manifest)


def test_sentences_without_documents(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    write_wiki(tmp_path, "enwiki", ENGLISH, wikianchor)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(89, [], {"enwiki": "Apple"})])
    flags = (f"--sentences={tmp_path}/sentences", f"--entities={entities}", f"--output={tmp_path}/out")
    ended = wikianchor("documents", *flags)
    assert ended.status != 0
    assert "has no documents: build it again with --documents" in " ".join(ended.said)
