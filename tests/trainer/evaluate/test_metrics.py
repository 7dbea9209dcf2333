"""Each score against its definition written as loops, and against cases worked out by hand."""

import itertools
import math
import random

import numpy as np
import pytest

from wikianchor.trainer.evaluate import metrics

DRAW = np.random.default_rng(3)


def vectors(rows: int, dim: int = 5) -> np.ndarray:
    return DRAW.normal(size=(rows, dim)).astype(np.float32)


def test_cosines() -> None:
    a, b = vectors(6), vectors(6)
    expected = [float(x @ y / np.linalg.norm(x) / np.linalg.norm(y)) for x, y in zip(a, b, strict=True)]
    assert metrics.pair_cosines(a, b) == pytest.approx(expected, abs=1e-6)
    a[2] = 0
    assert metrics.pair_cosines(a, b)[2] == 0


def ranks(values: list[float]) -> list[float]:
    return [1 + sum(other < value for other in values) + (values.count(value) - 1) / 2 for value in values]


def test_spearman_is_pearson_of_ranks_with_ties() -> None:
    a, b = [1.0, 2.0, 2.0, 4.0, 9.0, 9.0], [3.0, 1.0, 4.0, 4.0, 5.0, 2.0]
    assert metrics.spearman(np.array(a), np.array(b)) == pytest.approx(np.corrcoef(ranks(a), ranks(b))[0, 1])
    assert metrics.pearson(np.array(a), np.array(b)) == pytest.approx(np.corrcoef(a, b)[0, 1])


def test_a_constant_has_no_correlation() -> None:
    assert math.isnan(metrics.spearman(np.ones(4), np.arange(4)))
    assert math.isnan(metrics.pearson(np.arange(1), np.arange(1)))


@pytest.mark.parametrize("seed", range(20))
def test_clustering_accuracy_is_the_best_of_all_maps(seed: int) -> None:
    draw = random.Random(seed)
    labels, clusters = draw.randint(1, 4), draw.randint(1, 4)
    gold = [*range(labels), *draw.choices(range(labels), k=15)]
    actual = [*draw.choices(range(clusters), k=len(gold) - clusters), *range(clusters)]
    names = [*range(labels), *[-1] * clusters]
    best = max(
        sum(to[cluster] == label for cluster, label in zip(actual, gold, strict=True))
        for to in itertools.permutations(names, clusters)
    )
    assert metrics.clustering_accuracy(gold, actual) == pytest.approx(best / len(gold))


def test_clustering_scores() -> None:
    perfect = metrics.clustering_scores([0, 0, 1, 2], [2, 2, 0, 1])
    assert perfect == {"accuracy": 1.0, "nmi": 1.0, "v_measure": 1.0, "ari": 1.0}
    # Halves cut across halves: nothing of one is known from the other.
    none = metrics.clustering_scores([0, 0, 1, 1], [0, 1, 0, 1])
    assert none["accuracy"] == 0.5
    assert none["nmi"] == pytest.approx(0, abs=1e-9)


def test_matching_divides_by_the_true_count() -> None:
    first = np.eye(3, dtype=np.float32)
    assert metrics.matching_hits(first, first).all()
    # The second's translation is nearest to the third as well.
    second = np.array([[1, 0, 0], [0, 1, 2], [0, 0, 1]], np.float32)
    assert metrics.matching_hits(first, second).tolist() == [[True] * 3, [True, False, True]]


def test_alignment_and_uniformity() -> None:
    a, b = vectors(7), vectors(7)
    ua, ub = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (a, b))
    expected = np.mean([sum((x - y) ** 2) for x, y in zip(ua, ub, strict=True)])
    assert metrics.alignment(a, b) == pytest.approx(expected, rel=1e-5)
    terms = [math.exp(-2 * sum((x - y) ** 2)) for x, y in itertools.combinations(ua.astype(float), 2)]
    assert metrics.uniformity(a) == pytest.approx(math.log(sum(terms) / len(terms)), rel=1e-5)
    assert metrics.uniformity(np.ones((4, 3), np.float32)) == pytest.approx(0, abs=1e-6)
    assert math.isnan(metrics.uniformity(a[:1]))
