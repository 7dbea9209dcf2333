"""Which sentences are good anchors for the entity that they link to.

A link in brackets is an aside ("born in Berlin (Germany)"), one of many between commas is not what the sentence speaks
of ("It was sold in Canada, Austria, Germany, and Ireland."), and an entry of a chronology or of a list of people is no
sentence ("1971 - Jean-Claude Duvalier becomes president."). A link of one letter is a symbol, such as
an element in a formula. Of other sentences, those come first that have words in common with the positive: they speak of
the entity, or of what it has to do with. Those without such a word are taken only for entities that have no others
(`caps`): many of them are about something else ("In March 2011 the company was sold", "he was a writer").
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wikianchor.pipelines.arrays.hashing import Hashes

_OPENING, _CLOSING = "(（", ")）"
# A number, and a dash or colon within the first characters.
_CHRONOLOGY = re.compile(r"(?=\D{0,12}\d)[^-–—:：]{1,24}(?:\s[-–—]\s|[:：]\s)")
# What follows the name of a person in a list of people.
_YEARS = re.compile(r"\s*[(（][^()（）]{0,20}\d{3}")
# Characters of a word that are compared, as words are inflected.
_STEM = 5
# All but blanks, punctuation and signs: `\w` has no vowel signs, which words of Indic scripts consist of.
_WORD = re.compile(r"[^\s!-/:-@\[-`{-\xbf\u0964\u0965\u2000-\u206f\u3000-\u3020\uff00-\uff0f]{5,}")
# Chinese characters and katakana, of which words are not divided by spaces.
_UNSPACED = re.compile(r"[\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff]+")
# Thai, Lao, Tibetan, Burmese and Khmer, neither are theirs, and they are longer.
_LONG_UNSPACED = re.compile(r"[\u0e00-\u109f\u1780-\u17ff]{5,}")
# Two syllables are the stem of a word in Korean.
_HANGUL = re.compile(r"(?<![\uac00-\ud7a3])[\uac00-\ud7a3]{2}")
# A mark of stress in Cyrillic, which stands in the first sentence of a page alone.
_STRESS = "\u0301"
# A sentence is not preferred to another for more words in common than these.
_MOST = 3
# Ranks are ordered by the two highest bits, which are 3 where sentence and positive have no word in common.
_FARNESS = np.uint64(62)
UNRELATED = np.uint64(_MOST) << _FARNESS
_COMMAS = (",", "،", "、", "，")
# By the number of commas next to a link, the commas of a sentence in which it is one of many.
_MANY_COMMAS = {1: 5, 2: 3}


def is_weak(text: str, start: int, end: int) -> bool:
    """Return whether a sentence says too little of the entity that its link leads to.

    Args:
        text: the sentence.
        start, end: offsets of the link.

    >>> is_weak("He was born in Berlin (Germany).", 23, 30), is_weak("He was born in Berlin (Germany).", 15, 21)
    (True, False)
    >>> is_weak("3 May 1971 – Duvalier becomes president.", 13, 21), is_weak("Ann Lee (1736–1784), preacher.", 0, 7)
    (True, True)
    >>> is_weak("Its formula is H2O.", 15, 16)
    True
    """
    before, name = text[:start], text[start:end]
    # Letters of Chinese and Japanese, of which one may be a word, have no case.
    if len(name) == 1 and name.lower() != name.upper():
        return True
    last = max(map(before.rfind, _OPENING))
    if last >= 0 and last > max(map(before.rfind, _CLOSING)):
        return True
    beside = before.rstrip().endswith(_COMMAS) + text[end:].lstrip().startswith(_COMMAS)
    if beside and sum(map(text.count, _COMMAS)) >= _MANY_COMMAS[beside]:
        return True
    return bool(_CHRONOLOGY.match(text)) or (not before.strip() and bool(_YEARS.match(text, end)))


def words_of(text: str) -> set[str]:
    """Return the stems of the longer words of a text; of scripts without spaces all runs of a length instead.

    >>> sorted(words_of("The moons of Jupiter were discovered by Galileo."))
    ['disco', 'galil', 'jupit', 'moons']
    >>> sorted(words_of("日本の首都"))
    ['日本', '日本の首都', '首都']
    """
    text = text.casefold().replace(_STRESS, "")
    words = {word[:_STEM] for word in _WORD.findall(text)}.union(_HANGUL.findall(text))
    for unspaced, length in ((_UNSPACED, 2), (_LONG_UNSPACED, _STEM)):
        for run in unspaced.findall(text):
            words.update(run[first : first + length] for first in range(len(run) - length + 1))
    return words


def closeness(sentences: Sequence[tuple[str, int, int]], positives: Sequence[set[str]]) -> Hashes:
    """Return how much each sentence has in common with its positive, from 0 to _MOST.

    Args:
        sentences: each with the offsets of its link, whose words do not count.
        positives: the words of each one's positive.
    """
    values = np.zeros(len(sentences), np.uint64)
    for row, ((text, start, end), words) in enumerate(zip(sentences, positives, strict=True)):
        common = words_of(f"{text[:start]} {text[end:]}") & words
        values[row] = min(len(common), _MOST)
    return values


def closest_first(common: Hashes, ranks: Hashes) -> Hashes:
    """Return ranks in the order of closeness, then of the given ranks; from `UNRELATED` on where it is 0."""
    return (np.uint64(_MOST) - common) << _FARNESS | ranks >> np.uint64(2)
