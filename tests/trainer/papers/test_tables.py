"""EASE's tables: rows trained by seed, scored, and shown as one table; nothing is trained twice."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.trainer.evaluate.conftest import sentences, sts_rows, write
from tests.trainer.evaluate.tasks.test_bucc import collection
from tests.trainer.evaluate.tasks.test_mldoc import documents
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.trainer.config import make
from wikianchor.trainer.entity_vectors import initial_vectors
from wikianchor.trainer.evaluate.registry import choose
from wikianchor.trainer.evaluate.tasks import mldoc
from wikianchor.trainer.papers.command import main as run_papers
from wikianchor.trainer.papers.rows import TABLES

LABSE = "sentence-transformers/LaBSE"
RECIPES = {name: table for name, table in TABLES.items() if name != "sdjc"}
SMALL = ["--device=cpu", "--max_steps=3", "--softmax_size=8", "--max_length=24", "--eval_steps=0"]


def main(argv: list[str]) -> int:
    return run_papers(["tables", *argv])


@pytest.fixture
def flags(sets: Path, pairs_dir: Path, tiny_model: Path, tmp_path: Path) -> list[str]:
    paths = {"data": pairs_dir, "evaluation": sets, "dev": sets, "output": tmp_path / "out", "cache": tmp_path / "c"}
    return [*SMALL, *(f"--{name}={path}" for name, path in paths.items()), f"--backbones=bert={tiny_model}"]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_every_row_is_a_run_of_known_tasks(name: str, variant: str) -> None:
    recipe = RECIPES[name]
    assert choose(recipe.tasks.split(","))
    assert len({row.name for row in recipe.rows}) == len(recipe.rows)
    for row in recipe.rows:
        if row.objective:
            options: dict[str, Any] = {**row.preset_options(variant), **row.defaults, **row.options}
            config = make(row.objective, {**options, "data": "d", "output": "o"}, {})
            assert (config.model == LABSE) == (row.backbone == "labse")


def test_a_table_of_means_over_seeds(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, "--seeds=1,2"]) == 0
    first = capsys.readouterr()
    assert next(line for line in first.out.splitlines() if "STS12" in line).startswith("|  | STS12 | STS-B | SICK-R |")
    assert "RoBERTa" not in first.out
    assert "±" not in next(line for line in first.out.splitlines() if line.startswith("| BERT (avg.)"))
    # Three sets and their average.
    assert (
        next(line for line in first.out.splitlines() if line.startswith("| EASE-BERT, w/o Wikipedia2Vec |")).count("±")
        == 4
    )
    # In the first line and in every table.
    assert first.out.splitlines()[0].endswith("clustering, w/o Wikipedia2Vec")
    assert "| EASE-BERT |" not in first.out
    assert "seeds 1, 2: means, ± standard deviations. Settings of EASE's paper, but `--max_steps=3`" in first.out
    assert not (tmp_path / "out" / "report.md").exists()
    assert first.err.count("step 3/3 | loss") == 4
    assert (tmp_path / "out" / "table1.md").read_text() + "\n" == first.out
    # Again: the models are there, and the numbers are the same.
    assert main(["table1", *flags, "--seeds=1,2"]) == 0
    again = capsys.readouterr()
    assert "loss" not in again.err
    assert again.out == first.out
    # The ablation shares the full model with table 1.
    assert main(["table7", *flags, "--seeds=1"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("step 3/3 | loss") == 2
    # Without vectors to begin from, the row without them would be the same again.
    line = "- EASE-BERT w/o Wikipedia2Vec: the same as with them, since there are no --entity_vectors"
    assert line in shown.out.splitlines()


def test_a_vanilla_model_has_the_pooler_of_its_ease() -> None:
    """Table 7, "w/o all": footnote 18 of the thesis."""
    for name, pooler in (("table7", "cls_before_pooler"), ("table7-multilingual", "avg")):
        assert {row.pooler for row in RECIPES[name].rows if row.name.endswith("w/o all")} == {pooler}


def test_multilingual_models_are_chosen_by_two_sets() -> None:
    for recipe in RECIPES.values():
        for row in recipe.rows:
            if row.objective and row.backbone != "labse":
                both = row.backbone in ("mbert", "xlmr")
                sets = {**row.preset_options("paper"), **row.defaults, **row.options}["dev_tasks"]
                assert sets == (("STSBenchmark", "SICK-R") if both else ("STSBenchmark",))


def test_other_options_are_no_silent_reuse(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, "--seeds=1"]) == 0
    assert main(["table1", *flags, "--seeds=1", "--learning_rate=1e-5"]) == 2
    assert "trained with other options (learning_rate)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        (["--seed=3"], "--seed: a table has several: use --seeds"),
        (["--model=m"], "--model: a table has several: use --backbones"),
        (["--new=tiny"], "--new: a table has several: use --backbones"),
        (["--backbones=gpt"], "--backbones: no 'gpt' in Table 1"),
        (["--rows=EASE-GPT"], "--rows: no 'EASE-GPT'"),
        (["--evaluation=/nowhere"], "/nowhere"),
    ],
)
def test_bad_command_lines(flags: list[str], extra: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, *extra]) in (1, 2)
    assert line in capsys.readouterr().err


def write_sts17(root: Path) -> None:
    for number, track in enumerate(("en-en", "es-es", "ar-en")):
        write(root / f"STS.{track}.txt", ["\t".join(row) for row in sts_rows(20, number)])


def write_tatoeba(root: Path) -> None:
    for code in ("kab", "pam", "deu"):
        for side in (code, "eng"):
            write(root / f"tatoeba.{code}-eng.{side}", sentences(20))


def write_mewsc16(root: Path) -> None:
    for code in ("de", "ja"):
        write(root / f"{code}_sentences.txt", sentences(20))
        write(root / f"{code}_categories.txt", ["A", "B"] * 10)


def write_mldoc(root: Path) -> None:
    for number, (name, rows) in enumerate({"english.train.1000": 40, "english.dev": 20, "german.test": 20}.items()):
        write(root / name, documents(rows, number))


def write_bucc(root: Path) -> None:
    rows = list(dict.fromkeys(sentences(90)))
    collection(root, "sample", rows[:30], 10)
    collection(root, "training", rows[30:80], 12)


# The sets that a recipe needs beside those of `sets`, the columns it shows, its rows that are no training.
EXPECTED: dict[str, tuple[Callable[[Path], None] | None, str, int]] = {
    "table1": (None, "|  | STS12 | STS-B | SICK-R | Avg. of 3 |", 5),
    "table2": (write_sts17, "|  | AR-EN | EN-EN | ES-ES | Avg. of 3 |", 2),
    "table3": (write_mewsc16, "|  | de | ja | Avg. of 2 |", 2),
    "table4": (write_tatoeba, "|  | kab | pam | Avg. of 2 |", 2),
    "table6": (write_mldoc, "|  | en (dev) | de |", 2),
    "table7": (None, "|  | STS12 | STS-B | SICK-R | Avg. of 3 |", 2),
    "table7-multilingual": (write_sts17, "|  | AR-EN | EN-EN | ES-ES | Avg. of 3 |", 2),
    "table9": (None, "|  | STS-B | SICK-R | Avg. of 2 |", 0),
    "table9-balance": (None, "|  | STS-B | SICK-R | Avg. of 2 |", 0),
    "table10": (None, "|  | STS-B | SICK-R | Avg. of 2 |", 0),
    "table11": (write_bucc, "|  | en-de |", 3),
}


# The grids have dozens of rows that differ in a number alone.
GRIDS = ("table9", "table9-balance")


@pytest.mark.parametrize("name", sorted(RECIPES.keys() - GRIDS))
def test_every_recipe_ends_in_its_table(
    name: str,
    sets: Path,
    tiny_model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write_set, head, untrained = EXPECTED[name]
    if write_set is not None:
        write_set(sets / "more")
    monkeypatch.setattr(mldoc, "BATCH_SIZES", (32,))
    monkeypatch.setattr(mldoc, "LEARNING_RATES", (1e-3,))
    recipe = RECIPES[name]
    models = ",".join(f"{backbone}={tiny_model}" for backbone in dict.fromkeys(row.backbone for row in recipe.rows))
    paths = {
        "data": write_pairs(tmp_path / "pairs", pair_rows(140)),
        "evaluation": sets,
        "dev": sets,
        "output": tmp_path / "o",
    }
    flags = [*SMALL, "--max_steps=1", "--seeds=1", f"--backbones={models}", f"--cache={tmp_path / 'c'}"]
    vectors = tmp_path / "vectors.safetensors"
    assert initial_vectors.main([f"--data={paths['data']}", f"--encode={tiny_model}", f"--output={vectors}"]) == 0
    flags.append(f"--entity_vectors={vectors}")
    capsys.readouterr()
    assert main([name, *flags, *(f"--{flag}={path}" for flag, path in paths.items())]) == 0
    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == f"## {recipe.title}"
    assert any(line.startswith(head) for line in lines), shown.out
    rows_of_table = [row for row in recipe.rows if not row.checkpoint]
    for row in rows_of_table:
        assert any(line.startswith(f"| {row.name} | ") for line in lines), row.name
    trained = sum(bool(row.objective) for row in recipe.rows)
    assert shown.err.count("step 1/1 | loss") == trained == len(rows_of_table) - untrained


def test_the_grids_are_those_of_the_paper_and_the_thesis() -> None:
    sizes = {(row.options["softmax_size"], row.options["learning_rate"]) for row in RECIPES["table9"].rows}
    assert sizes == {(size, rate) for size in (64, 128, 256, 512) for rate in (3e-5, 5e-5)}
    assert len(RECIPES["table9"].rows) == 6 * len(sizes)
    weights = {tuple(row.options.values()) for row in RECIPES["table9-balance"].rows}
    assert weights == {(tau, weight) for tau in (100, 10, 1) for weight in (0.01, 0.1, 1)}
    # The settings of table 9 are in the grid.
    for row in RECIPES["table9"].rows:
        assert RECIPES["table9"].split == "dev"
        preset = row.preset_options("paper")
        assert (preset["softmax_size"], preset["learning_rate"]) in sizes


def test_a_grid_trains_each_point(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table9-balance", *flags, "--seeds=1", "--max_steps=1"]) == 0
    shown = capsys.readouterr()
    assert shown.err.count("step 1/1 | loss") == 9
    assert "| EASE-BERT tau 1, lambda 0.1, w/o Wikipedia2Vec | " in shown.out


def test_rows_that_are_not_run_have_the_papers_numbers(
    flags: list[str], tiny_model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        dataclasses.replace(row, checkpoint=str(tiny_model)) if row.checkpoint else row
        for row in TABLES["table1"].rows
        if not row.checkpoint or row.name.startswith("CT-BERT")
    ]
    monkeypatch.setitem(TABLES, "table1", dataclasses.replace(TABLES["table1"], rows=rows))
    assert main(["table1", *flags, "--seeds=1", "--max_steps=1", "--published"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("| CT-BERT, published | ") for line in lines)
    assert any(line.startswith("| BERT whitening | ") for line in lines)
    glove = "| GloVe embeddings (avg.) | 55.1 | 70.7 | 59.7 | 68.3 | 63.7 | 58.0 | 53.8 | 61.3 |"
    assert lines[lines.index("Not run: the paper's own numbers, table 14") :].count(glove) == 1


def test_without_its_set_a_recipe_trains_nothing(
    flags: list[str], sets: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table11", *flags, "--backbones=mbert"]) == 1
    assert "BUCC.threshold: no test part in" in capsys.readouterr().err
    shutil.rmtree(sets)
    sets.mkdir()
    assert main(["table7", *flags]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("papers: ")
    assert "get it from" in line
