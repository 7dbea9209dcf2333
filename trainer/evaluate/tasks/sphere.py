"""Alignment and uniformity of sentence vectors on the unit sphere (https://arxiv.org/abs/2005.10242).

As in EASE (equations 5 and 6), positive pairs are those with a gold score above 4 of 5, and uniformity is that of all
sentences of the set. The sets are the dev part of the STS Benchmark, and the tracks of STS 2017, whose mean is the
multilingual score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wikianchor.trainer.evaluate.figure import new_figure, save_figure
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import tag
from wikianchor.trainer.evaluate.metrics import alignment, uniformity
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.evaluate.task import (
    EvaluationOptions,
    EvaluationTask,
    SentenceVectors,
    TableCell,
    TaskScores,
    mteb_row,
)
from wikianchor.trainer.evaluate.tasks.sts import BENCHMARK, LAYOUTS, load_benchmark, load_tracks

POSITIVE = 4.0
NAME = "AlignmentUniformity"
SETTINGS = {"validation": "monolingual", "test": "multilingual"}
PROTOCOL = {
    "positive_pairs": f"gold score above {POSITIVE:g} of 5",
    "sentences": "all of the set, on both sides of its pairs",
    "alignment": "mean of |x - y|^2 over positive pairs, unit length",
    "uniformity": "log of the mean of exp(-2 |x - y|^2) over all pairs of sentences, unit length",
}


def load(data: EvaluationFiles, options: EvaluationOptions) -> list[ScoredPairs]:
    """Return the dev part of the STS Benchmark, as in the paper, whatever `--split` is, and the tracks of STS 2017."""
    dev = load_benchmark(data, "dev")
    return [*([dev] if dev else []), *load_tracks(data, EvaluationOptions())]


def score(parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluationOptions) -> TaskScores:
    """Return both measures by set; lower is better."""
    splits: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        first, second = vectors(part.first), vectors(part.second)
        positive = part.gold > POSITIVE
        scores = {
            "alignment": alignment(first[positive], second[positive]) if positive.any() else float("nan"),
            "uniformity": uniformity(np.concatenate([first, second])),
        }
        split, name, languages = "test", part.name, part.name.split("-")[:2]
        if part.name == "dev":
            split, name, languages = "validation", "default", ["en"]
        counts = {"positive_pairs": int(positive.sum()), "rows": len(part)}
        tags = [tag(language) for language in languages]
        splits.setdefault(split, []).append(mteb_row(name, tags, scores["uniformity"], **scores, **counts))
    cells = [
        TableCell(f"Alignment and uniformity, {SETTINGS[split]}", measure, value, per_cent=False, average=False)
        for split in splits
        for measure, value in means(splits[split]).items()
    ]
    return TaskScores(splits, cells, PROTOCOL)


def means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the means over sets of alignment and uniformity."""
    return {name: float(np.mean([row[name] for row in rows])) for name in ("alignment", "uniformity")}


def plot(models: dict[str, dict[str, list[dict[str, Any]]]], path: str) -> None:
    """Draw the scatter plot of the paper's figure 3: a panel for each setting, a point for each model.

    Args:
        models: the splits of `score` by the model's name in the plot.
        path: of the figure; its ending says in which format.

    Raises:
        UsageError: matplotlib is not installed.
        InputError: the file cannot be written.
    """
    settings = [split for split in SETTINGS if any(split in splits for splits in models.values())]
    figure = new_figure((5 * len(settings), 4))
    for axes, split in zip(np.atleast_1d(figure.subplots(1, len(settings))), settings, strict=True):
        axes.set(title=SETTINGS[split], xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
        for name, splits in models.items():
            if split in splits:
                scores = means(splits[split])
                point = scores["uniformity"], scores["alignment"]
                axes.scatter(*point)
                axes.annotate(name, point, (4, 4), textcoords="offset points")
    save_figure(figure, path)


TASKS = [
    EvaluationTask(
        NAME,
        ("sphere", "uniformity", "alignment"),
        load,
        score,
        f"the dev part of {BENCHMARK} ({LAYOUTS[BENCHMARK]}), and the tracks of STS17",
        "the places of STSBenchmark and STS17",
    )
]
