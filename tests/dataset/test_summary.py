"""What each command prints at its end: what it made, where, in how long, and a command that may come next."""

import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROGRESS
from tests.every_pipeline import DEMO, commands
from tests.every_pipeline import every_pipeline as every_pipeline
from tests.test_docs import known_flags
from wikianchor.pipelines.commands.download.needs import NEEDS
from wikianchor.pipelines.dataset.reasons import FLAGS, OUTCOMES, REASONS, counted
from wikianchor.pipelines.dataset.summary import after_download, next_lines
from wikianchor.pipelines.pairs.decisions import BUCKETS

Run = Callable[..., Any]
SPENT = re.compile(r"\d+\.\d seconds, \d+ MB peak memory(, engine: (python|core))?")


def check_command(line: str, output: Path | None = None) -> list[str]:
    """Check that a line names a command of ours with its flags, and return its words."""
    words = shlex.split(line.partition(":")[2])
    known = known_flags(words)
    assert known is not None, line
    given = {word.split("=")[0] for word in words if word.startswith("--")}
    assert given <= known, line
    if output is not None:
        assert str(output) in line
    return words


def test_every_pipeline(every_pipeline: Path, wikianchor: Run) -> None:
    printed = json.loads((every_pipeline / "printed.json").read_text())
    for words in commands(f"{every_pipeline}/inputs", f"{every_pipeline}/out", here=True):
        name = words[0]
        output = every_pipeline / "out" / name
        text, said = printed[name]
        assert all(PROGRESS.fullmatch(line) for line in said.splitlines()), said
        lines = text.splitlines()
        index = next(number for number, line in enumerate(lines) if SPENT.fullmatch(line))
        assert re.fullmatch(rf"\d.* in \d+ shards?, \d[\d.]* [kM]?B: {re.escape(str(output))}", lines[index - 1])
        assert lines[index + 1].startswith("next: ")
        for line in lines[index + 1 :]:
            check_command(line, output)
        # Done already: the same is told.
        again = wikianchor(*words)
        assert (again.status, again.said) == (0, []), again
        assert [line for line in again.output.splitlines() if line.startswith("next: ")] == [lines[index + 1]]
    assert {"build", "documents", "mentions", "interlanguage", "mewsc16"} <= set(printed)


def test_the_command_after_sentences_and_entities_works(tmp_path: Path, wikianchor: Run) -> None:
    dump = next(DEMO.glob("jawiki-*.xml.bz2"))
    ended = wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/sentences/jawiki")
    for name in ("entities", "pairs"):
        words = check_command(next(line for line in ended.output.splitlines() if line.startswith("next: ")))
        assert words[:2] == ["wikianchor", name]
        ended = wikianchor(*words[1:], *(["--min_links=2"] if name == "pairs" else []))
        assert ended.status == 0, ended
    assert (tmp_path / "pairs" / "manifest.json").exists()


@pytest.mark.parametrize("target", NEEDS)
def test_the_command_after_download(target: str) -> None:
    line = "next: " + shlex.join(after_download(target, ["dewiki", "jawiki"], "some dumps"))
    assert "some dumps" in line
    check_command(line)


def test_reasons_name_flags_that_there_are() -> None:
    for dataset, flags in FLAGS.items():
        known = known_flags(["wikianchor", "negatives" if dataset == "candidates" else dataset])
        # `score` filters an export, and its ledger goes on.
        scored = known_flags(["wikianchor", "score"]) if dataset == "export" else set()
        assert set(flags.values()) <= {*(known or ()), *(scored or ())}, dataset


def test_every_reason_of_a_link_is_in_one_outcome() -> None:
    names = [name for outcome in OUTCOMES for name in outcome.reasons]
    assert len(names) == len(set(names))
    # `export` drops rows and entities, not links, and a build makes no `retrieval`.
    of_retrieval = {"length", "masked", "no_passage", "no_evidence", "other_side", "enough_queries", "query_page"}
    of_retrieval |= {"enough_passages", "answer", *FLAGS["retrieval"]}
    assert {*BUCKETS, *REASONS} - {"kept", *FLAGS["export"]} - of_retrieval <= set(names)


def test_the_report_names_the_flag_of_a_reason(tmp_path: Path, wikianchor: Run) -> None:
    assert counted("pairs", "below_floor", 2091) == "below_floor 2,091: see --min_links"
    assert counted("sentences", "gap", 2091) == "gap 2,091"
    build = wikianchor(
        "build", f"--dumps={DEMO}", f"--output={tmp_path}/out", "--min_links=2", "--wikis=jawiki", "--details"
    )
    page = tmp_path / "report.html"
    report = wikianchor("report", tmp_path / "out", f"--html={page}")
    assert report.output == f"{page}\n"
    assert re.search(r"below_floor \d+: see --min_links", build.output)
    assert "its entity has too few links: see --min_links" in page.read_text("utf-8")
    assert any("open it in a browser" in line for line in report.progress)


def test_the_next_command_is_typed_as_this_one_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["wikianchor", "verify", "out"]
    monkeypatch.setattr(sys, "argv", [".venv/bin/wikianchor", "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    assert next_lines(command, command) == [
        "next: .venv/bin/wikianchor verify out",
        "  or: .venv/bin/wikianchor verify out",
    ]
    (tmp_path / "wikianchor").write_text("#!/bin/sh\n")
    (tmp_path / "wikianchor").chmod(0o755)
    assert next_lines(command) == ["next: wikianchor verify out"]
