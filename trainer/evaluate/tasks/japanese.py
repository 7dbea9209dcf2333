"""The Japanese STS benchmark of SDJC (section 4): translated STS12 to 16 and STS-B, JSICK, JSTS, and JACSTS of clinics.

Each set's score is Spearman over all its pairs. The average of the table is the paper's mean. The sets annotated by
people are in a second table, and the clinical set is in a third.

The released files of JSTS are not what their names say: "test" has the pairs of "train", which are JGLUE's training
part. So there are two tasks: `JSTS` is JGLUE's validation part, as in mteb, and `JSTS.sdjc` the released files. The
number of pairs that the splits of `JSTS.sdjc` and JACSTS share is printed and recorded in the protocol.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.pairs import (
    PROTOCOL,
    ScoredPairs,
    correlations,
    is_japanese,
    read_pairs,
    row,
    two_file_sets,
)
from wikianchor.trainer.evaluate.task import EvaluationOptions, EvaluationTask, SentenceVectors, TableCell, TaskScores
from wikianchor.trainer.evaluate.tasks.sts import PARTS, score_year

TABLE = "Japanese STS, Spearman of all pairs"
HUMAN = "Japanese STS annotated by people, Spearman"
CLINIC = "Clinical Japanese STS, Spearman"
SPLITS = ("train", "dev", "test")
# Returns the pairs of a split, None where there is no file of it.
Loader = Callable[[EvaluationFiles, str], ScoredPairs | None]
_SDJC = "the repository of SDJC: SentEval/data/downstream/STS"


def load_year(data: EvaluationFiles, year: int, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return the translated sets of a year, which has no dev part."""
    if options.split != "test" or not asked("ja", options.languages):
        return []
    sets = two_file_sets(data, rf"STS(?:20)?{year}-ja(?:-test)?", f"STS{year} in Japanese")
    return [replace(part, name=f"ja-{part.name}") for part in sets]


def load_three_columns(data: EvaluationFiles, pattern: str, what: str) -> ScoredPairs | None:
    """Return a file of score, sentence, sentence that has Japanese sentences, or None if there is none."""
    names = []
    for name in data.match(pattern):
        columns = data.bytes(name).partition(b"\n")[0].count(b"\t") + 1
        if columns == 3 and is_japanese(data, name):
            names.append(name)
    file = data.same(names, what)
    return read_pairs(data, file, "ja") if file else None


