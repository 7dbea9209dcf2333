"""BERT-whitening (https://arxiv.org/abs/2103.15316): vectors moved to mean zero and made round, without training.

The map is that of the sentences of the set which is scored, as in the paper; it knows no gold score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError
from wikianchor.trainer.evaluate.task import Vectors

SMALLEST = 1e-9


def whitening(vectors: NDArray[np.float32], dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean (width,) and the map (width, dim) after which the covariance of the vectors is the identity; of
    the directions those with most variance are kept."""
    x = vectors.astype(np.float64)
    mean = x.mean(0)
    _, scale, rows = np.linalg.svd((x - mean) / np.sqrt(max(1, len(x))), full_matrices=False)
    kept = min(dim, int((scale > SMALLEST).sum()))
    return mean, (rows[:kept] / scale[:kept, None]).T


@dataclass
class Whitened(Vectors):
    """Vectors that are whitened over the set that is scored; `dim` of them are kept."""

    dim: int = 256
    _mean: Any = field(default=None)
    _map: Any = field(default=None)

    def fit(self, texts: Iterable[str]) -> None:
        """Find the map of a set's sentences.

        Raises:
            UsageError: there are fewer than three different ones.
        """
        listed = list(dict.fromkeys(texts))
        if len(listed) < 3:
            raise UsageError(f"--whiten={self.dim}: {len(listed)} sentences are too few to be whitened")
        self._mean, self._map = whitening(super().__call__(listed), self.dim)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = ((super().__call__(texts) - self._mean) @ self._map).astype(np.float32)
        return found


def sentences(parts: Sequence[Any]) -> list[str]:
    """Return the sentences of a task's subsets, of whatever kind these are."""
    found: list[str] = []
    for part in parts:
        for name in ("first", "second", "texts", "queries", "sentences"):
            found += getattr(part, name, [])
    return found
