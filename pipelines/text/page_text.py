"""Show the text of pages as their readers see it, and say what becomes of each of their sentences.

Needs the standard library only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from wikianchor.pipelines.text.prose import Sentence, sentence_outcomes
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Extract, Links
from wikianchor.pipelines.wikimedia.wikitext.definitions import FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

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

    >>> import wikianchor
    >>> wikianchor.extract("It is a [[Moon#Orbit|moon]].").links
    (TextLink(start=8, end=12, target='Moon', fragment='Orbit'),)
    """

    start: int
    end: int
    target: str
    fragment: str = ""


@dataclass(frozen=True)
class TextGap:
    """A place where words are missing: `text[offset]` is `MISSING`.

    Attributes:
        offset: its offset, in code points.
        template: lower-case name of the template that would show words there, "" where it is something else (a
            formula, for example).

    >>> import wikianchor
    >>> wikianchor.extract("It weighs {{no such template}} tonnes.").gaps
    (TextGap(offset=10, template='no such template'),)
    """

    offset: int
    template: str


@dataclass(frozen=True)
class TextBlock:
    """A paragraph, heading, list item or preformatted line: `text[start:end]`.

    >>> import wikianchor
    >>> [block.kind for block in wikianchor.extract("== Orbit ==\\nIt is near.\\n* It is old.").blocks]
    ['heading', 'paragraph', 'list']
    """

    kind: Literal["paragraph", "heading", "list", "preformatted"]
    start: int
    end: int


@dataclass(frozen=True)
class PageText:
    """What a reader sees of a page.

    Attributes:
        text: its blocks, one on each line.
        blocks: their kinds and offsets.
        links: its links to articles, in order; links to other wikis, to files and categories and to the page itself are
            none.
        gaps: places where words are missing.

    >>> import wikianchor
    >>> page = wikianchor.extract("== Orbit ==\\nIt is a [[moon]].")
    >>> page.text, len(page.blocks), len(page.links), len(page.gaps)
    ('Orbit\\nIt is a moon.', 2, 1, 0)
    """

    text: str
    blocks: tuple[TextBlock, ...]
    links: tuple[TextLink, ...]
    gaps: tuple[TextGap, ...]


@dataclass(frozen=True)
class TextSentence:
    """A sentence of a page.

    Attributes:
        text: its text.
        links: its links, with offsets in `text`.
        region: "lead", "body" or "list"; "heading", "preformatted" or "back_matter" for text that is no prose.
        sentence_index: its number on the page, from 0; headings are not counted.
        dropped: why `wikianchor sentences` leaves it out, by the names of its ledger; None where it keeps it.

    >>> import wikianchor
    >>> for sentence in wikianchor.sentences("It was cold. It weighs {{unknown}} tonnes.", include_dropped=True):
    ...     print(sentence.sentence_index, sentence.region, sentence.dropped)
    0 lead None
    1 lead template
    """

    text: str
    links: tuple[TextLink, ...]
    region: str
    sentence_index: int
    dropped: str | None = None


class TextReader:
    """Reads the text of the pages of one wiki. Loading its rules takes seconds, so make one for each worker.

    Args:
        site: the wiki.
        parser: name of the wikitext parser.
        splitter: name of the sentence splitter.
        find_template: the wiki's own definitions of templates; None to take the built-in rules alone.
        marks_disambiguation: as for `PageKinds`.
        asides: extract tables and captions too.
        engine: one of `choices.ENGINES`; None for the compiled core where it is installed.
        literal: show no template at all.
        structured: as for `wikitext.Extractor`.

    Raises:
        UsageError: a package that is asked for is not installed.
    """

    def __init__(
        self,
        site: Site,
        parser: str = "wikianchor",
        splitter: str = "rules",
        find_template: FindTemplate | None = None,
        marks_disambiguation: Callable[[str], bool] | None = None,
        asides: bool = False,
        engine: str | None = None,
        literal: bool = False,
        structured: bool = False,
    ) -> None:
        self.site = site
        self.extractor = make_extractor(
            site,
            find_template,
            parser=parser,
            engine=engine,
            asides=asides,
            literal=literal,
            structured=structured,
        )
        self.split = make_splitter(splitter, site.language, site.writing)
        self.kinds = PageKinds(site.language, marks_disambiguation)

    def extract(self, wikitext: str, title: str) -> PageText:
        """Return what a reader sees of a page."""
        return _page_text(self.extractor.extract(wikitext.translate(_CONTROLS), title))

    def sentences(self, wikitext: str, title: str) -> Iterator[TextSentence]:
        """Yield every sentence of an article, and what becomes of it."""
        wikitext = wikitext.translate(_CONTROLS)
        page = self.extractor.extract(wikitext, title)
        links = list(_links(page.links))
        for sentence, reason in self.outcomes(page, wikitext, title):
            start = sentence.start
            shown = (
                TextLink(link.start - start, link.end - start, link.target, link.fragment)
                for link in links[sentence.first : sentence.last]
            )
            yield TextSentence(
                sentence.text.replace(GAP, MISSING), tuple(shown), sentence.region, sentence.number, reason
            )

    def outcomes(self, page: Extract, wikitext: str, title: str) -> Iterator[tuple[Sentence, str | None]]:
        """Yield every sentence of an article with the reason why the dataset leaves it out, None for one that it keeps.

        Args:
            page: what `extractor` makes of the wikitext.
            wikitext: the article.
            title: its title.
        """
        disambiguation = "disambiguation" in self.kinds.flags(title, wikitext)
        for sentence, reason, _ in sentence_outcomes(page, self.split, self.site.language, self.site.writing):
            # Of a disambiguation page nothing is kept, whatever its sentences are.
            yield sentence, "disambiguation_page" if disambiguation and sentence.region != "heading" else reason


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
