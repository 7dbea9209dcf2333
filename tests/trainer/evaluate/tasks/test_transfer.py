"""Transfer tasks: the layouts of SentEval, folds that are not learnt from, pairs."""

import random
from pathlib import Path

import numpy as np
import pytest

from tests.trainer.evaluate.conftest import sentences, write
from tests.trainer.pairs import WORDS
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import transfer
from wikianchor.trainer.models.encoder import Encoder


def about(number: int, rows: int, seed: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS[5 * number : 5 * number + 5], k=8)) for _ in range(rows)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number, label in enumerate(("pos", "neg")):
        write(tmp_path / f"MR/rt-polarity.{label}", about(number, 30, number))
    write(tmp_path / "CR/custrev.pos", ["alone"])
    for seed, part in enumerate(("train", "dev", "test")):
        rows = [f"{text}\t{number}" for number in (0, 1) for text in about(number, 20, seed)]
        write(tmp_path / f"SST/binary/sentiment-{part}", rows)
    for seed, name in enumerate(("train_5500", "TREC_10")):
        rows = [f"{['DESC', 'NUM', 'HUM'][n]}:x {text}" for n in range(3) for text in about(n, 20, seed)]
        write(tmp_path / f"TREC/{name}.label", [*rows, "no label"])
    for seed, part in enumerate(("train", "test")):
        rows = sentences(60, seed)
        same = [f"1\t1\t2\t{text}\t{text}" for text in rows[:30]]
        pairs = [*same, *(f"0\t1\t2\t{a}\t{b}" for a, b in zip(rows[:30], rows[30:], strict=True))]
        write(tmp_path / f"MRPC/msr_paraphrase_{part}.txt", ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String", *pairs])
    return tmp_path


def test_sets_that_are_whole_are_learnt(root: Path, tiny_model: Path) -> None:
    parts = transfer.load(EvaluationFiles(str(root)), EvaluateOptions())
    assert [(part.name, part.source.kept, part.source.broken) for part in parts] == [
        ("MR", 60, 0),
        ("SST2", 120, 0),
        ("TREC", 120, 2),
        ("MRPC", 120, 0),
    ]
    rows = transfer.score(parts, SentenceVectors(Encoder.load(str(tiny_model))), EvaluateOptions()).splits["test"]
    actual = {row["hf_subset"]: row["main_score"] for row in rows}
    assert min(actual.values()) > 0.9
    assert [len(row["accuracy_by_fold"]) for row in rows] == [10, 1, 1, 1]
    assert "f1" in rows[3]
    assert "f1" not in rows[2]


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("SST/binary/sentiment-train", ["kana\t1"] * 20, "the train part of SST2 has 1 labels"),
        ("TREC/TREC_10.label", ["nothing"], "the test part of TREC has 0 labels"),
        ("MR/rt-polarity.neg", ["kana"] * 9, "MR has 2 labels, the rarest in 9 rows"),
    ],
)
def test_sets_that_cannot_be_learnt(root: Path, name: str, lines: list[str], said: str) -> None:
    write(root / name, lines)
    files = EvaluationFiles(str(root))
    assert name.partition("/")[0][:3] not in {part.name[:3] for part in transfer.load(files, EvaluateOptions())}
    (line,) = files.failed
    assert said in line


def test_nothing_is_learnt_from_noise() -> None:
    """A fold that saw its own rows would score more than chance."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 300)
    texts = ["x"] * 300, [""] * 300
    part = transfer.Classification("noise", SetSource(), *texts, [str(label) for label in labels], ["all"] * 300)
    scores = transfer.score_one(part, draw.normal(size=(300, 40)).astype(np.float32))
    assert 0.4 < scores["accuracy"] < 0.6


def test_pairs_are_the_same_in_both_orders(tiny_model: Path) -> None:
    vectors = SentenceVectors(Encoder.load(str(tiny_model)))
    options = EvaluateOptions(normalize=True)
    forth = transfer.Classification("x", SetSource(), ["kana lona"], ["mina"], ["1"], ["all"])
    back = transfer.Classification("x", SetSource(), ["mina"], ["kana lona"], ["1"], ["all"])
    assert transfer.features(forth, vectors, options).shape == (1, 64)
    assert (transfer.features(forth, vectors, options) == transfer.features(back, vectors, options)).all()
