"""Prose of a page: what the wikitext engine extracted in, whole sentences with their links out, and why the others
were left out."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from pipelines.text.lost import TEMPLATE
from pipelines.text.sentences import Splitter
from pipelines.text.spans import fragment_reason, sentence_spans
from pipelines.wikimedia.wikitext import Extract
from pipelines.wikimedia.wikitext.marks import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED
from schemas.sentences import REGIONS

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
# A list item with fewer words is a name with a full stop behind it.
_LIST_ITEM_SPACES = 4
_UNSPACED = frozenset({"bo", "dz", "gan", "hak", "ja", "km", "lo", "lzh", "my", "nan", "shn", "th", "wuu", "yue", "zh"})
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


def page_sentences(extract: Extract, split: Splitter, language: str, dropped: Counter[str]) -> Iterator[Sentence]:
    """Yield the sentences of a page that are fit to learn from.

    Args:
        extract: of the page.
        split: sentence splitter of the page's language.
        language: of the page, for what a fragment is there.
        dropped: counts the links of the sentences left out, by reason, and the sentences themselves as
            "sentences:<reason>". Those with a gap that a template left are "sentences:template", and count once for
            each such template, as "templates:<name>".
    """
    gaps, counted = 0, 0
    for sentence, reason in judged_sentences(extract, split, language):
        if reason is None:
            yield sentence
            continue
        dropped[reason] += sentence.last - sentence.first
        lost_to: set[str] = set()
        if reason == "gap" and GAP in sentence.text:
            first = gaps + extract.text.count(GAP, counted, sentence.start)
            gaps = first + sentence.text.count(GAP)
            counted = sentence.start + len(sentence.text)
            lost_to = set(extract.gaps[first:gaps]) - {""}
            dropped.update(TEMPLATE + name for name in lost_to)
        dropped["sentences:template" if lost_to else f"sentences:{reason}"] += sentence.region != "heading"


def judged_sentences(extract: Extract, split: Splitter, language: str) -> Iterator[tuple[Sentence, str | None]]:
    """Yield every stretch between two sentence boundaries, and why it is not fit to learn from, None if it is."""
    text, links = extract.text, extract.links
    holes = sorted(match.start() for pattern in _HOLES for match in pattern.finditer(text))
    holes.append(len(text))
    starts, count, at, number = links.starts, len(links.starts), 0, 0
    has_gaps = GAP in text
    for region, start, end in _regions(extract, split, language):
        first = at
        while at < count and starts[at] < end:
            at += 1
        sentence = text[start:end]
        if has_gaps:
            sentence, shift = _trim_gaps(sentence)
            start += shift
        if region not in REGIONS:
            reason: str | None = region
        elif not sentence or (first < at and starts[first] < start):
            reason = "gap"
        else:
            reason = _reason(sentence, language, region, holes[bisect_left(holes, start)] < end)
        yield Sentence(number, region, sentence, start, first, at), reason
        number += region != "heading"


def _regions(extract: Extract, split: Splitter, language: str) -> Iterator[tuple[str, int, int]]:
    """Yield each stretch between two sentence boundaries: its region, or why it is no prose, and where it stands."""
    text, links = extract.text, extract.links
    spans = list(zip(links.starts, links.ends, strict=True))
    endings = back_matter(language)
    main, level_of_end = "lead", 0  # the heading that began the back matter has that level; 0 outside of it
    line = searched = 0
    for start, end in sentence_spans(text, split(text.replace(GAP, " ")), spans):
        # Looked for once: a line may be as long as the page.
        line = text.rfind("\n", searched, start) + 1 or line
        mark, searched = text[line], start
        words = start
        while words < end and (text[words] in LINE_MARKS or text[words].isspace()):
            words += 1
        if mark == HEADING:
            level = words - start
            if level_of_end == 0 or level <= level_of_end:
                level_of_end = level if text[words:end].lower() in endings else 0
            main = "body"
            yield "heading", words, end
        elif level_of_end:
            yield "back_matter", words, end
        else:
            yield "preformatted" if mark == PREFORMATTED else "list" if mark == LIST else main, words, end


def _trim_gaps(sentence: str) -> tuple[str, int]:
    """Cut gaps at the edges that were never words of the sentence; return the rest and how much went in front."""
    if GAP not in sentence or _LOWER_START.match(sentence):
        return sentence, 0
    head = _EDGE_GAP.match(sentence)
    shift = head.end() if head else 0
    return _EDGE_GAP.sub("", sentence), shift


def _reason(sentence: str, language: str, region: str, holed: bool) -> str | None:
    if GAP in sentence:
        return "gap" if sentence.strip(GAP + " ") else "fragment:no_letters"
    if holed:
        return "gap"
    if region == "list" and sentence.count(" ") < _LIST_ITEM_SPACES and not holds_no_spaces(language):
        return "fragment:short"
    if "ISBN" in sentence or "ISSN" in sentence:
        return "fragment:citation"
    fragment = fragment_reason(sentence, language)
    return None if fragment is None else f"fragment:{fragment}"


@lru_cache(maxsize=64)
def back_matter(language: str) -> frozenset[str]:
    """Return the headings, lower-case, of sections that list works, notes and links (`data/back_matter.json`)."""
    path = resources.files("pipelines.text") / "data" / "back_matter.json"
    with path.open(encoding="utf-8") as file:
        headings: dict[str, list[str]] = json.load(file)
    return frozenset(name for key in (language, language.split("-")[0]) for name in headings.get(key, ()))


def holds_no_spaces(language: str) -> bool:
    """Return whether words of a language stand without spaces between them."""
    return language.split("-")[0] in _UNSPACED