def load_benchmark(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of the translated STS Benchmark, by SDJC's file name or by that of stsb-multi-mt."""
    what = f"STS-B in Japanese ({split})"
    pairs = load_three_columns(data, rf"sts-{split}\.csv", what)
    if pairs is None and (file := data.find(rf"stsb-ja-{split}\.csv", what)):
        return read_pairs(data, file, "ja")
    return pairs


def load_jsick(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of JSICK: its tables with English and Japanese columns, or SDJC's copy in the layout of SICK.

    The repository of JSICK has tables of the same names in jsick-stress/, which are other sets.
    """
    tables = data.match(rf"(?i:jsick)/(?:.*/)?{split}\.tsv")
    names = [name for name in tables if "jsick-stress/" not in name]
    names = names or [name for name in data.match(rf"SICK_{PARTS[split][0]}\.txt") if is_japanese(data, name)]
    file = data.same(names, f"JSICK ({split})")
    return read_pairs(data, file, "ja") if file else None


def load_jglue(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return JSTS from JGLUE's files. Its test part is not published: the validation part is used as the test part, as
    in mteb, and there is no dev part."""
    if split == "dev":
        return None
    name = "train" if split == "train" else "valid"
    file = data.find(rf"(?i:jsts[^/]*)/(?:.*/)?{name}-v[\d.]+\.json", f"JSTS ({name})")
    return read_pairs(data, file, "ja") if file else None


def load_released_jsts(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of JSTS as SDJC released it."""
    return load_three_columns(data, rf"JSTS-{split}\.csv", f"JSTS of SDJC ({split})")


def load_jacsts(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of JACSTS."""
    return load_three_columns(data, rf"JAC-sts-{split}\.csv", f"JACSTS ({split})")


def shared_pairs(pairs: ScoredPairs, other: ScoredPairs) -> int:
    """Return how many rows of `pairs` are in `other`, in either order of the sentences."""
    known = {frozenset(pair) for pair in zip(other.first, other.second, strict=True)}
    return sum(frozenset(pair) in known for pair in zip(pairs.first, pairs.second, strict=True))


def overlaps(data: EvaluationFiles, load: Loader, split: str) -> dict[str, int]:
    """Return how many rows of a split are in each other split that exists."""
    pairs = load(data, split)
    others = {other: load(data, other) for other in SPLITS if other != split}
    return {other: shared_pairs(pairs, part) for other, part in others.items() if pairs and part}


def file_task(
    name: str, load: Loader, layout: str, home: str, column: str, tables: Sequence[str], check_splits: bool
) -> EvaluationTask:
    """Return the task of a set of one file for each split.

    Args:
        name: of the task.
        load: returns the pairs of a split, or None if its file does not exist.
        layout, home: as for `EvaluationTask`.
        column: title of the set in the tables.
        tables: titles of the tables.
        check_splits: count the rows that are in other splits too.
    """

    def read(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
        if not asked("ja", options.languages):
            return []
        part = load(data, options.split)
        if part is None:
            return []
        return [replace(part, shared=overlaps(data, load, options.split) if check_splits else {})]

    def score(parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluationOptions) -> TaskScores:
        (part,) = parts
        scores = row("default", [tag("ja")], correlations(part, vectors), part)
        shared = {f"rows that are also in {other}": count for other, count in part.shared.items()}
        for other, count in part.shared.items():
            if count:
                rows = f"{count:,} of the {len(part):,} rows of its {options.split} part"
                print(f"{name}: {rows} are in its {other} part", file=sys.stderr, flush=True)
        cells = [TableCell(table, column, scores["main_score"]) for table in tables]
        return TaskScores({options.split: [scores]}, cells, {**PROTOCOL, **shared})

    groups = ("sts-ja", "jsts-benchmark") if TABLE in tables else ("sts-ja",)
    return EvaluationTask(name, groups, read, score, layout, home)


def year_task(year: int) -> EvaluationTask:
    """Return the task of the translated sets of a year of SemEval."""
    return EvaluationTask(
        f"STS{year}.ja",
        ("sts-ja", "jsts-benchmark"),
        lambda data, options: load_year(data, year, options),
        lambda parts, vectors, options: score_year(parts, vectors, TABLE, f"STS{year}", "ja"),
        f"STS{year}-ja-test/STS.input.*.txt with STS.gs.*.txt",
        _SDJC,
    )


# Sets with a dev part, for `--dev_tasks`. SDJC's paper chose the best weights by the test part.
LOADERS = {"STSBenchmark.ja": load_benchmark, "JSICK": load_jsick, "JACSTS": load_jacsts}

TASKS = [
    *(year_task(year) for year in range(12, 17)),
    file_task(
        "STSBenchmark.ja", load_benchmark, "sts-*.csv: score, sentence, sentence", _SDJC, "STS-B", [TABLE], False
    ),
    file_task(
        "JSICK",
        load_jsick,
        "jsick/test.tsv, or SICK_test_annotated.txt in Japanese",
        "https://github.com/verypluming/JSICK",
        "JSICK",
        [TABLE, HUMAN],
        False,
    ),
    file_task(
        "JSTS",
        load_jglue,
        "jsts-v1.3/valid-v1.3.json",
        "https://github.com/yahoojapan/JGLUE",
        "JSTS",
        [TABLE, HUMAN],
        True,
    ),
    file_task("JSTS.sdjc", load_released_jsts, "JSTS-test.csv", _SDJC, "JSTS as released", [HUMAN], True),
    file_task("JACSTS", load_jacsts, "JAC-sts-test.csv", _SDJC, "JACSTS", [CLINIC], True),
]
