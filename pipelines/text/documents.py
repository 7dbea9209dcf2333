"""Make the row of `documents` of a page: its text with sections, blocks, sentences and links."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from wikianchor.pipelines.text.prose import Sentence, aside_fragments
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.wikitext import Aside, Extract, Links, Structure
from wikianchor.pipelines.wikimedia.wikitext.breaks import NOT_ITEM, Break
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST, PREFORMATTED

PARAGRAPH, QUOTATION = "paragraph", "quotation"
_KINDS = {HEADING: "heading", LIST: "list_item", PREFORMATTED: "preformatted"}
_OF_ASIDES = {"table": "table_cell", "caption": "caption"}
# A line of these kinds goes on in the next line of wikitext.
_LONG = frozenset((PARAGRAPH, QUOTATION, "preformatted"))
_FEED = re.compile("\n")
# The section of what stands before the first heading, and the block of what is in none.
NONE = -1


class Span(NamedTuple):
    """A sentence of a document.

    Attributes:
        number: its number on the page, as in `Sentence`.
        region: that of the sentence.
        start, end: offsets in the text of the document.
    """

    number: int
    region: str
    start: int
    end: int


class Section(NamedTuple):
    """A section: its heading, and where it begins and ends with its subsections."""

    title: str
    level: int
    start: int
    end: int


class Block(NamedTuple):
    """A block of text: its kind, its offsets, the index of its section, NONE before the first, and the depth of a list
    item, 0 of other blocks; of a cell its row and its column, from 0, if they are known."""

    kind: str
    start: int
    end: int
    section: int = NONE
    depth: int = 0
    row: int | None = None
    column: int | None = None


class DocumentLink(NamedTuple):
    """A link: its offsets, where it leads, and the indices of its section and its block."""

    start: int
    end: int
    wiki: str
    target: str
    fragment: str
    section: int = NONE
    block: int = NONE


@dataclass
class Document:
    """The text of a page and what stands where in it; offsets are code points of `text`."""

    text: str = ""
    categories: list[str] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    sentences: list[Span] = field(default_factory=list)
    links: list[DocumentLink] = field(default_factory=list)


def make_document(extract: Extract, wiki: str, page_sentences: Sequence[Sentence]) -> Document:
    """Return the document of a page.

    The text is that of its blocks, one after another, then the cells of tables and the captions that contain links.

    Args:
        extract: that of the page, with its structure.
        wiki: database name of the page's wiki.
        page_sentences: the sentences that are kept.
    """
    structure = extract.structure or Structure()
    lines = _Lines(structure.breaks)
    for line in extract.text.split("\n"):
        lines.add(line)
    document = Document(blocks=lines.blocks, sections=lines.ended_sections())
    for sentence in page_sentences:
        start = lines.moved(sentence.start)
        document.sentences.append(Span(sentence.number, sentence.region, start, start + len(sentence.text)))
    links = [_moved(link, lines.moved(link.start)) for link in _page_links(extract.links, wiki, structure)]
    categories = dict.fromkeys(structure.categories)
    for aside in extract.asides_of_document:
        links += _add_aside(aside, wiki, lines)
        categories |= dict.fromkeys(aside.structure.categories if aside.structure else ())
    document.text, document.categories = "\n".join(lines.texts), list(categories)
    starts = [block.start for block in lines.blocks]
    for link in links:
        block = bisect_right(starts, link.start) - 1
        document.links.append(link._replace(section=lines.blocks[block].section, block=block))
    return document


def _page_links(links: Links, wiki: str, structure: Structure) -> list[DocumentLink]:
    """Return the links to articles of the wiki and of other Wikipedias, in order, without sections and blocks."""
    wikis = [wiki] * len(links.starts)
    columns = [(links, wikis), (structure.wikipedia_links, structure.wikis)]
    return sorted(
        DocumentLink(start, end, wiki, target, fragment)
        for of_wikis, wikis in columns
        for start, end, wiki, target, fragment in zip(
            of_wikis.starts, of_wikis.ends, wikis, of_wikis.targets, of_wikis.fragments, strict=True
        )
    )


def _moved(link: DocumentLink, start: int) -> DocumentLink:
    return link._replace(start=start, end=start + link.end - link.start)


def _add_aside(aside: Aside, wiki: str, lines: _Lines) -> Iterator[DocumentLink]:
    """Add the lines of an aside that contain links as blocks, and yield their links."""
    in_order = _page_links(aside.links, wiki, aside.structure or Structure())
    links = iter(in_order)
    link = next(links, None)
    line_ends = _line_ends(aside)
    has_numbers = len(aside.cells) == len(line_ends) + 1
    for cell in aside_fragments(aside, 0, [link.start for link in in_order]):
        shift, end = lines.length - cell.start, aside.text.find("\n", cell.start)
        row, column = aside.cells[bisect_right(line_ends, cell.start)] if has_numbers else (NONE, NONE)
        lines.add_cell(_OF_ASIDES[aside.region], cell.text, row, column)
        while link is not None and (link.start < end or end < 0):
            if link.start >= cell.start:
                yield _moved(link, link.start + shift)
            link = next(links, None)


def _line_ends(aside: Aside) -> list[int]:
    """Return the ends of the lines of wikitext of an aside, but the last: empty lines that replace no tag."""
    of_tags = {number for number, kind in aside.structure.breaks if kind <= NOT_ITEM} if aside.structure else set()
    ends: list[int] = []
    start = NONE
    for number, feed in enumerate(_FEED.finditer(aside.text)):
        if number in of_tags:
            start = NONE
        elif feed.start() == start:
            ends.append(start)
            start = NONE
        else:
            start = feed.end()
    return ends


class _Lines:
    """The lines of a document, from those of an extract without their marks and without empty ones."""

    def __init__(self, breaks: Sequence[tuple[int, int]]) -> None:
        self.texts: list[str] = []
        self.blocks: list[Block] = []
        self._sections: list[Section] = []
        # The lines of each heading.
        self._headings: list[list[str]] = []
        # The indices of the sections that contain the line, one for each level that has a heading.
        self._open: list[int] = []
        # Characters of the lines that were added, with their line feeds.
        self.length = 0
        # For each line: its offset in the extract, and what to add to such an offset.
        self._starts: list[int] = []
        self._shifts: list[int] = []
        self._breaks = dict(breaks)
        self._number = self._offset = self._quotations = 0
        # Whether the next line goes on the last block, if it is of its kind.
        self._goes_on = False
        # Whether the line of wikitext has a break that is not soft, and its depth if it is a list item.
        self._in_block, self._depth = False, 0
        # The number of lines of the last block, if it shows nothing but marks of missing words.
        self._blank_lines = 0

    def _holds_block(self) -> bool:
        """Return whether the line of wikitext that begins here has a break that is not soft."""
        number = self._number
        while (kind := self._break(number)) is not None:
            if kind != Break.SOFT:
                return True
            number += 1
        return False

    def _break(self, number: int) -> int | None:
        """Return what a line feed does, None for one of the wikitext."""
        kind = self._breaks.get(number)
        return kind if kind is not None and kind <= NOT_ITEM else None

    def add(self, line: str) -> None:
        """Add the next line of the extract."""
        before, after = self._break(self._number - 1), self._break(self._number)
        text = line.lstrip(LINE_MARKS + " ")
        start = self._offset + len(line) - len(text)
        text = text.rstrip(" ")
        if before == Break.QUOTE:
            self._quotations += 1
        elif before == Break.UNQUOTE:
            self._quotations -= 1
            self._depth = 0
        if before is None:
            # A line of wikitext. In MediaWiki one with block tags or images is in a paragraph with no other.
            was_block, self._in_block = self._in_block, self._holds_block()
            depth = self._breaks.get(self._number - 1, NOT_ITEM + 1) - NOT_ITEM
            self._depth = depth if line.startswith(LIST) else 0
            # Behind an item or a heading begins another block, also where the line begins with <br>.
            ends_block = bool(self.blocks) and self.blocks[-1].kind not in _LONG
            if was_block or self._in_block or ends_block or (not text and after is None):
                self._goes_on = False
        elif before != Break.SOFT:
            self._goes_on = False
        if text:
            self._add_text(line, text, before)
            self._starts.append(start)
            self._shifts.append(self.length - len(text) - 1 - start)
        self._number += 1
        self._offset += len(line) + 1

    def _add_text(self, line: str, text: str, before: int | None) -> None:
        # What stands behind a tag in a list item is in it too; <li> begins one of depth 1.
        depth = 1 if line[0] == LIST and before is not None else self._depth
        plain = QUOTATION if self._quotations > 0 else _KINDS[LIST] if self._depth else PARAGRAPH
        kind = _KINDS.get(line[0], plain)
        is_blank = not text.strip(GAP + " ")
        text = text.replace(GAP, MISSING)
        last = self.blocks[-1] if self.blocks else None
        if self._goes_on and last is not None and (before == Break.SOFT or (kind == last.kind and kind in _LONG)):
            self.blocks[-1] = last._replace(end=self.length + len(text))
            if last.kind == "heading":
                self._headings[-1].append(text)
            self._append(text)
            self._blank_lines = self._blank_lines + 1 if self._blank_lines and is_blank else 0
            return
        self._drop_blank()
        if level := len(line) - len(line.lstrip(HEADING)):
            self._end_sections(level)
            self._open.append(len(self._sections))
            self._sections.append(Section("", level, self.length, NONE))
            self._headings.append([text])
        self._add(Block(kind, self.length, 0, len(self._sections) - 1, depth if kind == "list_item" else 0), text)
        self._goes_on = True
        # A heading is that of its section, also without words.
        self._blank_lines = 1 if is_blank and not level else 0

    def _drop_blank(self) -> None:
        """Remove the last block if it shows nothing but marks of missing words: no sentence and no link is in it."""
        if self._blank_lines:
            del self.texts[-self._blank_lines :]
            self.length = self.blocks.pop().start
            self._blank_lines = 0

    def add_cell(self, kind: str, text: str, row: int, column: int) -> None:
        """Add a line of an aside as a block, with its row and its column in a table, NONE if it has none."""
        numbers = (None, None) if row == NONE else (row, column)
        self._add(Block(kind, self.length, 0, NONE, 0, *numbers), text)

    def _add(self, block: Block, text: str) -> None:
        self.blocks.append(block._replace(end=self.length + len(text)))
        self._append(text)

    def _append(self, text: str) -> None:
        self.texts.append(text)
        self.length += len(text) + 1

    def _end_sections(self, level: int) -> None:
        """End the sections of a level and of those below."""
        while self._open and self._sections[self._open[-1]].level >= level:
            index = self._open.pop()
            self._sections[index] = self._sections[index]._replace(end=self.length - 1)

    def ended_sections(self) -> list[Section]:
        """Return the sections of the lines that were added."""
        self._drop_blank()
        self._end_sections(0)
        pairs = zip(self._sections, self._headings, strict=True)
        return [section._replace(title=" ".join(lines)) for section, lines in pairs]

    def moved(self, offset: int) -> int:
        """Return the offset in the document of an offset in the extract."""
        return offset + self._shifts[bisect_right(self._starts, offset) - 1]
