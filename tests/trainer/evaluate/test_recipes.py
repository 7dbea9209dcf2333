"""Recipes: rows trained by seed, scored, and shown as one table; nothing is trained twice."""

from pathlib import Path
from typing import Any

import pytest

from trainer.config import make
from trainer.evaluate.registry import choose
from trainer.recipes import LABSE, RECIPES, main, preset_of

SMALL = ["--device=cpu", "--max_steps=3", "--softmax_size=8", "--max_length=24", "--eval_steps=0"]


@pytest.fixture
def flags(sets: Path, pairs_dir: Path, tiny_model: Path, tmp_path: Path) -> list[str]:
    places = {"data": pairs_dir, "evaluation": sets, "dev": sets, "output": tmp_path / "out", "cache": tmp_path / "c"}
    return [*SMALL, *(f"--{name}={place}" for name, place in places.items()), f"--backbones=bert={tiny_model}"]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_every_row_is_a_run_of_known_tasks(name: str, variant: str) -> None:
    recipe = RECIPES[name]
    assert choose(recipe.tasks)
    assert len({row.name for row in recipe.rows}) == len(recipe.rows)
    for row in recipe.rows:
        if row.objective:
            options: dict[str, Any] = {**preset_of(row, variant), **recipe.base, **row.changes}
            config = make(row.objective, {**options, "data": "d", "output": "o"}, {})
            assert (config.model == LABSE) == (row.backbone == "labse")


def test_a_table_of_means_over_seeds(flags: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, "--seeds=1,2"]) == 0
    first = capsys.readouterr()
    assert next(line for line in first.out.splitlines() if "STS12" in line).startswith("|  | STS12 | STS-B | SICK-R |")
    assert "RoBERTa" not in first.out
    assert "±" not in next(line for line in first.out.splitlines() if line.startswith("| BERT (avg.)"))
    assert next(line for line in first.out.splitlines() if line.startswith("| EASE-BERT |")).count("±") == 3
    assert first.err.count("step 3/3 | loss") == 4
    assert (tmp_path / "out" / "table1.md").read_text() + "\n" == first.out
    # Again: the models are there, and the numbers are the same.
    assert main(["table1", *flags, "--seeds=1,2"]) == 0
    again = capsys.readouterr()
    assert "loss" not in again.err
    assert again.out == first.out
    # The ablation shares the full model with table 1.
    assert main(["table7", *flags, "--seeds=1"]) == 0
    assert capsys.readouterr().err.count("step 3/3 | loss") == 3


def test_other_options_are_no_silent_reuse(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, "--seeds=1"]) == 0
    assert main(["table1", *flags, "--seeds=1", "--learning_rate=1e-5"]) == 2
    assert "trained with other options (learning_rate)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        (["--seed=3"], "--seed: a recipe has several: use --seeds"),
        (["--model=m"], "--model: a recipe has several: use --backbones"),
        (["--new=tiny"], "--new: a recipe has several: use --backbones"),
        (["--backbones=gpt"], "--backbones: no 'gpt' in Table 1"),
        (["--evaluation=/nowhere"], "/nowhere"),
    ],
)
def test_bad_command_lines(flags: list[str], extra: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table1", *flags, *extra]) in (1, 2)
    assert line in capsys.readouterr().err
