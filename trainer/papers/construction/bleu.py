"""BLEU-1: unigram precision with a brevity penalty (https://aclanthology.org/P02-1040, N = 1)."""

from __future__ import annotations

import math
import re
from collections import Counter

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of a text, lower-cased and without punctuation, for languages with spaces between words.

    >>> words("It's here.")
    ['it', 's', 'here']
    """
    return _WORD.findall(text.lower())


def bleu1(reference: str, candidate: str) -> float:
    """Return BLEU-1 of a candidate, 0 to 1; 0 if the two have no word in common.

    >>> bleu1("a man is eating", "a man is eating"), bleu1("a man is eating", "the dog")
    (1.0, 0.0)
    """
    expected, actual = Counter(words(reference)), Counter(words(candidate))
    matches = (expected & actual).total()
    if not matches:
        return 0.0
    brevity = min(1.0, math.exp(1 - expected.total() / actual.total()))
    return brevity * matches / actual.total()
