"""Clustering of short texts: k-means over the vectors, with as many clusters as gold labels.

Accuracy is the share of correct texts under the best one-to-one mapping of clusters to labels. The score is the mean
over seeds, with the standard deviation, because runs differ by several points. A single cluster for all texts has an
accuracy equal to the share of the most frequent label, so the table has that row too, and NMI beside the accuracy.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource
from wikianchor.trainer.evaluate.languages import asked, check_language, tag
from wikianchor.trainer.evaluate.metrics import clustering_scores
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    Labelled,
    SentenceVectors,
    TableCell,
    TaskScores,
    mteb_row,
    progress,
)

SHORT_TEXTS = "Short text clustering"
MEWSC16 = "MewsC-16"
MEWSC16_TASK = "MewsC16.accuracy"
# Columns of EASE's table 15, and names of the published files.
SETS = {
    "AG": "agnews",
    "Bio": "biomedical",
    "G-S": "s",
    "G-T": "t",
    "G-TS": "ts",
    "SO": "stackoverflow",
    "SS": "searchsnippets",
    "Tweet": "tweet",
}
INITS = 10
ITERATIONS = 300


def make_labelled(name: str, rows: Iterable[tuple[str | None, str | None]], source: SetSource) -> Labelled:
    """Return the rows with a text and a label, and count the others in `source`.

    Labels are numbered from 0 in the order in which they first occur.

    Args:
        name: name of the set.
        rows: text and label; None for what cannot be parsed.
        source: source of the set.

    Raises:
        InputError: no row can be used, or all rows have the same label.
    """
    texts, names = zip(*source.usable(name, rows), strict=True)
    check_language(", ".join(source.files), ["en" if name in SETS else name], texts)
    numbers = {label: number for number, label in enumerate(dict.fromkeys(names))}
    if len(numbers) < 2:
        raise InputError(f"{', '.join(source.files)}: {name} has one label: there is nothing to cluster")
    return Labelled(name, source, list(texts), [numbers[label] for label in names])


# ---------------------------------------------------------------------------------------------------------- scoring


def cluster(vectors: NDArray[np.float32], clusters: int, seed: int) -> list[int]:
    """Return the number of the cluster of each row of vectors, (rows, dim)."""
    with warnings.catch_warnings():
        # Raised where there are fewer different vectors than clusters.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(clusters, n_init=INITS, max_iter=ITERATIONS, random_state=seed).fit(vectors)
    return [int(number) for number in model.labels_]


def score_one(part: Labelled, vectors: NDArray[np.float32], seeds: int) -> dict[str, Any]:
    """Return means and standard deviations over the seeds, and the accuracy of each seed."""
    clusters = max(part.labels) + 1
    runs = [clustering_scores(part.labels, cluster(vectors, clusters, seed)) for seed in range(seeds)]
    scores: dict[str, Any] = {}
    for name in runs[0]:
        values = [run[name] for run in runs]
        scores[name], scores[f"{name}_std"] = float(np.mean(values)), float(np.std(values, ddof=min(1, seeds - 1)))
    scores["accuracy_by_seed"] = [run["accuracy"] for run in runs]
    # The accuracy of a single cluster.
    majority = float(np.bincount(part.labels).max() / len(part))
    return {**scores, "majority_share": majority, "labels": clusters, "rows": len(part)}


def score(
    parts: Sequence[Labelled], vectors: SentenceVectors, options: EvaluateOptions, table: str, languages: bool
) -> TaskScores:
    """Return the scores of each set; `languages` says whether the sets' names are codes of languages."""
    rows, cells = [], []
    for part in progress(parts):
        scores = score_one(part, vectors.features(part.texts, options), options.seeds)
        language = tag(part.name if languages else "en")
        rows.append(mteb_row(part.name, [language], scores["accuracy"], **scores))
        cells.append(TableCell(f"{table}, accuracy", part.name, scores["majority_share"], row="majority label"))
        for title, measure in ((f"{table}, accuracy", "accuracy"), (f"{table}, NMI (the V-measure)", "nmi")):
            spread = scores[f"{measure}_std"] if options.seeds > 1 else None
            cells.append(TableCell(title, part.name, scores[measure], spread))
    return TaskScores({"test": rows}, cells, protocol(options))


def protocol(options: EvaluateOptions) -> dict[str, Any]:
    """Return how the scores are computed."""
    return {
        "algorithm": f"k-means++ of scikit-learn {sklearn.__version__}, n_init {INITS}, max_iter {ITERATIONS}",
        "clusters": "as many as gold labels",
        "accuracy": "best one-to-one map of clusters to labels (Hungarian)",
        "seeds": list(range(options.seeds)),
        "normalize": options.normalize,
    }


# ------------------------------------------------------------------------------------------------------ eight sets


