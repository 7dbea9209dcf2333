"""The dev part of a set, scored again and again while an encoder is trained."""

from __future__ import annotations

import math

import numpy as np

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.evaluate.files import Data
from wikianchor.trainer.evaluate.pairs import Pairs, correlations
from wikianchor.trainer.evaluate.tasks import japanese, sts
from wikianchor.trainer.models.encoder import Encoder


class DevSet:
    """A dev part that is scored again and again while an encoder is trained: its sentences are tokenised once."""

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self.texts = list(dict.fromkeys([*pairs.first, *pairs.second]))
        self.tokens: list[list[int]] = []

    def score(self, encoder: Encoder) -> float:
        """Return the Spearman correlation in per cent; 0 where all sentences have one vector."""
        self.tokens = self.tokens or encoder.tokenize(self.texts)
        vectors = dict(zip(self.texts, encoder.encode_tokens(self.tokens), strict=True))
        found = correlations(self.pairs, lambda texts: np.array([vectors[text] for text in texts]))["spearman"]
        return 0.0 if math.isnan(found) else 100 * found


def load_dev(directory: str, task: str) -> DevSet:
    """Return the dev part of a set, for choosing among checkpoints.

    Raises:
        UsageError: the set has no dev part that this knows.
        InputError: it is not under the directory, or broken.
    """
    loaders = {**sts.LOADERS, **japanese.LOADERS}
    if task not in loaders:
        raise UsageError(f"--dev_tasks={task}: has no dev part: choose of {', '.join(loaders)}")
    pairs = loaders[task](Data(directory), "dev")
    if pairs is None:
        layout = {**sts.LAYOUTS, **{one.name: one.layout for one in japanese.TASKS}}[task]
        raise InputError(f"{directory}: no dev part of {task} ({layout}): --dev names where it is")
    return DevSet(pairs)
