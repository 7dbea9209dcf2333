"""Dev parts of STS sets, scored repeatedly while an encoder is trained."""

from __future__ import annotations

import math

import numpy as np

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.pairs import ScoredPairs, correlations
from wikianchor.trainer.evaluate.tasks import japanese, sts
from wikianchor.trainer.models.encoder import Encoder


class DevSet:
    """A dev part of an STS set; its sentences are tokenised once for all scores."""

    def __init__(self, pairs: ScoredPairs) -> None:
        self.pairs = pairs
        self.texts = list(dict.fromkeys([*pairs.first, *pairs.second]))
        self.tokens: list[list[int]] = []

    def score(self, encoder: Encoder) -> float:
        """Return Spearman's rank correlation in per cent; 0 if all cosines are equal."""
        self.tokens = self.tokens or encoder.tokenize(self.texts)
        vectors = dict(zip(self.texts, encoder.encode_tokens(self.tokens), strict=True))
        spearman = correlations(self.pairs, lambda texts: np.array([vectors[text] for text in texts]))["spearman"]
        return 0.0 if math.isnan(spearman) else 100 * spearman


def load_dev(directory: str, task: str) -> DevSet:
    """Return the dev part of a set.

    Args:
        directory: with evaluation sets.
        task: name of the set.

    Raises:
        UsageError: there is no dev part of a set with this name.
        InputError: its file is missing or damaged.
    """
    loaders = {**sts.LOADERS, **japanese.LOADERS}
    if task not in loaders:
        raise UsageError(f"--dev_tasks={task}: has no dev part: choose of {', '.join(loaders)}")
    pairs = loaders[task](EvaluationFiles(directory), "dev")
    if pairs is None:
        layout = {**sts.LAYOUTS, **{task.name: task.layout for task in japanese.TASKS}}[task]
        raise InputError(f"{directory}: no dev part of {task} ({layout}): --dev names where it is")
    return DevSet(pairs)
