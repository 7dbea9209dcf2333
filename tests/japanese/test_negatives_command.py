"""`wikianchor negatives`: from a corpus and a T5 to rows, a ledger that adds up, and the same bytes again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("sentencepiece", reason="NO SENTENCEPIECE: pip install '.[t5]'")
pytest.importorskip("sudachipy", reason="NO SUDACHIPY: pip install '.[t5]'")
pytest.importorskip("torch", reason="NO TORCH: pip install '.[t5]'")

from tests.engines import THREADS
from tests.t5 import TEXTS, write_corpus, write_t5
from wikianchor.schemas import negatives


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    base = tmp_path_factory.mktemp("in")
    return write_corpus(base / "corpus", TEXTS[:12]), write_t5(base / "t5")


def command(places: tuple[Path, Path], out: Path, *more: str) -> list[str]:
    options = ["--beams=6", "--negatives=3", "--near=1", "--device=cpu"]
    return ["negatives", f"--corpus={places[0]}", f"--model={places[1]}", f"--output={out}", *options, *more]


def read(out: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    return pq.read_table(out / "data/negatives").to_pylist(), json.loads((out / "manifest.json").read_text())


def judged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take anything that differs: a T5 that knows nothing writes no nouns."""
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills.is_noun_like", lambda word: True)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.steps.are_noun_spans", lambda *some: True)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills._repeats", lambda *some: False)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills.LONGER_BY", 1000)


@pytest.mark.parametrize(
    "more", [(), ("--fill=each",), ("--share=0.4",), ("--spans=nouns",), ("--first_rank=3",), ("--hole_tokens=1",)]
)
def test_rows_and_ledger(
    more: tuple[str, ...],
    places: tuple[Path, Path],
    tmp_path: Path,
    wikianchor: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged(monkeypatch)
    ended = wikianchor(*command(places, tmp_path / "out", *more))
    assert (ended.status, ended.said) == (0, [])
    rows, manifest = read(tmp_path / "out")
    assert pq.read_schema(next((tmp_path / "out/data/negatives").glob("*"))).equals(negatives.SCHEMA)
    ledger = manifest["ledger"]
    assert ledger["sentences"]["seen"] == 12
    assert ledger["candidates"]["kept"] == sum(len(row["negatives"]) for row in rows) > 0
    assert ledger["candidates"]["seen"] == 12 * 6
    for row in rows:
        assert row["text"] not in row["negatives"]
        assert len(set(row["negatives"])) == len(row["negatives"]) == len(row["ranks"]) <= 3
        assert row["holes"] == {"--share=0.4": 1, "--spans=nouns": 1}.get("".join(more), 3)
        assert min(row["ranks"]) >= (3 if "--first_rank=3" in more else 1)
        # What is no noun stays.
        assert all("を受診した。" in text and "を訴えて" in text for text in row["negatives"])
    assert "sentences with" in wikianchor("report", tmp_path / "out").output


def test_it_is_the_same_again_and_skipped_then(
    places: tuple[Path, Path], tmp_path: Path, wikianchor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(monkeypatch)
    wikianchor(*command(places, tmp_path / "one"))
    # In threads, with each bundle done twice.
    wikianchor(*command(places, tmp_path / "two", *THREADS))
    assert read(tmp_path / "one")[1]["configs"] == read(tmp_path / "two")[1]["configs"]
    assert "up to date" in wikianchor(*command(places, tmp_path / "two")).progress[-1]


def test_more_spans_than_sentinels(
    places: tuple[Path, Path], tmp_path: Path, wikianchor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(monkeypatch)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.filler.HoleFiller.most_holes", 2)
    assert wikianchor(*command(places, tmp_path / "out")).status == 0
    rows, manifest = read(tmp_path / "out")
    assert {row["holes"] for row in rows} == {2}
    assert manifest["ledger"]["sentences_with_more_spans_than_sentinels"] == {"seen": 12}


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        (["--model=/nowhere"], 1, "--model=/nowhere: no such directory"),
        (["--corpus=/nowhere"], 1, "no such directory"),
        (["--beams=2"], 2, "too few"),
        (["--share=0"], 2, "--share=0"),
        (["--negatives=0"], 2, "--negatives=0"),
        (["--longest=3"], 1, "no sentence has a negative"),
    ],
)
def test_one_line_for_what_is_wrong(
    flags: list[str],
    status: int,
    says: str,
    places: tuple[Path, Path],
    tmp_path: Path,
    wikianchor: Callable[..., Any],
) -> None:
    ended = wikianchor(*command(places, tmp_path / "out", *flags))
    assert ended.status == status
    assert len(ended.said) == 1
    assert says in ended.said[0]


def test_another_version_and_another_parser(places: tuple[Path, Path], tmp_path: Path, wikianchor: Any) -> None:
    old = write_corpus(tmp_path / "old", TEXTS[:2], version="2.0")
    ended = wikianchor(*command((old, places[1]), tmp_path / "out"))
    assert (ended.status, len(ended.said)) == (1, 1)
    assert "schema version 2.0" in ended.said[0]
    flat = write_corpus(tmp_path / "flat", TEXTS[:2], parser="sudachi")
    ended = wikianchor(*command((flat, places[1]), tmp_path / "out"))
    assert (ended.status, len(ended.said)) == (2, 1)
    assert "--spans=chunks needs trees" in ended.said[0]
