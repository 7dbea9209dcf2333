"""Alignment and uniformity of sentence vectors on the unit sphere (https://arxiv.org/abs/2005.10242).

As in EASE (equations 5 and 6), positive pairs are those with a gold score above 4 of 5, and uniformity is that of all
sentences of the set. The sets are the dev part of the STS Benchmark, and the tracks of STS 2017, whose mean is the
multilingual score.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.languages import tag
from wikianchor.trainer.evaluate.metrics import alignment, uniformity
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.evaluate.task import (
    EvaluationTask,
    SentenceVectors,
    TableCell,
    TaskScores,
    mteb_row,
)
from wikianchor.trainer.evaluate.tasks.sts import SETS

POSITIVE = 4.0
NAME = "AlignmentUniformity"
SETTINGS = {"validation": "monolingual", "test": "multilingual"}
PROTOCOL = {
    "positive_pairs": f"gold score above {POSITIVE:g} of 5",
    "sentences": "all of the set, on both sides of its pairs",
    "alignment": "mean of |x - y|^2 over positive pairs, unit length",
    "uniformity": "log of the mean of exp(-2 |x - y|^2) over all pairs of sentences, unit length",
}


def load(data: EvaluationFiles, options: EvaluateOptions) -> list[ScoredPairs]:
    """Return the dev part of the STS Benchmark, as in the paper, whatever `--split` is, and the tracks of STS 2017."""
    every_language = EvaluateOptions()
    return [*SETS["STSBenchmark"].part(data, "dev", every_language), *SETS["STS17"].load(data, every_language)]


def score(parts: Sequence[ScoredPairs], vectors: SentenceVectors, options: EvaluateOptions) -> TaskScores:
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
        TableCell(
            f"Alignment and uniformity, {SETTINGS[split]}",
            measure,
            float(np.mean([row[measure] for row in rows])),
            per_cent=False,
            average=False,
        )
        for split, rows in splits.items()
        for measure in ("alignment", "uniformity")
    ]
    return TaskScores(splits, cells, PROTOCOL)


TASKS = [
    EvaluationTask(
        name=NAME,
        groups=("sphere", "uniformity", "alignment"),
        load=load,
        score=score,
        layout=f"the dev part of STSBenchmark ({SETS['STSBenchmark'].layout}), and the tracks of STS17",
        home="the places of STSBenchmark and STS17",
        splits=("test", "dev"),
    )
]
