"""`wikianchor sentences --documents`: its rows, that they change no other config, and `sentences` follows from them."""

from __future__ import annotations

import bz2
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import wikianchor
from tests.dumps import export, page
from wikianchor.io.errors import UsageError
from wikianchor.pipelines.sentences import steps
from wikianchor.pipelines.wikimedia.core import installed_core

DUMPS = sorted((Path(__file__).parents[2] / "demo/dumps").glob("*wiki-*stream.xml.bz2"))
REAL = (
    "with-templates/jiaxing-zh-fandom_pages_current",
    "with-templates/gagwiki-20220703",
    "with-templates/papwiki-20220702",
    "states/dsbwiki-20220401-pages-articles",
    "states/kwwiki-20210701-pages-articles",
)
ENGINES = ("python", *(("core",) if installed_core() is not None else ()))
Run = Callable[..., Any]


def shards(directory: Path) -> dict[str, bytes]:
    paths = sorted((directory / "data").rglob("*.parquet"))
    return {f"{path.parent.name}/{path.name}": path.read_bytes() for path in paths}


def sentences_of(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the rows of `sentences` of a page, from its document alone."""
    for sentence in document["sentences"]:
        start, end = sentence["start"], sentence["end"]
        yield {
            **{name: document[name] for name in ("wiki", "page_id", "rev_id", "title")},
            "region": sentence["region"],
            "sentence_index": sentence["sentence_index"],
            "text": document["text"][start:end],
            "links": [
                {
                    "start": link["start"] - start,
                    "end": link["end"] - start,
                    "target": link["target"],
                    "fragment": link["fragment"],
                }
                for link in document["links"]
                if start <= link["start"] < end and link["wiki"] == document["wiki"]
            ],
        }


def check_dump(dump: Path, tmp_path: Path, run: Run, *flags: str) -> None:
    """Check that `sentences` follows from `documents`, and that no byte of the other configs depends on it."""
    by_engine = {}
    for engine in ENGINES:
        for name, more in (("without", ()), ("with", ("--documents",))):
            ended = run(
                "sentences",
                f"--dumps={dump}",
                f"--output={tmp_path}/{engine}-{name}",
                f"--engine={engine}",
                *more,
                *flags,
            )
            assert ended.status == 0, ended
        with_documents = shards(tmp_path / f"{engine}-with")
        others = {path: data for path, data in with_documents.items() if not path.startswith("documents/")}
        assert others == shards(tmp_path / f"{engine}-without")
        assert len(others) < len(with_documents)
        by_engine[engine] = with_documents
    assert all(files == by_engine["python"] for files in by_engine.values())
    rows = {
        config: [row for path in sorted((tmp_path / "python-with/data" / config).glob("*")) for row in read(path)]
        for config in ("sentences", "documents")
    }
    assert [row for document in rows["documents"] for row in sentences_of(document)] == rows["sentences"]
    assert run("verify", tmp_path / "python-with").status == 0


def read(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.name[:6])
def test_sentences_follow_from_documents(dump: Path, tmp_path: Path, wikianchor: Run) -> None:
    check_dump(dump, tmp_path, wikianchor)
    assert wikianchor("verify", tmp_path / "python-with", f"--against={dump.parent}", "--rows=20").status == 0


@pytest.mark.real
@pytest.mark.parametrize("name", [REAL[0], *(pytest.param(name, marks=pytest.mark.nightly) for name in REAL[1:])])
def test_sentences_follow_from_real_documents(name: str, data_dir: Path, tmp_path: Path, wikianchor: Run) -> None:
    check_dump(data_dir / f"{name}.xml.bz2", tmp_path, wikianchor, *(["--wikis=zhwiki"] if "zh-" in name else []))


PAGES = [
    page("A & B", 1, "A [[bus]] runs here every day. [[Category:Buses]]\n== Past ==\n* It ran {{x}} [[:fr:a|then]]."),
    page("Old", 2, redirect="A & B"),
    page("Talk:A", 3, "Words.", namespace=1),
    page("Many", 4, "It may be one thing or the other.\n* [[A]]\n{{disambiguation}}"),
    page("None", 5, ""),
]


def write(directory: Path) -> Path:
    directory.mkdir(exist_ok=True)
    path = directory / "enwiki-20260201-pages-articles.xml.bz2"
    path.write_bytes(bz2.compress(export(PAGES)))
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_is_an_article(engine: str, tmp_path: Path, wikianchor: Run) -> None:
    dump = write(tmp_path / "dumps")
    run = ("sentences", f"--dumps={dump}", f"--output={tmp_path}/out", f"--engine={engine}", "--documents")
    ended = wikianchor(*run)
    assert ended.status == 0
    assert re.search(r", 3 documents of [\d,]+ bytes, ", ended.output)
    rows = _open(tmp_path / "out")
    assert [row["title"] for row in rows] == ["A & B", "Many", "None"]
    first = rows[0]
    assert (first["timestamp"], first["url"]) == ("2025-01-01T00:00:00Z", "http://en.wikipedia.org/wiki/A_%26_B")
    assert first["text"] == "A bus runs here every day.\nPast\nIt ran \ufffc then."
    assert first["categories"] == ["Buses"]
    assert [(link["wiki"], link["target"], link["section"]) for link in first["links"]] == [
        ("enwiki", "Bus", -1),
        ("frwiki", "A", 0),
    ]
    assert [len(row["sentences"]) for row in rows] == [1, 0, 0]
    assert rows[2]["text"] == ""
    assert rows[0]["qid"] is None
    assert wikianchor("verify", tmp_path / "out", f"--against={tmp_path}/dumps").status == 0


NEWS = (
    "In {{w|Paris}} the {{w|Bus (vehicle)|buses}} and {{w|tram}}s run to [[w:de:Bonn|Bonn]], [[w:Rome]], "
    "[[:w:fr:Nice]] and [[Local news]] as {{w|Lyon|lang=fr}} said in [[:de:Berlin]].\n{|\n| {{w|Cell}}\n|}\n"
    "[[File:A.png|thumb|See {{w|Caption|it}} now.]]\n[[de:Bericht]]"
)
# As wikis define it: a link, one that asks the database, and in Lua; and without its page.
LINK = "[[w:{{#if:{{{lang|}}}|{{{lang}}}:}}{{{1}}}|{{{2|{{{1}}}}}}]]<noinclude>Words.</noinclude>"
TEMPLATES = {
    "link": LINK,
    "database": f"{{{{#ifexist:{{{{{{1}}}}}}|[[{{{{{{1}}}}}}]]|{LINK}}}}}",
    "lua": "{{#invoke:w|w}}",
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("template", [*TEMPLATES, "none"])
def test_links_of_wikinews_name_their_wikipedia(template: str, engine: str, tmp_path: Path) -> None:
    pages = [page("A report", 1, NEWS)]
    if template in TEMPLATES:
        pages.append(page("Template:W", 2, TEMPLATES[template], namespace=10))
    path = tmp_path / "enwikinews-20260201-pages-articles.xml.bz2"
    path.write_bytes(bz2.compress(export(pages, "enwikinews")))
    wiki = wikianchor.open_wiki(path, documents=True, cache=str(tmp_path), engine=engine)
    row = next(wiki.documents())
    assert row["text"].startswith("In Paris the buses and trams run to Bonn, w:Rome, w:fr:Nice and Local news as Lyon")
    shown = [(row["text"][link["start"] : link["end"]], link["wiki"], link["target"]) for link in row["links"]]
    assert shown == [
        ("Paris", "enwiki", "Paris"),
        ("buses", "enwiki", "Bus (vehicle)"),
        ("trams", "enwiki", "Tram"),
        ("Bonn", "dewiki", "Bonn"),
        ("w:Rome", "enwiki", "Rome"),
        ("w:fr:Nice", "frwiki", "Nice"),
        ("Local news", "enwikinews", "Local news"),
        ("Lyon", "frwiki", "Lyon"),
        ("Cell", "enwiki", "Cell"),
        ("it", "enwiki", "Caption"),
    ]
    assert [row["blocks"][link["block"]]["kind"] for link in row["links"]] == [
        *["paragraph"] * 8,
        "table_cell",
        "caption",
    ]
    # `sentences` has the links of its own wiki alone.
    assert [link["target"] for sentence in wiki.sentences() for link in sentence["links"]] == ["Local news"]


def _open(directory: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = wikianchor.open_dataset(str(directory)).to_arrow("documents").to_pylist()
    return rows


def test_row_groups_end_where_the_texts_are_long(
    tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(steps.LIST_VALUES, "documents", 3000)
    for name, more in (("one", ()), ("two", (f"--previous={tmp_path}/one",))):
        run = ("sentences", f"--dumps={DUMPS[1]}", f"--output={tmp_path}/{name}", "--documents", *more)
        assert wikianchor(*run).status == 0
    assert shards(tmp_path / "one") == shards(tmp_path / "two")
    path = next((tmp_path / "one/data/documents").glob("*"))
    metadata = pq.ParquetFile(path).metadata
    lengths = [sum(len(row["text"]) for row in pq.ParquetFile(path).read_row_group(n).to_pylist()) for n in range(3)]
    assert metadata.num_row_groups > 3
    assert min(lengths) >= 3000


def test_rows_of_single_pages(tmp_path: Path) -> None:
    wiki = wikianchor.open_wiki(write(tmp_path), documents=True, cache=str(tmp_path))
    rows = list(wiki.documents())
    assert [row["title"] for row in rows] == ["A & B", "Many", "None"]
    assert [wiki.read(each).document for each in wiki.pages() if each.redirect is None] == rows
    assert [wiki.read(each).document for each in wiki.pages() if each.redirect is not None] == [None]
    with pytest.raises(UsageError, match="documents=True"):
        wikianchor.open_wiki(write(tmp_path), cache=str(tmp_path)).documents()


def test_the_other_parser_has_no_documents(tmp_path: Path, wikianchor: Run) -> None:
    pytest.importorskip("mwparserfromhell")
    ended = wikianchor(
        "sentences",
        f"--dumps={write(tmp_path)}",
        f"--output={tmp_path}/out",
        "--documents",
        "--parser=mwparserfromhell",
    )
    assert ended.status == 2
    assert "--documents" in " ".join(ended.said)
