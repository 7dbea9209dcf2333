"""Alignment and uniformity over whole sets, and the plot of them."""

from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import sts_rows, write
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import alignment, uniformity
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import sphere
from wikianchor.trainer.models.encoder import Encoder


def test_over_the_whole_set(sets: Path, tiny_model: Path) -> None:
    for pair in ("en-de", "en-tr"):
        write(sets / f"STS.{pair}.txt", ["\t".join(row) for row in sts_rows(30, len(pair))])
    encoder = Encoder.load(str(tiny_model))
    parts = sphere.load(EvaluationFiles(str(sets)), EvaluateOptions(split="test"))
    assert [part.name for part in parts] == ["dev", "en-de", "en-tr"]
    scores = sphere.score(parts, SentenceVectors(encoder), EvaluateOptions())
    (row,) = scores.splits["validation"]
    first, second = encoder.encode(parts[0].first), encoder.encode(parts[0].second)
    near = parts[0].gold > 4
    assert 0 < near.sum() == row["positive_pairs"] < 40
    assert row["alignment"] == pytest.approx(alignment(first[near], second[near]), rel=1e-4)
    assert row["uniformity"] == pytest.approx(uniformity(np.concatenate([first, second])), rel=1e-4)
    values = {(cell.table, cell.column): cell.value for cell in scores.cells}
    mean = np.mean([row["uniformity"] for row in scores.splits["test"]])
    assert values["Alignment and uniformity, multilingual", "uniformity"] == pytest.approx(mean)
