"""Tatoeba: the nearest sentence of the other language, by cosine, is the translation.

Accuracy is the mean of both directions, each divided by the true number of pairs: 40 of the 112 sets have fewer than
a thousand. mteb's task of that name scores one direction by F1.

EASE's table 4 has the languages of its training without Persian, whose file its code looks for under another name. It
is scored here and stands in the table; the average is of the paper's sixteen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import Data, Source, aligned
from wikianchor.trainer.evaluate.languages import EASE, asked, short, tag
from wikianchor.trainer.evaluate.metrics import matching_accuracy
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors, progress

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
class Parallel:
    """Sentences of a language and their English translations, row by row."""

    name: str
    foreign: list[str]
    english: list[str]
    source: Source


def load(data: Data, options: Options) -> list[Parallel]:
    """Return the languages that are there, by Tatoeba's code."""
    names: dict[str, list[str]] = {}
    for file, match in data.match(r"tatoeba\.([a-z]+)-eng\.\1").items():
        names.setdefault(match[1], []).append(file)
    chosen = sorted(code for code in names if options.split == "test" and asked(code, options.languages))
    return [read(data, str(data.same(names[code], f"Tatoeba {code}")), code) for code in chosen]


def read(data: Data, file: str, code: str) -> Parallel:
    """Read one language; a pair with an empty or broken side is left out, and counted."""
    english = file.removesuffix(code) + "eng"
    if english not in data.names:
        raise InputError(f"{data.path(file)}: its translations {data.path(english)} are missing: get the set again")
    source = Source()
    sides = data.lines(file, source), data.lines(english, source)
    aligned((file, english), sides)
    pairs = [(a.strip(), b.strip()) for a, b in zip(*sides, strict=True) if a and b and a.strip() and b.strip()]
    source.rows, source.broken = len(sides[0]), len(sides[0]) - len(pairs)
    source.check(f"Tatoeba {code}")
    return Parallel(code, [a for a, _ in pairs], [b for _, b in pairs], source)


def score(parts: Sequence[Parallel], vectors: Vectors, options: Options) -> Scores:
    """Return the accuracy of each language; tables are for the languages of EASE's training and for the others."""
    rows, cells = [], []
    for part in progress(parts):
        forth, back = matching_accuracy(vectors(part.foreign), vectors(part.english))
        found = {"accuracy": (forth + back) / 2, "accuracy_to_english": forth, "accuracy_from_english": back}
        rows.append(
            {
                "hf_subset": f"{part.name}-eng",
                "languages": [tag(part.name), tag("en")],
                "main_score": found["accuracy"],
                **found,
                "rows": len(part.foreign),
            }
        )
        name = short(part.name)
        table = TRAINED if name in EASE else OTHER
        cells.append(Cell(table, name, found["accuracy"], average=name not in NOT_IN_TABLE_4))
    return Scores({"test": rows}, sorted(cells, key=lambda cell: (cell.table != TRAINED, cell.column)), PROTOCOL)


TASKS = [
    Task(
        "Tatoeba.accuracy",
        ("tatoeba", "multilingual", "retrieval"),
        load,
        score,
        "tatoeba.XXX-eng.XXX with tatoeba.XXX-eng.eng",
        "https://github.com/facebookresearch/LASER, data/tatoeba/v1",
    )
]
