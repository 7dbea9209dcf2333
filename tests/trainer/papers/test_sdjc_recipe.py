"""The recipe of SDJC: from a text file to a table of models by one command, nothing made twice."""

import importlib.util
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.t5 import TEXTS
from wikianchor.io.errors import UsageError
from wikianchor.trainer.papers.recipes import main
from wikianchor.trainer.papers.sdjc_recipe import (
    ROWS,
    chosen_rows,
    config_of,
    paper_figures,
    parse,
    preset_negatives,
    run_directory,
    sources_of,
)

needs_all = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sudachipy", "sentencepiece", "sklearn")),
    reason="NO SUDACHI, SENTENCEPIECE OR SCIKIT-LEARN: pip install '.[ja,t5,eval]'",
)
WORDS = ["kana", "lona", "mina", "rusi", "tena", "vota"]


@pytest.fixture
def flags(tiny_model: Path, tmp_path: Path) -> list[str]:
    (tmp_path / "clinic.txt").write_text("\n".join(TEXTS) + "\n")
    pairs = [f"{n % 6}\t猫 {WORDS[n % 6]} {WORDS[n % 5]}\t猫 {WORDS[n % 4]} {WORDS[n % 3]}" for n in range(12)]
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "JAC-sts-test.csv").write_text("\n".join(pairs) + "\n")
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\n" + "kana lona,kana,mina\nrusi,rusi tena,vota\n" * 20)
    return [
        *("sdjc", f"--text={tmp_path}/clinic.txt", f"--model={tiny_model}", f"--evaluation={sets}"),
        *(f"--output={tmp_path}/out", f"--nli={tmp_path}/nli.csv", f"--general={tmp_path}/nli.csv", "--tasks=JACSTS"),
        *("--device=cpu", "--softmax_size=8", "--max_steps=2", "--max_length=24"),
        "--corpus_flags=--parser=sudachi --near=0",
        "--t5_flags=--vocabulary_size=320 --max_steps=2 --held_out=0 --step_size=8 --max_length=48",
        "--negatives_flags=--spans=nouns --beams=4 --negatives=2 --hole_tokens=4",
    ]


@needs_all
def test_from_a_text_to_a_table(
    flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from wikianchor.pipelines.cli.command_line import main as command

    def run_here(*arguments: str) -> None:
        with redirect_stdout(sys.stderr):
            assert command([*arguments]) == 0

    # In this process, so that anything can pass for a noun: a T5 of two steps writes none.
    monkeypatch.setattr("wikianchor.trainer.papers.sdjc_recipe.wikianchor", run_here)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills.is_noun_like", lambda word: True)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.steps.are_noun_spans", lambda *some: True)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills._repeats", lambda *some: False)
    monkeypatch.setattr("wikianchor.pipelines.japanese.negatives.fills.LONGER_BY", 1000)
    assert main([*flags, "--seeds=1,2"]) == 0
    first = capsys.readouterr()
    lines = [line for line in first.out.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[1 : 1 + len(ROWS)]] == [row.name for row in ROWS]
    # Rows that are trained have a mean over the seeds.
    assert [("±" in line) for line in lines[1 : 1 + len(ROWS)]] == [bool(row.sources) for row in ROWS]
    assert (tmp_path / "out/sdjc.md").read_text() + "\n" == first.out
    made = json.loads((tmp_path / "out/runs/SDJC__then_NLI-2/model/run.json").read_text())["config"]
    assert made["model"] == f"{tmp_path}/out/runs/SDJC-2/model"
    assert json.loads((tmp_path / "out/negatives/manifest.json").read_text())["options"]["spans"] == "nouns"
    names = {path.name for path in (tmp_path / "out/results").iterdir()}
    (whitened,) = [name for name in names if name.endswith("-whitened")]
    (result,) = (tmp_path / "out/results" / whitened).rglob("JACSTS.json")
    # On JSNLI: the words of nli.csv, not the scored sentences.
    assert json.loads(result.read_text())["protocol"]["whitening fitted on"] == "6 training sentences"
    assert json.loads(result.read_text())["model"]["pooler"] == "avg_top2"
    assert f"Whitening: fitted on {tmp_path}/nli.csv, not on the sets." in first.out
    # Again: everything is there, and the table is the same.
    assert main([*flags, "--seeds=1,2"]) == 0
    again = capsys.readouterr()
    assert "loss" not in again.err
    assert again.out == first.out
    # Other options of a model that is there are refused.
    assert main([*flags, "--seeds=1", "--learning_rate=1e-3"]) == 2
    assert "trained with other options (learning_rate)" in capsys.readouterr().err
    # What is made serves another run.
    made = [flag for flag in flags if not flag.startswith(("--text", "--output"))]
    more = [f"--made={tmp_path}/out", f"--output={tmp_path}/other", "--rows=SDJC; average", "--seeds=1"]
    assert main([*made, *more]) == 0
    lines = capsys.readouterr().out.partition("Not run")[0].splitlines()
    assert {line.split(" |")[0] for line in lines if line.startswith("| S")} == {"| SDJC"}
    assert not (tmp_path / "other/t5").exists()


