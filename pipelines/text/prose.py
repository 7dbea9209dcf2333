"""Prose of a page: what the wikitext engine extracted in, whole sentences with their links out, and why the others
were left out."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from pipelines.text.sentences import Splitter
from pipelines.text.spans import fragment_reason, sentence_spans
from pipelines.wikimedia.wikitext import Extract
from pipelines.wikimedia.wikitext.marks import GAP, HEADING, LINE_MARKS, LIST

# A gap that opens a line right before a capital was a box or a hatnote; one that closes it was a footnote.
_EDGE_GAP = re.compile(rf"^{GAP}+(?=[^\W\d_]|[\"'«„“”「『(])|(?<=[.!?。！？।։…])[{GAP} ]+$")
# What a vanished word leaves behind: brackets and commas with nothing between them. Each pattern begins with a literal,
# which a page is searched for ten times as fast as for a choice of characters.
_HOLES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\(\s*[,;:)]",
        r",(?:\s*[,.)]|(?<=\s,)\s)",
        r"\[\s*\]",
        r"«\s*»",
        r'""',
        r"（\s*[、，,;；：）]",
        r"、\s*[、。，）]",
        r"，\s*[，。、）]",
        r"،\s*[،.)]",
    )
)
_LOWER_START = re.compile(rf"^{GAP}+[a-zа-яα-ω]")


class Sentence(NamedTuple):
    """A sentence of a page: its number, region (`schemas.sentences.REGIONS`), text, and the links [first, last) of the
    extract in it.

    `start` is the offset of the sentence in the extract, to make link offsets relative.
    """

    number: int
    region: str
    text: str
    start: int
    first: int
    last: int


def page_sentences(extract: Extract, split: Splitter, language: str, dropped: Counter[str]) -> Iterator[Sentence]:
    """Yield the sentences of a page that are fit to learn from.

    Args:
        extract: of the page.
        split: sentence splitter of the page's language.
        language: of the page, for what a fragment is there.
        dropped: counts the links of the sentences left out, by reason, and the sentences themselves as
            "sentence:<reason>".
    """
    text, links = extract.text, extract.links
    holes = sorted(match.start() for pattern in _HOLES for match in pattern.finditer(text))
    holes.append(len(text))
    spans = list(zip(links.starts, links.ends, strict=True))
    count, at, number, lead = len(spans), 0, 0, True
    for start, end in sentence_spans(text, split(text), spans):
        line = text[text.rfind("\n", 0, start) + 1]
        while start < end and (text[start] in LINE_MARKS or text[start].isspace()):
            start += 1
        first = at
        while at < count and links.starts[at] < end:
            at += 1
        if line == HEADING:
            lead = False
            dropped["heading"] += at - first
            continue
        region = "list" if line == LIST else "lead" if lead else "body"
        sentence, shift = _trim_gaps(text[start:end])
        if not sentence:
            dropped["gap"] += at - first
            continue
        start += shift
        reason = _reason(sentence, language, line, holes[bisect_left(holes, start)] < end)
        if reason is not None or (first < at and links.starts[first] < start):
            dropped[reason or "gap"] += at - first
            dropped[f"sentence:{reason or 'gap'}"] += 1
        else:
            yield Sentence(number, region, sentence, start, first, at)
        number += 1


def _trim_gaps(sentence: str) -> tuple[str, int]:
    """Cut gaps at the edges that were never words of the sentence; return the rest and how much went in front."""
    if GAP not in sentence or _LOWER_START.match(sentence):
        return sentence, 0
    head = _EDGE_GAP.match(sentence)
    shift = head.end() if head else 0
    return _EDGE_GAP.sub("", sentence), shift


def _reason(sentence: str, language: str, line: str, holed: bool) -> str | None:
    if GAP in sentence:
        return "gap" if sentence.strip(GAP + " ") else "fragment:no_letters"
    if line == "\x04":
        return "preformatted"
    if holed:
        return "gap"
    fragment = fragment_reason(sentence, language)
    return None if fragment is None else f"fragment:{fragment}"
