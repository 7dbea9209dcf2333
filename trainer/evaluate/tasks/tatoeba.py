"""Tatoeba (https://arxiv.org/abs/1812.10464): find the translation of a sentence as its nearest neighbour by cosine.

Accuracy is the mean of both directions, each divided by the number of pairs, which is below a thousand in 40 of the 112
sets. mteb's task of that name scores one direction by F1.

EASE's table 4 has the languages of its training without Persian, because its code looks for the file under another
name. Persian is in the table here; the average is that of the paper's sixteen languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import EASE, check_language, short, tag
from wikianchor.trainer.evaluate.metrics import matching_hits
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

TRAINED = "Tatoeba, languages of EASE's training, accuracy"
OTHER = "Tatoeba, other languages, accuracy"
NOT_IN_TABLE_4 = ("fa",)
PROTOCOL = {
    "similarity": "cosine",
    "retrieval": "nearest of all sentences of the other language; of equally near ones the first",
    "score": "mean of the accuracies from English and to English, each over the true number of pairs",
    "average": "of the table with the languages of EASE's training: without fa, as in the paper",
}


@dataclass(frozen=True)
class ParallelSentences(Subset):
    """Sentences of a language and their English translations, row by row."""

    foreign: list[str]
    english: list[str]


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[ParallelSentences]:
    """Return the languages whose files exist, named by Tatoeba's codes."""
    return data.by_language(r"tatoeba\.([a-z]+)-eng\.\1", "Tatoeba", options.languages, read)


def read(data: EvaluationFiles, file: str, code: str) -> ParallelSentences:
    """Read one language. A pair of which a sentence is empty or not UTF-8 is left out and counted as broken."""
    english = file.removesuffix(code) + "eng"
    if english not in data.names:
        raise InputError(f"{data.path(file)}: its translations {data.path(english)} are missing: get the set again")
    source = SetSource()
    sides = data.aligned((file, english), source)
    pairs = [(a.strip(), b.strip()) for a, b in zip(*sides, strict=True) if a and b and a.strip() and b.strip()]
    source.rows, source.broken = len(sides[0]), len(sides[0]) - len(pairs)
    source.check(f"Tatoeba {code}")
    for language, side in ((code, 0), ("en", 1)):
        check_language((file, english)[side], [language], [pair[side] for pair in pairs])
    return ParallelSentences(code, source, [a for a, _ in pairs], [b for _, b in pairs])


def score(parts: Sequence[ParallelSentences], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
    """Return the accuracy of each language, in a table of the languages of EASE's training and one of the others."""
    rows, cells = [], []
    for part in progress(parts):
        hits = matching_hits(vectors(part.foreign), vectors(part.english))
        to_english, from_english = hits.mean(axis=1).tolist()
        accuracy = (to_english + from_english) / 2
        scores = {"accuracy": accuracy, "accuracy_to_english": to_english, "accuracy_from_english": from_english}
        languages = [tag(part.name), tag("en")]
        rows.append(mteb_row(f"{part.name}-eng", languages, accuracy, **scores, rows=len(part.foreign)))
        name = short(part.name)
        table = TRAINED if name in EASE else OTHER
        cells.append(TableCell(table, name, accuracy, average=name not in NOT_IN_TABLE_4))
    return TaskScores({"test": rows}, sorted(cells, key=lambda cell: (cell.table != TRAINED, cell.column)), PROTOCOL)


TASKS = [
    EvaluationTask(
        name="Tatoeba.accuracy",
        groups=("tatoeba", "multilingual", "retrieval"),
        load=load,
        score=score,
        layout="tatoeba.XXX-eng.XXX with tatoeba.XXX-eng.eng",
        home="https://github.com/facebookresearch/LASER, data/tatoeba/v1",
    )
]
