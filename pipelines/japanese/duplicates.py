"""Find equal and nearly equal sentences by MinHash (Broder 1997) with banding.

Two sentences are near duplicates if the Jaccard overlap of their sets of character trigrams reaches a threshold. Only
sentences that share a band are compared: with 16 bands of four hashes, those with an overlap of 0.8 or more nearly
always do. In each band a sentence is compared only with the first one that has the band, so the work is linear.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.pipelines.arrays.hashing import mix

BANDS, ROWS = 16, 4
GRAM = 3
# Pairs whose texts are in memory at a time.
PAIRS_AT_ONCE = 10_000
KEPT, DUPLICATE, NEAR_DUPLICATE = 0, 1, 2
# Factors and summands of the hash functions.
_TIMES = mix(1, np.arange(BANDS * ROWS)) | np.uint64(1)
_PLUS = mix(2, np.arange(BANDS * ROWS))


def trigrams(text: str) -> NDArray[np.uint64]:
    """Return the distinct hashed character trigrams of a text, ascending; a shorter text is one gram."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    count = max(1, len(points) - GRAM + 1)
    columns = [points[shift : shift + count] for shift in range(min(GRAM, len(points)))]
    return np.unique(mix(0, *columns)) if columns else np.zeros(0, np.uint64)


def bands(text: str) -> NDArray[np.int64]:
    """Return the MinHash bands of a text, (BANDS,): each is a hash of ROWS minima over its trigrams."""
    grams = trigrams(text)
    if not len(grams):
        return np.zeros(BANDS, np.int64)
    with np.errstate(over="ignore"):
        # The high bits of a product depend on all bits of both factors; the low ones do not.
        lowest = ((grams[None] * _TIMES[:, None] + _PLUS[:, None]) >> np.uint64(32)).min(1)
    return mix(3, *lowest.reshape(BANDS, ROWS).T.astype(np.int64)).view(np.int64)


def overlap(text: str, other: str) -> float:
    """Return the Jaccard overlap of the trigrams of two texts, 0 to 1."""
    first, second = trigrams(text), trigrams(other)
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common / max(1, len(first) + len(second) - common)


def repeated(ids: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return for each row DUPLICATE if an earlier row has the same id, else KEPT."""
    verdict = np.full(len(ids), DUPLICATE, np.uint8)
    verdict[np.unique(ids, return_index=True)[1]] = KEPT
    return verdict


def near_pairs(hashed: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the distinct pairs of rows to compare, (pairs, 2), the later row first.

    Args:
        hashed: (n, BANDS) bands of the sentences.
        rows: (n,) numbers of the rows, ascending.
    """
    pairs = [np.zeros((0, 2), np.int64)]
    for column in hashed.T:
        _, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        earliest = first[inverse]
        later = np.flatnonzero(earliest != np.arange(len(rows)))
        pairs.append(np.stack((rows[later], rows[earliest[later]]), 1))
    return np.unique(np.concatenate(pairs), axis=0)


def near_rows(
    pairs: NDArray[np.int64], read: Callable[[Sequence[int]], Mapping[int, str]], threshold: float
) -> list[int]:
    """Return the rows whose overlap with the earlier row of one of their pairs is `threshold` or more.

    Args:
        pairs: (pairs, 2), the later row first.
        read: returns the texts of rows.
        threshold: minimum Jaccard overlap.
    """
    near: set[int] = set()
    for start in range(0, len(pairs), PAIRS_AT_ONCE):
        batch = pairs[start : start + PAIRS_AT_ONCE].tolist()
        texts = read(sorted({row for pair in batch for row in pair}))
        for later, earlier in batch:
            if later not in near and overlap(texts[later], texts[earlier]) >= threshold:
                near.add(later)
    return sorted(near)
