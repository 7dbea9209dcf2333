"""SentEval's seven transfer tasks (https://arxiv.org/abs/1803.05449): logistic regression over frozen sentence vectors.

MR, CR, SUBJ and MPQA have no split, and are scored by ten-fold cross-validation. SST2, TREC and MRPC have a split. The
strength of regularisation is chosen on the dev part, or on held-out training rows. SentEval's folds and classifier
differ, so scores are close to SentEval's and not equal.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold, train_test_split

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import check_language, tag
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    SentenceVectors,
    Subset,
    TableCell,
    TaskScores,
    mteb_row,
    progress,
)

TABLE = "Transfer tasks, accuracy"
FOLDS = 10
HELD_OUT = 0.1
STRENGTHS = (0.25, 1.0, 4.0, 16.0)
ITERATIONS = 1000
SEED = 0
PROTOCOL = {
    "features": "frozen; |u - v| and u * v for the pairs of MRPC",
    "classifier": f"logistic regression, L2, C of {STRENGTHS}",
    "C": f"best on the dev part, else on {HELD_OUT:.0%} of the training rows",
    "folds": f"{FOLDS}, stratified, seed {SEED}, where the set has no test part",
}

RawRow = tuple[str, str, str]
Features = NDArray[np.float32]


@dataclass(frozen=True)
class Classification(Subset):
    """One of the seven sets: labelled sentences or pairs of sentences, row by row.

    Attributes:
        first, second: the sentences; `second` is "" for single sentences.
        labels: the labels.
        part: train, dev or test; all for a set without a split.
    """

    first: list[str]
    second: list[str]
    labels: list[str]
    part: list[str]

    def indices(self, part: str) -> NDArray[np.int64]:
        """Return the rows of a part."""
        return np.flatnonzero(np.array(self.part) == part)


# ---------------------------------------------------------------------------------------------------------- loading


def _label_before(line: str) -> RawRow | None:
    """TREC: DESC:manner How did ..."""
    label, _, text = line.partition(" ")
    return (text, "", label.partition(":")[0]) if ":" in label else None


def _label_after(line: str) -> RawRow | None:
    """SST: text TAB 1"""
    text, tab, label = line.rpartition("\t")
    return (text, "", label) if tab else None


def _paraphrase(line: str) -> RawRow | None:
    """MRPC: 1 TAB id TAB id TAB sentence TAB sentence; the header has no number."""
    cells = line.split("\t")
    return (cells[3], cells[4], cells[0]) if len(cells) == 5 and cells[0] in ("0", "1") else None


def _complete(parse: Callable[[str], RawRow | None]) -> Callable[[str], RawRow | None]:
    """Return the parser that leaves out rows without a sentence or a label."""
    return lambda line: row if line and (row := parse(line)) and row[0].strip() and row[2].strip() else None


def _only(label: str) -> Callable[[str], RawRow | None]:
    """Return the parser of a file whose rows all have this label."""
    return lambda line: (line, "", label)


# For each set its files: pattern of the path, part, parser of a line, number of header lines.
SETS: dict[str, list[tuple[str, str, Callable[[str], RawRow | None], int]]] = {
    "MR": [(rf"rt-polarity\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "CR": [(rf"custrev\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "SUBJ": [(rf"subj\.{label}", "all", _only(label), 0) for label in ("objective", "subjective")],
    "MPQA": [(rf"mpqa\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "SST2": [
        (rf"(?:binary|SIF[^/]*/data)/sentiment-{part}", part, _label_after, 0) for part in ("train", "dev", "test")
    ],
    "TREC": [
        (name, part, _label_before, 0) for name, part in ((r"train_5500\.label", "train"), (r"TREC_10\.label", "test"))
    ],
    "MRPC": [(rf"msr_paraphrase_{part}\.txt", part, _paraphrase, 1) for part in ("train", "test")],
}


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[Classification]:
    """Return those of the seven sets whose files all exist."""
    complete = [name for name, files in SETS.items() if all(data.match(pattern) for pattern, *_ in files)]
    return data.read_each(complete, lambda name: _read(data, name))


def _read(data: EvaluationFiles, name: str) -> Classification:
    source = SetSource()
    paths = [str(data.find(pattern, f"{name} ({part})")) for pattern, part, *_ in SETS[name]]
    rows: list[tuple[RawRow, str]] = []
    for path, (_, part, parse, header) in zip(paths, SETS[name], strict=True):
        rows += [(row, part) for row in data.rows(path, source, _complete(parse), header, "latin-1")]
    source.check(name)
    first, second, labels = (list(column) for column in zip(*(row for row, _ in rows), strict=True))
    check_language(paths[0], ["en"], first)
    dataset = Classification(name, source, first, second, labels, [part for _, part in rows])
    for part in dict.fromkeys(part for _, part, *_ in SETS[name]):
        _check(dataset, part)
    return dataset


def _check(dataset: Classification, part: str) -> None:
    """Raise InputError if a part has no rows, or too few labels or rows of a label to train a classifier."""
    counts = Counter(dataset.labels[row] for row in dataset.indices(part))
    rarest = min(counts.values(), default=0)
    if len(counts) < (2 if part in ("train", "all") else 1) or rarest < (FOLDS if part == "all" else 1):
        raise InputError(
            f"{', '.join(dataset.source.files)}: the {part} part of {dataset.name} has {len(counts)} labels, the "
            f"rarest in {rarest} rows, which is too few: get the set again"
        )


# ---------------------------------------------------------------------------------------------------------- scoring


def features(rows: Classification, vectors: SentenceVectors, options: EvaluateOptions) -> Features:
    """Return the features: vectors u, (rows, dim), or [|u - v|, u * v] of pairs, (rows, 2 dim)."""
    first = vectors.features(rows.first, options)
    if not any(rows.second):
        return first
    second = vectors.features(rows.second, options)
    return np.concatenate([np.abs(first - second), first * second], axis=1)


def fit(x: Features, y: NDArray[np.int64], strength: float) -> LogisticRegression:
    """Return a classifier of features (rows, width) with labels (rows,)."""
    with warnings.catch_warnings():
        # A thousand iterations are enough for the accuracy to be stable.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=strength, max_iter=ITERATIONS).fit(x, y)


def predict(
    x: Features,
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    dev: NDArray[np.int64],
    test: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Train a classifier on the train rows and return its labels of the test rows.

    Without dev rows, the strength of regularisation is chosen on held-out train rows, and the classifier is then
    trained on all train rows.

    Args:
        x: (rows, width) features.
        y: (rows,) labels.
        train, dev, test: indices of rows.
    """
    learn = train
    if not len(dev):
        learn, dev = train_test_split(train, test_size=HELD_OUT, random_state=SEED)
    tried = [fit(x[learn], y[learn], strength).score(x[dev], y[dev]) for strength in STRENGTHS]
    return fit(x[train], y[train], STRENGTHS[int(np.argmax(tried))]).predict(x[test])


