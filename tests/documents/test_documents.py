"""`wikianchor documents`: items of pages and links, by sitelinks, page_props and redirects."""

from __future__ import annotations

import bz2
import gzip
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands.test_verify import rewrite
from tests.dumps import export, item, json_dump, page
from tests.engines import THREADS
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
    assert digests(graph.run(again, [*THREADS])) == digests(manifest)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"kind": "poem"}, "the kind of a block is unknown"),
        ({"depth": 2}, "a block has the depth of another kind"),
        ({"kind": "list_item"}, "a block has the depth of another kind"),
        ({"row": 0, "column": 0}, "a block has the row or column of another kind"),
        ({"kind": "table_cell", "column": 0}, "a block has the row or column of another kind"),
    ],
)
def test_verify_finds_wrong_blocks(
    wrong: dict[str, Any], problem: str, tmp_path: Path, wikianchor: Callable[..., Any]
) -> None:
    write_wiki(tmp_path, "enwiki", ENGLISH, wikianchor, "--documents")
    directory = tmp_path / "sentences/enwiki"
    rewrite(directory, "documents", lambda rows: rows[0]["blocks"][0].update(wrong))
    ended = wikianchor("verify", directory)
    assert ended.status == 1
    assert problem in ended.output


NEWS = [
    page(
        "Fruit eaten",
        1,
        "In {{w|Old apple|an apple}} they saw [[w:Part]] of {{w|fruit}}, {{w|Poire|lang=fr}} and [[Red]].",
    ),
    page("Red", 2, "It is a colour, as [[w:de:Birne|pears]] show, and no [[w:Nothing|thing]] else is."),
]


def write_news(directory: Path, run: Callable[..., Any], *wikis: str) -> tuple[str, ...]:
    """Write a Wikinews with documents, Wikipedias without, and items; return the flags of `documents`."""
    write_wiki(directory, "enwikinews", NEWS, run, "--documents")
    for wiki, pages in {"enwiki": ENGLISH, "dewiki": GERMAN}.items():
        if wiki in wikis:
            write_wiki(directory, wiki, pages, run)
    items = [
        item(89, {"enwiki": "Apple"}),
        item(3, {"enwiki": "Fruit", "enwikinews": "Red"}),
        item(13, {"dewiki": "Birne", "frwiki": "Poire", "enwiki": "Pear"}),
    ]
    dump = directory / "wikidata-20260201-all.json.gz"
    dump.write_bytes(gzip.compress(json_dump(items)))
    entities = ("entities", f"--wikidata={dump}", "--wikis=enwikinews,enwiki,dewiki,frwiki")
    ended = run(*entities, f"--output={directory}/entities")
    assert ended.status == 0, ended
    return (f"--sentences={directory}/sentences", f"--entities={directory}/entities", f"--output={directory}/out")


def items_of_links(directory: Path) -> dict[tuple[str, str], int | None]:
    rows = read_rows(directory / "out", "documents")
    return {(link["wiki"], link["target"]): link["qid"] for row in rows for link in row["links"]}


def test_links_of_wikinews_get_the_items_of_wikipedias(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    ended = wikianchor("documents", *write_news(tmp_path, wikianchor, "enwiki"))
    assert ended.status == 0, ended
    # Redirects are followed on the wiki whose titles are given; of the others there are the sitelinks.
    assert items_of_links(tmp_path) == {
        ("enwiki", "Old apple"): 89,
        ("enwiki", "Part"): None,
        ("enwiki", "Fruit"): 3,
        ("frwiki", "Poire"): 13,
        ("enwikinews", "Red"): 3,
        ("dewiki", "Birne"): 13,
        ("enwiki", "Nothing"): None,
    }
    assert {row["wiki"] for row in read_rows(tmp_path / "out", "documents")} == {"enwikinews"}
    ended = wikianchor("verify", tmp_path, f"--against={tmp_path}")
    assert ended.status == 0, ended
    assert "rows derived again: 2" in ended.output.partition("documents  ")[2]


def test_sitelinks_alone_give_items(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("documents", *write_news(tmp_path, wikianchor)).status == 0
    items = items_of_links(tmp_path)
    assert items["enwiki", "Fruit"] == 3
    assert items["enwiki", "Old apple"] is None
    # The redirects of the dump are not those of the dataset.
    dump = tmp_path / "enwiki-20260201-pages-articles.xml.bz2"
    dump.write_bytes(bz2.compress(export(ENGLISH)))
    ended = wikianchor("verify", tmp_path, f"--against={tmp_path}")
    assert ended.status == 0, ended


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "the text": (lambda row: row.update(text="Xn" + row["text"][2:]), "text is 'Xn an apple"),
    "the item of a page": (lambda row: row.update(qid=3), "the item of enwikinews 'Fruit eaten' is 3, .* it is none"),
    "an item": (lambda row: row["links"][0].update(qid=3), "the item of enwiki 'Old apple' is 3, .* it is Q89"),
    "no item": (lambda row: row["links"][0].update(qid=None), "the item of enwiki 'Old apple' is None, .* it is Q89"),
    "of a section": (lambda row: row["links"][1].update(qid=3), "the item of enwiki 'Part' is 3, .* it is none"),
    "by sitelink": (lambda row: row["links"][3].update(qid=89), "the item of frwiki 'Poire' is 89, .* it is Q13"),
    "a target": (lambda row: row["links"][0].update(target="Green", qid=None), "links is .*Green"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verify_derives_documents_again(name: str, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("documents", *write_news(tmp_path, wikianchor, "enwiki")).status == 0
    change, problem = CHANGES[name]
    rewrite(tmp_path / "out", "documents", lambda rows: change(rows[0]))
    ended = wikianchor("verify", tmp_path / "out", f"--against={tmp_path}")
    assert ended.status == 1
    assert re.search(problem, ended.output), ended.output


def test_verify_without_a_dump(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("documents", *write_news(tmp_path, wikianchor, "enwiki")).status == 0
    (tmp_path / "enwiki-20260201-pages-articles.xml.bz2").unlink()
    ended = wikianchor("verify", tmp_path / "out", f"--against={tmp_path}")
    assert ended.status == 0, ended
    assert "not looked at: enwiki has no dump there" in ended.output
    (tmp_path / "wikidata-20260201-all.json.gz").unlink()
    ended = wikianchor("verify", tmp_path / "out", f"--against={tmp_path}")
    assert ended.status == 0, ended
    assert "not looked at: items: Wikidata has no dump there" in ended.output


def test_sentences_without_documents(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    write_wiki(tmp_path, "enwiki", ENGLISH, wikianchor)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(89, [], {"enwiki": "Apple"})])
    flags = (f"--sentences={tmp_path}/sentences", f"--entities={entities}", f"--output={tmp_path}/out")
    ended = wikianchor("documents", *flags)
    assert ended.status != 0
    assert "has no documents: build it again with --documents" in " ".join(ended.said)
