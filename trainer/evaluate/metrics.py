"""Metrics, as functions of arrays. Scores are between 0 and 1, correlations and cosines between -1 and 1, unless the
docstring says otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import pdist
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, v_measure_score
from sklearn.metrics.cluster import contingency_matrix

Vectors = NDArray[np.float32]
# Ranks that nDCG and recall of a retrieval look at, as mteb's main score does.
TOP = 10
# Cosines that are computed at once: 512 MB.
BLOCK = 1 << 27


def unit(vectors: Vectors) -> Vectors:
    """Return vectors (rows, dim) scaled to unit length. A zero vector stays zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.divide(vectors, np.where(norms > 0, norms, 1), dtype=vectors.dtype)


def pair_cosines(first: Vectors, second: Vectors) -> NDArray[np.float64]:
    """Return the cosine of each two vectors, (rows,) float64.

    Args:
        first, second: (rows, dim).
    """
    return np.einsum("ij,ij->i", unit(first).astype(np.float64), unit(second).astype(np.float64))


def cosine_blocks(queries: Vectors, targets: Vectors, device: torch.device) -> Iterator[torch.Tensor]:
    """Yield the cosines of all queries with all targets, in blocks of queries.

    Args:
        queries, targets: (rows, dim), of unit length.
        device: where the products are computed.

    Yields:
        (queries of the block, targets) float32.
    """
    columns = torch.from_numpy(targets).to(device).T
    rows = max(1, BLOCK // len(targets))
    for start in range(0, len(queries), rows):
        yield torch.from_numpy(queries[start : start + rows]).to(device) @ columns


def spearman(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return Spearman's rank correlation of a and b, (rows,); ties get their mean rank. NaN if a or b is constant.

    >>> spearman(np.array([1, 2, 3]), np.array([1, 4, 9]))
    1.0
    """
    return float("nan") if constant(a) or constant(b) else float(spearmanr(a, b).statistic)


def pearson(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return Pearson's correlation of a and b, (rows,); NaN if a or b is constant."""
    return float("nan") if constant(a) or constant(b) else float(pearsonr(a, b).statistic)


def constant(values: NDArray[Any]) -> bool:
    """Return whether all values are equal, or there are fewer than two."""
    return len(values) < 2 or bool(np.all(values == values[0]))


def clustering_accuracy(gold: Sequence[int], clusters: Sequence[int]) -> float:
    """Return the share of correct rows under the best one-to-one mapping of clusters to labels (Hungarian algorithm).

    >>> clustering_accuracy([0, 0, 1, 1], [1, 1, 0, 1])
    0.75
    """
    table = contingency_matrix(gold, clusters)
    return float(table[linear_sum_assignment(-table)].sum() / len(gold))


def clustering_scores(gold: Sequence[int], clusters: Sequence[int]) -> dict[str, float]:
    """Return accuracy, NMI, V-measure and adjusted Rand index (-0.5 to 1).

    NMI with the arithmetic mean equals the V-measure; both names are given, because papers use either.
    """
    return {
        "accuracy": clustering_accuracy(gold, clusters),
        "nmi": float(normalized_mutual_info_score(gold, clusters)),
        "v_measure": float(v_measure_score(gold, clusters)),
        "ari": float(adjusted_rand_score(gold, clusters)),
    }


def matching_hits(first: Vectors, second: Vectors) -> NDArray[np.bool_]:
    """Return (2, rows) whether the nearest neighbour of each row is its translation, to the second and to the first.

    Among equal cosines the first row is the nearest neighbour.

    Args:
        first, second: (rows, dim), translations row by row.
    """
    similarity = unit(first) @ unit(second).T
    return np.stack([similarity.argmax(axis) for axis in (1, 0)]) == np.arange(len(first))


def alignment(first: Vectors, second: Vectors) -> float:
    """Return the mean squared distance of positive pairs on the unit sphere, 0 to 4; lower is better.

    Equation 5 of EASE, after https://arxiv.org/abs/2005.10242.

    Args:
        first, second: (rows, dim), positive pairs row by row.

    >>> alignment(np.array([[1.0, 0.0]]), np.array([[-2.0, 0.0]]))
    4.0
    """
    distance = unit(first).astype(np.float64) - unit(second).astype(np.float64)
    return float((distance**2).sum(1).mean())


def uniformity(vectors: Vectors) -> float:
    """Return log mean exp(-2 |x - y|^2) over all pairs of different rows on the unit sphere, -8 to 0; lower is better.

    Equation 6 of EASE, after https://arxiv.org/abs/2005.10242. The distances of all pairs are held in memory.

    Args:
        vectors: (rows, dim).

    >>> uniformity(np.array([[1.0, 0.0], [-1.0, 0.0]]))
    -8.0
    """
    if len(vectors) < 2:
        return float("nan")
    return float(np.log(np.exp(-2 * pdist(unit(vectors).astype(np.float64), "sqeuclidean")).mean()))


def f1(hits: int, proposed: int, gold: int) -> float:
    """Return F1, the harmonic mean of precision (hits / proposed) and recall (hits / gold).

    >>> f1(1, 1, 3)
    0.5
    """
    return 2 * hits / (proposed + gold) if proposed + gold else 0.0


def best_threshold(cosines: NDArray[np.float32], right: NDArray[np.bool_], gold: int) -> float:
    """Return the threshold with the best F1 of the proposals at or above it; the highest of equally good ones.

    Args:
        cosines: (proposals,), at least one.
        right: (proposals,), whether each is a gold pair.
        gold: number of gold pairs.

    Returns:
        the mean of two consecutive different cosines, or the lowest cosine.
    """
    order = np.argsort(-cosines, kind="stable")
    sorted_cosines, hits = cosines[order].astype(np.float64), np.cumsum(right[order])
    scores = 2 * hits / (np.arange(1, len(order) + 1) + gold)
    cuts = np.append(sorted_cosines[:-1] > sorted_cosines[1:], [True])
    best = int(np.argmax(np.where(cuts, scores, -1.0)))
    below = sorted_cosines[best + 1] if best + 1 < len(order) else sorted_cosines[best]
    return float((sorted_cosines[best] + below) / 2)


def average_precision(relevance: Sequence[bool], relevant: int) -> float:
    """Return the average precision at k.

    Args:
        relevance: whether each of the k best candidates is relevant, the best first.
        relevant: number of relevant candidates in the whole ranking, 1 or more; the divisor is at most k.

    >>> average_precision([True, False, True, False], 2)
    0.8333333333333333
    """
    hits = np.asarray(relevance, np.float64)
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((precision * hits).sum() / min(relevant, len(hits)))


def top_scores(grades: Sequence[float], relevant: Sequence[float]) -> dict[str, float]:
    """Return nDCG@10 and recall@10 of one query, as trec_eval defines them.

    Args:
        grades: grades of the best candidates, the best first; 0 for one that is not relevant.
        relevant: grades of all relevant candidates, one or more, each above 0.

    >>> top_scores([1, 0], [1, 1])["recall_at_10"]
    0.5
    """
    discounts = 1 / np.log2(np.arange(2, TOP + 2))
    actual, best = (
        float(np.dot(gains[:TOP], discounts[: len(gains)])) for gains in (grades, sorted(relevant, reverse=True))
    )
    return {f"ndcg_at_{TOP}": actual / best, f"recall_at_{TOP}": int(np.count_nonzero(grades[:TOP])) / len(relevant)}