def score_one(part: Classification, x: Features) -> dict[str, Any]:
    """Return accuracy, and F1 of the second label for sets of two labels: that of paraphrases in MRPC."""
    names, y = np.unique(part.labels, return_inverse=True)
    if len(part.indices("all")):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(x, y)
        runs = [(y[test], predict(x, y, train, part.indices("dev"), test)) for train, test in folds]
    else:
        test = part.indices("test")
        runs = [(y[test], predict(x, y, part.indices("train"), part.indices("dev"), test))]
    accuracies = [float(np.mean(gold == predicted)) for gold, predicted in runs]
    scores: dict[str, Any] = {"accuracy": float(np.mean(accuracies)), "accuracy_by_fold": accuracies}
    if len(names) == 2:
        scores["f1"] = float(np.mean([f1_score(gold, predicted, zero_division=0.0) for gold, predicted in runs]))
    return {**scores, "labels": len(names), "rows": len(y)}


def score(parts: Sequence[Classification], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
    """Return the accuracy of each set."""
    rows, cells = [], []
    for part in progress(parts):
        scores = score_one(part, features(part, vectors, options))
        rows.append(mteb_row(part.name, [tag("en")], scores["accuracy"], **scores))
        cells.append(TableCell(TABLE, part.name, scores["accuracy"]))
    return TaskScores({"test": rows}, cells, {**PROTOCOL, "normalize": options.normalize})


TASKS = [
    EvaluationTask(
        name="Transfer.linear",
        groups=("transfer", "classification"),
        load=load,
        score=score,
        layout="rt-polarity.pos, custrev.pos, subj.objective, mpqa.pos, binary/sentiment-train, train_5500.label, "
        "msr_paraphrase_train.txt, each with its fellows",
        home="https://github.com/facebookresearch/SentEval, data/downstream of its download script",
    )
]
