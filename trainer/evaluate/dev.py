"""Dev parts of STS sets, scored repeatedly while an encoder is trained."""

from __future__ import annotations

import math

import numpy as np

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.pairs import ScoredPairs, correlations
from wikianchor.trainer.evaluate.tasks.sts import SETS
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
        directory: directory with evaluation sets.
        task: name of the set.

    Raises:
        UsageError: there is no dev part of a set with this name.
        InputError: its file is missing or damaged.
    """
    sets = {name: pairs for name, pairs in SETS.items() if pairs.dev}
    if task not in sets:
        raise UsageError(f"--dev_tasks={task}: has no dev part: choose of {', '.join(sets)}")
    parts = sets[task].part(EvaluationFiles(directory), "dev", EvaluateOptions())
    if not parts:
        raise InputError(f"{directory}: no dev part of {task} ({sets[task].layout}): --dev names where it is")
    return DevSet(parts[0])
