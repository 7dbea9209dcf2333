"""Accuracy, macro-F1, and what several seeds say together."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError


def accuracy(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the share of documents whose labels are all right; both (documents, labels)."""
    return float((gold == predicted).all(1).mean()) if len(gold) else math.nan


def macro_f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> float:
    """Return the mean over labels of F1; both (documents, labels). A label that neither has counts 0, as it does in
    scikit-learn, unless no document has a label at all."""
    both = (gold & predicted).sum(0)
    total = gold.sum(0) + predicted.sum(0)
    return float(np.divide(2 * both, total, out=np.zeros(len(both)), where=total > 0).mean()) if len(gold) else math.nan


def mean_and_interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and half the width of its 95 per cent interval, by Student's t; nan for one value."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, math.nan
    return mean, float(_stats().t.ppf(0.975, len(values) - 1) * np.std(values, ddof=1) / math.sqrt(len(values)))


def paired_t_test(values: Sequence[float], others: Sequence[float]) -> float:
    """Return the two-sided p of the paired t-test; nan for fewer than two pairs, 1 where all are equal."""
    differences = np.subtract(values, others)
    if len(differences) < 2:
        return math.nan
    if not differences.any():
        return 1.0
    if np.ptp(differences) == 0:
        return 0.0
    return float(_stats().ttest_rel(values, others).pvalue)


def _stats():  # type: ignore[no-untyped-def]
    try:
        from scipy import stats
    except ImportError as error:
        raise UsageError(
            "intervals over several seeds need the package scipy: pip install 'wikianchor[eval]'"
        ) from error
    return stats
