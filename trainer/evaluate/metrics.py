"""The scores, as functions of numbers alone. All are between 0 and 1, or -1 and 1, where nothing else is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score

Vectors = NDArray[np.float32]


def unit(vectors: Vectors) -> Vectors:
    """vectors: (rows, dim); returns them scaled to length 1. A vector of zeros stays one."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.where(norms > 0, norms, 1), dtype=vectors.dtype)


def pair_cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """first, second: (rows, dim); returns (rows,)."""
    found: NDArray[np.float64] = np.einsum("ij,ij->i", unit(first).astype(np.float64), unit(second).astype(np.float64))
    return found


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """a, b: (rows,); ties share their mean rank. NaN where one of them is constant."""
    return float("nan") if constant(a) or constant(b) else float(spearmanr(a, b).statistic)


def pearson(a: NDArray[Any], b: NDArray[Any]) -> float:
    """a, b: (rows,). NaN where one of them is constant."""
    return float("nan") if constant(a) or constant(b) else float(pearsonr(a, b).statistic)


def constant(values: NDArray[Any]) -> bool:
    return len(values) < 2 or bool(np.all(values == values[0]))


def clustering_accuracy(gold: Sequence[int], clusters: Sequence[int]) -> float:
    """Return the share of rows that are right under the best one-to-one map of clusters to labels."""
    table = contingency(gold, clusters)
    return float(table[linear_sum_assignment(-table)].sum() / len(gold))


def contingency(gold: Sequence[int], clusters: Sequence[int]) -> NDArray[np.int64]:
    """Return (labels, clusters): rows with this label in this cluster. Labels and clusters count from 0."""
    table = np.zeros((max(gold) + 1, max(clusters) + 1), np.int64)
    np.add.at(table, (np.asarray(gold), np.asarray(clusters)), 1)
    return table


def clustering_scores(gold: Sequence[int], clusters: Sequence[int]) -> dict[str, float]:
    """Return accuracy, NMI, V-measure and adjusted Rand index (the last from -0.5 on).

    NMI with the arithmetic mean is the V-measure; both names stand there, since papers use either.
    """
    return {
        "accuracy": clustering_accuracy(gold, clusters),
        "nmi": float(normalized_mutual_info_score(gold, clusters)),
        "v_measure": float(v_measure_score(gold, clusters)),
        "ari": float(adjusted_rand_score(gold, clusters)),
    }


def majority_share(gold: Sequence[int]) -> float:
    """Return what a single cluster would score."""
    return float(np.bincount(np.asarray(gold)).max() / len(gold))


def matching_accuracy(first: Vectors, second: Vectors) -> tuple[float, float]:
    """first, second: (rows, dim), translations row by row; returns the shares whose nearest, by cosine, is their own:
    first to second, second to first. Of equally near ones the earliest counts."""
    similarity = unit(first) @ unit(second).T
    own = np.arange(len(first))
    return float(np.mean(similarity.argmax(1) == own)), float(np.mean(similarity.argmax(0) == own))


def alignment(first: Vectors, second: Vectors) -> float:
    """Return the mean squared distance of positive pairs on the unit sphere, 0 to 4; lower is better (EASE, eq. 5)."""
    distance = unit(first).astype(np.float64) - unit(second).astype(np.float64)
    return float((distance**2).sum(1).mean())


def uniformity(vectors: Vectors, chunk: int = 1024) -> float:
    """Return the log of the mean of exp(-2 |x - y|^2) over all pairs of different rows on the unit sphere, -8 to 0;
    lower is better (EASE, eq. 6)."""
    x = unit(vectors).astype(np.float64)
    total = 0.0
    for start in range(0, len(x), chunk):
        part = x[start : start + chunk]
        squares = np.maximum(0, (part**2).sum(1)[:, None] + (x**2).sum(1) - 2 * part @ x.T)
        weights = np.exp(-2 * squares)
        weights[np.arange(len(part)), start + np.arange(len(part))] = 0
        total += float(weights.sum())
    return float(np.log(total / (len(x) * (len(x) - 1)))) if len(x) > 1 else float("nan")


def f1(hits: int, proposed: int, gold: int) -> float:
    """Return the harmonic mean of hits / proposed and hits / gold."""
    return 2 * hits / (proposed + gold) if proposed + gold else 0.0


def best_threshold(cosines: NDArray[np.float32], right: NDArray[np.bool_], gold: int) -> float:
    """Return the threshold at or above which proposals have the best F1; of equally good ones the highest.

    Args:
        cosines: (proposals,), at least one.
        right: (proposals,), whether each is in the gold pairs.
        gold: the number of gold pairs.

    It lies in the middle between two different cosines, since equal ones cannot be told apart, or is the lowest.
    """
    order = np.argsort(-cosines, kind="stable")
    sorted_cosines, hits = cosines[order].astype(np.float64), np.cumsum(right[order])
    scores = 2 * hits / (np.arange(1, len(order) + 1) + gold)
    cuts = np.append(sorted_cosines[:-1] > sorted_cosines[1:], True)
    best = int(np.argmax(np.where(cuts, scores, -1.0)))
    below = sorted_cosines[best + 1] if best + 1 < len(order) else sorted_cosines[best]
    return float((sorted_cosines[best] + below) / 2)


def average_precision(relevance: Sequence[bool], relevant: int) -> float:
    """Return the average precision of a ranking of which the first places are known.

    Args:
        relevance: whether each of the first k is relevant, the best first.
        relevant: the number of all relevant ones, 1 or more. If there are more than k, k count.
    """
    found = np.asarray(relevance, np.float64)
    precision = np.cumsum(found) / np.arange(1, len(found) + 1)
    return float((precision * found).sum() / min(relevant, len(found)))
