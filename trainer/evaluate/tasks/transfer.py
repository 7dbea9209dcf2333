"""SentEval's seven transfer tasks: logistic regression over frozen vectors of English sentences.

MR, CR, SUBJ and MPQA have no split: ten folds, each scored by a classifier that learnt on the other nine. SST2, TREC
and MRPC have one. The strength of regularisation is chosen on rows held out of what a classifier learns on, or on the
set's dev part. SentEval draws its folds and trains its classifier in its own way: scores are near its own, not equal.
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
from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.evaluate.languages import tag
from wikianchor.trainer.evaluate.metrics import unit
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors, progress

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

Row = tuple[str, str, str]
Features = NDArray[np.float32]


@dataclass(frozen=True)
class Rows:
    """Labelled sentences; `second` is empty but in pairs. `part` is train, dev or test, or all where there are none."""

    first: list[str]
    second: list[str]
    labels: list[str]
    part: list[str]


@dataclass(frozen=True)
class Classification:
    """One of the seven sets."""

    name: str
    rows: Rows
    source: Source

    def places(self, part: str) -> NDArray[np.int64]:
        return np.array([place for place, found in enumerate(self.rows.part) if found == part], np.int64)


# ---------------------------------------------------------------------------------------------------------- loading


def _label_before(line: str) -> Row | None:
    """TREC: DESC:manner How did ..."""
    label, _, text = line.partition(" ")
    return (text, "", label.partition(":")[0]) if ":" in label else None


def _label_after(line: str) -> Row | None:
    """SST: text TAB 1"""
    text, tab, label = line.rpartition("\t")
    return (text, "", label) if tab else None


def _paraphrase(line: str) -> Row | None:
    """MRPC: 1 TAB id TAB id TAB sentence TAB sentence; the header has no number."""
    cells = line.split("\t")
    return (cells[3], cells[4], cells[0]) if len(cells) == 5 and cells[0] in ("0", "1") else None


def _only(label: str) -> Callable[[str], Row | None]:
    """A file of one label."""
    return lambda line: (line, "", label)


# By set: the ends of its files' paths, the part they are, how a line is read, and lines of a header.
SETS: dict[str, list[tuple[str, str, Callable[[str], Row | None], int]]] = {
    "MR": [(rf"rt-polarity\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "CR": [(rf"custrev\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "SUBJ": [(rf"subj\.{label}", "all", _only(label), 0) for label in ("objective", "subjective")],
    "MPQA": [(rf"mpqa\.{label}", "all", _only(label), 0) for label in ("pos", "neg")],
    "SST2": [(rf"binary/sentiment-{part}", part, _label_after, 0) for part in ("train", "dev", "test")],
    "TREC": [
        (name, part, _label_before, 0) for name, part in ((r"train_5500\.label", "train"), (r"TREC_10\.label", "test"))
    ],
    "MRPC": [(rf"msr_paraphrase_{part}\.txt", part, _paraphrase, 1) for part in ("train", "test")],
}


def load(data: Data, options: Options) -> list[Classification]:
    """Return those of the seven sets of which all files are there."""
    found = []
    for name, files in SETS.items():
        paths = [data.one(pattern, f"{name} ({part})") for pattern, part, *_ in files]
        if options.split == "test" and all(paths):
            found.append(_read(data, name, [str(path) for path in paths]))
    return found


def _read(data: Data, name: str, paths: Sequence[str]) -> Classification:
    source = Source()
    rows: list[tuple[Row, str]] = []
    for path, (_, part, parse, header) in zip(paths, SETS[name], strict=True):
        for line in data.lines(path, source)[header:]:
            source.rows += 1
            row = parse(line) if line else None
            if row is None or not row[0].strip() or not row[2].strip():
                source.broken += 1
            else:
                rows.append((row, part))
    source.check(name)
    first, second, labels = (list(column) for column in zip(*(row for row, _ in rows), strict=True))
    found = Classification(name, Rows(first, second, labels, [part for _, part in rows]), source)
    for part in dict.fromkeys(part for _, part, *_ in SETS[name]):
        _check(found, part)
    return found


def _check(found: Classification, part: str) -> None:
    """Raise InputError if nothing can be learnt from a part, or tested on it."""
    counts = Counter(found.rows.labels[place] for place in found.places(part))
    files = ", ".join(found.source.files)
    if not counts:
        raise InputError(f"{files}: the {part} part of {found.name} has no row: get the set again")
    if part in ("train", "all") and len(counts) < 2:
        raise InputError(f"{files}: the {part} part of {found.name} has fewer than two labels: get the set again")
    if part == "all" and min(counts.values()) < FOLDS:
        raise InputError(f"{files}: {found.name} has a label with fewer than {FOLDS} rows: get the set again")


# ---------------------------------------------------------------------------------------------------------- scoring


def features(rows: Rows, vectors: Vectors, normalize: bool) -> Features:
    """Return (rows, dim), or (rows, 2 dim) for pairs."""
    first = vectors(rows.first)
    first = unit(first) if normalize else first
    if not any(rows.second):
        return first
    second = vectors(rows.second)
    second = unit(second) if normalize else second
    return np.concatenate([np.abs(first - second), first * second], axis=1)


def fit(x: Features, y: NDArray[np.int64], strength: float) -> LogisticRegression:
    with warnings.catch_warnings():
        # A thousand steps are enough for the first digits.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LogisticRegression(C=strength, max_iter=ITERATIONS).fit(x, y)


def predict(
    x: Features,
    y: NDArray[np.int64],
    train: NDArray[np.int64],
    dev: NDArray[np.int64],
    test: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the labels of the test rows by a classifier that learnt on the train rows.

    Args:
        x: (rows, width); y: (rows,); train, dev, test: places of rows. Without dev rows some of train are held out,
            and learnt from as well once the strength is chosen.
    """
    learn = train
    if not len(dev):
        learn, dev = train_test_split(train, test_size=HELD_OUT, random_state=SEED)
    tried = [fit(x[learn], y[learn], strength).score(x[dev], y[dev]) for strength in STRENGTHS]
    return fit(x[train], y[train], STRENGTHS[int(np.argmax(tried))]).predict(x[test])


