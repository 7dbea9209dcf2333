"""Pairs that one model scores better, and worse, than another (EASE, table 8).

A cosine is shown on the scale of the gold scores: it is multiplied by the largest of them, and a negative one is 0. The
paper does not state how its table does it. A pair's gain is the error of the second model less that of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.markdown import markdown_table
from wikianchor.trainer.evaluate.pairs import ScoredPairs


class Case(NamedTuple):
    """A pair: its sentences, its gold score, and the score of each model on the same scale."""

    first: str
    second: str
    gold: float
    score: float
    other: float


def cases(
    pairs: ScoredPairs, cosines: NDArray[np.float64], others: NDArray[np.float64], most: int
) -> tuple[list[Case], list[Case]]:
    """Return the pairs with the largest gains and those with the largest losses, in this order.

    Args:
        pairs: the pairs.
        cosines: (pairs,) of the first model.
        others: (pairs,) of the second model.
        most: number of pairs in each list. A pair without a gain is in neither.
    """
    scale = float(pairs.gold.max())
    scores, other_scores = (np.clip(values, 0, None) * scale for values in (cosines, others))
    gains = np.abs(other_scores - pairs.gold) - np.abs(scores - pairs.gold)

    def chosen(signed: NDArray[np.float64]) -> list[Case]:
        rows = [row for row in np.argsort(-signed, kind="stable")[:most].tolist() if signed[row] > 0]
        return [
            Case(
                pairs.first[row],
                pairs.second[row],
                float(pairs.gold[row]),
                float(scores[row]),
                float(other_scores[row]),
            )
            for row in rows
        ]

    return chosen(gains), chosen(-gains)


def report(names: Sequence[str], better: Sequence[Case], worse: Sequence[Case]) -> str:
    """Return both lists as Markdown.

    Args:
        names: of the two models.
        better: pairs that the first model scores better.
        worse: pairs that it scores worse.
    """
    head = ["sentence 1", "sentence 2", "gold", *names]
    parts = []
    for title, listed in (("Improvement cases", better), ("Deterioration cases", worse)):
        rows = [
            [*(" ".join(text.split()) for text in case[:2]), *(f"{value:.2f}" for value in case[2:])] for case in listed
        ]
        parts.append(f"{title}\n\n{markdown_table(head, rows)}\n")
    return "\n".join(parts)
