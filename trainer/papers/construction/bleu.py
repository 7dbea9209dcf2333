"""BLEU of single words: which share of a sentence's words another has, less for one that is too short.

As of https://aclanthology.org/P02-1040 with N = 1: a word counts as often as the reference has it.
"""

from __future__ import annotations

import math
import re
from collections import Counter

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the words of a text in a language that has blanks, in lower case, without signs."""
    return _WORD.findall(text.lower())


def bleu1(reference: str, candidate: str) -> float:
    """Return BLEU-1 of a candidate, between 0 and 1; 0 where either has no word."""
    wanted, given = Counter(words(reference)), Counter(words(candidate))
    right = (wanted & given).total()
    if not right:
        return 0.0
    brevity = min(1.0, math.exp(1 - wanted.total() / given.total()))
    return brevity * right / given.total()
