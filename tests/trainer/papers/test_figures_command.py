"""`wikianchor papers figures`: files, tables and one line for what is wrong."""

import importlib.util
import json
from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import sentences
from wikianchor.trainer.papers.command import main

needs_ginza = pytest.mark.skipif(importlib.util.find_spec("ja_ginza") is None, reason="NO GINZA: pip install '.[ja]'")


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    texts = sentences(24)
    lines = [f"{4 + row % 2}\t{texts[row]}\t{texts[row + 1]}" for row in range(20)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "pairs.csv"


@needs_ginza
def test_words_has_a_row_for_each_set_and_model(
    pairs: Path, tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["figures", "words", f"--model={tiny_model}", f"--pairs=mine={pairs}", f"--pairs={pairs}", "--device=cpu"]
    assert main([*flags, f"--output={tmp_path}/out", "--least=5", "--max_length=8"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| set | model | pairs | ")
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| mine", "| pairs.csv"]
    assert all(abs(sum(map(float, line.strip("| ").split(" | ")[3:])) - 100) < 0.5 for line in lines[2:])
    assert (tmp_path / "out/words.md").read_text().splitlines() == lines
    shares = json.loads((tmp_path / "out/words.json").read_text())
    assert sum(shares["mine"]["tiny"].values()) == pytest.approx(1)


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        (["words", "--pairs=/nowhere.csv"], 1, "no such file"),
        (["words"], 2, "required: --pairs"),
        (["cases", "--pairs=/nowhere.csv", "--model=tiny"], 1, "no such file"),
        (["cases", "--pairs=pairs.csv"], 2, "two models are compared, and 1 are given"),
        (["cases", "--pairs=pairs.csv", "--model=tiny", "--most=0"], 2, "--most=0"),
    ],
)
def test_one_line_for_what_is_wrong(
    flags: list[str],
    status: int,
    says: str,
    pairs: Path,
    tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(pairs.parent)
    assert main(["figures", *flags, f"--model={tiny_model}", "--device=cpu", "--output=x"]) == status
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert says in said[0]
