"""Split the extracted text of a page into sentences, and say why some of them are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.text.fragments import (
    UNKNOWN,
    has_capitals,
    make_fragment_test,
    make_non_letter_finder,
    markup_offsets,
    whole_sentences,
)
from wikianchor.pipelines.text.reference_entries import CITATIONS, cites, is_reference
from wikianchor.pipelines.text.splitter import Splitter
from wikianchor.pipelines.text.template_losses import TEMPLATE
from wikianchor.pipelines.text.writing import MISSING, holds_no_spaces
from wikianchor.pipelines.wikimedia.site import Writing
from wikianchor.pipelines.wikimedia.wikitext import Aside, Extract
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

# Reasons why a line is no prose, in the place of its region (`wikianchor.schemas.choices.REGIONS`).
_NO_PROSE = frozenset(("heading", "back_matter", "preformatted"))
# A gap at the start of a line before a capital was a box or a hatnote; one at the end was a footnote.
_AFTER_EDGE_GAP, _BEFORE_EDGE_GAP = "\"'«„“”「『(", ".!?。！？।։…"
_EDGE_GAP = re.compile(rf"^{GAP}+(?=[^\W\d_]|[{_AFTER_EDGE_GAP}])|(?<=[{_BEFORE_EDGE_GAP}])[{GAP} ]+$")
# Signs of a missing word, brackets or punctuation with nothing between them: a first character, and characters of which
# one follows, with white space between. Two quotes are a sign too, without white space.
_NO_FUNCTION = r"(?!(?<=[A-Za-z0-9_])\(\))"
_HOLES = (
    ("(", ",;:)"),
    ("[", "]"),
    ("«", "»"),
    ("（", "、，,;；：）"),
    ("、", "、。，）"),
    ("，", "，。、）"),
    ("،", "،.)"),
)
# As these, but ",..." is no hole, and neither are two commas that stand for quotes: ",,word,,".
_COMMA_HOLE = re.compile(r",\s*(?:[,)]|\.(?!\.))")
# But "print()" is the name of a function, and '""so' has the quote twice.
_HOLE_PATTERNS = (
    *(
        (first, re.compile(rf"{_NO_FUNCTION if first == '(' else ''}{re.escape(first)}\s*[{re.escape(others)}]"))
        for first, others in _HOLES
    ),
    ('"', re.compile(r'(?<![^\W_])""(?![^\W_])')),
)
# A list item with fewer spaces is a name and a full stop.
_LIST_ITEM_SPACES = 4
_AROUND_ITEM = LINE_MARKS + GAP + " "
_MARKED = {PREFORMATTED: "preformatted", LIST: "list"}
# Characters that may precede the first letter of a sentence.
_OPENERS = "\"'«„“”‘(["
_SMALL_LETTERS = (("a", "z"), ("а", "я"), ("α", "ω"))
_LOWER_START = re.compile(rf"^{GAP}+[{''.join(f'{first}-{last}' for first, last in _SMALL_LETTERS)}]")
# Stands for the words that a template shows, where only the rest of the sentence is looked at.
_ANY_WORD = "word"


class Sentence(NamedTuple):
    """A sentence of a page.

    Attributes:
        number: its number on the page, from 0; headings are not counted.
        region: one of `schemas.choices.FRAGMENT_REGIONS`, or "heading".
        text: the sentence.
        start: its offset in `Extract.text`. Subtract it from the offsets of links.
        first: index of its first link in `Extract.links`.
        last: index after its last link.
    """

    number: int
    region: str
    text: str
    start: int
    first: int
    last: int


def page_sentences(
    extract: Extract,
    split: Splitter,
    language: str,
    dropped: Counter[str],
    fragments: list[Sentence] | None = None,
    *,
    writing: Writing = UNKNOWN,
) -> list[Sentence]:
    """Return the usable sentences of a page.

    Args:
        extract: that of the page.
        split: sentence splitter of the page's language.
        language: language code of the page.
        dropped: counts the links of dropped sentences by reason, and the sentences as "sentences:<reason>". Sentences
            with a gap that a template left are "sentences:template", and count once as "templates:<name>" for each of
            these templates.
        fragments: if given, the dropped sentences are appended, with MISSING in place of gaps. Headings are left out,
            and sentences without links and letters.
        writing: how the language is written, where a dump told.

    >>> from wikianchor.pipelines.text.splitter import make_splitter
    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> from wikianchor.pipelines.wikimedia.wikitext import Extractor
    >>> extract = Extractor(site_for("enwiki")).extract("A [[bus]] is a large vehicle. It costs {{x}}.", "Bus")
    >>> dropped = Counter()
    >>> [sentence.text for sentence in page_sentences(extract, make_splitter("rules", "en"), "en", dropped)]
    ['A bus is a large vehicle.']
    >>> sorted(dropped.items())
    [('gap', 0), ('sentences:template', 1), ('templates:x', 1)]
    """
    kept: list[Sentence] = []
    for sentence, reason, lost_to in sentence_outcomes(extract, split, language, writing):
        if reason is None:
            kept.append(sentence)
            continue
        _, region, text, _, first, last = sentence
        dropped["gap" if lost_to else reason] += last - first
        dropped.update(TEMPLATE + name for name in lost_to)
        if region != "heading":
            dropped[f"sentences:{reason}"] += 1
            if fragments is not None and (first < last or (text and reason != "fragment:no_letters")):
                fragments.append(_fragment(sentence, extract))
    return kept


def sentence_outcomes(
    extract: Extract, split: Splitter, language: str, writing: Writing = UNKNOWN
) -> Iterator[tuple[Sentence, str | None, Collection[str]]]:
    """Yield every sentence of a page with the reason why the dataset leaves it out, and the templates that it lost
    words to.

    The reason is None for a sentence that is kept, "template" for one that lost words to a template, and otherwise that
    of `judged_sentences`.
    """
    gaps = counted = 0
    fragment_reason = make_fragment_test(language, writing)
    for sentence, reason in judged_sentences(extract, split, language, writing):
        text, start = sentence.text, sentence.start
        lost_to: Collection[str] = ()
        if reason == "gap" and GAP in text:
            if fragment_reason(text.replace(GAP, _ANY_WORD), has_markup_sign=False) == "no_terminator":
                # A caption or a list item, which would be no sentence whatever the template shows.
                reason = "fragment:no_terminator"
            else:
                before = gaps + extract.text.count(GAP, counted, start)
                gaps = before + text.count(GAP)
                counted = start + len(text)
                lost_to = set(extract.gaps[before:gaps]) - {""}
                reason = "template" if lost_to else reason
        yield sentence, reason, lost_to


def _fragment(sentence: Sentence, extract: Extract) -> Sentence:
    """Return a dropped sentence with all of its links in its text, and with MISSING in place of gaps."""
    _, _, text, start, first, last = sentence
    if first < last:
        # Gaps at the edges of a sentence are removed, and a link may begin or end with one.
        begin, end = min(start, extract.links.starts[first]), max(start + len(text), extract.links.ends[last - 1])
        if end - begin > len(text):
            sentence = sentence._replace(text=(text := extract.text[begin:end]), start=begin)
    return sentence._replace(text=text.replace(GAP, MISSING)) if GAP in text else sentence


def aside_fragments(aside: Aside, number: int, link_starts: Sequence[int] | None = None) -> list[Sentence]:
    """Return the lines of an aside that contain links, with MISSING in place of gaps.

    Cells and captions are not split into sentences: they are read for their names.

    Args:
        aside: an aside of a page.
        number: that of the first line.
        link_starts: offsets of the links, ascending; None for the links to articles of the wiki.
    """
    text, starts = aside.text, aside.links.starts if link_starts is None else link_starts
    fragments: list[Sentence] = []
    first = 0
    while first < len(starts):
        start = text.rfind("\n", 0, starts[first]) + 1
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)]
        words = line.lstrip(LINE_MARKS + " ")
        start += len(line) - len(words)
        last = first
        while last < len(starts) and starts[last] < start + len(words):
            last += 1
        shown = words.rstrip().replace(GAP, MISSING)
        fragments.append(Sentence(number + len(fragments), aside.region, shown, start, first=first, last=last))
        first = last
    return fragments


def judged_sentences(
    extract: Extract, split: Splitter, language: str, writing: Writing = UNKNOWN
) -> Iterator[tuple[Sentence, str | None]]:
    """Yield every sentence of a page with the reason to drop it, None for a usable sentence."""
    text = extract.text
    beyond = len(text) + 1
    starts = [*extract.links.starts, beyond]
    has_gaps = GAP in text
    drop_reason = _make_drop_test(text, language, writing)
    outline, region, line_end = _Outline(back_matter(language)), "", 0
    in_reference = False
    number = at = 0
    for start, sentence in whole_sentences(text, split(text.replace(GAP, " ")), starts, extract.links.ends):
        if start >= line_end:
            line_end = text.find("\n", start)
            line_end = line_end if line_end >= 0 else beyond
            region = outline.region(text, start, line_end)
            in_reference = region == "list" and is_reference(text[start:line_end].strip(_AROUND_ITEM))
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
        if region in _NO_PROSE:
            reason: str | None = region
        elif not sentence or (first < at and starts[first] < start):
            reason = "gap"
        elif has_gaps and GAP in sentence:
            reason = "gap" if sentence.strip(GAP + " ") else "fragment:no_letters"
        else:
            reason = drop_reason(sentence, region, start, end)
            if in_reference and reason is None:
                reason = "fragment:citation"
        yield Sentence(number, region, sentence, start, first=first, last=at), reason
        number += region != "heading"


def _make_drop_test(text: str, language: str, writing: Writing) -> Callable[[str, str, int, int], str | None]:
    """Return a function that tells why to drop a sentence without a GAP, None for a usable one.

    Its arguments are the sentence, its region, its start and its end in `text`. It must be called in page order.
    """
    beyond = len(text) + 1
    # Offsets after the current sentence, the next one last. To search the whole page once is faster than to search each
    # sentence, because most sentences contain none of them.
    holes, signs = [beyond, *_hole_offsets(text)[::-1]], [beyond, *markup_offsets(text)[::-1]]
    has_citations = cites(text) is not None
    fragment_reason = make_fragment_test(language, writing)
    min_spaces = _min_spaces(language)
    non_letters, cased = make_non_letter_finder(language, writing)(text), has_capitals(language, writing)

    def drop_reason(sentence: str, region: str, start: int, end: int) -> str | None:
        while holes[-1] < start:
            holes.pop()
        while signs[-1] < start:
            signs.pop()
        if holes[-1] < end:
            return "gap"
        if region == "list":
            if sentence.count(" ") < min_spaces:
                return "fragment:short"
        elif cased and (sentence[0].islower() or sentence[0] in _OPENERS) and _continues(sentence):
            return "fragment:continued"
        if has_citations and cites(sentence):
            return "fragment:citation"
        fragment = fragment_reason(sentence, signs[-1] < end, non_letters.count(1, start, end))
        return f"fragment:{fragment}" if fragment else None

    return drop_reason


def _hole_offsets(text: str) -> list[int]:
    """Return the ascending offsets of the signs of missing words."""
    offsets = [match.start() for first, hole in _HOLE_PATTERNS if first in text for match in hole.finditer(text)]
    if "," in text:
        offsets += _comma_holes(text)
    return sorted(offsets)


def _comma_holes(text: str) -> Iterator[int]:
    quote = -1  # where an opening quote of two commas stands
    for match in _COMMA_HOLE.finditer(text):
        start, end = match.span()
        if match[0] == ",,":
            before = text[start - 1 : start]
            if (not before or before.isspace() or before in _OPENERS) and text[end : end + 1].isalnum():
                quote = start
                continue
            if quote >= 0 and "\n" not in text[quote:start]:
                quote = -1
                continue
            quote = -1
        yield start


class _Outline:
    """Finds the region of each line of a page; lines must be given in page order.

    Args:
        endings: the lower-case headings that begin back matter.
    """

    def __init__(self, endings: Collection[str]) -> None:
        self._endings = endings
        self._main = "lead"
        self._level_of_end = 0  # level of the heading that began the back matter; 0 outside back matter

    def region(self, text: str, start: int, end: int) -> str:
        """Return the region of the line text[start:end], or one of _NO_PROSE."""
        if text[start] == HEADING:
            line = text[start:end]
            title = line.lstrip(HEADING)
            level = len(line) - len(title)
            if self._level_of_end == 0 or level <= self._level_of_end:
                self._level_of_end = level if title.strip().lower() in self._endings else 0
            self._main = "body"
            return "heading"
        return "back_matter" if self._level_of_end else _MARKED.get(text[start], self._main)


def _continues(sentence: str) -> bool:
    """Return whether a text continues a sentence that a formula, a list or a table interrupted: it begins with a
    lower-case word. "x is", "von Neumann" and "iPhone" do not count, because they may begin a sentence."""
    first, _, rest = sentence.lstrip(_OPENERS).partition(" ")
    first = first.rstrip(",;")
    following = rest.lstrip(_OPENERS)[:1]
    return len(first) > 1 and first.isalpha() and first.islower() and bool(following) and not following.isupper()


def _trim_gaps(sentence: str) -> tuple[str, int]:
    """Remove gaps at the edges that were not words of the sentence; return the rest and the length removed in front."""
    if _LOWER_START.match(sentence):
        return sentence, 0
    head = _EDGE_GAP.match(sentence)
    shift = head.end() if head else 0
    return _EDGE_GAP.sub("", sentence), shift


@lru_cache(maxsize=64)
def back_matter(language: str) -> frozenset[str]:
    """Return the lower-case headings of sections that list works, notes and links (`data/back_matter.json`)."""
    headings: dict[str, list[str]] = package_json("pipelines.text", "back_matter.json")
    return frozenset(name for key in (language, language.split("-")[0]) for name in headings.get(key, ()))


def _min_spaces(language: str) -> int:
    return 0 if holds_no_spaces(language) else _LIST_ITEM_SPACES


def core_prose_rules(language: str, writing: Writing) -> dict[str, object]:
    """Return what the compiled core has to know; the names are those of the struct `ProseRules` in `core/engine`."""
    return {
        "back_matter": sorted(back_matter(language)),
        "capitals": has_capitals(language, writing),
        "list_item_spaces": _min_spaces(language),
        "openers": _OPENERS,
        "holes": _HOLES,
        "after_edge_gap": _AFTER_EDGE_GAP,
        "before_edge_gap": _BEFORE_EDGE_GAP,
        "small_letters": _SMALL_LETTERS,
        "citations": CITATIONS,
        "any_word": _ANY_WORD,
    }