def load_short_texts(data: EvaluationFiles, options: EvaluateOptions) -> list[Labelled]:
    """Return those of the eight sets whose files exist."""
    files = {name: [file for file in data.match(rf"{base}\.txt") if _known(data, file)] for name, base in SETS.items()}
    return data.read_each(
        (name for name in SETS if files[name]),
        lambda name: read_short_texts(data, str(data.same(files[name], f"the set {name}")), name),
    )


def _label_file(file: str) -> str:
    return file.removesuffix(".txt") + "_label.txt"


def _known(data: EvaluationFiles, file: str) -> bool:
    """Return whether a file has the layout of the sets; names such as t.txt are used for other files too."""
    first = data.bytes(file).partition(b"\n")[0]
    return _label_file(file) in data.names or first.startswith(b"{") or b"\t" in first


def read_short_texts(data: EvaluationFiles, file: str, name: str) -> Labelled:
    """Read texts and a file of labels, or label TAB text, or JSON lines with text and cluster."""
    source = SetSource()
    if _label_file(file) in data.names:
        return make_labelled(name, zip(*data.aligned((file, _label_file(file)), source), strict=True), source)
    lines = data.lines(file, source)
    if next((line for line in lines if line), "").startswith("{"):
        return make_labelled(name, map(_object, lines), source)
    return make_labelled(name, map(_two_columns, lines), source)


def _two_columns(line: str | None) -> tuple[str | None, str | None]:
    label, tab, text = (line or "").partition("\t")
    return (text, label) if tab else (None, None)


def _object(line: str | None) -> tuple[str | None, str | None]:
    """Return text and label of a line of JSON, or of a Python literal, as in old copies."""
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(line or "")
            return str(value["text"]), str(value["cluster"])
        except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
            continue
    return None, None


# -------------------------------------------------------------------------------------------------------- MewsC-16


def load_mewsc16(data: EvaluationFiles, options: EvaluateOptions) -> list[Labelled]:
    """Return the languages of MewsC-16: the published files, or a dataset of `wikianchor mewsc16`.

    Raises:
        InputError: both exist.
    """
    released, built = _released(data), _built(data)
    if released and built:
        first, second = next(iter(released.values()))[0], next(iter(built.values()))[0]
        raise InputError(f"{data.root}: MewsC-16 is there as {first} and as {second}: name one by --data")
    read = _read_released if released else _read_built
    files = released or built
    languages = [language for language in sorted(files) if asked(language, options.languages)]
    return data.read_each(languages, lambda language: read(data, files[language], language))


def _released(data: EvaluationFiles) -> dict[str, list[str]]:
    """Return the published files of sentences by language."""
    return data.by_group(r"([a-z]{2,3})_sentences\.txt", lambda name: _categories(name) in data.names)


def _categories(file: str) -> str:
    return file.removesuffix("_sentences.txt") + "_categories.txt"


def _read_released(data: EvaluationFiles, files: list[str], language: str) -> Labelled:
    source = SetSource()
    file = str(data.same(files, f"MewsC-16 in {language}"))
    return make_labelled(language, zip(*data.aligned((file, _categories(file)), source), strict=True), source)


def _built(data: EvaluationFiles) -> dict[str, list[str]]:
    """Return the shards of a `mewsc16` dataset by config, which is the language."""
    needed = {"sentence", "label", "language"}
    return data.by_group(
        r"data/([a-z]{2,3})/[^/]+\.parquet", lambda name: needed <= set(data.parquet(name).schema_arrow.names)
    )


def _read_built(data: EvaluationFiles, files: list[str], language: str) -> Labelled:
    # Copies of a shard, such as one in an archive, count once.
    unique = {(file.rpartition("/")[2], data.sha256(file)): file for file in files}
    source = SetSource({file: sha256 for (_, sha256), file in unique.items()})
    rows: list[tuple[str | None, str | None]] = []
    for file in unique.values():
        with reading(data.path(file)):
            table = data.parquet(file).read(columns=["sentence", "label"])
        rows += zip(table["sentence"].to_pylist(), table["label"].to_pylist(), strict=True)
    return make_labelled(language, rows, source)


TASKS = [
    EvaluationTask(
        name="ShortTextClustering.accuracy",
        groups=("clustering", "mono", "stc"),
        load=load_short_texts,
        score=lambda parts, vectors, options: score(parts, vectors, options, SHORT_TEXTS, languages=False),
        layout=", ".join(f"{base}.txt" for base in SETS.values()) + ", with X_label.txt where the labels are apart",
        home="https://github.com/rashadulrakib/short-text-clustering-enhancement",
    ),
    EvaluationTask(
        name=MEWSC16_TASK,
        groups=("clustering", "multilingual", "mewsc16", "mewsc-16"),
        load=load_mewsc16,
        score=lambda parts, vectors, options: score(parts, vectors, options, MEWSC16, languages=True),
        layout="XX_sentences.txt with XX_categories.txt, or data/XX/*.parquet with sentence, label and language",
        home="https://github.com/studio-ousia/ease, or `wikianchor mewsc16`",
    ),
]
