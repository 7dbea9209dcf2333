"""Prose of a page: what the wikitext engine extracted in, whole sentences with their links out, and why the others
were left out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from wikianchor.pipelines.text.fragments import (
    has_capitals,
    make_fragment_test,
    make_strange_finder,
    suspicious_places,
    whole_sentences,
)
from wikianchor.pipelines.text.splitter import Splitter
from wikianchor.pipelines.text.template_losses import TEMPLATE
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED
from wikianchor.schemas.sentences import REGIONS

# A gap that opens a line right before a capital was a box or a hatnote; one that closes it was a footnote.
_EDGE_GAP = re.compile(rf"^{GAP}+(?=[^\W\d_]|[\"'«„“”「『(])|(?<=[.!?。！？।։…])[{GAP} ]+$")
# What a vanished word leaves behind: brackets and signs with nothing between them, by their first characters.
_HOLES = tuple(
    (first, re.compile(pattern))
    for first, pattern in (
        ("(", r"\(\s*[,;:)]"),
        (",", r",(?:\s*[,.)]|(?<=\s,)\s)"),
        ("[", r"\[\s*\]"),
        # Behind a short word: an article or a preposition. Behind another it is only a blank too many.
        (" .", r" \.(?=\s|\Z)(?:(?<=\s[^\W\d_] \.)|(?<=\s[^\W\d_]{2} \.)|(?<=\s[^\W\d_]{3} \.))"),
        ("«", r"«\s*»"),
        ('"', r'""'),
        ("（", r"（\s*[、，,;；：）]"),
        ("、", r"、\s*[、。，）]"),
        ("，", r"，\s*[，。、）]"),
        ("،", r"،\s*[،.)]"),
    )
)
# A list item with fewer words is a name with a full stop behind it.
_LIST_ITEM_SPACES = 4
_UNSPACED = frozenset({"bo", "dz", "gan", "hak", "ja", "km", "lo", "lzh", "my", "nan", "shn", "th", "wuu", "yue", "zh"})
_MARKED = {PREFORMATTED: "preformatted", LIST: "list"}
# What may open a sentence before its first letter.
_OPENERS = "\"'«„“”‘(["
_LOWER_START = re.compile(rf"^{GAP}+[a-zа-яα-ω]")


class Sentence(NamedTuple):
    """A sentence of a page: its number, region (`schemas.sentences.REGIONS`, or why it is no prose), text, and the
    links [first, last) of the extract in it.

    `start` is the offset of the sentence in the extract, to make link offsets relative.
    """

    number: int
    region: str
    text: str
    start: int
    first: int
    last: int


# Half the time of calling the class.
_sentence = tuple.__new__


def page_sentences(extract: Extract, split: Splitter, language: str, dropped: Counter[str]) -> list[Sentence]:
    """Return the sentences of a page that are fit to learn from.

    Args:
        extract: of the page.
        split: sentence splitter of the page's language.
        language: of the page, for what a fragment is there.
        dropped: counts the links of the sentences left out, by reason, and the sentences themselves as
            "sentences:<reason>". Those with a gap that a template left are "sentences:template", and count once for
            each such template, as "templates:<name>".
    """
    kept: list[Sentence] = []
    gaps, counted = 0, 0
    for values, reason in _judged(extract, split, language):
        if reason is None:
            kept.append(_sentence(Sentence, values))
            continue
        _, region, text, start, first, last = values
        dropped[reason] += last - first
        lost_to: set[str] = set()
        if reason == "gap" and GAP in text:
            before = gaps + extract.text.count(GAP, counted, start)
            gaps = before + text.count(GAP)
            counted = start + len(text)
            lost_to = set(extract.gaps[before:gaps]) - {""}
            dropped.update(TEMPLATE + name for name in lost_to)
        if region != "heading":
            dropped["sentences:template" if lost_to else f"sentences:{reason}"] += 1
    return kept


def judged_sentences(extract: Extract, split: Splitter, language: str) -> Iterator[tuple[Sentence, str | None]]:
    """Yield every stretch between two sentence boundaries, and why it is not fit to learn from, None if it is."""
    for values, reason in _judged(extract, split, language):
        yield Sentence(*values), reason


def _judged(
    extract: Extract, split: Splitter, language: str
) -> Iterator[tuple[tuple[int, str, str, int, int, int], str | None]]:
    """Yield the values of a `Sentence`, which is costly to make, and why it is not fit to learn from."""
    text = extract.text
    beyond = len(text) + 1
    starts = [*extract.links.starts, beyond]
    # Places still to come, the next one last: what most sentences hold none of is looked for in the page as a whole.
    holes, signs = [beyond, *_holes(text)[::-1]], [beyond, *suspicious_places(text)[::-1]]
    has_gaps, cites = GAP in text, "ISBN" in text or "ISSN" in text
    fragment_reason, few_spaces = make_fragment_test(language), 0 if holds_no_spaces(language) else _LIST_ITEM_SPACES
    strange, cased = make_strange_finder(language)(text), has_capitals(language)
    outline, region, line_end = _Outline(back_matter(language)), "", 0
    number = at = 0
    for start, sentence in whole_sentences(text, split(text.replace(GAP, " ")), starts, extract.links.ends):
        if start >= line_end:
            line_end = text.find("\n", start)
            line_end = line_end if line_end >= 0 else beyond
            region = outline.region(text, start, line_end)
            if sentence[0] in LINE_MARKS:
                words = sentence.lstrip(LINE_MARKS).lstrip()
                start, sentence = start + len(sentence) - len(words), words
        end, first = start + len(sentence), at
        while starts[at] < end:
            at += 1
        if has_gaps and GAP in sentence:
            sentence, shift = _trim_gaps(sentence)
            start += shift
            end = start + len(sentence)
        reason: str | None = None
        if region not in REGIONS:
            reason = region
        elif not sentence or (first < at and starts[first] < start):
            reason = "gap"
        elif has_gaps and GAP in sentence:
            reason = "gap" if sentence.strip(GAP + " ") else "fragment:no_letters"
        else:
            while holes[-1] < start:
                holes.pop()
            while signs[-1] < start:
                signs.pop()
            if holes[-1] < end:
                reason = "gap"
            elif region == "list" and sentence.count(" ") < few_spaces:
                reason = "fragment:short"
            elif (
                cased
                and region != "list"
                and (sentence[0].islower() or sentence[0] in _OPENERS)
                and _continues(sentence)
            ):
                reason = "fragment:continued"
            elif cites and ("ISBN" in sentence or "ISSN" in sentence):
                reason = "fragment:citation"
            elif fragment := fragment_reason(sentence, signs[-1] < end, strange.count(1, start, end)):
                reason = f"fragment:{fragment}"
        yield (number, region, sentence, start, first, at), reason
        number += region != "heading"


def _holes(text: str) -> list[int]:
    return sorted(match.start() for first, hole in _HOLES if first in text for match in hole.finditer(text))


class _Outline:
    """Tells the regions of the lines of a page, asked from the first to the last.

    Args:
        endings: the headings, lower-case, that begin back matter.
    """

    def __init__(self, endings: Collection[str]) -> None:
        self._endings = endings
        self._main = "lead"
        self._level_of_end = 0  # level of the heading that began the back matter; 0 outside of it

    def region(self, text: str, start: int, end: int) -> str:
        """Return the region of the line text[start:end], or why it is no prose."""
        if text[start] == HEADING:
            line = text[start:end]
            title = line.lstrip(HEADING)
            level = len(line) - len(title)
            if self._level_of_end == 0 or level <= self._level_of_end:
                self._level_of_end = level if title.strip().lower() in self._endings else 0
            self._main = "body"
            return "heading"
        if self._level_of_end:
            return "back_matter"
        return _MARKED.get(text[start], self._main)


def _continues(sentence: str) -> bool:
    """Return whether a sentence is the rest of one that a formula, a list or a table broke off: it begins with a small
    letter. "x is", "von Neumann" and "iPhone" may begin one."""
    first, _, rest = sentence.lstrip(_OPENERS).partition(" ")
    first = first.rstrip(",;")
    following = rest.lstrip(_OPENERS)[:1]
    return len(first) > 1 and first.isalpha() and first.islower() and bool(following) and not following.isupper()


def _trim_gaps(sentence: str) -> tuple[str, int]:
    """Cut gaps at the edges that were never words of the sentence; return the rest and how much went in front."""
    if _LOWER_START.match(sentence):
        return sentence, 0
    head = _EDGE_GAP.match(sentence)
    shift = head.end() if head else 0
    return _EDGE_GAP.sub("", sentence), shift


@lru_cache(maxsize=64)
def back_matter(language: str) -> frozenset[str]:
    """Return the headings, lower-case, of sections that list works, notes and links (`data/back_matter.json`)."""
    path = resources.files("wikianchor.pipelines.text") / "data" / "back_matter.json"
    with path.open(encoding="utf-8") as file:
        headings: dict[str, list[str]] = json.load(file)
    return frozenset(name for key in (language, language.split("-")[0]) for name in headings.get(key, ()))


def holds_no_spaces(language: str) -> bool:
    """Return whether words of a language stand without spaces between them."""
    return language.split("-")[0] in _UNSPACED
