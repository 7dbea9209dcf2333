"""The regression that compares versions: it learns what there is to learn, the same twice; errors by hand."""

import random
from pathlib import Path

import numpy as np
import pytest

from wikianchor.trainer.papers.command import main
from wikianchor.trainer.papers.construction import errors

WORDS = ["kana", "lona", "mina", "rusi", "tena", "vota"]


def test_errors_by_hand() -> None:
    measured = errors(np.array([0.0, 2.0, 4.0]), np.array([1.0, 2.0, 2.0]))
    assert measured == pytest.approx({"MAE": 1.0, "MSE": 5 / 3, "R2": 1 - (5 / 3) / (8 / 3)})
    assert np.isnan(errors(np.array([1.0, 1.0]), np.array([1.0, 2.0]))["R2"])


def lines(rows: int, seed: int, noise: bool) -> str:
    """Pairs whose score depends on the first word alone; or on nothing."""
    draw = random.Random(seed)
    rows_of_file = []
    for _ in range(rows):
        first, second = draw.choice(WORDS), draw.choice(WORDS)
        score = draw.choice((0, 5)) if noise else 5 * (WORDS.index(first) < 3)
        rows_of_file.append(f"{score}\t{first}\t{second}\n")
    return "".join(rows_of_file)


@pytest.fixture
def flags(tiny_model: Path, tmp_path: Path) -> list[str]:
    for name, rows, noise in (("good.csv", 200, False), ("noise.csv", 200, True), ("test.csv", 60, False)):
        (tmp_path / name).write_text(lines(rows, len(name), noise))
    versions = [f"--pairs={tmp_path}/good.csv", f"--pairs={tmp_path}/noise.csv", f"--test={tmp_path}/test.csv"]
    return ["construction", "compare", *versions, f"--model={tiny_model}", "--device=cpu"]


def test_the_better_version_has_the_smaller_errors(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--epochs=15", "--learning_rate=3e-3", "--batch_size=16", "--max_length=16", "--seed=3"]
    assert main([*flags, *more]) == 0
    said = capsys.readouterr().out
    good, noise = ([float(cell) for cell in line.strip("| ").split(" | ")[1:]] for line in said.splitlines()[2:])
    assert good[0] == noise[0] == 200
    assert good[1] < noise[1]
    assert good[2] < noise[2]
    assert good[3] > 0.8 > noise[3]


def test_the_same_seed_gives_the_same_table(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for seed in (3, 3, 4):
        assert main([*flags, "--epochs=2", "--learning_rate=3e-3", f"--seed={seed}"]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] != said[2]


@pytest.mark.parametrize(
    ("extra", "status", "says"),
    [
        (["--epochs=0"], 2, "--epochs=0"),
        (["--model=/nowhere"], 2, "one model is trained, and 2 are given"),
        (["--test=/nowhere"], 1, "no such file"),
    ],
)
def test_one_line_for_what_is_wrong(
    extra: list[str], status: int, says: str, flags: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*flags, *extra]) == status
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert says in said[0]


def test_a_model_that_does_not_exist(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    others = [flag for flag in flags if not flag.startswith("--model")]
    assert main([*others, "--model=/nowhere"]) == 1
    assert "no such directory" in capsys.readouterr().err
