"""Pairs that one model scores better than another."""

from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import sentences
from wikianchor.trainer.evaluate.files import SetSource
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.papers.command import main
from wikianchor.trainer.papers.figures import Case, largest_gains

GOLD = np.array([5.0, 0.0, 2.5, 1.0])
PAIRS = ScoredPairs("set", list("abcd"), list("wxyz"), GOLD, SetSource())


def test_gains_and_losses_are_by_distance_from_the_gold_score() -> None:
    first, second = np.array([1.0, 0.4, 0.5, 0.2]), np.array([0.2, -0.5, 0.1, 0.2])
    better, worse = largest_gains(PAIRS, first, second, 3)
    assert better == [Case("a", "w", 5.0, 5.0, 1.0), Case("c", "y", 2.5, 2.5, 0.5)]
    # A negative cosine is 0, and a pair with equal scores is in neither list.
    assert worse == [Case("b", "x", 0.0, 2.0, 0.0)]
    assert largest_gains(PAIRS, first, second, 1)[0] == better[:1]


def test_the_command_writes_both_lists(tmp_path: Path, tiny_model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = sentences(13)
    lines = [f"{row % 6}\t{texts[row]}\t{texts[row + 1]}" for row in range(12)]
    (tmp_path / "pairs.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "twin").symlink_to(tiny_model)
    flags = [f"--model={tiny_model}", f"--model={tmp_path / 'twin'}", f"--pairs={tmp_path}/pairs.csv", "--device=cpu"]
    assert main(["figures", "cases", *flags, f"--output={tmp_path}"]) == 0
    written = (tmp_path / "cases.md").read_text()
    assert capsys.readouterr().out == written + "\n"
    # A model has no cases against itself.
    assert written.count("| sentence 1 | sentence 2 | gold | tiny | twin |\n") == 2
    assert "0.00" not in written
