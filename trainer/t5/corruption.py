"""Span corruption as T5 defines it (https://arxiv.org/abs/1910.10683, section 3.1.4): pieces in, source and target out.

Spans lie anywhere, at the first and the last piece too: each span has its sentinel in the source, and in the target
each sentinel comes before its span, and one more closes the last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.schemas.sentinels import EOS, Vocabulary


def span_lengths(length: int, rate: float, mean: float, most: int) -> tuple[int, int]:
    """Return how many pieces of `length` go, and in how many spans: a `rate` of them, `mean` long, at most `most`.

    Each span but the last is followed by a piece that stays, and at least one piece stays.
    """
    gone = min(max(round(length * rate), 1), length - 1)
    spans = min(max(round(gone / mean), 1), gone, length - gone + 1, most)
    return gone, spans


def draw_spans(length: int, rate: float, mean: float, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Return spans of a text of `length` pieces, in order, apart, uniform over all ways to lay them; none where there
    are not two pieces."""
    if length < 2:
        return []
    gone, count = span_lengths(length, rate, mean, most)
    lengths = _parts(gone, count, random)
    # The gaps between spans have a piece or more, those at the ends none or more.
    gaps = _parts(length - gone + 2, count + 1, random)
    gaps[0] -= 1
    found: list[tuple[int, int]] = []
    place = 0
    for gap, span in zip(gaps[:-1], lengths, strict=True):
        place += int(gap)
        found.append((place, place + int(span)))
        place += int(span)
    return found


def _parts(total: int, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return `count` positive numbers that add up to `total`, uniform over all such."""
    cuts = np.sort(random.choice(total - 1, count - 1, replace=False)) + 1
    return np.diff(np.concatenate(([0], cuts, [total]))).astype(np.int64)


def corrupt(
    pieces: Sequence[int], spans: Sequence[tuple[int, int]], vocabulary: Vocabulary
) -> tuple[list[int], list[int]]:
    """Return source and target of a text with these spans gone, each with </s>."""
    source: list[int] = []
    target: list[int] = []
    place = 0
    for number, (start, end) in enumerate(spans):
        sentinel = vocabulary.sentinel(number)
        source += [*pieces[place:start], sentinel]
        target += [sentinel, *pieces[start:end]]
        place = end
    if len(spans) < vocabulary.extra:
        target.append(vocabulary.sentinel(len(spans)))
    return [*source, *pieces[place:], EOS], [*target, EOS]
