"""Mining: the threshold comes from the sample, equal cosines stay together, F1 counts all gold pairs."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.trainer.evaluate.conftest import sentences, write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate import metrics
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import best_threshold, f1
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import bucc
from wikianchor.trainer.models.encoder import Encoder


def test_f1_by_hand() -> None:
    assert f1(2, 4, 5) == pytest.approx(2 * 0.5 * 0.4 / 0.9)
    assert f1(0, 0, 5) == 0
    assert f1(0, 0, 0) == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_threshold_is_the_best_of_all(seed: int) -> None:
    draw = np.random.default_rng(seed)
    cosines = draw.integers(0, 8, 20).astype(np.float32) / 8
    right = draw.random(20) < 0.5
    gold = int(right.sum()) + 2
    scores = {cut: f1(int((right & (cosines >= cut)).sum()), int((cosines >= cut).sum()), gold) for cut in set(cosines)}
    kept = cosines >= best_threshold(cosines, right, gold)
    assert f1(int((kept & right).sum()), int(kept.sum()), gold) == pytest.approx(max(scores.values()))


def test_equal_cosines_stay_together() -> None:
    """The first two would be best alone, but the third cannot be told from the second."""
    cosines = np.array([0.9, 0.5, 0.5, 0.1], np.float32)
    threshold = best_threshold(cosines, np.array([True, True, False, False]), 2)
    assert threshold == pytest.approx(0.3)
    assert best_threshold(np.array([0.4], np.float32), np.array([True]), 1) == pytest.approx(0.4)


def test_nearest_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(1)
    queries, targets = (draw.normal(size=(rows, 4)).astype(np.float32) for rows in (11, 7))
    monkeypatch.setattr(metrics, "BLOCK", 20)
    places, cosines = bucc.nearest(queries, targets, torch.device("cpu"))
    assert places.tolist() == (queries @ targets.T).argmax(1).tolist()
    assert cosines == pytest.approx((queries @ targets.T).max(1))


def collection(root: Path, part: str, rows: list[str], pairs: int) -> None:
    """The first sentences are on both sides, in another order; the others on one."""
    half = (len(rows) - pairs) // 2
    english = [*rows[:pairs][::-1], *rows[pairs : pairs + half]]
    foreign = [*rows[:pairs], *rows[pairs + half :]]
    write(root / f"de-en.{part}.de", [f"de-{n}\t{text}" for n, text in enumerate(foreign)])
    write(root / f"de-en.{part}.en", [f"en-{n}\t{text}" for n, text in enumerate(english)])
    write(root / f"de-en.{part}.gold", [f"de-{n}\ten-{pairs - 1 - n}" for n in range(pairs)])


@pytest.fixture
def root(tmp_path: Path) -> Path:
    rows = list(dict.fromkeys(sentences(90)))
    collection(tmp_path / "de-en", "sample", rows[:30], 10)
    collection(tmp_path / "de-en", "training", rows[30:80], 12)
    return tmp_path


def test_copies_are_found(root: Path, tiny_model: Path) -> None:
    (part,) = bucc.load(EvaluationFiles(str(root)), EvaluateOptions())
    scores = bucc.score([part], SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions())
    (row,) = scores.splits["train"]
    assert (row["gold"], row["recall"]) == (12, 1)
    assert row["main_score"] == pytest.approx(2 * row["precision"] / (1 + row["precision"]))
    assert row["precision"] > 0.8
    assert scores.cells[0].column == "en-de"
    assert len(part.source.files) == 6


def test_broken_collections(root: Path) -> None:
    folder = root / "de-en/de-en.sample.gold"
    lines = folder.read_text().splitlines()
    write(folder, [*lines, "de-1", "de-1\ten-999"])
    (part,) = bucc.load(EvaluationFiles(str(root)), EvaluateOptions())
    assert part.source.broken == 2
    write(folder, ["x\ty"])
    with pytest.raises(InputError, match="names no pair of sentences that are there"):
        bucc.load(EvaluationFiles(str(root)), EvaluateOptions())
    folder.unlink()
    with pytest.raises(InputError, match=r"de-en.sample.gold: is missing"):
        bucc.load(EvaluationFiles(str(root)), EvaluateOptions())
