"""MLDoc (https://arxiv.org/abs/1805.09821): a linear classifier over frozen sentence vectors, trained on English news
and tested on other languages.

The vectors are computed once, without dropout. Batch size and learning rate are chosen by the mean English dev accuracy
over the seeds. The weights of each run are those with the best English dev accuracy, computed every ten steps.
"""

from __future__ import annotations

import copy
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import asked, check_language, tag
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    Labelled,
    SentenceVectors,
    TableCell,
    TaskScores,
    mteb_row,
)

TABLE = "MLDoc, accuracy"
LABELS = ("CCAT", "ECAT", "GCAT", "MCAT")
# Published files are named by the English name of the language.
NAMES = {
    "en": "english",
    "de": "german",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "ja": "japanese",
    "ru": "russian",
    "zh": "chinese",
}
BATCH_SIZES = (32, 64, 128)
LEARNING_RATES = (0.1, 0.01, 0.001)
EPOCHS = 5
LOOK_STEPS = 10
_SPACES = re.compile(r"[ \u3000]+")
_OWNER = re.compile(r"\(c\) Reuters Limited \d{4}")


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[Labelled]:
    """Return English train and dev documents, then the test documents of other languages; none if a part is missing.

    A part is named by its language, or `train` or `dev`; labels are numbers in `LABELS`.
    """
    train, dev = (_file(data, "en", part) for part in (r"train\.1000", "dev"))
    tests = {code: _file(data, code, "test") for code in NAMES if code != "en" and asked(code, options.languages)}
    if not train or not dev or not any(tests.values()):
        return []
    parts = [read(data, train, "train"), read(data, dev, "dev")]
    return parts + [read(data, file, code) for code, file in tests.items() if file]


def _file(data: EvaluationFiles, code: str, part: str) -> str | None:
    return data.find(rf"(?:{NAMES[code]}|{code})\.{part}", f"MLDoc {code}.{part}")


def read(data: EvaluationFiles, file: str, name: str) -> Labelled:
    """Read label TAB text."""
    source = SetSource()
    rows = list(data.rows(file, source, _document))
    source.check(f"MLDoc {name}")
    check_language(file, ["en" if name in ("train", "dev") else name], [text for text, _ in rows])
    return Labelled(name, source, [text for text, _ in rows], [label for _, label in rows])


def _document(line: str) -> tuple[str, int] | None:
    label, _, text = line.partition("\t")
    clean = _OWNER.sub("", _SPACES.sub(" ", text)).strip()
    return (clean, LABELS.index(label.strip())) if label.strip() in LABELS and clean else None


# ------------------------------------------------------------------------------------------------- the classifier


def accuracy(layer: nn.Linear, features: Tensor, labels: Tensor) -> float:
    """Return the accuracy of a layer on features (rows, dim) with labels (rows,)."""
    with torch.no_grad():
        return float((layer(features).argmax(1) == labels).double().mean())


def train_linear(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], batch_size: int, learning_rate: float, seed: int
) -> tuple[nn.Linear, float]:
    """Train a layer by cross-entropy with AdamW and linear decay of the learning rate to zero.

    Args:
        train, dev: features (rows, dim) float32 and labels (rows,) int64.
        batch_size: rows in a step.
        learning_rate: learning rate of the first step.
        seed: seed of the initial weights and the order.

    Returns:
        the layer with the best dev accuracy, and this accuracy.
    """
    features, labels = train
    generator = torch.Generator().manual_seed(seed)
    layer = nn.Linear(features.shape[1], len(LABELS))
    bound = features.shape[1] ** -0.5
    for weight in layer.parameters():
        nn.init.uniform_(weight, -bound, bound, generator=generator)
    optimizer = torch.optim.AdamW(layer.parameters(), lr=learning_rate, weight_decay=0.0)
    order = torch.cat([torch.randperm(len(labels), generator=generator) for _ in range(EPOCHS)])
    batches = order.split(batch_size)
    best, best_weights = -1.0, layer.state_dict()
    for step, rows in enumerate(batches, 1):
        optimizer.param_groups[0]["lr"] = learning_rate * (1 - (step - 1) / len(batches))
        optimizer.zero_grad()
        nn.functional.cross_entropy(layer(features[rows]), labels[rows]).backward()
        optimizer.step()
        if step % LOOK_STEPS == 0 or step == len(batches):
            dev_accuracy = accuracy(layer, *dev)
            if dev_accuracy > best:
                best, best_weights = dev_accuracy, copy.deepcopy(layer.state_dict())
    layer.load_state_dict(best_weights)
    return layer, best


def search(
    train: tuple[Tensor, Tensor], dev: tuple[Tensor, Tensor], seeds: int
) -> tuple[dict[str, float], list[nn.Linear], list[float]]:
    """Return the settings with the best mean dev accuracy over seeds, and for each seed the layer and its accuracy."""
    tried = []
    for batch_size, learning_rate in itertools.product(BATCH_SIZES, LEARNING_RATES):
        runs = [train_linear(train, dev, batch_size, learning_rate, seed) for seed in range(seeds)]
        settings = {"batch_size": batch_size, "learning_rate": learning_rate}
        tried.append((settings, [layer for layer, _ in runs], [dev_accuracy for _, dev_accuracy in runs]))
    return max(tried, key=lambda run: sum(run[2]))


# --------------------------------------------------------------------------------------------------------- scoring


def score(parts: Sequence[Labelled], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
    """Return the mean and the standard deviation over seeds of each language's accuracy."""
    encoded = {
        part.name: (torch.from_numpy(vectors.features(part.texts, options)), torch.tensor(part.labels))
        for part in parts
    }
    settings, layers, dev = search(encoded["train"], encoded["dev"], options.seeds)
    rows = [_row("en", dev, parts[1])]
    rows += [_row(part.name, [accuracy(layer, *encoded[part.name]) for layer in layers], part) for part in parts[2:]]
    cells = [
        TableCell(
            TABLE,
            "en (dev)" if row["hf_subset"] == "en" else row["hf_subset"],
            row["accuracy"],
            row["accuracy_std"] if options.seeds > 1 else None,
            average=row["hf_subset"] != "en",
        )
        for row in rows
    ]
    protocol = {
        "features": "frozen, made once without dropout",
        "classifier": f"linear, AdamW, {EPOCHS} epochs, the best on English dev every {LOOK_STEPS} steps",
        "grid": {"batch_size": BATCH_SIZES, "learning_rate": LEARNING_RATES},
        "chosen": settings,
        "seeds": list(range(options.seeds)),
        "normalize": options.normalize,
    }
    return TaskScores({"validation": rows[:1], "test": rows[1:]}, cells, protocol)


def _row(code: str, accuracies: Sequence[float], part: Labelled) -> dict[str, Any]:
    mean = float(np.mean(accuracies))
    spread = float(np.std(accuracies, ddof=min(1, len(accuracies) - 1)))
    scores = {"accuracy": mean, "accuracy_std": spread, "accuracy_by_seed": list(accuracies)}
    return mteb_row(code, [tag(code)], mean, **scores, rows=len(part))


TASKS = [
    EvaluationTask(
        name="MLDoc.linear",
        groups=("mldoc", "multilingual", "classification"),
        load=load,
        score=score,
        layout="english.train.1000, english.dev and german.test, spanish.test and so on, or en.train.1000, de.test",
        home="https://github.com/facebookresearch/MLDoc, with the Reuters Corpora RCV1 and RCV2 from NIST",
    )
]
