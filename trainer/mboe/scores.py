"""Accuracy and macro-F1, and confidence intervals and tests over several seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError


def accuracy(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the share of documents whose labels are all correct, 0 to 1; NaN without documents.

    Args:
        gold, predicted: (documents, labels).

    >>> accuracy(np.eye(4, dtype=bool), np.eye(4, dtype=bool)[[0, 1, 2, 2]])
    0.75
    """
    return float((gold == predicted).all(1).mean()) if len(gold) else math.nan


def macro_f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the mean F1 over the labels, 0 to 1; NaN without documents.

    As in scikit-learn, which is no dependency of training, the F1 of a label that is neither in `gold` nor in
    `predicted` is 0.

    Args:
        gold, predicted: (documents, labels).

    >>> macro_f1(np.array([[True, False], [True, False]]), np.array([[True, False], [False, False]]))
    0.3333333333333333
    """
    hits = (gold & predicted).sum(0)
    total = gold.sum(0) + predicted.sum(0)
    return float(np.divide(2 * hits, total, out=np.zeros(len(hits)), where=total > 0).mean()) if len(gold) else math.nan


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 % confidence interval by Student's t; NaN for one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    return mean, float(_stats().t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def paired_t_test(values: Sequence[float], others: Sequence[float]) -> float:
    """Return the two-sided p-value of the paired t-test; NaN for fewer than two pairs.

    Where all differences are equal, the statistic is 0/0 or infinite: p is 1 if they are 0, and 0 if they are not.
    """
    differences = np.subtract(values, others)
    if len(differences) < 2:
        return math.nan
    if np.ptp(differences) == 0:
        return 0.0 if differences.any() else 1.0
    return float(_stats().ttest_rel(values, others).pvalue)


def _stats() -> Any:
    """Return scipy.stats; scipy is in the extra `eval`, and training does without it."""
    try:
        from scipy import stats
    except ImportError as error:
        raise UsageError(
            "intervals over several seeds need the package scipy: pip install 'wikianchor[eval]'"
        ) from error
    return stats
