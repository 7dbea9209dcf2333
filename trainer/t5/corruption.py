"""Span corruption as defined for T5 (https://arxiv.org/abs/1910.10683, section 3.1.4).

In the source each span is replaced by a sentinel. The target lists each sentinel followed by its span, and ends with
one more sentinel. Spans may lie anywhere, at the first and at the last token too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.schemas.sentinels import EOS, Vocabulary


def span_lengths(length: int, rate: float, mean: float, most: int) -> tuple[int, int]:
    """Return the number of tokens to remove, and the number of spans.

    At least one token stays, and one between every two spans.

    Args:
        length: tokens of the text, 2 or more.
        rate: share of the tokens to remove.
        mean: mean length of a span, in tokens.
        most: the most spans.

    >>> span_lengths(100, 0.15, 3.0, 99)
    (15, 5)
    """
    removed = min(max(round(length * rate), 1), length - 1)
    spans = min(max(round(removed / mean), 1), removed, length - removed + 1, most)
    return removed, spans


def draw_spans(length: int, rate: float, mean: float, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Draw spans (start, end) uniformly from all choices of separate spans; arguments as for `span_lengths`.

    Returns:
        the spans in order; none for a text of fewer than two tokens.
    """
    if length < 2:
        return []
    removed, count = span_lengths(length, rate, mean, most)
    lengths = _composition(removed, count, random)
    # Gaps between spans have one token or more; the first and the last gap may be empty.
    gaps = _composition(length - removed + 2, count + 1, random)[:-1]
    gaps[0] -= 1
    ends = np.cumsum(gaps + lengths)
    return list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))


def _composition(total: int, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw `count` positive numbers with the sum `total`, uniformly."""
    cuts = np.sort(random.choice(total - 1, count - 1, replace=False)) + 1
    return np.diff(np.concatenate(([0], cuts, [total]))).astype(np.int64)


def corrupt(
    tokens: Sequence[int], spans: Sequence[tuple[int, int]], vocabulary: Vocabulary
) -> tuple[list[int], list[int]]:
    """Return source and target of a text from which these spans are removed; each ends with </s>."""
    source: list[int] = []
    target: list[int] = []
    position = 0
    for number, (start, end) in enumerate(spans):
        sentinel = vocabulary.sentinel(number)
        source += [*tokens[position:start], sentinel]
        target += [sentinel, *tokens[start:end]]
        position = end
    if len(spans) < vocabulary.extra:
        target.append(vocabulary.sentinel(len(spans)))
    return [*source, *tokens[position:], EOS], [*target, EOS]
