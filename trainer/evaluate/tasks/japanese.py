"""The Japanese STS benchmark of SDJC (section 4): translated STS12 to 16 and STS-B, JSICK, JSTS, and JACSTS of clinics.

Each set's score is Spearman over all its pairs. The table's average is the paper's mean; the sets that people annotated
stand in a table of their own, and so does the clinical one.

The released files of JSTS are not what their names say: "test" has the pairs of "train", which are of JGLUE's training
part. So there are two tasks: `JSTS` is JGLUE's validation part, as in mteb; `JSTS.sdjc` the released files, with what
its splits share printed and kept in its protocol. JACSTS says the same of its own splits.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wikianchor.trainer.evaluate.files import Data, Source
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.pairs import (
    PROTOCOL,
    Pairs,
    concatenate,
    correlations,
    make_pairs,
    read_pairs,
    row,
    two_file_sets,
)
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors

TABLE = "Japanese STS, Spearman of all pairs"
HUMAN = "Japanese STS annotated by people, Spearman"
CLINIC = "Clinical Japanese STS, Spearman"
SPLITS = ("train", "dev", "test")
_JAPANESE = re.compile("[\u3041-\u30fe\u4e00-\u9fff]")
_SDJC = "the repository of SDJC: SentEval/data/downstream/STS"


def load_year(data: Data, year: int, options: Options) -> list[Pairs]:
    """Return the translated sets of a year; there is no dev part."""
    if options.split != "test" or not asked("ja", options.languages):
        return []
    found = two_file_sets(data, rf"STS(?:20)?{year}-ja(?:-test)?", f"STS{year} in Japanese")
    return [replace(part, name=f"ja-{part.name}") for part in found]


def load_three_columns(data: Data, pattern: str, what: str) -> Pairs | None:
    """Return a file of score, sentence, sentence whose sentences are Japanese, or None where there is none."""
    names = []
    for name in data.match(pattern):
        head = data.bytes(name)[:4096].decode("utf-8", "replace").partition("\n")[0]
        if head.count("\t") == 2 and _JAPANESE.search(head):
            names.append(name)
    file = data.same(names, what)
    return read_pairs(data, file, "ja") if file else None


def load_benchmark(data: Data, split: str) -> Pairs | None:
    """Return a part of the translated STS Benchmark, by SDJC's file name or by that of stsb-multi-mt."""
    found = load_three_columns(data, rf"sts-{split}\.csv", f"STS-B in Japanese ({split})")
    if found is None and (file := data.one(rf"stsb-ja-{split}\.csv", f"STS-B in Japanese ({split})")):
        return read_pairs(data, file, "ja")
    return found


def load_jsick(data: Data, split: str) -> Pairs | None:
    """Return a part of JSICK: its own tables have English and Japanese columns, SDJC's copy is laid out as SICK."""
    if file := data.one(rf"(?i:jsick)/(?:.*/)?{split}\.tsv", f"JSICK ({split})"):
        return _columns(data, file, ("sentence_A_Ja", "sentence_B_Ja", "relatedness_score_Ja"))
    names = {"train": "train", "dev": "trial", "test": "test_annotated"}
    sick = data.one(rf"(?i:jsick)/SICK_{names[split]}\.txt", f"JSICK ({split})")
    return read_pairs(data, sick, "ja") if sick else None


def _columns(data: Data, file: str, wanted: tuple[str, str, str]) -> Pairs:
    source = Source()
    lines = data.lines(file, source)
    head = (lines[0] or "").split("\t") if lines else []
    if any(name not in head for name in wanted):
        return read_pairs(data, file, "ja")
    places = [head.index(name) for name in wanted]
    rows = []
    for line in lines[1:]:
        cells = (line or "").split("\t")
        rows.append((cells[places[0]], cells[places[1]], cells[places[2]]) if len(cells) > max(places) else None)
    return make_pairs("ja", rows, source)


def load_jglue(data: Data, split: str) -> Pairs | None:
    """Return JSTS by JGLUE's files. Its test part was never released: the validation part stands for it, as in mteb,
    and there is no dev part."""
    if split == "dev":
        return None
    name = "train" if split == "train" else "valid"
    file = data.one(rf"(?i:jsts[^/]*)/(?:.*/)?{name}-v[\d.]+\.json", f"JSTS ({name})")
    return read_pairs(data, file, "ja") if file else None