def test_rows_are_those_whose_sources_are_given() -> None:
    sources = {"corpus": "c", "negatives": "n", "general": "", "nli": ""}
    names = [row.name for row in chosen_rows("", sources)]
    assert names == ["average", "whitening", "SimCSE (domain)", "MixCSE (domain)", "SDJC"]
    assert [row.name for row in chosen_rows("SDJC; average", sources)] == ["SDJC", "average"]
    for asked, says in (("SDJC, then NLI", "needs --general or --nli"), ("BERT", "no 'BERT'")):
        with pytest.raises(UsageError, match=says):
            chosen_rows(asked, sources)


def test_a_preset_has_the_negatives_of_the_paper_or_of_the_release() -> None:
    assert preset_negatives("sdjc-base-clinic-paper") == ["--negatives=4", "--beams=200", "--spans=nouns"]
    assert preset_negatives("sdjc-large-edu-released")[::2] == ["--negatives=6", "--spans=released"]
    assert preset_negatives("") == preset_negatives("ease-bert-paper") == []


def test_rows_that_are_not_run_have_the_papers_numbers() -> None:
    shown = paper_figures()
    assert "| FastText | 42.81 |" in shown
    assert "| DiffCSE-BERT-base (wiki1m) | 79.82 | 72.59 |" in shown


def test_what_sets_rows_apart(flags: list[str]) -> None:
    given, own = parse(flags[1:])
    sources = sources_of(own, given["output"])
    configs = {row.name: config_of(row, 3, given, sources) for row in ROWS if row.sources}
    assert configs["SDJC"].data.endswith("/negatives")
    assert configs["SDJC"].negatives == 1
    assert configs["SimCSE (domain)"].negatives == 0
    assert configs["MixCSE (domain)"].mixed_negatives == 0.2
    bar = configs["SDJC bar (general and domain)"]
    assert [name.rpartition("/")[2] for name in bar.data.split(",")] == ["nli.csv", "corpus"]
    for name, row in ((row.name, row) for row in ROWS if row.first):
        assert configs[name].model == f"{run_directory(ROWS[7], 3, given['output'])}/model"
        assert row.first == ROWS[7].name == "SDJC"
    assert {config.seed for config in configs.values()} == {3}


def test_a_preset_counts_the_passes_of_sdjc_alone(flags: list[str]) -> None:
    given, own = parse([*flags[1:], "--preset=sdjc-base-clinic-paper"])
    sources = sources_of(own, given["output"])
    epochs = {row.name: config_of(row, 3, given, sources).epochs for row in ROWS if row.sources}
    assert epochs.pop("SDJC") == 20
    assert {name: count for name, count in epochs.items() if count != 1} == {"SimCSE (NLI)": 3, "SDJC, then NLI": 3}
    stated = config_of(ROWS[2], 3, {**given, "epochs": 2}, sources)
    assert stated.epochs == 2


@pytest.mark.parametrize(
    ("extra", "status", "line"),
    [
        (["--seed=3"], 2, "--seed: the recipe has several rows: use --seeds"),
        (["--data=d"], 2, "--data: the recipe has several rows: use --text"),
        (["--rows=GPT"], 2, "--rows: no 'GPT'"),
        (["--evaluation=/nowhere"], 1, "/nowhere"),
        (["--t5_flags=--no_such=1"], 2, "--t5_flags"),
        (["--softmax_size=1"], 2, "--softmax_size=1"),
        (["--model="], 2, "--model is missing"),
        (["--text="], 2, "--text or --made"),
        (["--made=x"], 2, "--text or --made"),
        (["--text=", "--made=/nowhere"], 1, "/nowhere/corpus: no finished dataset"),
    ],
)
def test_bad_command_lines(
    extra: list[str], status: int, line: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """All of these are found before anything is made."""
    assert main([*flags, *extra]) == status
    said = capsys.readouterr().err
    assert line in said
    assert not Path(next(flag for flag in flags if flag.startswith("--output=")).partition("=")[2]).exists()


@needs_all
def test_a_command_that_fails_ends_the_recipe(flags: list[str], tmp_path: Path) -> None:
    (tmp_path / "clinic.txt").write_text("")
    with pytest.raises(SystemExit) as ended:
        main(flags)
    assert ended.value.code == 1
