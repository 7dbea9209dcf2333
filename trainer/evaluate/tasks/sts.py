"""Semantic textual similarity: Spearman's correlation of cosines with gold scores.

A year of SemEval is several sets. Its score here is that of all their pairs together ("all"), as in EASE, SimCSE,
SBERT and mteb; the mean and the mean weighted by rows, which differ by up to eight points, stand beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from wikianchor.trainer.evaluate.files import Data
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.pairs import (
    PROTOCOL,
    Pairs,
    concatenate,
    correlations,
    read_pairs,
    read_two_files,
    row,
    two_file_sets,
)
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors

TABLE = "STS, Spearman of all pairs"
MULTILINGUAL = "Multilingual STS, Spearman"
TRANSLATED = "STS Benchmark, translated, Spearman"
FILES = "STS files, Spearman"
BENCHMARK = "STSBenchmark"
SICK = "SICK-R"
# What the parts of SICK are called: in the names of files, and in the one file's last column.
PARTS = {"train": ("train", "TRAIN"), "dev": ("trial", "TRIAL"), "test": ("test_annotated", "TEST")}


# ------------------------------------------------------------------------------------------------- a year of SemEval


def load_year(data: Data, year: int) -> list[Pairs]:
    """Return the sets of an English year, by name."""
    folder = rf"STS(?:20)?{year}(?:-en)?(?:-test)?"
    return two_file_sets(data, folder, rf"STS{year}")


def score_year(parts: Sequence[Pairs], vectors: Vectors, options: Options, column: str) -> Scores:
    """Return "all", mean and wmean of a year, and each set's score."""
    scores = {part.name: correlations(part, vectors) for part in parts}
    whole = concatenate("default", parts)
    all_pairs = correlations(whole, vectors)
    each = np.array([scores[part.name]["spearman"] for part in parts])
    summary = {
        **row("default", [tag("en")], all_pairs, whole),
        "mean": float(each.mean()),
        "wmean": float(np.average(each, weights=[len(part) for part in parts])),
        "sets": {part.name: {**scores[part.name], "rows": len(part)} for part in parts},
    }
    protocol = {**PROTOCOL, "aggregation": "all pairs of the year's sets together; mean and wmean beside it"}
    return Scores({"test": [summary]}, [Cell(TABLE, column, all_pairs["spearman"])], protocol)


def year_task(year: int) -> Task:
    name = f"STS{year}"
    return Task(
        name,
        ("sts", "mono"),
        lambda data, options: load_year(data, year) if options.split == "test" else [],
        lambda parts, vectors, options: score_year(parts, vectors, options, name),
        f"{name}-en-test/STS.input.*.txt with STS.gs.*.txt",
        "https://ixa2.si.ehu.eus/stswiki, or data/downstream/STS of SentEval's download script",
    )


# ------------------------------------------------------------------------------------------ STS Benchmark and SICK


def load_benchmark(data: Data, split: str) -> Pairs | None:
    """Return a part of the English STS Benchmark: as released, seven columns, else as in stsb-multi-mt."""
    released = [name for name in data.match(rf"sts-{split}\.csv") if _columns(data, name) >= 7]
    file = data.same(released, f"the STS Benchmark ({split})") or data.one(rf"stsb-en-{split}\.csv", "STS-B")
    return read_pairs(data, file, split) if file else None


def _columns(data: Data, name: str) -> int:
    first = data.bytes(name).partition(b"\n")[0]
    return first.count(b"\t") + 1


def load_sick(data: Data, split: str) -> Pairs | None:
    """Return a part of SICK: train, dev (trial) or test, each a file as in SemEval 2014 or all in one as later."""
    file = data.one(rf"SICK_{PARTS[split][0]}\.txt", f"SICK ({split})")
    if file:
        return read_pairs(data, file, split)
    whole = data.one(r"SICK\.txt", "SICK")
    return read_pairs(data, whole, split, ("SemEval_set", PARTS[split][1])) if whole else None


