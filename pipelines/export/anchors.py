"""Which sentences are good anchors for the entity that they link to, and which begin a good lead.

A link in brackets is an aside ("born in Berlin (Germany)"), one of many between commas is not what the sentence speaks
of ("It was sold in Canada, Austria, Germany, and Ireland."), and an entry of a chronology or of a list of people is no
sentence ("1971 - Jean-Claude Duvalier becomes president."). A link of one letter is a symbol, such as
an element in a formula. Of other sentences, those come first that have words in common with the positive: they speak of
the entity, or of what it has to do with. Those without such a word are taken only for entities that have no others
(`caps`): many of them are about something else ("In March 2011 the company was sold", "he was a writer").

A lead is the first sentences of a page. It is left out where it does not say what the page is about: where the first
sentence has no part of the page's title, such as "It is a part of"; and where the page's first sentence lost words to a
template and the first one kept does not begin with the title, but for an article.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from wikianchor.aliases.folding import code_points
from wikianchor.pipelines.arrays.hashing import Hashes, mix_hashes
from wikianchor.pipelines.arrays.minhash import code_point_sets
from wikianchor.pipelines.arrays.tables import distinct, find

_OPENING, _CLOSING = "(（", ")）"
# A number, and a dash or colon within the first characters.
_CHRONOLOGY = re.compile(r"(?=\D{0,12}\d)[^-–—:：]{1,24}(?:\s[-–—]\s|[:：]\s)")
# What follows the name of a person in a list of people.
_YEARS = re.compile(r"\s*[(（][^()（）]{0,20}\d{3}")
# The characters of words, by script: the length of a stem, and whether each run of that length is one or the first of a
# word alone. Words are inflected, so their first characters are compared.
SCRIPTS = (
    # All but blanks, punctuation and signs: `\w` has no vowel signs, which words of Indic scripts consist of.
    (r"[^\s!-/:-@\[-`{-\xbf\u0964\u0965\u2000-\u206f\u3000-\u3020\uff00-\uff0f]", 5, False),
    # Chinese characters and katakana, of which words are not divided by spaces.
    (r"[\u30a1-\u30fe\u3400-\u4dbf\u4e00-\u9fff]", 2, True),
    # Thai, Lao, Tibetan, Burmese and Khmer, neither are theirs, and they are longer.
    (r"[\u0e00-\u109f\u1780-\u17ff]", 5, True),
    # Two syllables are the stem of a word in Korean.
    (r"[\uac00-\ud7a3]", 2, False),
)
# A mark of stress in Cyrillic, which stands in the first sentence of a page alone.
_STRESS = "\u0301"
# A sentence is not preferred to another for more words in common than these.
_MOST = 3
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
# Ranks are ordered by the two highest bits, which are 3 where sentence and positive have no word in common.
_FARNESS = np.uint64(62)
UNRELATED = np.uint64(_MOST) << _FARNESS
_COMMAS = (",", "،", "、", "，")
# Characters of a part of a title; and of a longest article, with the space after it, that may precede a title.
_PART, _ARTICLE = 4, 5
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


def stems_of(texts: Iterable[str]) -> tuple[npt.NDArray[np.int64], Hashes]:
    """Return the index of the text and a hash of each stem of a longer word in texts; of scripts without spaces, of all
    runs of a length.

    >>> rows, stems = stems_of(["The moons of Jupiter", "moon", "Moonlight", "日本の首都"])
    >>> rows.tolist(), bool(stems[0] == stems[2])
    ([0, 0, 2, 3, 3, 3], False)
    """
    # One by one: Python folds texts in ASCII fast, and all together are not in ASCII.
    joined = "\n".join(text.casefold().replace("\n", " ") for text in texts).replace(_STRESS, "")
    points = code_points(joined)
    scripts = code_point_sets(*(characters for characters, _, _ in SCRIPTS))[points.astype(np.int64)]
    starts, hashes = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for number, (_, length, every) in enumerate(SCRIPTS):
        inside = np.append(scripts & np.uint8(1 << number) > 0, np.zeros(length, np.bool_))
        begins = inside[:-length].copy()
        for offset in range(1, length):
            begins &= inside[offset : offset - length]
        if not every:
            begins[1:] &= ~inside[: -length - 1]
        starts.append(np.flatnonzero(begins))
        stems = np.full(len(starts[-1]), length, np.uint64)
        for offset in range(length):
            stems = stems * _FACTOR + points[starts[-1] + offset]
        hashes.append(mix_hashes(stems, length))
    return np.cumsum(points == ord("\n"))[np.concatenate(starts)], np.concatenate(hashes)


def closeness(
    sentences: Sequence[tuple[str, int, int]], positives: Sequence[str], of_sentence: npt.NDArray[np.int64]
) -> Hashes:
    """Return how many words each sentence has in common with its positive, from 0 to _MOST.

    Args:
        sentences: each with the offsets of its link, whose words do not count.
        positives: the texts of the positives.
        of_sentence: the index of each sentence's positive.
    """
    rows, words = stems_of(f"{text[:start]} {text[end:]}" for text, start, end in sentences)
    owners, of_positives = stems_of(positives)
    known = distinct(mix_hashes(of_positives, owners))
    common = np.flatnonzero(find(known, mix_hashes(words, of_sentence[rows])) >= 0)
    rows = rows[common[np.unique(mix_hashes(words[common], rows[common]), return_index=True)[1]]]
    return np.minimum(np.bincount(rows, minlength=len(sentences)), _MOST).astype(np.uint64)


def closest_first(common: Hashes, ranks: Hashes) -> Hashes:
    """Return ranks in the order of closeness, then of the given ranks; from `UNRELATED` on where it is 0."""
    return (np.uint64(_MOST) - common) << _FARNESS | ranks >> np.uint64(2)


def begins_lead(title: str, text: str, *, is_first: bool) -> bool:
    """Return whether a sentence says what its page is about.

    Args:
        title: the page's title.
        text: the first sentence that was kept.
        is_first: whether no sentence before it was lost.

    >>> begins_lead("Mercury (planet)", "Mercury is a planet.", is_first=False)
    True
    >>> begins_lead("Oslo", "It lies on a fjord.", is_first=True)
    False
    """
    # "Mercury (planet)" is named Mercury in its text.
    name, text = title.partition(" (")[0].casefold(), text.casefold()
    return has_part(name, text) if is_first else name in text[: _ARTICLE + len(name)]


def has_part(name: str, text: str) -> bool:
    """Return whether some _PART characters in a row of a word of a name are in a text, or a shorter word of it.

    Words are inflected, and a page about Michael Jackson may begin with "Michael Joseph Jackson". Words of one or two
    characters count where the name has no other.

    >>> has_part("michael jackson", "michael joseph jackson was"), has_part("ii", "it is"), has_part("東京", "東京は")
    (True, False, True)
    """
    words = name.split()
    longer = [word for word in words if len(word) > 2] or [name]
    return any(word[first : first + _PART] in text for word in longer for first in range(max(1, len(word) - _PART + 1)))
