"""Semantic textual similarity: Spearman's rank correlation of cosines with gold scores. `sts.toml` has the sets.

A year of SemEval consists of several sets. Its score is that of the pairs of all sets together ("all"), as in EASE,
SimCSE, SBERT and mteb. The mean and the weighted mean over the sets, which differ by up to eight points, are reported
too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from wikianchor.io.config_file import read_toml
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import asked, check_language, tag
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.pairs import (
    PROTOCOL,
    ScoredPairs,
    concatenate,
    correlations,
    read_pairs,
    read_two_files,
    row,
)
from wikianchor.trainer.evaluate.task import EvaluationTask, SentenceVectors, TableCell, TaskScores

# Of a table with all parts of SICK: the values of the column that says what part a row is of.
SICK_PARTS = {"train": "TRAIN", "dev": "TRIAL", "test": "TEST"}
_JAPANESE = re.compile("[\u3041-\u30fe\u4e00-\u9fff]")


@dataclass(frozen=True)
class PairSet:
    """A set; `sts.toml` says what its keys are."""

    name: str
    groups: tuple[str, ...]
    layout: str
    home: str
    files: Sequence[Mapping[str, Any]]
    splits: Mapping[str, str]
    tables: Sequence[str]
    column: str = ""
    language: str = ""
    year: bool = False
    all_splits: bool = False
    check_splits: bool = False
    dev: bool = False

    def load(self, data: EvaluationFiles, options: EvaluateOptions) -> list[ScoredPairs]:
        """Return the subsets of a split whose files exist; none where a split of several is missing.

        Raises:
            InputError: a file is damaged, or is there several times with different contents.
        """
        split = options.split
        if self.language not in ("", "en") and not asked(self.language, options.languages):
            return []
        if self.all_splits:
            parts = [part for name in self.splits for part in self.part(data, name, options)] if split == "test" else []
            return parts if len(parts) == len(self.splits) else []
        parts = self.part(data, split, options)
        return (
            [replace(part, shared=self.overlaps(data, part, split)) for part in parts] if self.check_splits else parts
        )

    def part(self, data: EvaluationFiles, split: str, options: EvaluateOptions) -> list[ScoredPairs]:
        """Return the subsets of one split, or the only one, by the first kind of files that is there."""
        if split not in self.splits:
            return []
        files: dict[str, tuple[list[str], Mapping[str, Any]]] = {}
        for kind in self.files:
            pattern = kind["pattern"].replace("SPLIT", split).replace("PART", self.splits[split])
            groups: dict[str, list[str]] = {}
            for name, match in data.match(pattern).items():
                if fits(data, name, kind):
                    subset = match[1] if match.re.groups else kind.get("subset", "")
                    groups.setdefault(subset, []).append(name)
            for subset, names in groups.items():
                if self.language or _asked(subset, options.languages):
                    files.setdefault(subset, (names, kind))

        def read(subset: str) -> ScoredPairs:
            names, kind = files[subset]
            file = str(data.same(names, f"{self.name} {subset or split}"))
            pairs = self.read(data, file, self.named(subset, split), kind, split)
            languages = [self.language] if self.language else subset.split("-")[:2]
            for texts in (pairs.first, pairs.second):
                check_language(file, languages, texts)
            return pairs

        # A year is scored as a whole, languages one by one.
        return [*map(read, sorted(files))] if self.column else data.read_each(sorted(files), read)

    def named(self, subset: str, split: str) -> str:
        """Return the name of a subset: of an English set without subsets the split, of another the language."""
        if self.language in ("", "en"):
            return subset or split
        return f"{self.language}-{subset}" if subset else self.language

    def read(self, data: EvaluationFiles, file: str, name: str, kind: Mapping[str, Any], split: str) -> ScoredPairs:
        """Read a file, with its gold scores beside it, or of another directory where languages name them.

        Raises:
            InputError: it has no gold scores.
        """
        gold = gold_file(file)
        if gold == file:
            return read_pairs(data, file, name, (kind["parts"], SICK_PARTS[split]) if "parts" in kind else None)
        if not self.language:
            scores = data.find(re.escape(gold.rpartition("/")[2]), f"the gold scores of {name}")
            return read_two_files(data, file, scores, name) if scores else read_pairs(data, file, name)
        if gold not in data.names:
            raise InputError(f"{data.path(file)}: its gold scores {data.path(gold)} are missing: get the set again")
        return read_two_files(data, file, gold, name)

    def overlaps(self, data: EvaluationFiles, pairs: ScoredPairs, split: str) -> dict[str, int]:
        """Return how many rows are in each other split that exists, in either order of the sentences."""
        counts = {}
        for other in (other for other in ("train", "dev", "test") if other != split):
            for part in self.part(data, other, EvaluateOptions()):
                known = set(map(frozenset, zip(part.first, part.second, strict=True)))
                rows = zip(pairs.first, pairs.second, strict=True)
                counts[other] = sum(frozenset(pair) in known for pair in rows)
        return counts

    def score(self, parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
        """Return the score of each language, or of all pairs together.

        A year has the mean and the weighted mean over its sets too, and each set's score.
        """
        if not self.column:
            rows = [
                row(part.name, [tag(code) for code in part.name.split("-")[:2]], correlations(part, vectors), part)
                for part in parts
            ]
            values = {scores["hf_subset"]: scores["main_score"] for scores in rows}
            cells = [
                TableCell(self.tables[0], name.upper(), value, average=not name.endswith("-wmt"))
                for name, value in values.items()
            ]
            return TaskScores({options.split: rows}, cells, PROTOCOL)
        whole = replace(concatenate("default", parts), shared=parts[0].shared)
        summary = row("default", [tag(self.language)], correlations(whole, vectors), whole)
        cells = [TableCell(table, self.column, summary["main_score"]) for table in self.tables]
        protocol = {**PROTOCOL, **{f"rows that are also in {other}": count for other, count in whole.shared.items()}}
        for other, count in whole.shared.items():
            if count:
                rows_of = f"{count:,} of the {len(whole):,} rows of its {options.split} part"
                print(f"{self.name}: {rows_of} are in its {other} part", file=sys.stderr, flush=True)
        if self.year:
            scores = {part.name: correlations(part, vectors) for part in parts}
            each = np.array([scores[part.name]["spearman"] for part in parts])
            summary["mean"] = float(each.mean())
            summary["wmean"] = float(np.average(each, weights=[len(part) for part in parts]))
            summary["sets"] = {part.name: {**scores[part.name], "rows": len(part)} for part in parts}
            protocol["aggregation"] = "all pairs of the year's sets together; mean and wmean beside it"
        return TaskScores({options.split: [summary]}, cells, protocol)


def gold_file(path: str) -> str:
    """Return the path of the gold scores of STS.input.X.txt or STS2016.input.X.txt, or the path itself.

    >>> gold_file("a.input.b/STS2016.input.x.txt"), gold_file("sts-test.csv")
    ('a.input.b/STS2016.gs.x.txt', 'sts-test.csv')
    """
    return re.sub(r"((?:^|/)STS\d*)\.input\.([^/]*)$", r"\1.gs.\2", path)


def fits(data: EvaluationFiles, name: str, kind: Mapping[str, Any]) -> bool:
    """Return whether a file is of a kind, by its path and its first lines."""
    if kind.get("not_in", "\0") in name:
        return False
    start = data.bytes(name) if kind.keys() & {"columns", "japanese"} else b""
    if wanted := kind.get("columns"):
        columns = start.partition(b"\n")[0].count(b"\t") + 1
        if columns < wanted or columns > wanted == 3:
            return False
    is_japanese = bool(_JAPANESE.search(start[:4096].decode("utf-8", "replace")))
    return bool(kind.get("japanese", is_japanese) == is_japanese)


def _asked(pair: str, languages: Sequence[str]) -> bool:
    """Return whether the language of a pair that is not English is asked for."""
    foreign = [code for code in pair.split("-")[:2] if code != "en"] or ["en"]
    return any(asked(code, languages) for code in foreign)


def file_task(path: str) -> EvaluationTask:
    """Return the task of one file in any known layout; for STS.input.X.txt, with STS.gs.X.txt in the same directory.

    Its `load` takes `EvaluationFiles.of_file(path)`.
    """
    name = path.rpartition("/")[2]

    def load(data: EvaluationFiles, options: EvaluateOptions) -> list[ScoredPairs]:
        gold = gold_file(name)
        return [read_two_files(data, name, gold, name) if gold != name else read_pairs(data, name, name)]

    def score(parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
        scores = row("default", [], correlations(parts[0], vectors), parts[0])
        cell = TableCell("STS files, Spearman", name, scores["main_score"], average=False)
        return TaskScores({"test": [scores]}, [cell], PROTOCOL)

    return EvaluationTask(f"STS.{name}", (), load, score, layout=path, home="the file's maker")


SETS = {
    name: PairSet(name, **{**keys, "groups": tuple(keys["groups"])})
    for name, keys in read_toml(Path(__file__).with_name("sts.toml")).items()
}
TASKS = [
    EvaluationTask(
        kind.name, kind.groups, kind.load, kind.score, layout=kind.layout, home=kind.home, splits=("test", "dev")
    )
    for kind in SETS.values()
]