def score_benchmark(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
    return score_parts(parts, vectors, options, "STS-B")


def score_parts(parts: Sequence[Pairs], vectors: Vectors, options: Options, column: str) -> Scores:
    """Return the score of each part, and that of all parts together where there are several; the split asked for is
    what the table shows."""
    wholes = [*parts, concatenate("all", parts)] if len(parts) > 1 else list(parts)
    found = {part.name: row("default", [tag("en")], correlations(part, vectors), part) for part in wholes}
    cells = [Cell(TABLE, column, found[options.split]["main_score"])]
    return Scores({name: [scores] for name, scores in found.items()}, cells, PROTOCOL)


def load_all_sick(data: Data, options: Options) -> list[Pairs]:
    """Return all parts of SICK for its test, since mteb's score is of all pairs; where a part is missing, and for dev,
    the part asked for alone."""
    whole = [load_sick(data, split) for split in PARTS] if options.split == "test" else []
    found = [part for part in whole if part]
    if found and len(found) == len(PARTS):
        return found
    asked_for = load_sick(data, options.split)
    return [asked_for] if asked_for else []


# ------------------------------------------------------------------------------------- multilingual STS, other files


def load_translations(data: Data, options: Options) -> list[Pairs]:
    """Return the STS Benchmark in the languages of stsb-multi-mt."""
    found = data.match(rf"stsb-([a-z]{{2}})-{options.split}\.csv")
    names: dict[str, list[str]] = {}
    for file, match in found.items():
        if asked(match[1], options.languages):
            names.setdefault(match[1], []).append(file)
    return [read_pairs(data, str(data.same(files, f"STS-B {code}")), code) for code, files in sorted(names.items())]


def load_korean(data: Data, options: Options) -> list[Pairs]:
    """Return a part of KorSTS."""
    file = (
        data.one(rf"sts-{options.split}\.tsv", f"KorSTS ({options.split})") if asked("ko", options.languages) else None
    )
    return [read_pairs(data, file, "ko")] if file else []


def file_task(path: str) -> Task:
    """Return a task of one file of any layout that is known; of STS.input.X.txt with the STS.gs.X.txt beside it. Its
    `load` takes `Data.of_file(path)`."""
    name = path.rpartition("/")[2]

    def load(data: Data, options: Options) -> list[Pairs]:
        gold = name.replace("STS.input.", "STS.gs.")
        return [read_two_files(data, name, gold, name) if gold != name else read_pairs(data, name, name)]

    def score(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
        found = row("default", [], correlations(parts[0], vectors), parts[0])
        return Scores({"test": [found]}, [Cell(FILES, name, found["main_score"], average=False)], PROTOCOL)

    return Task(f"STS.{name}", (), load, score, path, "the file's maker")


def load_tracks(data: Data, options: Options) -> list[Pairs]:
    """Return the tracks of STS 2017, named by their languages: two files each, or one with the score as a third column
    as in the extended set. Where a track is there in both forms, the first counts."""
    found: dict[str, Pairs] = {}
    for pattern, read in ((r"STS\.input\.track\w+\.", _track), (r"STS\.", read_pairs)):
        names: dict[str, list[str]] = {}
        for file, match in data.match(rf"{pattern}([a-z]{{2}}-[a-z]{{2}}(?:-[a-z]+)?)\.txt").items():
            if options.split == "test" and match[1] not in found and _asked(match[1], options.languages):
                names.setdefault(match[1], []).append(file)
        found |= {name: read(data, str(data.same(files, f"STS17 {name}")), name) for name, files in names.items()}
    return [found[name] for name in sorted(found)]


def _asked(pair: str, languages: Sequence[str]) -> bool:
    """Return whether a pair's language beside English is asked for."""
    foreign = [code for code in pair.split("-")[:2] if code != "en"] or ["en"]
    return any(asked(code, languages) for code in foreign)


def _track(data: Data, file: str, name: str) -> Pairs:
    """Read a track with the scores in their own file, which may lie in another folder, or in a third column."""
    gold = re.escape(file.rpartition("/")[2].replace("STS.input.", "STS.gs."))
    scores = data.one(gold, f"the gold scores of {name}")
    return read_two_files(data, file, scores, name) if scores else read_pairs(data, file, name)


def score_tracks(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
    """Return the score of each pair of languages; the table's average is their mean."""
    return score_languages(parts, vectors, MULTILINGUAL, options.split)


def score_languages(parts: Sequence[Pairs], vectors: Vectors, table: str, split: str) -> Scores:
    """Return scores by language, or pair of languages: the name of each part."""
    found = [
        row(part.name, [tag(code) for code in part.name.split("-")[:2]], correlations(part, vectors), part)
        for part in parts
    ]
    cells = [Cell(table, scores["hf_subset"].upper(), scores["main_score"]) for scores in found]
    return Scores({split: found}, cells, PROTOCOL)


# ---------------------------------------------------------------------------------------------- the dev score, tasks

LOADERS: dict[str, Callable[[Data, str], Pairs | None]] = {BENCHMARK: load_benchmark, SICK: load_sick}


LAYOUTS = {
    BENCHMARK: "STSBenchmark/sts-{train,dev,test}.csv of seven columns, or stsb-en-{train,dev,test}.csv",
    SICK: "SICK_{train,trial,test_annotated}.txt, or SICK.txt",
}

TASKS = [
    *(year_task(year) for year in range(12, 17)),
    Task(
        BENCHMARK,
        ("sts", "mono", "stsb", "sts-b"),
        lambda data, options: [part for part in [load_benchmark(data, options.split)] if part],
        score_benchmark,
        LAYOUTS[BENCHMARK],
        "https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark, or https://github.com/PhilipMay/stsb-multi-mt",
    ),
    Task(
        SICK,
        ("sts", "mono", "sick", "sickr"),
        load_all_sick,
        lambda parts, vectors, options: score_parts(parts, vectors, options, SICK),
        LAYOUTS[SICK],
        "https://zenodo.org/record/2787612",
    ),
    Task(
        "STS17",
        ("multilingual", "sts2017", "msts"),
        load_tracks,
        score_tracks,
        "STS.input.track*.xx-yy.txt with STS.gs.track*.xx-yy.txt or a third column, or STS.xx-yy.txt of three columns",
        "https://alt.qcri.org/semeval2017/task1; extended: https://public.ukp.informatik.tu-darmstadt.de/reimers",
    ),
    Task(
        "STSBenchmarkMultilingualSTS",
        ("multilingual", "stsb-multi"),
        load_translations,
        lambda parts, vectors, options: score_languages(parts, vectors, TRANSLATED, options.split),
        "stsb-XX-{dev,test}.csv",
        "https://github.com/PhilipMay/stsb-multi-mt",
    ),
    Task(
        "KorSTS",
        ("multilingual",),
        load_korean,
        lambda parts, vectors, options: score_languages(parts, vectors, "KorSTS, Spearman", options.split),
        "sts-{dev,test}.tsv with a header",
        "https://github.com/kakaobrain/kor-nlu-datasets",
    ),
]
