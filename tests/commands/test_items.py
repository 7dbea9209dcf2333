"""`wikianchor items`: what stands in for Wikidata, and what a build makes of it."""

import bz2
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.dumps import export, page
from wikianchor.pipelines.commands.items.command import DAY, YEAR, Article, join

ENGLISH = [
    page("Rome", 1, "'''Rome''' is the capital of [[Italy]] and lies on a river.\n[[Category:Cities]] [[de:Rom]]"),
    page(
        "Paris", 2, "'''Paris''' is a city of [[France]] and lies on a river.\n[[ category : Cities|P]]\n[[Category:P]]"
    ),
    page("Italy", 3, "'''Italy''' is a country that has [[Rome]] as its capital.\n[[Category:Countries]]"),
    page("France", 4, "'''France''' is a country that has [[Paris]] as its capital.\n[[Category:Countries]]"),
    page("1999", 5, "In the year 1999 nothing of note has happened in [[Rome]] at all."),
    page("1 May", 6, "[[Category:Cities]]"),
    page("The eternal city", 7, redirect="Rome"),
    page("Category:Cities", 8, "", namespace=14),
]
GERMAN = [
    page("Rom", 1, "'''Rom''' ist die Hauptstadt von [[Italien]] und liegt an einem Fluss.\n[[Kategorie:Ort]]"),
    page("Paris", 2, "'''Paris''' ist eine Stadt und liegt an einem Fluss.\n[[Category:Ort]] [[en:London]]"),
]


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    directory = tmp_path / "dumps"
    directory.mkdir()
    for wiki, pages in {"enwiki": ENGLISH, "dewiki": GERMAN}.items():
        name = f"{wiki}-20260101-pages-articles.xml.bz2"
        (directory / name).write_bytes(bz2.compress(export(pages, wiki)))
    return directory


def read(path: Path) -> dict[str, dict[str, Any]]:
    return {item["labels"]["en"]["value"]: item for item in json.loads(gzip.decompress(path.read_bytes()))}


def kind(item: dict[str, Any]) -> int:
    return int(item["claims"]["P31"][0]["mainsnak"]["datavalue"]["value"]["numeric-id"])


def test_items_by_title_and_by_link(dumps: Path, wikianchor: Callable[..., Any]) -> None:
    ended = wikianchor("items", f"--dumps={dumps}", f"--output={dumps}/wikidata.json.gz")
    assert (ended.status, ended.said) == (0, [])
    assert ended.output == f"6 items of dewiki, enwiki, 2 in several of them  {dumps}/wikidata.json.gz\n"
    items = read(dumps / "wikidata.json.gz")
    sitelinks = {
        name: {wiki: link["title"] for wiki, link in item["sitelinks"].items()} for name, item in items.items()
    }
    assert sitelinks["Rome"] == {"dewiki": "Rom", "enwiki": "Rome"}
    assert sitelinks["Paris"] == {"dewiki": "Paris", "enwiki": "Paris"}
    # The largest category decides, in whatever language it is.
    assert kind(items["Rome"]) == kind(items["Paris"]) != kind(items["Italy"]) == kind(items["France"])
    assert (kind(items["1999"]), kind(items["1 May"])) == (YEAR, DAY)
    # The same dumps give the same bytes.
    first = (dumps / "wikidata.json.gz").read_bytes()
    assert wikianchor("items", f"--dumps={dumps}", f"--output={dumps}/wikidata.json.gz").status == 0
    assert (dumps / "wikidata.json.gz").read_bytes() == first


def test_a_build_reads_them(dumps: Path, tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    assert wikianchor("items", f"--dumps={dumps}", f"--output={dumps}/wikidata.json.gz").status == 0
    ended = wikianchor("build", f"--dumps={dumps}", f"--output={tmp_path}/out", "--min_links=0", "--wikis=enwiki")
    assert ended.status == 0, ended
    rows = pq.read_table(tmp_path / "out" / "pairs" / "data" / "pairs").to_pylist()
    names = {item["id"]: name for name, item in read(dumps / "wikidata.json.gz").items()}
    pairs = {
        (names[f"Q{row['entity_qid']}"], names[f"Q{other}"]) for row in rows for other in row["hard_negative_qids"]
    }
    assert ("France", "Italy") in pairs


def test_what_would_give_a_wiki_two_articles_joins_nothing() -> None:
    articles = [
        Article(("aawiki", "A"), [], [("bbwiki", "B"), ("bbwiki", "C"), ("ccwiki", "none")]),
        Article(("bbwiki", "B"), [], []),
        Article(("bbwiki", "C"), [], []),
    ]
    assert join(articles) == [[("aawiki", "A"), ("bbwiki", "B")], [("bbwiki", "C")]]


def test_without_dumps(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    ended = wikianchor("items", f"--dumps={tmp_path}", f"--output={tmp_path}/wikidata.json.gz")
    assert (ended.status, ended.said) == (1, [f"wikianchor: --dumps={tmp_path} has no pages-articles dump"])
    assert list(tmp_path.iterdir()) == []
