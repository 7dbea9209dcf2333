"""BUCC 2018: mine pairs of translations from two large collections of sentences.

Each sentence in the other language is paired with its nearest English sentence by cosine (forward search), and pairs at
or above a threshold are accepted. The threshold is the best one on the sample set, and the score is F1 on the training
set, because the gold pairs of the test set are not public. mteb's task keeps only sentences that have a translation,
and has no threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource, two_columns
from wikianchor.trainer.evaluate.languages import tag
from wikianchor.trainer.evaluate.metrics import best_threshold, cosine_blocks, f1, unit
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

TABLE = "BUCC 2018, F1"
PROTOCOL = {
    "similarity": "cosine",
    "search": "forward: each sentence of the other language proposes its nearest English one",
    "threshold": "best F1 on the sample set; equal cosines stay together",
    "score": "F1 on the training set, over all gold pairs",
}


@dataclass(frozen=True)
class Collection:
    """Sentences of two languages with their identifiers, and the pairs of identifiers that are translations."""

    foreign: dict[str, str]
    english: dict[str, str]
    gold: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Mining(Subset):
    """A language, named as de-en: the sample for the threshold, and the training set for the score."""

    sample: Collection
    training: Collection


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[Mining]:
    """Return the languages whose files exist."""
    return data.by_language(r"([a-z]{2})-en\.training\.gold", "BUCC", options.languages, read)


def read(data: EvaluationFiles, gold: str, code: str) -> Mining:
    """Read the six files of a language; the sample may be in another directory than the training set."""
    source = SetSource()
    base = gold.removesuffix("training.gold")
    sample = f"{base}sample.gold"
    if sample not in data.names:
        sample = data.find(rf"{code}-en\.sample\.gold", f"the sample of BUCC {code}-en") or sample
    training = _collection(data, gold.removesuffix("gold"), code, source)
    source.check(f"BUCC {code}-en")
    return Mining(f"{code}-en", source, _collection(data, sample.removesuffix("gold"), code, source), training)


def _collection(data: EvaluationFiles, base: str, code: str, source: SetSource) -> Collection:
    for end in (code, "en", "gold"):
        if f"{base}{end}" not in data.names:
            raise InputError(
                f"{data.path(base + end)}: is missing: BUCC needs sample and training, each of three files"
            )
    foreign, english = (dict(data.rows(base + language, source, two_columns)) for language in (code, "en"))
    gold = frozenset(data.rows(f"{base}gold", source, two_columns))
    known = frozenset(pair for pair in gold if pair[0] in foreign and pair[1] in english)
    source.broken += len(gold) - len(known)
    if not known:
        raise InputError(f"{data.path(base)}gold: names no pair of sentences that are there")
    return Collection(foreign, english, known)


def nearest(
    queries: NDArray[np.float32], targets: NDArray[np.float32], device: torch.device
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return for each query the number of the nearest target, and its cosine.

    Args:
        queries, targets: (rows, dim), of unit length.
        device: where the products are computed.
    """
    blocks = [block.max(1) for block in cosine_blocks(queries, targets, device)]
    cosines, numbers = (torch.cat(column).cpu().numpy() for column in zip(*blocks, strict=True))
    return numbers, cosines


def mine(collection: Collection, vectors: SentenceVectors) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the cosine of each proposed pair, and whether it is a gold pair; (foreign sentences,) each."""
    foreign, english = (unit(vectors(list(side.values()))) for side in (collection.foreign, collection.english))
    numbers, cosines = nearest(foreign, english, vectors.encoder.device)
    names = list(collection.english)
    pairs = zip(collection.foreign, (names[number] for number in numbers), strict=True)
    return cosines, np.array([pair in collection.gold for pair in pairs])


def score(parts: Sequence[Mining], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
    """Return F1, precision and recall of each language on the training set."""
    rows, cells = [], []
    for part in progress(parts):
        threshold = best_threshold(*mine(part.sample, vectors), len(part.sample.gold))
        cosines, right = mine(part.training, vectors)
        vectors.forget()
        kept = cosines >= threshold
        proposed, hits, gold = int(kept.sum()), int((kept & right).sum()), len(part.training.gold)
        scores = {
            "f1": f1(hits, proposed, gold),
            "precision": hits / proposed if proposed else 0.0,
            "recall": hits / gold,
            "threshold": threshold,
        }
        languages = [tag(code) for code in part.name.split("-")]
        rows.append(mteb_row(part.name, languages, scores["f1"], **scores, gold=gold))
        cells.append(TableCell(TABLE, f"en-{part.name[:2]}", scores["f1"]))
    return TaskScores({"train": rows}, cells, PROTOCOL)


TASKS = [
    EvaluationTask(
        name="BUCC.threshold",
        groups=("bucc", "multilingual", "retrieval"),
        load=load,
        score=score,
        layout="XX-en.sample.* and XX-en.training.*, each with XX, en and gold",
        home="https://comparable.limsi.fr/bucc2018/bucc2018-task.html",
    )
]
