"""BUCC 2018: which sentences of two large collections are translations of each other.

Each sentence of the other language proposes its nearest English one by cosine ("forward search"), and proposals at or
above a threshold count. The threshold is the best one on the sample set, the score is F1 on the training set, since
the test set's answers are not public. mteb's task keeps only sentences that have a translation, and has no threshold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.metrics import best_threshold, f1, unit
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors, progress

TABLE = "BUCC 2018, F1"
PROTOCOL = {
    "similarity": "cosine",
    "search": "forward: each sentence of the other language proposes its nearest English one",
    "threshold": "best F1 on the sample set; equal cosines stay together",
    "score": "F1 on the training set, over all gold pairs",
}
# Cosines held at once: 512 MB.
BLOCK = 1 << 27


@dataclass(frozen=True)
class Collection:
    """Sentences of two languages with their identifiers, and the pairs of identifiers that are translations."""

    foreign: dict[str, str]
    english: dict[str, str]
    gold: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Mining:
    """A language, named as de-en: where the threshold is found, and where it is used."""

    name: str
    sample: Collection
    training: Collection
    source: Source


def load(data: Data, options: Options) -> list[Mining]:
    """Return the languages of which sample and training set are there."""
    names: dict[str, list[str]] = {}
    for file, match in data.match(r"([a-z]{2})-en\.training\.gold").items():
        names.setdefault(match[1], []).append(file)
    chosen = sorted(code for code in names if options.split == "test" and asked(code, options.languages))
    return [read(data, str(data.same(names[code], f"BUCC {code}-en")), code) for code in chosen]


def read(data: Data, gold: str, code: str) -> Mining:
    """Read the six files of a language, those of the sample beside the others or in a folder of their own."""
    source = Source()
    base = gold.removesuffix("training.gold")
    sample = f"{base}sample.gold"
    if sample not in data.names:
        sample = data.one(rf"{code}-en\.sample\.gold", f"the sample of BUCC {code}-en") or sample
    training = _collection(data, gold.removesuffix("gold"), code, source)
    found = Mining(f"{code}-en", _collection(data, sample.removesuffix("gold"), code, source), training, source)
    source.check(f"BUCC {code}-en")
    return found


def _collection(data: Data, base: str, code: str, source: Source) -> Collection:
    for end in (code, "en", "gold"):
        if f"{base}{end}" not in data.names:
            raise InputError(
                f"{data.path(base + end)}: is missing: BUCC needs sample and training, each of three files"
            )
    foreign, english = (dict(_rows(data, base + language, source)) for language in (code, "en"))
    gold = frozenset(_rows(data, f"{base}gold", source))
    known = frozenset(pair for pair in gold if pair[0] in foreign and pair[1] in english)
    source.broken += len(gold) - len(known)
    if not known:
        raise InputError(f"{data.path(base)}gold: names no pair of sentences that are there")
    return Collection(foreign, english, known)


def _rows(data: Data, file: str, source: Source) -> Iterator[tuple[str, str]]:
    """Yield two columns: an identifier and a sentence, or two identifiers."""
    for line in data.lines(file, source):
        source.rows += 1
        first, tab, second = (line or "").partition("\t")
        if tab and first.strip() and second.strip():
            yield first.strip(), second.strip()
        else:
            source.broken += 1


def nearest(
    queries: NDArray[np.float32], targets: NDArray[np.float32], device: torch.device
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """queries, targets: (rows, dim) unit-norm; returns for each query the nearest target and its cosine."""
    against = torch.from_numpy(targets).to(device).T
    step = max(1, BLOCK // len(targets))
    found = [
        (torch.from_numpy(queries[start : start + step]).to(device) @ against).max(1)
        for start in range(0, len(queries), step)
    ]
    cosines, places = (torch.cat(column).cpu().numpy() for column in zip(*found, strict=True))
    return places, cosines


def mine(collection: Collection, vectors: Vectors) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return the cosine of each proposal, and whether it is right: (foreign sentences,) each."""
    foreign, english = (unit(vectors(list(side.values()))) for side in (collection.foreign, collection.english))
    places, cosines = nearest(foreign, english, vectors.encoder.device)
    names = list(collection.english)
    pairs = zip(collection.foreign, (names[place] for place in places), strict=True)
    return cosines, np.array([pair in collection.gold for pair in pairs])


def score(parts: Sequence[Mining], vectors: Vectors, options: Options) -> Scores:
    """Return F1, precision and recall of each language on the training set."""
    rows, cells = [], []
    for part in progress(parts):
        threshold = best_threshold(*mine(part.sample, vectors), len(part.sample.gold))
        cosines, right = mine(part.training, vectors)
        vectors.forget()
        kept = cosines >= threshold
        proposed, hits, gold = int(kept.sum()), int((kept & right).sum()), len(part.training.gold)
        found = {
            "f1": f1(hits, proposed, gold),
            "precision": hits / proposed if proposed else 0.0,
            "recall": hits / gold,
            "threshold": threshold,
        }
        languages = [tag(code) for code in part.name.split("-")]
        rows.append({"hf_subset": part.name, "languages": languages, "main_score": found["f1"], **found, "gold": gold})
        cells.append(Cell(TABLE, f"en-{part.name[:2]}", found["f1"]))
    return Scores({"train": rows}, cells, PROTOCOL)


TASKS = [
    Task(
        "BUCC.threshold",
        ("bucc", "multilingual", "retrieval"),
        load,
        score,
        "XX-en.sample.* and XX-en.training.*, each with XX, en and gold",
        "https://comparable.limsi.fr/bucc2018/bucc2018-task.html",
    )
]
