"""BERT-whitening (https://arxiv.org/abs/2103.15316): a linear map to vectors with mean 0 and identity covariance.

The map is computed from sentences without gold scores: those of each set that is scored, as `--whiten` does, or those
of a training set, as SDJC's paper does with JSNLI (section 4.2). The BERT-whitening paper has both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikianchor.io.errors import UsageError
from wikianchor.trainer.evaluate.task import SentenceVectors

# Directions with a smaller standard deviation are left out.
SMALLEST = 1e-9
# Rows in one step of the decomposition.
CHUNK = 16_384


def whitening(vectors: NDArray[np.float32], dim: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the map W of vectors, so that (x - mean) W has identity covariance.

    Args:
        vectors: (rows, width).
        dim: directions kept, those with the largest variance.

    Returns:
        the mean (width,) and W (width, at most dim), float64.
    """
    mean = vectors.mean(0, dtype=np.float64)
    # R of the QR decomposition has the singular values and directions of all rows, and is no larger than width x width.
    r: NDArray[np.float64] = np.zeros((0, vectors.shape[1]))
    for start in range(0, len(vectors), CHUNK):
        r = np.linalg.qr(np.concatenate((r, vectors[start : start + CHUNK] - mean)), mode="r")  # type: ignore[assignment]
    _, scale, rows = np.linalg.svd(r / np.sqrt(max(1, len(vectors))), full_matrices=False)
    kept = min(dim, int((scale > SMALLEST).sum()))
    return mean, (rows[:kept] / scale[:kept, None]).T


@dataclass
class Whitened(SentenceVectors):
    """Sentence vectors whitened by a map that `fit` computes; `--whiten` directions are kept."""

    _mean: Any = field(default=None)
    _map: Any = field(default=None)

    def fit(self, texts: Iterable[str]) -> None:
        """Compute the map from sentences.

        Raises:
            UsageError: there are fewer than three different sentences.
        """
        listed = list(dict.fromkeys(texts))
        if len(listed) < 3:
            raise UsageError(f"--whiten={self.options.whiten}: {len(listed)} sentences are too few to be whitened")
        self._mean, self._map = whitening(super().__call__(listed), self.options.whiten)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return whitened vectors (rows, dim) float32 in the order of the texts."""
        return ((super().__call__(texts) - self._mean) @ self._map).astype(np.float32)


def sentences(parts: Sequence[Any]) -> list[str]:
    """Return the sentences of a task's subsets of any type."""
    names = ("first", "second", "texts", "queries", "sentences")
    return [text for part in parts for name in names for text in getattr(part, name, [])]
