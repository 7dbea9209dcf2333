"""SDJC's table: rows of several sources, a second stage, nothing made twice."""

import json
from pathlib import Path

import pytest

from tests.t5 import TEXTS, write_corpus, write_negatives
from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.papers.command import main
from wikianchor.trainer.papers.options import parse
from wikianchor.trainer.papers.rows import TABLES
from wikianchor.trainer.papers.tables import TableRun

WORDS = ["kana", "lona", "mina", "rusi", "tena", "vota"]
ROWS = TABLES["sdjc"].rows


@pytest.fixture
def flags(tiny_model: Path, tmp_path: Path) -> list[str]:
    write_corpus(tmp_path / "clinic/corpus", TEXTS)
    write_negatives(tmp_path / "clinic/negatives", TEXTS)
    pairs = [f"{n % 6}\t猫 {WORDS[n % 6]} {WORDS[n % 5]}\t猫 {WORDS[n % 4]} {WORDS[n % 3]}" for n in range(12)]
    sets = tmp_path / "sets"
    sets.mkdir()
    (sets / "JAC-sts-test.csv").write_text("\n".join(pairs) + "\n")
    (tmp_path / "nli.csv").write_text("sent0,sent1,hard_neg\n" + "kana lona,kana,mina\nrusi,rusi tena,vota\n" * 20)
    return [
        *("tables", "sdjc", f"--data={tmp_path}/clinic", f"--model={tiny_model}", f"--evaluation={sets}"),
        *(f"--output={tmp_path}/out", f"--nli={tmp_path}/nli.csv", f"--general={tmp_path}/nli.csv"),
        *("--device=cpu", "--softmax_size=8", "--max_steps=2", "--max_length=24"),
    ]


def test_a_table_of_all_rows(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*flags, "--seeds=1,2"]) == 0
    first = capsys.readouterr()
    lines = [line for line in first.out.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines[1 : 1 + len(ROWS)]] == [row.name for row in ROWS]
    # Rows that are trained have a mean over the seeds.
    assert [("±" in line) for line in lines[1 : 1 + len(ROWS)]] == [bool(row.data) for row in ROWS]
    assert (tmp_path / "out/sdjc.md").read_text() + "\n" == first.out
    second_stage = json.loads((tmp_path / "out/runs/SDJC_then_NLI-2/run.json").read_text())
    assert second_stage["model"] == f"{tmp_path}/out/runs/SDJC-2/model"
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
    assert "| FastText | 42.81 |" in first.out
    assert "| DiffCSE-BERT-base (wiki1m) | 79.82 | 72.59 |" in first.out


def test_some_rows(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*flags, "--rows=SDJC; average", "--seeds=1"]) == 0
    lines = capsys.readouterr().out.partition("Not run")[0].splitlines()
    assert {line.split(" |")[0] for line in lines if line.startswith("| S")} == {"| SDJC"}


def run_of(flags: list[str]) -> TableRun:
    """Return the run that a command line asks for."""
    _, chosen, given = parse(flags)
    return TableRun(TABLES["sdjc"], given, chosen)


def test_rows_are_those_whose_sources_are_given(flags: list[str]) -> None:
    flags = [flag for flag in flags if not flag.startswith(("--nli", "--general"))]
    rows, notes = run_of(flags).rows()
    assert [row.name for row in rows] == ["average", "whitening", "SimCSE (domain)", "MixCSE (domain)", "SDJC"]
    assert "SDJC, then NLI: needs --nli" in notes
    for asked, says in (("SDJC, then NLI", "needs --nli"), ("BERT", "no 'BERT'")):
        with pytest.raises(UsageError, match=says):
            run_of([*flags, f"--rows={asked}"]).rows()


def configs_of(run: TableRun) -> dict[str, Config]:
    """Return the options of each row that is trained."""
    return {row.name: run.config(row, 3) for row in ROWS if row.objective}


def test_what_sets_rows_apart(flags: list[str]) -> None:
    run = run_of(flags)
    configs = configs_of(run)
    assert configs["SDJC"].data.endswith("/clinic/negatives")
    assert configs["SDJC"].negatives == 1
    assert configs["SimCSE (domain)"].negatives == 0
    assert configs["MixCSE (domain)"].mixed_negatives == 0.2
    bar = configs["SDJC bar (general and domain)"]
    assert [name.rpartition("/")[2] for name in bar.data.split(",")] == ["nli.csv", "corpus"]
    for row in ROWS:
        if row.first:
            assert configs[row.name].model == f"{run.directory('SDJC', 3)}/model"
            assert row.first == ROWS[7].name == "SDJC"
    assert {config.seed for config in configs.values()} == {3}


def test_a_preset_counts_the_passes_of_sdjc_alone(flags: list[str]) -> None:
    preset = [*flags, "--preset=sdjc-base-clinic-paper"]
    epochs = {name: config.epochs for name, config in configs_of(run_of(preset)).items()}
    assert epochs.pop("SDJC") == 20
    assert {name: count for name, count in epochs.items() if count != 1} == {"SimCSE (NLI)": 3, "SDJC, then NLI": 3}
    assert run_of([*preset, "--epochs=2"]).config(ROWS[2], 3).epochs == 2


def test_a_preset_has_a_model(flags: list[str]) -> None:
    flags = [flag for flag in flags if not flag.startswith("--model")]
    run = run_of([*flags, "--preset=sdjc-base-clinic-paper"])
    assert run.model(ROWS[0], 1) == run.config(ROWS[7], 1).model == "cl-tohoku/bert-base-japanese-v3"


@pytest.mark.parametrize(
    ("extra", "status", "line"),
    [
        (["--seed=3"], 2, "--seed: a table has several: use --seeds"),
        (["--then=d"], 2, "unknown flag --then=d"),
        (["--rows=GPT"], 2, "--rows: no 'GPT'"),
        (["--evaluation=/nowhere"], 1, "/nowhere"),
        (["--softmax_size=1"], 2, "--softmax_size=1"),
        (["--model="], 2, "--model is missing"),
        (["--data="], 2, "--data is missing"),
        (["--data=/nowhere"], 1, "/nowhere/"),
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
