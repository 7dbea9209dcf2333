"""Pairs of sentences with gold scores, in the layouts in which STS sets are published.

two files     STS.input.X.txt (sentence TAB sentence) and STS.gs.X.txt (score), line by line: SemEval 2012 to 2017
seven columns sts-test.csv (genre, file, year, id, score, sentence, sentence), tab-separated: the STS Benchmark
three columns sentence, sentence, score or score, sentence, sentence, separated by tabs or commas: translations
a header      with names of columns: SICK, KorSTS
JSON lines    and Parquet, with the same names: JGLUE
"""

from __future__ import annotations

import contextlib
import csv
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.metrics import pair_cosines, pearson, spearman
from wikianchor.trainer.evaluate.task import Subset, mteb_row

RawRow = tuple[str, str, str]
# The cells of a row by the names of the columns; None for a row that cannot be parsed.
NamedRow = Mapping[str, object] | None

# JSICK has the English sentences beside the Japanese ones, which count.
FIRST = ("sentence_a_ja", "sentence1", "sentence_a", "text1", "sent1")
SECOND = ("sentence_b_ja", "sentence2", "sentence_b", "text2", "sent2")
GOLD = ("relatedness_score_ja", "score", "relatedness_score", "label", "similarity_score", "similarity", "gold")


@dataclass(frozen=True)
class ScoredPairs(Subset):
    """Pairs of sentences with gold scores.

    Attributes:
        first, second: the sentences, row by row.
        gold: (rows,) float64.
        shared: number of rows that are in another split too, by split.
    """

    first: list[str]
    second: list[str]
    gold: NDArray[np.float64]
    shared: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.first)


def make_pairs(name: str, rows: Iterable[RawRow | None], source: SetSource) -> ScoredPairs:
    """Return the rows with two sentences and a finite score, and count the others in `source`.

    Args:
        name: name of the set.
        rows: two sentences and a score; None for a row that cannot be parsed.
        source: source of the set.

    Raises:
        InputError: no row can be used.
    """
    numeric = (row if row and not (row[2].strip() and math.isnan(_number(row[2]))) else None for row in rows)
    first, second, gold = zip(*source.usable(name, numeric), strict=True)
    return ScoredPairs(name, source, list(first), list(second), np.array([*map(float, gold)]))


def concatenate(name: str, parts: Sequence[ScoredPairs]) -> ScoredPairs:
    """Return all pairs of the parts as one set."""
    return ScoredPairs(
        name,
        sum((part.source for part in parts), SetSource()),
        [text for part in parts for text in part.first],
        [text for part in parts for text in part.second],
        np.concatenate([part.gold for part in parts]),
    )


def read_two_files(data: EvaluationFiles, sentences: str, gold: str, name: str) -> ScoredPairs:
    """Read STS.input.X.txt and STS.gs.X.txt. Columns after the second, the attributions of STS16, are ignored."""
    source = SetSource()
    return make_pairs(name, map(_join, *data.aligned((sentences, gold), source)), source)


def _join(text: str | None, score: str | None) -> RawRow | None:
    columns = (text or "").split("\t")
    return None if len(columns) < 2 or score is None else (columns[0], columns[1], score)


def read_pairs(data: EvaluationFiles, file: str, name: str, part: tuple[str, str] | None = None) -> ScoredPairs:
    """Read one file in any of the layouts above.

    Args:
        data: the evaluation sets.
        file: path of the file.
        name: name of the set.
        part: a column and a value: only rows with this value are read. For tables with a header.

    Raises:
        InputError: the file has none of the layouts.
    """
    source = SetSource()
    rows: Sequence[NamedRow]
    if file.endswith(".parquet"):
        source.files[file] = data.sha256(file)
        with reading(data.path(file)):
            rows = data.parquet(file).read().to_pylist()
    else:
        lines = data.lines(file, source)
        rows = [_object(line) for line in lines] if file.endswith((".json", ".jsonl")) else _table_rows(file, lines)
    head = next((row for row in rows if row), None)
    if head is None:
        raise InputError(f"{file}: has no row that can be read")
    if part is not None:
        column, value = part
        if column not in head:
            raise InputError(f"{file}: has no column {column}, which says what part a row is of")
        rows = [row for row in rows if row and str(row.get(column)).strip() == value]
    columns = _columns(file, list(head))
    return make_pairs(name, (None if row is None else _cells(row, columns) for row in rows), source)


