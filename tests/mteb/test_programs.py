"""The program and the command of the page on MewsC-16 work as they stand there."""

import os
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks, commands_in
from wikianchor.__main__ import main
from wikianchor.schemas.mewsc16 import LANGUAGES

PAGE = ROOT / "docs" / "how-to" / "mewsc16.md"


@pytest.fixture(autouse=True)
def folder(news: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be in a folder with what the page has made before."""
    for name, target in (("out/mewsc16", news), ("models/ease/model", tiny_model)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def test_the_program_prints_the_scores(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = (text for _, _, text in blocks(PAGE, "python") if "wikianchor.mteb" in text)
    assert len([line for line in program.splitlines() if line and not line.startswith("#")]) <= 10
    exec(compile(program, str(PAGE), "exec"), {})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    tasks = [("MewsC16BalancedClustering", language) for language in LANGUAGES]
    assert [(task, language) for task, language, _ in lines] == [
        *tasks,
        ("MewsC16Clustering", "de"),
        ("MewsC16Clustering", "ja"),
    ]
    assert all(0 <= float(score) <= 1 for *_, score in lines)


def test_the_command_compares_with_a_random_encoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (words,) = (words for _, _, text in blocks(PAGE, "bash") for words in commands_in(text) if words[1] == "mteb")
    assert main([*words[1:], "--languages=ja,de", "--device=cpu"]) == 0
    text = capsys.readouterr().out
    assert "| texts | classes | smallest | largest | model, V-measure | model, AMI | baseline-random-encoder, " in text
    assert len(list(tmp_path.glob("out/mteb/results/*/*/MewsC16*.json"))) == 4
