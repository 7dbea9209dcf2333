"""Pairs of sentences with a gold score, from the layouts in which STS sets are released.

two files     STS.input.X.txt (sentence TAB sentence) and STS.gs.X.txt (score), line by line: SemEval 2012 to 2017
seven columns sts-test.csv (genre, file, year, id, score, sentence, sentence; with tabs): the STS Benchmark
three columns sentence, sentence, score or score, sentence, sentence: translations of these; with tabs or commas
a header      that names the columns: SICK, KorSTS
JSON lines    with the same names: JGLUE. Parquet likewise.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import parquet

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading
from wikianchor.trainer.evaluate.files import Data, Source, aligned
from wikianchor.trainer.evaluate.metrics import pair_cosines, pearson, spearman

Row = tuple[str, str, str]

FIRST = ("sentence1", "sentence_a", "text1", "sent1")
SECOND = ("sentence2", "sentence_b", "text2", "sent2")
GOLD = ("score", "relatedness_score", "label", "similarity_score", "similarity", "gold")


@dataclass(frozen=True)
class Pairs:
    """Sentences row by row and their gold scores, (rows,) float64."""

    name: str
    first: list[str]
    second: list[str]
    gold: NDArray[np.float64]
    source: Source

    def __len__(self) -> int:
        return len(self.first)


def make_pairs(name: str, rows: Iterable[Row | None], source: Source) -> Pairs:
    """Return the rows that have two sentences and a number, None standing for a broken row, and count the others."""
    kept: list[tuple[str, str, float]] = []
    for row in rows:
        source.rows += 1
        if row is None or not row[0].strip() or not row[1].strip():
            source.broken += 1
        elif not row[2].strip():
            source.blank += 1
        elif (gold := _number(row[2])) is None:
            source.broken += 1
        else:
            kept.append((row[0].strip(), row[1].strip(), gold))
    source.check(name)
    return Pairs(
        name, [row[0] for row in kept], [row[1] for row in kept], np.array([row[2] for row in kept], np.float64), source
    )


def concatenate(name: str, parts: Sequence[Pairs]) -> Pairs:
    """Return all pairs of the parts as one set."""
    return Pairs(
        name,
        [text for part in parts for text in part.first],
        [text for part in parts for text in part.second],
        np.concatenate([part.gold for part in parts]),
        sum((part.source for part in parts), Source()),
    )


def read_two_files(data: Data, sentences: str, gold: str, name: str) -> Pairs:
    """Read STS.input.X.txt and STS.gs.X.txt. Columns after the second, where STS16 says whose text it is, are left."""
    source = Source()
    texts, scores = data.lines(sentences, source), data.lines(gold, source)
    aligned((sentences, gold), (texts, scores))
    return make_pairs(name, map(_join, texts, scores), source)


def _join(text: str | None, score: str | None) -> Row | None:
    columns = (text or "").split("\t")
    return None if len(columns) < 2 or score is None else (columns[0], columns[1], score)


def read_pairs(data: Data, file: str, name: str, part: tuple[str, str] | None = None) -> Pairs:
    """Read one file of any of the layouts above.

    Args:
        part: a column of a table with a header and what stands in it: only those rows are read.

    Raises:
        InputError: its columns cannot be told.
    """
    source = Source()
    if file.endswith(".parquet"):
        table = _parquet(data, file, source)
        return make_pairs(name, _named(table, *_places(file, table.column_names)), source)
    lines = data.lines(file, source)
    if file.endswith((".json", ".jsonl")):
        return make_pairs(name, _json_rows(file, lines), source)
    rows = _split(file, lines)
    return make_pairs(name, _table_rows(file, rows if part is None else _part(file, rows, *part)), source)


def _part(file: str, rows: Sequence[list[str] | None], column: str, value: str) -> list[list[str] | None]:
    """Return the header and the rows of one part."""
    head = rows[0] if rows else None
    if head is None or column not in head:
        raise InputError(f"{file}: has no column {column}, which says what part a row is of")
    place = head.index(column)
    return [head, *(row for row in rows[1:] if row and len(row) > place and row[place].strip() == value)]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _split(file: str, lines: Sequence[str | None]) -> list[list[str] | None]:
    """Return the columns of each row. Quotes mean something only in files with commas; in those with tabs they are
    text. A row is a line even there, so that a stray quote costs its own row alone."""
    sample = next((line for line in lines if line), "")
    if not file.endswith(".csv") or "\t" in sample:
        return [None if line is None else line.split("\t") for line in lines]
    return [None if line is None else _commas(line) for line in lines]


def _commas(line: str) -> list[str] | None:
    try:
        return next(csv.reader([line]), None)
    except csv.Error:
        return None


def _table_rows(file: str, rows: Sequence[list[str] | None]) -> list[Row | None]:
    head = next((row for row in rows if row), [])
    names = [cell.strip().lower() for cell in head]
    if any(name in names for name in FIRST):
        start = 1
        first, second, gold = (names.index(name) for name in _places(file, names))
    else:
        start = 0
        first, second, gold = _headless(file, head)
    needed = max(first, second, gold)
    return [None if row is None or len(row) <= needed else (row[first], row[second], row[gold]) for row in rows[start:]]


def _headless(file: str, head: Sequence[str]) -> tuple[int, int, int]:
    """Return the places of the two sentences and the score, by the number of columns."""
    if len(head) >= 7:
        return 5, 6, 4
    if len(head) == 3:
        return (1, 2, 0) if _number(head[0]) is not None else (0, 1, 2)
    raise InputError(
        f"{file}: {len(head)} columns and no header: not a layout of STS that is known (two sentences and a score, the "
        "seven columns of the STS Benchmark, or a header with sentence1, sentence2, score)"
    )


def _places(file: str, names: Sequence[str]) -> tuple[str, str, str]:
    """Return the names of the two sentences' columns and the score's."""
    lower = {name.lower(): name for name in reversed(names)}
    found = [next((lower[name] for name in wanted if name in lower), None) for wanted in (FIRST, SECOND, GOLD)]
    if None in found:
        raise InputError(f"{file}: has the columns {', '.join(names)}: two sentences and a score are needed")
    return str(found[0]), str(found[1]), str(found[2])


def _json_rows(file: str, lines: Sequence[str | None]) -> list[Row | None]:
    objects = [_object(line) for line in lines]
    head = next((item for item in objects if item), None)
    if head is None:
        raise InputError(f"{file}: has no line that is a JSON object")
    places = _places(file, list(head))
    return [None if item is None else _cells(item, places) for item in objects]


def _object(line: str | None) -> Mapping[str, object] | None:
    try:
        found = json.loads(line or "")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _cells(item: Mapping[str, object], places: tuple[str, str, str]) -> Row | None:
    first, second, gold = (item.get(name) for name in places)
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    return first, second, "" if gold is None else str(gold)


def _parquet(data: Data, file: str, source: Source) -> pa.Table:
    source.files[file] = data.sha256(file)
    with reading(data.path(file)):
        return parquet.read_table(pa.BufferReader(data.bytes(file)))


def _named(table: pa.Table, first: str, second: str, gold: str) -> list[Row | None]:
    columns = [table[name].to_pylist() for name in (first, second, gold)]
    names = (first, second, gold)
    return [_cells(dict(zip(names, row, strict=True)), names) for row in zip(*columns, strict=True)]


PROTOCOL = {"similarity": "cosine", "correlation": "Spearman"}


def correlations(pairs: Pairs, vectors: Callable[[Sequence[str]], Any]) -> dict[str, float]:
    """Return the Spearman and the Pearson correlation of a set of pairs, between -1 and 1."""
    cosines = pair_cosines(vectors(pairs.first), vectors(pairs.second))
    both = {"spearman": spearman(cosines, pairs.gold), "pearson": pearson(cosines, pairs.gold)}
    return {**both, **{f"cosine_{name}": value for name, value in both.items()}}


def row(name: str, languages: Sequence[str], scores: Mapping[str, float], pairs: Pairs) -> dict[str, Any]:
    """Return a row of mteb's result."""
    return {
        "hf_subset": name,
        "languages": list(languages),
        "main_score": scores["spearman"],
        **scores,
        "rows": len(pairs),
    }


def two_file_sets(data: Data, folder: str, name: str) -> list[Pairs]:
    """Return the sets STS.input.X.txt with their STS.gs.X.txt in the folders of a pattern. Sets without sentences,
    as SMT of 2013, are not there for want of a licence."""
    names: dict[str, list[str]] = {}
    for file, match in data.match(rf"{folder}/STS\.input\.(.+)\.txt").items():
        names.setdefault(match[1], []).append(file)
    found = []
    for subset, files in sorted(names.items()):
        file = str(data.same(files, f"{name} {subset}"))
        gold = file.replace("STS.input.", "STS.gs.")
        if gold not in data.names:
            raise InputError(f"{data.path(file)}: its gold scores {data.path(gold)} are missing: get the set again")
        found.append(read_two_files(data, file, gold, subset))
    return found
