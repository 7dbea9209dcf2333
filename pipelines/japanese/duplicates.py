"""Equal and nearly equal sentences: MinHash bands of each sentence in, which rows repeat an earlier one out.

Two sentences are near where the sets of their character trigrams overlap by a given share (Jaccard). Sentences that
share a band are compared: with 16 bands of four hashes those that overlap by 0.8 or more do nearly always. In each
band a sentence is compared with the first that has it, so the work is linear, whatever the sentences are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.pipelines.arrays.hashing import mix

BANDS, ROWS = 16, 4
GRAM = 3
KEPT, DUPLICATE, NEAR_DUPLICATE = 0, 1, 2
# Multipliers and shifts of the hashes, from a hash themselves.
_TIMES = mix(1, np.arange(BANDS * ROWS)) | np.uint64(1)
_PLUS = mix(2, np.arange(BANDS * ROWS))


def trigrams(text: str) -> NDArray[np.uint64]:
    """Return the hashed character trigrams of a text, each once, sorted; shorter texts have one."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.int64)
    count = max(1, len(points) - GRAM + 1)
    columns = [points[shift : shift + count] for shift in range(min(GRAM, len(points)))]
    return np.unique(mix(0, *columns)) if columns else np.zeros(0, np.uint64)


def bands(text: str) -> NDArray[np.int64]:
    """Return the MinHash of a text's trigrams, folded into `BANDS` numbers."""
    grams = trigrams(text)
    if not len(grams):
        return np.zeros(BANDS, np.int64)
    with np.errstate(over="ignore"):
        # The high bits of a product depend on all of both factors; the low ones do not.
        lowest = ((grams[None] * _TIMES[:, None] + _PLUS[:, None]) >> np.uint64(32)).min(1)
    return mix(3, *lowest.reshape(BANDS, ROWS).T.astype(np.int64)).view(np.int64)


def overlap(one: str, other: str) -> float:
    """Return the share of trigrams that two texts have in common, of all that they have."""
    first, second = trigrams(one), trigrams(other)
    common = len(np.intersect1d(first, second, assume_unique=True))
    return common / max(1, len(first) + len(second) - common)


def repeated(ids: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Return DUPLICATE for each row whose sentence stands earlier, by its id."""
    verdict = np.full(len(ids), DUPLICATE, np.uint8)
    verdict[np.unique(ids, return_index=True)[1]] = KEPT
    return verdict


def near_pairs(found: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return pairs of rows to compare, (pairs, 2), the later one first, each once.

    Args:
        found: the bands of sentences, (n, BANDS).
        rows: their numbers, ascending.
    """
    pairs = [np.zeros((0, 2), np.int64)]
    for column in found.T:
        _, first, inverse = np.unique(column, return_index=True, return_inverse=True)
        earliest = first[inverse]
        later = np.flatnonzero(earliest != np.arange(len(rows)))
        pairs.append(np.stack((rows[later], rows[earliest[later]]), 1))
    return np.unique(np.concatenate(pairs), axis=0)


def near_rows(
    pairs: NDArray[np.int64], read: Callable[[Sequence[int]], Mapping[int, str]], threshold: float
) -> list[int]:
    """Return the rows that overlap with the earlier row of one of their pairs by `threshold` or more."""
    portion = 10_000
    found: set[int] = set()
    for start in range(0, len(pairs), portion):
        some = pairs[start : start + portion].tolist()
        texts = read(sorted({row for pair in some for row in pair}))
        for later, earlier in some:
            if later not in found and overlap(texts[later], texts[earlier]) >= threshold:
                found.add(later)
    return sorted(found)