def load_released_jsts(data: Data, split: str) -> Pairs | None:
    """Return a part of JSTS as SDJC released it."""
    return load_three_columns(data, rf"JSTS-{split}\.csv", f"JSTS of SDJC ({split})")


def load_jacsts(data: Data, split: str) -> Pairs | None:
    """Return a part of JACSTS."""
    return load_three_columns(data, rf"JAC-sts-{split}\.csv", f"JACSTS ({split})")


def shared_pairs(one: Pairs, other: Pairs) -> int:
    """Return how many rows of `one` are pairs of `other`, whichever sentence comes first."""
    known = {frozenset(pair) for pair in zip(other.first, other.second, strict=True)}
    return sum(frozenset(pair) in known for pair in zip(one.first, one.second, strict=True))


def overlaps(data: Data, load: Any, split: str) -> dict[str, int]:
    """Return how many rows of a split stand in each other split that is there."""
    own = load(data, split)
    found = {}
    for other in SPLITS:
        part = load(data, other) if other != split else None
        if own is not None and part is not None:
            found[other] = shared_pairs(own, part)
    return found


class _Leaks:
    """What the loaders found shared between splits, for the scores to say: a task is loaded once, then scored."""

    def __init__(self) -> None:
        self.found: dict[str, int] = {}


def one_set(name: str, load: Any, layout: str, home: str, column: str, tables: Sequence[str], watch: bool) -> Task:
    """Return the task of a set of one file a split. `watch` looks for rows that its splits share."""
    leaks = _Leaks()

    def read(data: Data, options: Options) -> list[Pairs]:
        if not asked("ja", options.languages):
            return []
        part = load(data, options.split)
        leaks.found = overlaps(data, load, options.split) if watch and part else {}
        return [part] if part else []

    def score(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
        scores = row("default", [tag("ja")], correlations(parts[0], vectors), parts[0])
        shared = {f"rows that are also in {other}": number for other, number in leaks.found.items()}
        for what, number in leaks.found.items():
            if number:
                here = f"{number:,} of the {len(parts[0]):,} rows of its {options.split} part"
                print(f"{name}: {here} are in its {what} part", file=sys.stderr, flush=True)
        cells = [Cell(table, column, scores["main_score"]) for table in tables]
        return Scores({options.split: [scores]}, cells, {**PROTOCOL, **shared})

    groups = ("sts-ja", "jsts-benchmark") if TABLE in tables else ("sts-ja",)
    return Task(name, groups, read, score, layout, home)


def year_task(year: int) -> Task:
    def score(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
        whole = concatenate("default", parts)
        scores = row("default", [tag("ja")], correlations(whole, vectors), whole)
        scores["sets"] = {part.name: {**correlations(part, vectors), "rows": len(part)} for part in parts}
        protocol = {**PROTOCOL, "aggregation": "all pairs of the year's sets together"}
        return Scores({"test": [scores]}, [Cell(TABLE, f"STS{year}", scores["main_score"])], protocol)

    return Task(
        f"STS{year}.ja",
        ("sts-ja", "jsts-benchmark"),
        lambda data, options: load_year(data, year, options),
        score,
        f"STS{year}-ja-test/STS.input.*.txt with STS.gs.*.txt",
        _SDJC,
    )


# Those with a dev part, for choosing among checkpoints: SDJC's paper chose by the test part.
LOADERS = {"STSBenchmark.ja": load_benchmark, "JSICK": load_jsick, "JACSTS": load_jacsts}

TASKS = [
    *(year_task(year) for year in range(12, 17)),
    one_set("STSBenchmark.ja", load_benchmark, "sts-*.csv: score, sentence, sentence", _SDJC, "STS-B", [TABLE], False),
    one_set(
        "JSICK",
        load_jsick,
        "jsick/test.tsv, or jsick/SICK_test_annotated.txt",
        "https://github.com/verypluming/JSICK",
        "JSICK",
        [TABLE, HUMAN],
        False,
    ),
    one_set(
        "JSTS",
        load_jglue,
        "jsts-v1.3/valid-v1.3.json",
        "https://github.com/yahoojapan/JGLUE",
        "JSTS",
        [TABLE, HUMAN],
        True,
    ),
    one_set("JSTS.sdjc", load_released_jsts, "JSTS-test.csv", _SDJC, "JSTS as released", [HUMAN], True),
    one_set("JACSTS", load_jacsts, "JAC-sts-test.csv", _SDJC, "JACSTS", [CLINIC], True),
]
