"""Which rows and negatives stay: consistency in a sample, a margin to the positive, and how many rows at least."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wikianchor.trainer.score import filters
from wikianchor.trainer.score.filters import REASONS, count_nearer, judge
from wikianchor.trainer.score.options import ScoreOptions
from wikianchor.trainer.score.vectors import Vectors


def options(**values: Any) -> ScoreOptions:
    return ScoreOptions(data="in", model="m", output="out", keep=True, **values)


def scores(*rows: list[float]) -> Any:
    return np.array(rows, np.float32)


def reasons(verdict: filters.Verdict) -> list[str]:
    return [REASONS[number] for number in verdict.reasons]


def test_reasons_of_rows() -> None:
    given = scores([0.8, 0.1, 0.2], [0.2, 0.0, 0.1], [0.8, 0.1, 0.1], [0.5, 0.49, 0.48], [0.5, 0.6, 0.4])
    verdict = judge(given, np.array([0, 0, 21, 20, 0]), options(rows_kept=0.0, negatives=1))
    assert reasons(verdict) == ["kept", "weak_positive", "inconsistent", "few_negatives", "kept"]
    assert verdict.negatives[[0, 4]].tolist() == [[0], [1]]
    assert verdict.near == 3


@pytest.mark.parametrize(("share", "width"), [(0.0, 3), (0.3, 2), (0.7, 1)])
def test_as_many_negatives_as_leave_enough_rows(share: float, width: int) -> None:
    given = scores([0.9, 0.1, 0.1, 0.1], [0.9, 0.9, 0.1, 0.1], [0.9, 0.9, 0.9, 0.1], [0.9, 0.9, 0.9, 0.9])
    given = given if share else given[:1]
    verdict = judge(given, np.zeros(len(given), np.int64), options(rows_kept=share))
    assert verdict.negatives.shape == (len(given), width)
    assert reasons(verdict).count("kept") >= share * len(given)


def test_rows_of_the_nearest_positives_fill_up() -> None:
    given = scores([0.1, 0.0], [0.25, 0.0], [0.2, 0.0], [0.29, 0.9], [0.9, 0.1], [0.05, 0.0])
    verdict = judge(given, np.zeros(6, np.int64), options())
    assert reasons(verdict) == ["weak_positive", "kept", "kept", "weak_positive", "kept", "weak_positive"]


def test_without_keep_everything_stays() -> None:
    given = scores([0.1, 0.9], [0.9, 0.1])
    verdict = judge(given, np.array([900, 0]), ScoreOptions(data="in", model="m", output="out"))
    assert reasons(verdict) == ["kept", "kept"]
    assert verdict.negatives.tolist() == [[0], [0]]


def test_texts_of_the_same_entity_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filters, "ROWS", 2)
    vectors = Vectors(f"{tmp_path}/vectors.npy", 6, 2)
    angles = np.array([0.0, 0.5, 0.1, 0.2, 0.3, 1.0])
    vectors._array[:] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    # Anchor 0 and positive 1; 2, 3 and 4 are nearer, 3 is of the same item, and 5 is farther.
    sample, items = np.array([1, 2, 3, 4, 5]), np.array([7, 8, 7, 9, 9])
    rows = np.array([[0, 1]] * 3)
    assert vectors.cosines(rows).ravel().tolist() == pytest.approx([np.cos(0.5)] * 3, abs=1e-3)
    assert count_nearer(vectors, rows, np.array([7, 7, 1]), sample, items).tolist() == [2, 2, 3]
