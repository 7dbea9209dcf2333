"""What an evaluation task is, what it is given, and what it gives back.

A new task is a `Task` in a file of its own, listed in `registry.py`. `load` finds and reads the files, so that what
is missing or broken is known before a model is loaded; `score` computes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.output import control
from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.models.encoder import Encoder

ERASE_LINE = "\r\x1b[K"


@dataclass(frozen=True)
class Options:
    """What a user may choose of the protocols; what a task used of it stands in its protocol block."""

    split: str = "test"
    seeds: int = 10
    normalize: bool = False
    languages: tuple[str, ...] = ()
    clusters: str = ""


class Subset(Protocol):
    """A part of a set with a score of its own: a year's source, a language, a direction."""

    @property
    def name(self) -> str: ...
    @property
    def source(self) -> Source: ...


@dataclass(frozen=True)
class Cell:
    """One number of a table of the report, between 0 and 1 where `per_cent`; `row` is empty for the model's own. Where
    it is the mean over several trainings, `runs` are their values."""

    table: str
    column: str
    value: float
    spread: float | None = None
    row: str = ""
    per_cent: bool = True
    average: bool = True
    runs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Scores:
    """What a task found.

    Args:
        splits: rows in mteb's shape by split: `hf_subset`, `languages`, `main_score` between 0 and 1, and more.
        cells: what the tables show.
        protocol: how it was computed, in words and numbers.
    """

    splits: dict[str, list[dict[str, Any]]]
    cells: list[Cell]
    protocol: dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A set with its protocol.

    Args:
        name: mteb's name where the protocol is mteb's, else one with our protocol's name after a dot.
        groups: other names by which `--tasks` finds it, lower case.
        load: returns the subsets that are there, none where the set is missing. Raises InputError for broken files.
        score: returns the scores of the subsets.
        layout: the files that `load` looks for, in words.
        home: where the set is to be had.
    """

    name: str
    groups: tuple[str, ...]
    load: Callable[[Data, Options], Sequence[Any]]
    score: Callable[[Sequence[Any], Vectors, Options], Scores]
    layout: str
    home: str


Part = TypeVar("Part", bound=Subset)


def progress(parts: Sequence[Part]) -> Iterator[Part]:
    """Yield the parts; on a terminal, say which one is at work."""
    for number, part in enumerate(parts, 1):
        if sys.stderr.isatty():
            control(sys.stderr, ERASE_LINE)
            print(f"{part.name}, {number} of {len(parts)}", end="", file=sys.stderr, flush=True)
        yield part
    if sys.stderr.isatty():
        control(sys.stderr, ERASE_LINE)
        sys.stderr.flush()


@dataclass
class Vectors:
    """The vectors of sentences, each sentence encoded once: sets share many."""

    encoder: Encoder
    batch_size: int = 128
    max_length: int | None = None
    _rows: dict[str, int] = field(default_factory=dict)
    _table: list[NDArray[np.float32]] = field(default_factory=list)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return (rows, dim) float32 in the order of the texts."""
        new = [text for text in dict.fromkeys(texts) if text not in self._rows]
        if new:
            start = len(self._rows)
            self._rows.update((text, start + number) for number, text in enumerate(new))
            self._table = [*self._table, self.encoder.encode(new, self.batch_size, self.max_length)]
            if len(self._table) > 1:
                self._table = [np.concatenate(self._table)]
        rows = [self._rows[text] for text in texts]
        return self._table[0][rows] if rows else np.empty((0, self.encoder.dim), np.float32)

    def __len__(self) -> int:
        return len(self._rows)

    def forget(self) -> None:
        """Free the memory."""
        self._rows, self._table = {}, []
