"""Intervals that hold over seeds and test items together: a bootstrap of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
# The value of each item of each test set; the mean over the items is the set's score.
Outcomes = Mapping[str, Values]

DRAWS = 2_000


@dataclass(frozen=True)
class Interval:
    """A mean with the bounds of its 95 % interval."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{100 * self.mean:.2f} ({100 * self.low:.2f} to {100 * self.high:.2f})"

    @property
    def excludes_zero(self) -> bool:
        """Whether a difference is more than chance."""
        return self.low > 0 or self.high < 0


def joint_interval(runs: Sequence[Outcomes], base: Sequence[Outcomes] = ()) -> Interval:
    """Return the mean over sets, seeds and items, or its difference to another arm's, with an interval.

    Seeds and the items of each set are drawn with replacement, as in a two-way bootstrap (Owen 2007,
    https://arxiv.org/abs/0711.1458). With few seeds it is too narrow by about sqrt(1 - 1 / seeds) of what comes of the
    seeds.

    Args:
        runs: the outcomes of each seed, or of a model without seeds.
        base: the same for the arm to compare with, in the same order of seeds.

    >>> joint_interval([{"a": np.array([1.0, 0.0])}], [{"a": np.array([1.0, 0.0])}]).mean
    0.0
    """
    seeds = max(len(runs), len(base))
    random = np.random.default_rng(seeds)
    # How often each seed stands in a draw.
    of_seeds = random.multinomial(seeds, np.full(seeds, 1 / seeds), DRAWS) / seeds
    means, draws = [], np.zeros(DRAWS)
    for name in sorted(runs[0]):
        values = np.stack([run[name] for run in runs])
        if base:
            values = values - np.stack([run[name] for run in base])
        items = values.shape[1]
        values = np.broadcast_to(values, (seeds, items))
        means.append(values.mean())
        for start in range(0, DRAWS, 100):
            of_items = random.multinomial(items, np.full(items, 1 / items), 100) / items
            draws[start : start + 100] += np.einsum(
                "ds,sn,dn->d", of_seeds[start : start + 100], values, of_items, optimize=True
            )
    low, high = np.percentile(draws / len(means), [2.5, 97.5])
    return Interval(float(np.mean(means)), float(low), float(high))
