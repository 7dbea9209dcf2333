"""MLDoc: labels are learnt from frozen features, settings are chosen on English dev alone."""

import random
from pathlib import Path

import pytest
import torch

from tests.trainer.evaluate.conftest import write
from tests.trainer.pairs import WORDS
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import mldoc
from wikianchor.trainer.models.encoder import Encoder


def documents(rows: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    labels = [draw.choice(mldoc.LABELS) for _ in range(rows)]
    words_of_label = {label: WORDS[5 * number : 5 * number + 5] for number, label in enumerate(mldoc.LABELS)}
    return [f"{label}\t{' '.join(draw.choices(words_of_label[label], k=9))}" for label in labels]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    parts = {"english.train.1000": 160, "english.dev": 60, "german.test": 50, "japanese.test": 40}
    for number, (name, rows) in enumerate(parts.items()):
        write(tmp_path / "mldoc" / name, documents(rows, number))
    return tmp_path


def test_it_learns(root: Path, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mldoc, "BATCH_SIZES", (32,))
    parts = mldoc.load(EvaluationFiles(str(root)), EvaluateOptions())
    assert [part.name for part in parts] == ["train", "dev", "de", "ja"]
    scores = mldoc.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions(seeds=2))
    actual = {row["hf_subset"]: row["main_score"] for rows in scores.splits.values() for row in rows}
    assert min(actual.values()) > 0.9
    assert scores.protocol["chosen"]["learning_rate"] in mldoc.LEARNING_RATES
    assert [(cell.column, cell.average) for cell in scores.cells] == [("en (dev)", False), ("de", True), ("ja", True)]


def test_settings_come_from_dev_and_repeat() -> None:
    draw = torch.Generator().manual_seed(0)
    features = torch.randn(80, 6, generator=draw)
    labels = features[:, :4].argmax(1)
    first = mldoc.search((features[:50], labels[:50]), (features[50:], labels[50:]), 2)
    second = mldoc.search((features[:50], labels[:50]), (features[50:], labels[50:]), 2)
    assert first[0] == second[0]
    assert first[2] == second[2] == [mldoc.accuracy(layer, features[50:], labels[50:]) for layer in first[1]]
    assert torch.equal(first[1][0].weight, second[1][0].weight)
    assert not torch.equal(first[1][0].weight, first[1][1].weight)


def test_rows_and_parts(root: Path) -> None:
    lines = ["MCAT\ta  b\u3000\u3000c (c) Reuters Limited 1997", "XCAT\tno such label", "CCAT\t ", "CCAT"]
    write(root / "mldoc/german.test", lines)
    part = mldoc.load(EvaluationFiles(str(root)), EvaluateOptions(languages=("de",)))[2]
    assert (part.texts, part.labels, part.source.broken) == (["a b c"], [3], 3)
    (root / "mldoc/english.dev").unlink()
    assert mldoc.load(EvaluationFiles(str(root)), EvaluateOptions()) == []
    assert mldoc.load(EvaluationFiles(str(root)), EvaluateOptions(split="dev")) == []
