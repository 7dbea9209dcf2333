"""Semantic textual similarity: Spearman's rank correlation of cosines with gold scores.

A year of SemEval consists of several sets. Its score is that of the pairs of all sets together ("all"), as in EASE,
SimCSE, SBERT and mteb. The mean and the weighted mean over the sets, which differ by up to eight points, are reported
too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.pairs import (
    PROTOCOL,
    ScoredPairs,
    concatenate,
    correlations,
    is_japanese,
    read_pairs,
    read_two_files,
    row,
    two_file_sets,
)
from wikianchor.trainer.evaluate.task import EvaluationOptions, EvaluationTask, SentenceVectors, TableCell, TaskScores

TABLE = "STS, Spearman of all pairs"
MULTILINGUAL = "Multilingual STS, Spearman"
TRANSLATED = "STS Benchmark, translated, Spearman"
FILES = "STS files, Spearman"
BENCHMARK = "STSBenchmark"
SICK = "SICK-R"
# EASE and SimCSE score SICK by SentEval, which has its released parts; mteb's SICK-R is all pairs.
SICK_PARTS = "SICK-R.senteval"
ALL_PAIRS = "SICK-R as in mteb, Spearman of all parts' pairs"
# Names of the parts of SICK: in file names, and in the last column of the single file.
PARTS = {"train": ("train", "TRAIN"), "dev": ("trial", "TRIAL"), "test": ("test_annotated", "TEST")}


# ------------------------------------------------------------------------------------------------- a year of SemEval


def load_year(data: EvaluationFiles, year: int) -> list[ScoredPairs]:
    """Return the English sets of a year."""
    folder = rf"STS(?:20)?{year}(?:-en)?(?:-test)?"
    return two_file_sets(data, folder, rf"STS{year}")


def score_year(
    parts: Sequence[ScoredPairs], vectors: SentenceVectors, table: str, column: str, language: str
) -> TaskScores:
    """Return the scores of a year: "all" as the main score, mean and weighted mean over the sets, and each set's score.

    Args:
        parts: its sets.
        vectors: of sentences.
        table, column: where the score is shown.
        language: code of the sets' language.
    """
    scores = {part.name: correlations(part, vectors) for part in parts}
    whole = concatenate("default", parts)
    all_pairs = correlations(whole, vectors)
    each = np.array([scores[part.name]["spearman"] for part in parts])
    summary = {
        **row("default", [tag(language)], all_pairs, whole),
        "mean": float(each.mean()),
        "wmean": float(np.average(each, weights=[len(part) for part in parts])),
        "sets": {part.name: {**scores[part.name], "rows": len(part)} for part in parts},
    }
    protocol = {**PROTOCOL, "aggregation": "all pairs of the year's sets together; mean and wmean beside it"}
    return TaskScores({"test": [summary]}, [TableCell(table, column, all_pairs["spearman"])], protocol)


def year_task(year: int) -> EvaluationTask:
    """Return the task of a year of SemEval."""
    name = f"STS{year}"
    return EvaluationTask(
        name,
        ("sts", "mono"),
        lambda data, options: load_year(data, year) if options.split == "test" else [],
        lambda parts, vectors, options: score_year(parts, vectors, TABLE, name, "en"),
        f"{name}-en-test/STS.input.*.txt with STS.gs.*.txt",
        "https://ixa2.si.ehu.eus/stswiki, or data/downstream/STS of SentEval's download script",
    )


# ------------------------------------------------------------------------------------------ STS Benchmark and SICK


def load_benchmark(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of the English STS Benchmark: the released file of seven columns, or that of stsb-multi-mt."""
    released = [name for name in data.match(rf"sts-{split}\.csv") if _columns(data, name) >= 7]
    file = data.same(released, f"the STS Benchmark ({split})") or data.find(rf"stsb-en-{split}\.csv", "STS-B")
    return read_pairs(data, file, split) if file else None


def _columns(data: EvaluationFiles, name: str) -> int:
    first = data.bytes(name).partition(b"\n")[0]
    return first.count(b"\t") + 1


def load_sick(data: EvaluationFiles, split: str) -> ScoredPairs | None:
    """Return a part of SICK: train, dev (trial) or test, each a file as in SemEval 2014 or all in one as later."""
    files = [name for name in data.match(rf"SICK_{PARTS[split][0]}\.txt") if not is_japanese(data, name)]
    if file := data.same(files, f"SICK ({split})"):
        return read_pairs(data, file, split)
    whole = data.find(r"SICK\.txt", "SICK")
    return read_pairs(data, whole, split, ("SemEval_set", PARTS[split][1])) if whole else None


def score_part(
    parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluationOptions, table: str, column: str
) -> TaskScores:
    """Return the score of all pairs of the parts together, as that of the split that is asked for."""
    whole = concatenate(options.split, parts)
    scores = row("default", [tag("en")], correlations(whole, vectors), whole)
    return TaskScores({options.split: [scores]}, [TableCell(table, column, scores["main_score"])], PROTOCOL)


