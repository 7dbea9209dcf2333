"""Sentences with other nouns: a sentence, its spans and what a T5 puts there in; a sentence, or why it is none, out."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.japanese.duplicates import overlap
from wikianchor.pipelines.japanese.noun_phrases import COMMAS

Spans = Sequence[tuple[int, int]]
Fills = Sequence[str | None]
# Whether stretches of a sentence are noun spans of it.
NounSpans = Callable[[str, Spans], bool]

# A fill may be this many times as long as what stood there, or longer by so many characters.
LONGER_TIMES, LONGER_BY = 3, 12
# Something of one to twelve characters, three times in a row; or of two or more, twice with at most one between.
_STUTTER = re.compile(r"(.{1,12}?)\1\1|(..{1,12}?).?\2")
_LEFT_OVER = re.compile(r"<\s?/?\s?(?:extra|s\b|pad|unk)|extra_id")
# What a noun of Japanese text is written in: the first words of the characters' names.
_SCRIPTS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "LATIN", "GREEK", "DIGIT", "IDEOGRAPHIC"})
_ENDS_SENTENCE = frozenset("。!?")
# What is left of half a character, and of a piece without a name.
_BROKEN = frozenset("\ufffd⁇")


class FillLimits(NamedTuple):
    """How many negatives a sentence may have, and from which overlap with it one is too near."""

    negatives: int
    near: float


class Negatives(NamedTuple):
    """What is kept of a sentence's candidates, with their ranks from 1, and how many became what."""

    texts: list[str]
    ranks: list[int]
    counts: Counter[str]


def chosen_spans(spans: Spans, share: float, most: int, sentence_id: int, seed: int) -> list[tuple[int, int]]:
    """Return the spans to fill: a share of them, one at least, picked by a keyed hash; at most `most`."""
    count = min(len(spans), most, max(1, round(len(spans) * share)))
    if count == len(spans):
        return list(spans)
    import numpy as np

    lots = mix(seed, sentence_id, np.arange(len(spans)))
    return sorted(spans[place] for place in np.argsort(lots, kind="stable")[:count].tolist())


def filled(text: str, spans: Spans, fills: Sequence[str]) -> str:
    """Return a text with each span replaced by its fill."""
    parts, place = [], 0
    for (start, end), fill in zip(spans, fills, strict=True):
        parts += [text[place:start], fill]
        place = end
    return "".join([*parts, text[place:]])


def places(spans: Spans, fills: Sequence[str]) -> list[tuple[int, int]]:
    """Return where the fills are in the text that `filled` returns."""
    found, shift = [], 0
    for (start, end), fill in zip(spans, fills, strict=True):
        found.append((start + shift, start + shift + len(fill)))
        shift += len(fill) - (end - start)
    return found


def keep(
    text: str,
    spans: Spans,
    candidates: Sequence[Fills],
    limits: FillLimits,
    are_noun_spans: NounSpans,
    first_rank: int = 1,
) -> Negatives:
    """Judge what the ranks of a beam put into the spans of a sentence, the first rank first.

    Ranks before `first_rank` are surplus: the released code of SDJC leaves the likeliest out.
    """
    counts: Counter[str] = Counter()
    found: dict[str, int] = {}
    for rank, fills in enumerate(candidates, 1):
        counts["seen"] += 1
        if rank < first_rank or len(found) == limits.negatives:
            counts["surplus"] += 1
            continue
        reason, candidate = judge(text, spans, fills, limits.near, are_noun_spans)
        if not reason and candidate in found:
            reason = "duplicate"
        counts[reason or "kept"] += 1
        if not reason:
            found[candidate] = rank
    return Negatives(list(found), list(found.values()), counts)


def judge(text: str, spans: Spans, fills: Fills, near: float, are_noun_spans: NounSpans) -> tuple[str, str]:
    """Return why a candidate is no negative, "" where it is one, and its text."""
    words = [(fill or "").strip() for fill in fills]
    if any(_LEFT_OVER.search(word) for word in words):
        return "sentinel", ""
    if not all(words):
        return "unfilled", ""
    candidate = filled(text, spans, words)
    if candidate == text:
        return "equal", candidate
    was = [text[start:end] for start, end in spans]
    if any(
        len(word) > max(LONGER_TIMES * len(old), len(old) + LONGER_BY) for word, old in zip(words, was, strict=True)
    ):
        return "too_long", candidate
    if not all(map(is_noun_like, words)):
        return "wrong_script", candidate
    if _repeats(words, was, candidate, text):
        return "repeats", candidate
    if overlap(text, candidate) >= near:
        return "too_near", candidate
    # The dearest question comes last.
    new = [place for place, word, old in zip(places(spans, words), words, was, strict=True) if word != old]
    if not are_noun_spans(candidate, new):
        return "no_noun_span", candidate
    return "", candidate


def is_noun_like(word: str) -> bool:
    """Whether a fill is written as a Japanese noun is: letters or digits of its scripts and no end of a sentence."""
    if any(character in _ENDS_SENTENCE or character in _BROKEN for character in word):
        return False
    letters = [character for character in word if character.isalnum()]
    return bool(letters) and all(_script(character) in _SCRIPTS for character in letters)


def continues_noun(piece: str) -> bool:
    """Whether a fill may go on with a piece: it ends no sentence and no phrase."""
    return not any(character in _ENDS_SENTENCE for character in piece) and not piece.endswith(COMMAS)


def _script(character: str) -> str:
    name = unicodedata.name(character, "")
    first, _, rest = name.partition(" ")
    # Wide and circled letters and digits, superscripts.
    return (
        "LATIN" if first in ("FULLWIDTH", "CIRCLED", "ROMAN", "SUPERSCRIPT", "SUBSCRIPT", "MICRO") and rest else first
    )


def _repeats(words: Sequence[str], was: Sequence[str], candidate: str, text: str) -> bool:
    """Whether a candidate stutters where the sentence does not: within it, or one word in holes that had different
    ones."""
    new = [word for word, old in zip(words, was, strict=True) if word != old and len(word) > 1]
    if len(set(new)) < len(new) and len(set(was)) == len(was):
        return True
    return any(
        match[0] not in text for match in _STUTTER.finditer(candidate) if (match[1] or match[2]).strip("0123456789")
    )
