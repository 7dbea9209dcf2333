"""The examples of docs/how-to/documents.md say of the demo what its rows do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import read_rows
from tests.test_docs import ROOT, blocks
from wikianchor.pipelines.cli.command_line import main

PAGE = ROOT / "docs/how-to/documents.md"
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory in which the page's first command was run."""
    directory = tmp_path_factory.mktemp("checkout")
    flags = (f"--dumps={ROOT}/demo/dumps", f"--output={directory}/out/demo", "--min_links=2", "--documents")
    assert main(["build", *flags]) == 0
    return directory


def sections(rows: Rows) -> Iterator[tuple[Any, ...]]:
    """Yield the table of contents."""
    for row in rows:
        for section in row["sections"]:
            yield row["title"], section["level"], row["text"][section["start"] :].split("\n")[0]


def first_paragraphs(rows: Rows) -> Iterator[tuple[Any, ...]]:
    for row in rows:
        paragraphs = [block for block in row["blocks"] if block["kind"] == "paragraph"]
        if paragraphs:
            yield row["title"], row["text"][paragraphs[0]["start"] : paragraphs[0]["end"]]


def mentions(rows: Rows) -> Iterator[tuple[Any, ...]]:
    """Yield the mentions of the item 634."""
    for row in rows:
        text = row["text"]
        for link in row["links"]:
            if link["qid"] == 634:
                section = row["sections"][link["section"]]["title"] if link["section"] >= 0 else None
                around = [each for each in row["sentences"] if each["start"] <= link["start"] < each["end"]]
                sentence = text[around[0]["start"] : around[0]["end"]] if around else None
                yield row["wiki"], row["title"], section, text[link["start"] : link["end"]], sentence


QUERIES: dict[str, Callable[[Rows], Iterator[tuple[Any, ...]]]] = {
    "A table of contents": sections,
    "All first paragraphs": first_paragraphs,
    "Every mention of an item, with its section and its sentence": mentions,
}


def query(heading: str) -> str:
    """Return the SQL below a line of the page."""
    match = re.search(rf"^{heading}:\n\n```sql\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert match, heading
    return match[1]


@pytest.mark.parametrize("heading", QUERIES)
def test_a_query_finds_what_the_rows_have(heading: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="NO duckdb: pip install '.[hub-dev]'")
    monkeypatch.chdir(demo)
    answer = duckdb.sql(query(heading)).fetchall()
    expected = list(QUERIES[heading](read_rows(demo / "out/demo/documents", "documents")))
    assert len(expected) > 10
    assert sorted(map(repr, answer)) == sorted(map(repr, expected))


def test_links_lead_to_articles_of_their_wikis(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="NO duckdb: pip install '.[hub-dev]'")
    monkeypatch.chdir(demo)
    answer = duckdb.sql(query("Where links lead, redirects followed by their titles")).fetchall()
    rows = read_rows(demo / "out/demo/documents", "documents")
    titles = {
        wiki: {row["title"]: row for row in read_rows(demo / f"out/demo/sentences/{wiki}", "titles")}
        for wiki in sorted({row["wiki"] for row in rows})
    }
    expected = []
    for row in rows:
        for link in row["links"]:
            page = titles.get(link["wiki"], {}).get(link["target"]) or {}
            expected.append((row["title"], link["target"], page.get("redirect") or link["target"], link["qid"]))
    assert any(target != article for _, target, article, _ in expected)
    assert sorted(map(repr, answer)) == sorted(map(repr, expected))


def test_the_examples_in_python_read_the_rows(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(demo)
    monkeypatch.setenv("HF_HOME", str(demo / "hf"))
    monkeypatch.setenv("WIKIANCHOR_CACHE", str(demo / "cache"))
    (demo / "demo").symlink_to(ROOT / "demo")
    printed = []
    for _, _, code in blocks(PAGE, "python"):
        for library in re.findall(r"^import (\w+)", code, re.MULTILINE):
            pytest.importorskip(library, reason=f"NO {library}: pip install '.[hub-dev,train]'")
        exec(code, {})
        printed.append(capsys.readouterr().out.splitlines())
    rows = read_rows(demo / "out/demo/documents", "documents")
    by_title = {(row["wiki"], row["title"]): row for row in rows}
    texts = [[row["text"][block["start"] : block["end"]] for block in row["blocks"]][:2] for row in rows[:3]]
    assert printed == [
        [f"{row['title']} {shown}" for row, shown in zip(rows, texts, strict=False)],
        [str([section["title"] for section in by_title["enwiki", "Planet"]["sections"]])],
        [rows[0]["title"]],
    ]
