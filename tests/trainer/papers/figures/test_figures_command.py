"""`python -m wikianchor.trainer.papers.figures`: files, tables and one line for what is wrong."""

import importlib.util
import json
from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import sentences
from wikianchor.trainer.papers.figures.__main__ import main

pytest.importorskip("matplotlib")
needs_ginza = pytest.mark.skipif(importlib.util.find_spec("ja_ginza") is None, reason="NO GINZA: pip install '.[ja]'")
needs_umap = pytest.mark.skipif(importlib.util.find_spec("umap") is None, reason="NO UMAP: pip install '.[figures]'")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    texts = sentences(24)
    lines = [f"{4 + row % 2}\t{texts[row]}\t{texts[row + 1]}" for row in range(20)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "beir/qrels").mkdir(parents=True)
    for name, some in (("corpus", texts[4:]), ("queries", texts[:4])):
        rows = [json.dumps({"_id": f"{name}{number}", "text": text}) for number, text in enumerate(some)]
        (tmp_path / f"beir/{name}.jsonl").write_text("\n".join(rows) + "\n")
    rows = [f"queries{number}\tcorpus{number}\t1" for number in range(4)]
    (tmp_path / "beir/qrels/test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return tmp_path


@needs_ginza
def test_the_heat_map_has_a_row_for_each_model(
    place: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["words", f"--model={tiny_model}", f"--pairs=mine={place}/pairs.csv", f"--pairs={place}/pairs.csv"]
    assert main([*flags, "--device=cpu", f"--output={place}/words.png"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| set | model | pairs | ")
    assert lines[0].endswith("| X |")
    assert [line.split(" | ")[0] for line in lines[2:]] == ["| mine", "| pairs.csv"]
    assert all(abs(sum(map(float, line.strip("| ").split(" | ")[3:])) - 100) < 0.5 for line in lines[2:])
    assert (place / "words.png").read_bytes().startswith(b"\x89PNG")
    assert main([*flags, "--device=cpu", f"--output={place}/words.svg", "--json", "--least=5", "--max_length=8"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert sum(found["mine"]["tiny"].values()) == pytest.approx(1)


@needs_umap
@pytest.mark.filterwarnings("ignore")
def test_the_polar_picture(place: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["polar", f"--model={tiny_model}", "--device=cpu", "--most=10"]
    assert main([*flags, f"--pairs={place}/pairs.csv", f"--output={place}/a.png"]) == 0
    assert capsys.readouterr().out.splitlines()[2].startswith("| tiny | ")
    assert main([*flags, f"--retrieval={place}/beir", f"--output={place}/b.png"]) == 0
    assert all((place / name).read_bytes().startswith(b"\x89PNG") for name in ("a.png", "b.png"))


@pytest.mark.parametrize(
    ("flags", "status", "says"),
    [
        (["polar"], 2, "--pairs or --retrieval"),
        (["polar", "--pairs=x", "--retrieval=y"], 2, "--pairs or --retrieval"),
        (["polar", "--pairs=pairs.csv", "--most=0"], 2, "--most=0"),
        (["polar", "--pairs=/nowhere.csv"], 1, "no such file"),
        (["polar", "--retrieval=qrels"], 1, "no qrels/test.tsv"),
        (["words", "--pairs=/nowhere.csv"], 1, "no such file"),
        (["cases", "--pairs=/nowhere.csv", "--model=tiny"], 1, "no such file"),
        (["cases", "--pairs=pairs.csv"], 2, "two models are compared, and 1 are given"),
    ],
)
def test_one_line_for_what_is_wrong(
    flags: list[str],
    status: int,
    says: str,
    place: Path,
    tiny_model: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(place)
    (place / "qrels").mkdir()
    assert main([*flags, f"--model={tiny_model}", "--device=cpu", "--output=x.png"]) == status
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert says in said[0]
