"""Which rows and negatives agree with a model: consistency, the cosine of the positive, and a margin to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.trainer.score.options import ScoreOptions
from wikianchor.trainer.score.vectors import ROWS, Floats, Ints, Vectors

# Why a row stays or not.
REASONS = ("kept", "few_negatives", "weak_positive", "inconsistent")
# Positives in the sample of consistency.
SAMPLE = 1_000
# A positive below this cosine is reported as weak, and a negative less than this below the positive as near to it.
WEAK, NEAR = 0.3, 0.05


def count_nearer(vectors: Vectors, rows: Ints, items: Ints, sample: Ints, sample_items: Ints) -> Ints:
    """Count for each row the texts of a sample that are nearer to the anchor than the positive, without texts of its
    item.

    Args:
        vectors: those of all texts.
        rows: (n, 2) anchor and positive.
        items: (n,) the positives' items.
        sample, sample_items: (texts,) the texts of the sample, and their items.
    """
    counts, others, cosines = np.zeros(len(rows), np.int64), vectors.of(sample).T, vectors.cosines(rows)
    for start in range(0, len(rows), ROWS):
        part = slice(start, start + ROWS)
        nearer = vectors.of(rows[part, 0]) @ others > cosines[part]
        nearer &= (sample != rows[part, 1:]) & (sample_items != items[part, None])
        counts[part] = nearer.sum(axis=1)
    return counts


def negative_limits(positives: Floats, share: float) -> Floats:
    """Return the cosines that negatives are below: a share of the positive's, and at least `NEAR` less than it.

    >>> [f"{limit:.2f}" for limit in negative_limits(np.array([0.8, 0.4], np.float32), 0.9)]
    ['0.72', '0.35']
    """
    return np.minimum(positives * np.float32(share), positives - np.float32(NEAR))


class Verdict(NamedTuple):
    """What stays.

    Attributes:
        reasons: (rows,) index into `REASONS`.
        negatives: (rows, any) columns of the negatives that stay; of rows that do not stay, any columns.
        near: number of negatives that are too near to the positive.
    """

    reasons: NDArray[np.int8]
    negatives: Ints
    near: int


def judge(scores: Floats, nearer: Ints, options: ScoreOptions) -> Verdict:
    """Decide which rows and negatives stay.

    If too few rows pass, those of the nearest positives stay too, as far as they have enough negatives.

    Args:
        scores: (rows, 1 + negatives) cosines of the positive and the negatives, -inf for no negative.
        nearer: (rows,) the texts of a sample that are nearer than the positive.
        options: the limits.
    """
    positives, has_text = scores[:, 0], np.isfinite(scores[:, 1:])
    wanted = options.mine or has_text.shape[1]
    is_far, reasons, least = has_text, np.zeros(len(scores), np.int8), 0
    if options.keep:
        is_far = has_text & (scores[:, 1:] < negative_limits(positives, options.negative_share)[:, None])
        reasons[nearer > options.consistency] = REASONS.index("inconsistent")
        reasons[positives < options.positive_cosine] = REASONS.index("weak_positive")
        least = int(np.ceil(options.rows_kept * len(scores)))
        # As many negatives as leave enough rows, one at least.
        counts = is_far[reasons == 0].sum(axis=1)
        fitting = (number for number in range(wanted, 1, -1) if (counts >= number).sum() >= least)
        wanted = next(fitting, min(wanted, 1)) if options.negatives is None else min(wanted, options.negatives)
    has_enough = is_far.sum(axis=1) >= wanted
    missing = max(0, least - int(((reasons == 0) & has_enough).sum()))
    others = np.flatnonzero((reasons > 0) & has_enough)
    reasons[others[np.argsort(-positives[others], kind="stable")[:missing]]] = 0
    reasons[~has_enough & (reasons == 0)] = REASONS.index("few_negatives")
    # Those that stay come first, in their order.
    negatives = np.argsort(~is_far, axis=1, kind="stable")[:, :wanted]
    return Verdict(reasons, negatives, int((has_text & ~is_far).sum()))


def measures(scores: Floats) -> dict[str, float]:
    """Return what is reported of the cosines (rows, 1 + negatives) of a dataset."""
    positives, negatives = scores[:, :1], scores[:, 1:]
    shares = {
        "positive": positives,
        "negative": negatives,
        "weak": positives < WEAK,
        "near": negatives > positives - NEAR,
    }
    means = {name: round(float(values.mean()), 4) if values.size else 0.0 for name, values in shares.items()}
    return {"rows": len(scores), **means}
