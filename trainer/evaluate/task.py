"""The types of evaluation tasks: subsets, vectors, scores.

A new task is an `EvaluationTask` in a file of its own, listed in `registry.py`. Its `load` reads the files, so that
missing and damaged files are reported before a model is loaded; its `score` computes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.output import control
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.metrics import unit
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.models.encoder import Encoder

ERASE_LINE = "\r\x1b[K"


@dataclass(frozen=True)
class Subset:
    """Base class of parts of a set with a score of their own, such as a language."""

    name: str
    source: SetSource


SubsetT = TypeVar("SubsetT", bound=Subset)


@dataclass(frozen=True)
class Labelled(Subset):
    """Texts and the numbers of their labels."""

    texts: list[str]
    labels: list[int]

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True)
class TableCell:
    """One number in a table of the report.

    Attributes:
        table, column: where it is.
        value: the number, 0 to 1 if `per_cent`.
        spread: standard deviation over seeds.
        row: title of the row; "" for that of the model.
        per_cent: print it times 100.
        average: include it in the average of the row.
        runs: the values of several trainings of which `value` is the mean.
    """

    table: str
    column: str
    value: float
    spread: float | None = None
    row: str = ""
    per_cent: bool = True
    average: bool = True
    runs: tuple[float, ...] = ()


@dataclass(frozen=True)
class TaskScores:
    """The result of a task.

    Attributes:
        splits: rows of `mteb_row` by split.
        cells: the numbers in the tables of the report.
        protocol: how the scores were computed.
    """

    splits: dict[str, list[dict[str, Any]]]
    cells: list[TableCell]
    protocol: dict[str, Any]


@dataclass(frozen=True)
class EvaluationTask:
    """A set with its protocol.

    Attributes:
        name: mteb's name if the protocol is mteb's, else a name with a suffix for the protocol.
        groups: further names for `--tasks`, lower case.
        load: returns the subsets whose files exist. Raises InputError for damaged files.
        score: returns the scores of the subsets.
        layout: the files that `load` looks for, in words.
        home: where to get the set.
        splits: those of `--split` that it has.
    """

    name: str
    groups: tuple[str, ...]
    load: Callable[[EvaluationFiles, EvaluateOptions], Sequence[Any]]
    score: Callable[[Sequence[Any], SentenceVectors, EvaluateOptions], TaskScores]
    layout: str
    home: str
    splits: tuple[str, ...] = ("test",)


def progress(parts: Sequence[SubsetT]) -> Iterator[SubsetT]:
    """Yield the subsets, and show the current one on a terminal."""
    for number, part in enumerate(parts, 1):
        if sys.stderr.isatty():
            control(sys.stderr, ERASE_LINE)
            print(f"{part.name}, {number} of {len(parts)}", end="", file=sys.stderr, flush=True)
        yield part
    if sys.stderr.isatty():
        control(sys.stderr, ERASE_LINE)
        sys.stderr.flush()


def mteb_row(subset: str, languages: Sequence[str], main_score: float, **more: Any) -> dict[str, Any]:
    """Return a row of mteb's result.

    Args:
        subset: name of the subset, `default` if there is only one.
        languages: mteb's tags.
        main_score: 0 to 1.
        more: further scores and counts.
    """
    return {"hf_subset": subset, "languages": list(languages), "main_score": main_score, **more}


@dataclass
class SentenceVectors:
    """Encodes sentences and caches their vectors, because sets share many sentences.

    Attributes:
        encoder: what encodes the sentences.
        options: options of the encoder.
    """

    encoder: Encoder
    options: EvaluateOptions = field(default_factory=EvaluateOptions)
    _rows: dict[str, int] = field(default_factory=dict)
    _table: list[NDArray[np.float32]] = field(default_factory=list)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (rows, dim) float32 in the order of the texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            start = len(self._rows)
            self._rows.update((text, start + number) for number, text in enumerate(new))
            self._table = [*self._table, self.encoder.encode(new, self.options.batch_size, self.options.max_length)]
            if len(self._table) > 1:
                self._table = [np.concatenate(self._table)]
        rows = [self._rows[text] for text in texts]
        return self._table[0][rows] if rows else np.empty((0, self.encoder.dim), np.float32)

    def features(self, texts: Sequence[str], options: EvaluateOptions) -> NDArray[np.float32]:
        """Return the vectors that a classifier or a clustering takes, of unit length with `--normalize`."""
        return unit(self(texts)) if options.normalize else self(texts)

    def __len__(self) -> int:
        return len(self._rows)

    def forget(self) -> None:
        """Empty the cache."""
        self._rows, self._table = {}, []