def load_all_sick(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return all parts of SICK, or none if one is missing: mteb's only split, `test`, is the pairs of all of them."""
    parts = [part for split in PARTS if (part := load_sick(data, split))] if options.split == "test" else []
    return parts if len(parts) == len(PARTS) else []


# ------------------------------------------------------------------------------------- multilingual STS, other files


def load_translations(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return the STS Benchmark in the languages of stsb-multi-mt."""
    files = data.by_language(rf"stsb-([a-z]{{2}})-{options.split}\.csv", "STS-B", options.languages)
    return [read_pairs(data, file, code) for code, file in files.items()]


def load_korean(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return a part of KorSTS."""
    file = data.find(rf"sts-{options.split}\.tsv", f"KorSTS ({options.split})")
    return [read_pairs(data, file, "ko")] if file and asked("ko", options.languages) else []


def file_task(path: str) -> EvaluationTask:
    """Return the task of one file in any known layout; for STS.input.X.txt, with STS.gs.X.txt in the same directory.

    Its `load` takes `EvaluationFiles.of_file(path)`.
    """
    name = path.rpartition("/")[2]

    def load(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
        gold = name.replace("STS.input.", "STS.gs.")
        return [read_two_files(data, name, gold, name) if gold != name else read_pairs(data, name, name)]

    def score(parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluationOptions) -> TaskScores:
        scores = row("default", [], correlations(parts[0], vectors), parts[0])
        return TaskScores({"test": [scores]}, [TableCell(FILES, name, scores["main_score"], average=False)], PROTOCOL)

    return EvaluationTask(f"STS.{name}", (), load, score, path, "the file's maker")


def load_tracks(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return the tracks of STS 2017, named by their languages.

    A track is two files, or one file with the score in a third column as in the extended set. If both exist, the two
    files are used.
    """
    tracks: dict[str, ScoredPairs] = {}
    if options.split != "test":
        return []
    for pattern, read in ((r"STS\.input\.track\w+\.", _track), (r"STS\.", read_pairs)):
        for name, files in data.by_group(rf"{pattern}([a-z]{{2}}-[a-z]{{2}}(?:-[a-z]+)?)\.txt").items():
            if name not in tracks and _asked(name, options.languages):
                tracks[name] = read(data, str(data.same(files, f"STS17 {name}")), name)
    return [tracks[name] for name in sorted(tracks)]


def _asked(pair: str, languages: Sequence[str]) -> bool:
    """Return whether the language of a pair that is not English is asked for."""
    foreign = [code for code in pair.split("-")[:2] if code != "en"] or ["en"]
    return any(asked(code, languages) for code in foreign)


def _track(data: EvaluationFiles, file: str, name: str) -> ScoredPairs:
    """Read a track with the scores in another file, of any directory, or in a third column."""
    gold = re.escape(file.rpartition("/")[2].replace("STS.input.", "STS.gs."))
    scores = data.find(gold, f"the gold scores of {name}")
    return read_two_files(data, file, scores, name) if scores else read_pairs(data, file, name)


def score_languages(parts: Sequence[ScoredPairs], vectors: SentenceVectors, table: str, split: str) -> TaskScores:
    """Return scores by language or pair of languages, which is the name of each part."""
    rows = [
        row(part.name, [tag(code) for code in part.name.split("-")[:2]], correlations(part, vectors), part)
        for part in parts
    ]
    cells = [TableCell(table, scores["hf_subset"].upper(), scores["main_score"]) for scores in rows]
    return TaskScores({split: rows}, cells, PROTOCOL)


# ---------------------------------------------------------------------------------------------- the dev score, tasks

LOADERS: dict[str, Callable[[EvaluationFiles, str], ScoredPairs | None]] = {BENCHMARK: load_benchmark, SICK: load_sick}


LAYOUTS = {
    BENCHMARK: "STSBenchmark/sts-{train,dev,test}.csv of seven columns, or stsb-en-{train,dev,test}.csv",
    SICK: "SICK_{train,trial,test_annotated}.txt, or SICK.txt",
}

TASKS = [
    *(year_task(year) for year in range(12, 17)),
    EvaluationTask(
        BENCHMARK,
        ("sts", "mono", "stsb", "sts-b"),
        lambda data, options: [part for part in [load_benchmark(data, options.split)] if part],
        lambda parts, vectors, options: score_part(parts, vectors, options, TABLE, "STS-B"),
        LAYOUTS[BENCHMARK],
        "https://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark, or https://github.com/PhilipMay/stsb-multi-mt",
    ),
    EvaluationTask(
        SICK_PARTS,
        ("sts", "mono", "sick", "sickr"),
        lambda data, options: [part for part in [load_sick(data, options.split)] if part],
        lambda parts, vectors, options: score_part(parts, vectors, options, TABLE, SICK),
        LAYOUTS[SICK],
        "https://zenodo.org/record/2787612",
    ),
    EvaluationTask(
        SICK,
        ("sts", "sick", "sickr"),
        load_all_sick,
        lambda parts, vectors, options: score_part(parts, vectors, options, ALL_PAIRS, SICK),
        f"{LAYOUTS[SICK]}; its only split is test",
        "https://zenodo.org/record/2787612",
    ),
    EvaluationTask(
        "STS17",
        ("multilingual", "sts2017", "msts"),
        load_tracks,
        lambda parts, vectors, options: score_languages(parts, vectors, MULTILINGUAL, options.split),
        "STS.input.track*.xx-yy.txt with STS.gs.track*.xx-yy.txt or a third column, or STS.xx-yy.txt of three columns",
        "https://alt.qcri.org/semeval2017/task1; extended: https://public.ukp.informatik.tu-darmstadt.de/reimers",
    ),
    EvaluationTask(
        "STSBenchmarkMultilingualSTS",
        ("multilingual", "stsb-multi"),
        load_translations,
        lambda parts, vectors, options: score_languages(parts, vectors, TRANSLATED, options.split),
        "stsb-XX-{dev,test}.csv",
        "https://github.com/PhilipMay/stsb-multi-mt",
    ),
    EvaluationTask(
        "KorSTS",
        ("multilingual",),
        load_korean,
        lambda parts, vectors, options: score_languages(parts, vectors, "KorSTS, Spearman", options.split),
        "sts-{dev,test}.tsv with a header",
        "https://github.com/kakaobrain/kor-nlu-datasets",
    ),
]
