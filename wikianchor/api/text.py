"""Wikitext to text, blocks, links and sentences. Needs the standard library only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from wikianchor.pipelines.text.prose import judged_sentences
from wikianchor.pipelines.text.splitter import Splitter, make_splitter
from wikianchor.pipelines.wikimedia.compiled import CompiledExtractor, fastest_extractor
from wikianchor.pipelines.wikimedia.languages import split_wiki
from wikianchor.pipelines.wikimedia.site import Site, site_for
from wikianchor.pipelines.wikimedia.wiki_lists import wiki_named
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

MISSING = "\ufffc"
"""Stands where the reader of the page sees words that are not known here: U+FFFC, OBJECT REPLACEMENT CHARACTER."""

_KINDS: dict[str, Literal["heading", "list", "preformatted"]] = {
    HEADING: "heading",
    LIST: "list",
    PREFORMATTED: "preformatted",
}
# Characters that XML 1.0 cannot carry: the engine uses them as marks of its own.
_CONTROLS = {code: None for code in range(32) if chr(code) not in "\t\n"}


@dataclass(frozen=True)
class TextLink:
    """A link to an article: `text[start:end]` is its anchor; offsets in code points, end exclusive.

    Attributes:
        start, end: where the anchor stands.
        target: title of the article, as MediaWiki normalises it.
        fragment: the section that the link leads to, or "".
    """

    start: int
    end: int
    target: str
    fragment: str = ""


@dataclass(frozen=True)
class TextGap:
    """A place where words are missing: `text[offset]` is `MISSING`.

    Attributes:
        offset: in code points.
        template: lower-case name of the template that would show words there, "" where it is something else (a
            formula, for example).
    """

    offset: int
    template: str


@dataclass(frozen=True)
class TextBlock:
    """A paragraph, heading, list item or preformatted line: `text[start:end]`."""

    kind: Literal["paragraph", "heading", "list", "preformatted"]
    start: int
    end: int


@dataclass(frozen=True)
class PageText:
    """What a reader sees of a page.

    Attributes:
        text: its blocks, one on each line.
        blocks: their kinds and offsets.
        links: to articles, in order; links to other wikis, to files and categories and to the page itself are none.
        gaps: places where words are missing.
    """

    text: str
    blocks: tuple[TextBlock, ...]
    links: tuple[TextLink, ...]
    gaps: tuple[TextGap, ...]


@dataclass(frozen=True)
class TextSentence:
    """A sentence of a page.

    Attributes:
        text: of the sentence.
        links: its links, with offsets in `text`.
        region: "lead", "body" or "list"; "heading", "preformatted" or "back_matter" for text that is no prose.
        dropped: why `wikianchor sentences` leaves it out, None where it keeps it.
    """

    text: str
    links: tuple[TextLink, ...]
    region: str
    dropped: str | None = None


def extract(wikitext: str, *, language: str = "en", title: str = "") -> PageText:
    """Return what a reader sees of a page.

    Args:
        wikitext: of the page.
        language: code of its Wikipedia, such as "uk", or the database name of a wiki, such as "enwikinews".
        title: of the page; links to it are no links, and templates can show it.

    Raises:
        UsageError: there is no such wiki.

    >>> page = extract("'''Ada''' wrote for the [[Analytical Engine|engine]].", language="en", title="Ada Lovelace")
    >>> page.text
    'Ada wrote for the engine.'
    >>> [(page.text[link.start : link.end], link.target) for link in page.links]
    [('engine', 'Analytical Engine')]
    """
    engine = _engine(language)
    return _page_text(engine.extractor.extract(wikitext.translate(_CONTROLS), title))


def sentences(
    wikitext: str, *, language: str = "en", title: str = "", include_dropped: bool = False
) -> list[TextSentence]:
    """Return the sentences of a page that are whole and fit to learn from, as `wikianchor sentences` does.

    Args:
        wikitext, language, title: as in `extract`.
        include_dropped: return the others as well, with the reason in `dropped`.

    Raises:
        UsageError: there is no such wiki.

    >>> [sentence.text for sentence in sentences("It was cold. She met [[Charles Babbage]] in 1833.")]
    ['It was cold.', 'She met Charles Babbage in 1833.']
    """
    engine = _engine(language)
    page = engine.extractor.extract(wikitext.translate(_CONTROLS), title)
    links = page.links
    return [
        TextSentence(
            sentence.text.replace(GAP, MISSING),
            tuple(
                TextLink(
                    links.starts[number] - sentence.start,
                    links.ends[number] - sentence.start,
                    links.targets[number],
                    links.fragments[number],
                )
                for number in range(sentence.first, sentence.last)
            ),
            sentence.region,
            reason,
        )
        for sentence, reason in judged_sentences(page, engine.split, engine.site.language)
        if include_dropped or reason is None
    ]


@dataclass(frozen=True)
class _Engine:
    site: Site
    extractor: Extractor | CompiledExtractor
    split: Splitter


@lru_cache(maxsize=32)
def _engine(language: str) -> _Engine:
    site = site_for(language if split_wiki(language)[0] else wiki_named(language, "language"))
    return _Engine(site, fastest_extractor(site), make_splitter("rules", site.language))


def _page_text(page: Extract) -> PageText:
    """Take out the engine's marks at the beginning of lines, and empty lines."""
    blocks: list[TextBlock] = []
    lines: list[str] = []
    links: list[TextLink] = []
    gaps: list[TextGap] = []
    old_links, templates = _links(page.links), iter(page.gaps)
    link = next(old_links, None)
    old = new = 0
    for line in page.text.split("\n"):
        text = line.lstrip(LINE_MARKS + " ").rstrip(" ")
        shift = new - old - (len(line) - len(line.lstrip(LINE_MARKS + " ")))
        if text:
            blocks.append(TextBlock(_KINDS.get(line[0], "paragraph"), new, new + len(text)))
            lines.append(text.replace(GAP, MISSING))
            gaps += [TextGap(new + offset, next(templates)) for offset, sign in enumerate(text) if sign == GAP]
        while link is not None and link.start < old + len(line):
            if text:
                start, end = max(new, link.start + shift), min(new + len(text), link.end + shift)
                links += [TextLink(start, end, link.target, link.fragment)] if start < end else []
            link = next(old_links, None)
        old += len(line) + 1
        new += len(text) + 1 if text else 0
    return PageText("\n".join(lines), tuple(blocks), tuple(links), tuple(gaps))


def _links(links: Links) -> Iterator[TextLink]:
    for start, end, target, fragment in zip(links.starts, links.ends, links.targets, links.fragments, strict=True):
        yield TextLink(start, end, target, fragment)