def _number(text: str) -> float:
    """Return a finite number, or NaN."""
    with contextlib.suppress(ValueError):
        return value if math.isfinite(value := float(text)) else math.nan
    return math.nan


def _table_rows(file: str, lines: Sequence[str | None]) -> list[NamedRow]:
    """Return the rows of a table with tabs or commas.

    Quotes are text in tab-separated files. In comma-separated files each line is parsed alone, so that an unbalanced
    quote breaks one row only.
    """
    tabs = not file.endswith(".csv") or "\t" in next((line for line in lines if line), "")
    rows: list[list[str] | None] = []
    for line in lines:
        try:
            rows.append(None if line is None else line.split("\t") if tabs else next(csv.reader([line]), None))
        except csv.Error:
            rows.append(None)
    head = next((row for row in rows if row), [])
    names = [cell.strip() for cell in head]
    if any(name.lower() in FIRST for name in names):
        rows.remove(head)
    else:
        names = _headless(file, head)
    needed = max(map(names.index, _columns(file, names)))
    return [None if row is None or len(row) <= needed else dict(zip(names, row, strict=False)) for row in rows]


def _headless(file: str, head: Sequence[str]) -> list[str]:
    """Return the names of the columns of a table without a header, by their number."""
    if len(head) >= 7:
        return ["genre", "file", "year", "id", "score", "sentence1", "sentence2"]
    if len(head) == 3:
        scored_first = not math.isnan(_number(head[0]))
        return ["score", "sentence1", "sentence2"] if scored_first else ["sentence1", "sentence2", "score"]
    raise InputError(
        f"{file}: {len(head)} columns and no header: not a layout of STS that is known (two sentences and a score, the "
        "seven columns of the STS Benchmark, or a header with sentence1, sentence2, score)"
    )


def _columns(file: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Return the names of the columns of the two sentences and the score."""
    lower = {name.lower(): name for name in reversed(names)}
    first, second, gold = (
        next((lower[name] for name in known if name in lower), None) for known in (FIRST, SECOND, GOLD)
    )
    if first is None or second is None or gold is None:
        raise InputError(f"{file}: has the columns {', '.join(names)}: two sentences and a score are needed")
    return first, second, gold


def _object(line: str | None) -> NamedRow:
    try:
        value = json.loads(line or "")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _cells(item: Mapping[str, object], columns: tuple[str, str, str]) -> RawRow | None:
    first, second, gold = (item.get(name) for name in columns)
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    return first, second, "" if gold is None else str(gold)


PROTOCOL = {"similarity": "cosine", "correlation": "Spearman"}


def correlations(pairs: ScoredPairs, vectors: Callable[[Sequence[str]], Any]) -> dict[str, float]:
    """Return the Spearman and the Pearson correlation of a set of pairs, between -1 and 1."""
    cosines = pair_cosines(vectors(pairs.first), vectors(pairs.second))
    both = {"spearman": spearman(cosines, pairs.gold), "pearson": pearson(cosines, pairs.gold)}
    return {**both, **{f"cosine_{name}": value for name, value in both.items()}}


def row(name: str, languages: Sequence[str], scores: Mapping[str, float], pairs: ScoredPairs) -> dict[str, Any]:
    """Return the row of mteb's result for a set of pairs."""
    return mteb_row(name, languages, scores["spearman"], **scores, rows=len(pairs))