def score_one(part: Classification, x: Features) -> dict[str, Any]:
    """Return accuracy, and for two labels F1 of the second in the alphabet: of paraphrases, in MRPC."""
    names, y = np.unique(part.rows.labels, return_inverse=True)
    everything = part.places("all")
    if len(everything):
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(x, y)
        nothing = everything[:0]
        runs = [(y[test], predict(x, y, train, nothing, test)) for train, test in folds]
    else:
        test = part.places("test")
        runs = [(y[test], predict(x, y, part.places("train"), part.places("dev"), test))]
    right = [float(np.mean(gold == found)) for gold, found in runs]
    scores: dict[str, Any] = {"accuracy": float(np.mean(right)), "accuracy_by_fold": right}
    if len(names) == 2:
        scores["f1"] = float(np.mean([f1_score(gold, found, zero_division=0.0) for gold, found in runs]))
    return {**scores, "labels": len(names), "rows": len(y)}


def score(parts: Sequence[Classification], vectors: Vectors, options: Options) -> Scores:
    """Return the accuracy of each set."""
    rows, cells = [], []
    for part in progress(parts):
        found = score_one(part, features(part.rows, vectors, options.normalize))
        rows.append({"hf_subset": part.name, "languages": [tag("en")], "main_score": found["accuracy"], **found})
        cells.append(Cell(TABLE, part.name, found["accuracy"]))
    return Scores({"test": rows}, cells, {**PROTOCOL, "normalize": options.normalize})


TASKS = [
    Task(
        "Transfer.linear",
        ("transfer", "classification"),
        load,
        score,
        "rt-polarity.pos, custrev.pos, subj.objective, mpqa.pos, binary/sentiment-train, train_5500.label, "
        "msr_paraphrase_train.txt, each with its fellows",
        "https://github.com/facebookresearch/SentEval, data/downstream of its download script",
    )
]
