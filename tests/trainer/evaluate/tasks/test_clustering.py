"""Short texts in their layouts, and k-means over them."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.trainer.evaluate.conftest import write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.evaluate.tasks import clustering
from wikianchor.trainer.evaluate.tasks.clustering import Labelled, load_mewsc16, load_short_texts, score
from wikianchor.trainer.models.encoder import Encoder

TEXTS = ["kana lona", "mina", "ruta tena vosi", "kapo"]
LABELS = ["7", "2", "7", "30"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("agnews.txt", [f"{label}\t{text}" for text, label in zip(TEXTS, LABELS, strict=True)]),
        ("tweet.txt", [json.dumps({"text": t, "cluster": int(n)}) for t, n in zip(TEXTS, LABELS, strict=True)]),
        ("tweet.txt", [repr({"text": t, "cluster": int(n)}) for t, n in zip(TEXTS, LABELS, strict=True)]),
        ("biomedical.txt", TEXTS),
    ],
)
def test_layouts(tmp_path: Path, name: str, lines: list[str]) -> None:
    write(tmp_path / name, lines)
    if name == "biomedical.txt":
        write(tmp_path / "biomedical_label.txt", LABELS, end="\r\n")
    (part,) = load_short_texts(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert (part.texts, part.labels) == (TEXTS, [0, 1, 0, 2])
    assert part.source.rows == part.source.kept == 4


def test_names_that_others_use_too(tmp_path: Path) -> None:
    write(tmp_path / "t.txt", ["just a text"])
    write(tmp_path / "s.txt", ["1\tkana", "2\tlona", "no label", "\tmina", "3\t "])
    (part,) = load_short_texts(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert (part.name, part.texts) == ("G-S", ["kana", "lona"])
    assert (part.source.blank, part.source.broken) == (1, 2)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"biomedical.txt": ["a", "b"], "biomedical_label.txt": ["1"]}, "differ in lines"),
        ({"agnews.txt": ["1\ta", "1\tb"]}, "has one label"),
        ({"tweet.txt": ['{"text": "a"}', "{"]}, "no row of Tweet can be used"),
    ],
)
def test_broken_sets(tmp_path: Path, files: dict[str, list[str]], said: str) -> None:
    for name, lines in files.items():
        write(tmp_path / name, lines)
    with pytest.raises(InputError, match=said):
        load_short_texts(EvaluationFiles(str(tmp_path)), EvaluateOptions())


def test_mewsc16_as_released_and_as_built(tmp_path: Path) -> None:
    write(tmp_path / "released/ja_sentences.txt", ["kana", "", "lona"])
    write(tmp_path / "released/ja_categories.txt", ["スポーツ", "政治", "政治"])
    write(tmp_path / "released/de_sentences.txt", ["kana", "lona"])
    write(tmp_path / "released/de_categories.txt", ["A", "B"])
    parts = load_mewsc16(EvaluationFiles(str(tmp_path)), EvaluateOptions())
    assert [(part.name, part.texts, part.source.broken) for part in parts] == [
        ("de", ["kana", "lona"], 0),
        ("ja", ["kana", "lona"], 1),
    ]
    assert [
        part.name for part in load_mewsc16(EvaluationFiles(str(tmp_path)), EvaluateOptions(languages=("jpn",)))
    ] == ["ja"]
    table = {"language": ["sv"] * 2, "page_id": [1, 2], "sentence": ["kana", "lona"], "label": ["A", "B"]}
    for shard in (0, 1):
        (tmp_path / "built/data/sv").mkdir(parents=True, exist_ok=True)
        parquet.write_table(pa.table(table), tmp_path / f"built/data/sv/train-0000{shard}-of-00002.parquet")
    (built,) = load_mewsc16(EvaluationFiles(str(tmp_path / "built")), EvaluateOptions())
    assert (built.name, built.texts, built.labels) == ("sv", ["kana", "lona"] * 2, [0, 1, 0, 1])
    with pytest.raises(InputError, match=r"MewsC-16 is there as .*de_sentences.txt and as .*\.parquet"):
        load_mewsc16(EvaluationFiles(str(tmp_path)), EvaluateOptions())


def groups() -> Labelled:
    """Texts of three kinds that share no word with those of another."""
    texts = [f"{a} {b}" for pool in ("ka lo mi", "ru te vo", "x y z") for a in pool.split() for b in pool.split()]
    return Labelled("three", SetSource({"f": ""}, 27), texts, [0] * 9 + [1] * 9 + [2] * 9)


class Known(SentenceVectors):
    """Vectors that say which group a text is of, with noise."""

    noise = 0.05

    def __call__(self, texts: list[str]) -> np.ndarray:  # type: ignore[override]
        part = groups()
        middle = np.eye(3)[[part.labels[part.texts.index(text)] for text in texts]]
        return (middle + np.random.default_rng(0).normal(scale=self.noise, size=middle.shape)).astype(np.float32)


def test_what_is_apart_is_found(tiny_model: Path) -> None:
    scores = score([groups()], Known(Encoder.load(str(tiny_model))), EvaluateOptions(seeds=3), "T", languages=False)
    (row,) = scores.splits["test"]
    assert row["main_score"] == row["accuracy"] == row["nmi"] == 1
    assert row["accuracy_by_seed"] == [1, 1, 1]
    assert row["accuracy_std"] == 0
    assert row["majority_share"] == pytest.approx(1 / 3)
    assert [(cell.table, cell.row, cell.spread) for cell in scores.cells] == [
        ("T, accuracy", "majority label", None),
        ("T, accuracy", "", 0),
        ("T, NMI (the V-measure)", "", 0),
    ]


def test_it_is_k_means_with_ten_starts(tiny_model: Path) -> None:
    """The same as the few lines that one would write."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.cluster import KMeans

    vectors = Known(Encoder.load(str(tiny_model)))
    vectors.noise = 0.6
    part = groups()
    (row,) = score([part], vectors, EvaluateOptions(seeds=2), "T", languages=False).splits["test"]
    expected = []
    for seed in (0, 1):
        labels = KMeans(3, n_init=10, random_state=seed).fit_predict(vectors(part.texts))
        table = np.zeros((3, 3))
        for gold, actual in zip(part.labels, labels, strict=True):
            table[gold, actual] += 1
        expected.append(table[linear_sum_assignment(-table)].sum() / 27)
    assert row["accuracy_by_seed"] == expected
    assert row["accuracy"] < 1
    assert row["accuracy_std"] == pytest.approx(np.std(expected, ddof=1))
    assert clustering.protocol(EvaluateOptions(seeds=2))["seeds"] == [0, 1]
