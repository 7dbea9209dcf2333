"""Clustering of short texts: k-means over the vectors, as many clusters as labels, against the labels.

Accuracy is the share of texts that are right under the best one-to-one map of clusters to labels. It is the mean over
seeds with its standard deviation, since one run differs from the next by several points. Where a label is frequent,
one cluster for all texts scores its share: that row stands in the table, and NMI beside the accuracy.
"""

from __future__ import annotations

import ast
import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import sklearn
from numpy.typing import NDArray
from pyarrow import parquet
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from wikianchor.io.errors import InputError
from wikianchor.io.storage import reading
from wikianchor.trainer.evaluate import cluster_plot
from wikianchor.trainer.evaluate.files import Data, Source, aligned
from wikianchor.trainer.evaluate.languages import asked, tag
from wikianchor.trainer.evaluate.metrics import clustering_scores, majority_share, unit
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors, progress

SHORT_TEXTS = "Short text clustering"
MEWSC16 = "MewsC-16"
MEWSC16_TASK = "MewsC16.accuracy"
# The columns of EASE's table 15 and the names of the released files.
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


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels, counted from 0 in the order in which they first occur."""

    name: str
    texts: list[str]
    labels: list[int]
    source: Source
    names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)


def make_labelled(name: str, rows: Iterable[tuple[str | None, str | None]], source: Source) -> Labelled:
    """Return the rows that have a text and a label; None or a blank stands for what cannot be read."""
    texts: list[str] = []
    names: list[str] = []
    for text, label in rows:
        source.rows += 1
        if text is None or label is None or not text.strip():
            source.broken += 1
        elif not label.strip():
            source.blank += 1
        else:
            texts.append(text.strip())
            names.append(label.strip())
    source.check(name)
    numbers = {label: number for number, label in enumerate(dict.fromkeys(names))}
    if len(numbers) < 2:
        raise InputError(f"{', '.join(source.files)}: {name} has one label: there is nothing to cluster")
    return Labelled(name, texts, [numbers[label] for label in names], source, tuple(numbers))


# ---------------------------------------------------------------------------------------------------------- scoring


def cluster(vectors: NDArray[np.float32], clusters: int, seed: int) -> list[int]:
    """vectors: (rows, dim); returns the cluster of each row."""
    with warnings.catch_warnings():
        # Fewer different vectors than clusters: the score says it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = KMeans(clusters, n_init=INITS, max_iter=ITERATIONS, random_state=seed).fit(vectors)
    return [int(number) for number in model.labels_]


def score_one(part: Labelled, vectors: NDArray[np.float32], seeds: int) -> dict[str, Any]:
    """Return means over the seeds, standard deviations, and the accuracy of each seed."""
    clusters = max(part.labels) + 1
    runs = [clustering_scores(part.labels, cluster(vectors, clusters, seed)) for seed in range(seeds)]
    found: dict[str, Any] = {}
    for name in runs[0]:
        values = [run[name] for run in runs]
        found[name], found[f"{name}_std"] = float(np.mean(values)), float(np.std(values, ddof=min(1, seeds - 1)))
    found["accuracy_by_seed"] = [run["accuracy"] for run in runs]
    return {**found, "majority_share": majority_share(part.labels), "labels": clusters, "rows": len(part)}


def score(parts: Sequence[Labelled], vectors: Vectors, options: Options, table: str, languages: bool) -> Scores:
    """Return the scores of each set; `languages` says whether sets are named by languages."""
    rows, cells = [], []
    for part in progress(parts):
        encoded = vectors(part.texts)
        found = score_one(part, unit(encoded) if options.normalize else encoded, options.seeds)
        of = tag(part.name) if languages else tag("en")
        rows.append({"hf_subset": part.name, "languages": [of], "main_score": found["accuracy"], **found})
        accuracy, nmi = f"{table}, accuracy", f"{table}, NMI (the V-measure)"
        spread = found["accuracy_std"] if options.seeds > 1 else None
        cells.append(Cell(accuracy, part.name, found["majority_share"], row="majority label"))
        cells.append(Cell(accuracy, part.name, found["accuracy"], spread))
        cells.append(Cell(nmi, part.name, found["nmi"], found["nmi_std"] if options.seeds > 1 else None))
    return Scores({"test": rows}, cells, protocol(options))


def protocol(options: Options) -> dict[str, Any]:
    return {
        "algorithm": f"k-means++ of scikit-learn {sklearn.__version__}, n_init {INITS}, max_iter {ITERATIONS}",
        "clusters": "as many as gold labels",
        "accuracy": "best one-to-one map of clusters to labels (Hungarian)",
        "seeds": list(range(options.seeds)),
        "normalize": options.normalize,
    }


# ------------------------------------------------------------------------------------------------------ eight sets


def load_short_texts(data: Data, options: Options) -> list[Labelled]:
    """Return those of the eight sets that are there."""
    found = []
    for name, base in SETS.items():
        files = [file for file in data.match(rf"{base}\.txt") if _known(data, file)]
        file = data.same(files, f"the set {name}") if options.split == "test" else None
        if file:
            found.append(read_short_texts(data, file, name))
    return found


def _label_file(file: str) -> str:
    return file.removesuffix(".txt") + "_label.txt"


def _known(data: Data, file: str) -> bool:
    """Return whether a file looks like one of the sets; names such as t.txt are not theirs alone."""
    first = data.bytes(file).partition(b"\n")[0]
    return _label_file(file) in data.names or first.startswith(b"{") or b"\t" in first


def read_short_texts(data: Data, file: str, name: str) -> Labelled:
    """Read texts with a file of labels beside it, or label TAB text, or an object with text and cluster in a line."""
    source = Source()
    lines = data.lines(file, source)
    if _label_file(file) in data.names:
        labels = data.lines(_label_file(file), source)
        aligned((file, _label_file(file)), (lines, labels))
        return make_labelled(name, zip(lines, labels, strict=True), source)
    if next((line for line in lines if line), "").startswith("{"):
        return make_labelled(name, map(_object, lines), source)
    return make_labelled(name, map(_two_columns, lines), source)


def _two_columns(line: str | None) -> tuple[str | None, str | None]:
    label, tab, text = (line or "").partition("\t")
    return (text, label) if tab else (None, None)


def _object(line: str | None) -> tuple[str | None, str | None]:
    """Return text and label of a line of JSON, or of a literal of Python, as the oldest copies have it."""
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(line or "")
            return str(found["text"]), str(found["cluster"])
        except (ValueError, SyntaxError, TypeError, KeyError, RecursionError, MemoryError):
            continue
    return None, None


# -------------------------------------------------------------------------------------------------------- MewsC-16


def load_mewsc16(data: Data, options: Options) -> list[Labelled]:
    """Return the languages of MewsC-16: as released, or of a dataset that `wikianchor mewsc16` made.

    Raises:
        InputError: both are there.
    """
    if options.split != "test":
        return []
    released, built = _released(data), _built(data)
    if released and built:
        first, second = next(iter(released.values()))[0], next(iter(built.values()))[0]
        raise InputError(f"{data.root}: MewsC-16 is there as {first} and as {second}: name one by --data")
    parts = []
    for language in sorted(released | built):
        if not asked(language, options.languages):
            continue
        if language in released:
            parts.append(_read_released(data, released[language], language))
        else:
            parts.append(_read_built(data, built[language], language))
    return parts


def _released(data: Data) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for file, match in data.match(r"([a-z]{2,3})_sentences\.txt").items():
        if _categories(file) in data.names:
            found.setdefault(match[1], []).append(file)
    return found


def _categories(file: str) -> str:
    return file.removesuffix("_sentences.txt") + "_categories.txt"


def _read_released(data: Data, files: list[str], language: str) -> Labelled:
    source = Source()
    file = str(data.same(files, f"MewsC-16 in {language}"))
    texts, labels = data.lines(file, source), data.lines(_categories(file), source)
    aligned((file, _categories(file)), (texts, labels))
    return make_labelled(language, zip(texts, labels, strict=True), source)


def _built(data: Data) -> dict[str, list[str]]:
    """Return the shards of a `mewsc16` dataset by config, which is the language."""
    found: dict[str, list[str]] = {}
    for file, match in data.match(r"data/([a-z]{2,3})/[^/]+\.parquet").items():
        if {"sentence", "label", "language"} <= set(_parquet(data, file, names_only=True)):
            found.setdefault(match[1], []).append(file)
    return found


def _parquet(data: Data, file: str, names_only: bool = False) -> Any:
    with reading(data.path(file)):
        shard = parquet.ParquetFile(pa.BufferReader(data.bytes(file)))
        return shard.schema_arrow.names if names_only else shard.read(columns=["sentence", "label"])


def _read_built(data: Data, files: list[str], language: str) -> Labelled:
    source = Source({file: data.sha256(file) for file in files})
    tables = [_parquet(data, file) for file in files]
    rows = [
        row for table in tables for row in zip(table["sentence"].to_pylist(), table["label"].to_pylist(), strict=True)
    ]
    return make_labelled(language, rows, source)


def score_mewsc16(parts: Sequence[Labelled], vectors: Vectors, options: Options) -> Scores:
    """Return the scores of each language, and draw the clusters of the one that is plotted."""
    found = score(parts, vectors, options, MEWSC16, languages=True)
    if options.clusters:
        (part,) = parts
        encoded = vectors(part.texts)
        encoded = unit(encoded) if options.normalize else encoded
        clusters = cluster(encoded, max(part.labels) + 1, 0)
        cluster_plot.plot(f"{MEWSC16}, {part.name}", encoded, part.labels, part.names, clusters, options.clusters)
    return found


TASKS = [
    Task(
        "ShortTextClustering.accuracy",
        ("clustering", "mono", "stc"),
        load_short_texts,
        lambda parts, vectors, options: score(parts, vectors, options, SHORT_TEXTS, languages=False),
        ", ".join(f"{base}.txt" for base in SETS.values()) + ", with X_label.txt where the labels are apart",
        "https://github.com/rashadulrakib/short-text-clustering-enhancement",
    ),
    Task(
        MEWSC16_TASK,
        ("clustering", "multilingual", "mewsc16", "mewsc-16"),
        load_mewsc16,
        score_mewsc16,
        "XX_sentences.txt with XX_categories.txt, or data/XX/*.parquet with sentence, label and language",
        "https://github.com/studio-ousia/ease, or `wikianchor mewsc16`",
    ),
]
