"""Choose the spans of a sentence to fill, and decide which filled sentences are good hard negatives."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.japanese.duplicates import overlap
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions
from wikianchor.pipelines.japanese.noun_phrases import COMMAS
from wikianchor.pipelines.japanese.noun_spans import unmatched

Spans = Sequence[tuple[int, int]]
Fills = Sequence[str | None]
# Decides whether ranges of a sentence are noun spans.
NounSpans = Callable[[str, Spans], bool]

# Maximum length of a fill: this multiple of the original, or this many more characters.
LONGER_TIMES, LONGER_BY = 3, 12
# A repetition: one to twelve characters three times in a row, or two or more twice with at most one between.
_REPETITION = re.compile(r"(.{1,12}?)\1\1|(..{1,12}?).?\2")
_LEFT_OVER = re.compile(r"<\s?/?\s?(?:extra|s\b|pad|unk)|extra_id")
# Scripts of nouns in Japanese text: the first words of the Unicode names of characters.
_SCRIPTS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "LATIN", "GREEK", "DIGIT", "IDEOGRAPHIC"})
_ENDS_SENTENCE = frozenset("。!?")
# Half a character, and an unknown piece.
_BROKEN = frozenset("\ufffd⁇")


def chosen_spans(spans: Spans, share: float, most: int, sentence_id: int, seed: int) -> list[tuple[int, int]]:
    """Return the spans to fill: a share of all, at least one and at most `most`, sampled by a keyed hash."""
    count = min(len(spans), most, max(1, round(len(spans) * share)))
    if count == len(spans):
        return list(spans)
    sample_keys = mix(seed, sentence_id, np.arange(len(spans)))
    return sorted(spans[index] for index in np.argsort(sample_keys, kind="stable")[:count].tolist())


def filled(text: str, spans: Spans, fills: Sequence[str]) -> str:
    """Return a text with each span replaced by its fill."""
    parts, done = [], 0
    for (start, end), fill in zip(spans, fills, strict=True):
        parts += [text[done:start], fill]
        done = end
    return "".join([*parts, text[done:]])


def fill_spans(spans: Spans, fills: Sequence[str]) -> list[tuple[int, int]]:
    """Return the spans of the fills in the text that `filled` returns."""
    new_spans, shift = [], 0
    for (start, end), fill in zip(spans, fills, strict=True):
        new_spans.append((start + shift, start + shift + len(fill)))
        shift += len(fill) - (end - start)
    return new_spans


def keep(
    text: str, spans: Spans, candidates: Sequence[Fills], options: NegativesOptions, are_noun_spans: NounSpans
) -> tuple[dict[str, int], Counter[str]]:
    """Return the ranks from 1 of the candidates of a sentence that are good negatives, by their texts, the most likely
    first; and the numbers of candidates by outcome.

    Args:
        text: the sentence.
        spans: its filled spans.
        candidates: the fills of these spans, by rank.
        options: `negatives`, `near` and `first_rank` are used. Candidates of earlier ranks are surplus: the released
            code of SDJC leaves the most likely out.
        are_noun_spans: decides whether ranges are noun spans.
    """
    counts: Counter[str] = Counter()
    kept: dict[str, int] = {}
    for rank, fills in enumerate(candidates, 1):
        counts["seen"] += 1
        if rank < options.first_rank or len(kept) == options.negatives:
            counts["surplus"] += 1
            continue
        reason, candidate = judge(text, spans, fills, options.near, are_noun_spans)
        if not reason and candidate in kept:
            reason = "duplicate"
        counts[reason or "kept"] += 1
        if not reason:
            kept[candidate] = rank
    return kept, counts


def judge(text: str, spans: Spans, fills: Fills, near: float, are_noun_spans: NounSpans) -> tuple[str, str]:
    """Return the reason why a candidate is no negative, "" for a good one; and its text."""
    words = [(fill or "").strip() for fill in fills]
    originals = [text[start:end] for start, end in spans]
    candidate, pairs = filled(text, spans, words), list(zip(words, originals, strict=True))
    new = [span for span, (word, original) in zip(fill_spans(spans, words), pairs, strict=True) if word != original]
    # In this order: the slowest test is the last.
    tests: dict[str, Callable[[], bool]] = {
        "sentinel": lambda: any(map(_LEFT_OVER.search, words)),
        "unfilled": lambda: not all(words),
        "equal": lambda: candidate == text,
        "too_long": lambda: any(
            len(word) > max(LONGER_TIMES * len(original), len(original) + LONGER_BY) for word, original in pairs
        ),
        "wrong_script": lambda: not all(map(is_noun_like, words)),
        "unbalanced": lambda: _alone(candidate) != _alone(text),
        "repeats": lambda: _repeats(words, originals, candidate, text),
        "too_near": lambda: overlap(text, candidate) >= near,
        "no_noun_span": lambda: not are_noun_spans(candidate, new),
    }
    return next((reason for reason, fails in tests.items() if fails()), ""), candidate


def is_noun_like(word: str) -> bool:
    """Return whether a fill looks like a Japanese noun: letters or digits of its scripts, and no full stop."""
    if any(character in _ENDS_SENTENCE or character in _BROKEN for character in word):
        return False
    letters = [character for character in word if character.isalnum()]
    return bool(letters) and all(_script(character) in _SCRIPTS for character in letters)


def continues_noun(piece: str) -> bool:
    """Return whether a fill may continue with a piece: it ends neither a sentence nor a phrase."""
    return not any(character in _ENDS_SENTENCE for character in piece) and not piece.endswith(COMMAS)


def _alone(text: str) -> list[str]:
    """Return the brackets of a text that have no counterpart. A record of a corpus can be cut within brackets."""
    return [text[position] for position in unmatched(text)]


def _script(character: str) -> str:
    """Return the first word of the Unicode name of a character; LATIN for variants of letters and digits."""
    first, _, rest = unicodedata.name(character, "").partition(" ")
    return (
        "LATIN" if first in ("FULLWIDTH", "CIRCLED", "ROMAN", "SUPERSCRIPT", "SUBSCRIPT", "MICRO") and rest else first
    )


def _repeats(words: Sequence[str], originals: Sequence[str], candidate: str, text: str) -> bool:
    """Return whether a candidate has a repetition that the sentence has not.

    A repetition is within the text, or the same word in several holes whose originals differ.
    """
    new = [word for word, original in zip(words, originals, strict=True) if word != original and len(word) > 1]
    if len(set(new)) < len(new) and len(set(originals)) == len(originals):
        return True
    return any(
        match[0] not in text for match in _REPETITION.finditer(candidate) if (match[1] or match[2]).strip("0123456789")
    )
