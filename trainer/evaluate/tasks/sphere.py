"""Alignment and uniformity: how near positive pairs lie on the unit sphere, and how evenly sentences fill it.

As EASE defines them (equations 5 and 6) after Wang and Isola: positive pairs are those scored above 4 of 5, all
sentences are those of the set, once over the set. On the dev part of the STS Benchmark, and on the tracks of STS 2017,
whose mean is the multilingual figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import Data
from wikianchor.trainer.evaluate.languages import tag
from wikianchor.trainer.evaluate.metrics import alignment, uniformity
from wikianchor.trainer.evaluate.pairs import Pairs
from wikianchor.trainer.evaluate.task import Cell, Options, Scores, Task, Vectors
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


def load(data: Data, options: Options) -> list[Pairs]:
    """Return the dev part of the STS Benchmark, which is the paper's whatever `--split` says, and the tracks."""
    dev = load_benchmark(data, "dev")
    return [*([dev] if dev else []), *load_tracks(data, Options())]


def score(parts: Sequence[Pairs], vectors: Vectors, options: Options) -> Scores:
    """Return both measures by set; lower is better."""
    splits: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        first, second = vectors(part.first), vectors(part.second)
        near = part.gold > POSITIVE
        found = {
            "alignment": alignment(first[near], second[near]) if near.any() else float("nan"),
            "uniformity": uniformity(np.concatenate([first, second])),
        }
        split, languages = ("validation", ["en"]) if part.name == "dev" else ("test", part.name.split("-")[:2])
        row = {"hf_subset": "default" if part.name == "dev" else part.name, "languages": [tag(of) for of in languages]}
        splits.setdefault(split, []).append(
            {**row, "main_score": found["uniformity"], **found, "positive_pairs": int(near.sum()), "rows": len(part)}
        )
    cells = [
        Cell(f"Alignment and uniformity, {SETTINGS[split]}", measure, value, per_cent=False, average=False)
        for split in splits
        for measure, value in means(splits[split]).items()
    ]
    return Scores(splits, cells, PROTOCOL)


def means(rows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Return the means over sets."""
    return {name: float(np.mean([row[name] for row in rows])) for name in ("alignment", "uniformity")}


def plot(models: dict[str, dict[str, list[dict[str, Any]]]], path: str) -> None:
    """Draw the scatter plot of the paper's figure 3: a panel for each setting, a point for each model.

    Args:
        models: the splits of `score` by the model's name in the plot.
        path: where the figure goes; its ending says in which format.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError(f"--plot needs the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    settings = [split for split in SETTINGS if any(split in splits for splits in models.values())]
    figure = Figure(figsize=(5 * len(settings), 4), layout="constrained")
    for axes, split in zip(np.atleast_1d(figure.subplots(1, len(settings))), settings, strict=True):
        axes.set(title=SETTINGS[split], xlabel="uniformity (lower is better)", ylabel="alignment (lower is better)")
        for name, splits in models.items():
            if split in splits:
                found = means(splits[split])
                axes.scatter(found["uniformity"], found["alignment"])
                axes.annotate(name, (found["uniformity"], found["alignment"]), (4, 4), textcoords="offset points")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InputError(f"{path}: the plot cannot be written ({reason})") from error


TASKS = [
    Task(
        NAME,
        ("sphere", "uniformity", "alignment"),
        load,
        score,
        f"the dev part of {BENCHMARK} ({LAYOUTS[BENCHMARK]}), and the tracks of STS17",
        "the places of STSBenchmark and STS17",
    )
]
