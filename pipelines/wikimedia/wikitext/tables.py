"""Remove tables: {| wiki tables |} and HTML tables, with those nested in them.

A browser shows text of a table that is in no cell and no caption before the table, so it stays.

https://www.mediawiki.org/wiki/Help:Tables
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED

_TAGS = package_json("pipelines.wikimedia", "tags.json")


def _named(*kinds: str) -> str:
    """Return the alternatives of a pattern that are the HTML tags of some kinds."""
    return "|".join(name for name, kind in _TAGS["html"].items() if kind in kinds)


_HTML: Mapping[str, str] = _TAGS["html"]
_TABLE_TAG = _named("table")
# Tags in small letters, or all in capitals: others are rare.
_OPENINGS = ("{|", *(f"<{form}" for name in _TABLE_TAG.split("|") for form in (name, name.upper())))
_CELL_TAG = _named("cell", "caption")
_PART = f"{_named('table', 'row')}|{_CELL_TAG}"
_WIKI_MARK = r"\n(?:[ \t]*(?::+[ \t]*)?\{\||[ \t]*\|\})"
_WIKI_TABLE = re.compile(_WIKI_MARK)
_TABLE = re.compile(rf"{_WIKI_MARK}|<(/?)(?i:{_TABLE_TAG})(?=[\s>/])[^<>]*>")
_HTML_PART = re.compile(f"</?(?i:{'|'.join(_TAGS['table_beginnings'])})")
# The beginning of a table or row, or the end of a cell, and something after it that begins no cell and no row. In an
# HTML table, "|" begins no cell. Patterns for pages without HTML tables are faster.
_WIKI_ROW = r"\n[ \t]*(?:(?::+[ \t]*)?\{\||\|-)[^\n]*(?=\n)"
_HTML_ROW = rf"</?(?i:{_named('table', 'row')})(?=[\s>/])[^<>]*>|</(?i:{_CELL_TAG})\s*>"
_NO_PART = rf"\s*(?!</?(?i:{_PART}|{_named('rows')}|{'|'.join(_TAGS['columns'])})[\s>/])"
_LOOSE = re.compile(rf"{_WIKI_ROW}\s*[^\s|!{GAP}]")
_LOOSE_WIKI = re.compile(rf"(?:{_WIKI_ROW}|{_HTML_ROW}){_NO_PART}[^\s|!{GAP}]")
_LOOSE_HTML = re.compile(rf"(?:{_WIKI_ROW}|{_HTML_ROW}){_NO_PART}[^\s{GAP}]")
# All marks of tables. A line that begins a table or row is a mark as a whole.
_MARK = re.compile(
    r"\n[ \t]*(?:(?::+[ \t]*)?\{\|[^\n]*|\|\}|\|-[^\n]*|\|\+?|!)"
    rf"|<(/?)((?i:{_PART}))(?=[\s>/])[^<>]*>"
    rf"|\n{GAP}"
)
# What separates the cells of a table, with the attributes of the next cell.
_LONGEST: int = package_json("pipelines.wikimedia", "limits.json")["attributes"]
_ATTRIBUTE_LIST = rf"(?:[^|\[\n]{{0,{_LONGEST}}}\|(?!\|))?"
_BETWEEN_CELLS = re.compile(
    r"\n[ \t:]*(?:\|\}|(?:\{\||\|-)[^\n]*|(?:\|\+?|!)" + _ATTRIBUTE_LIST + r")"
    r"|(?:\|\||!!)" + _ATTRIBUTE_LIST + rf"|</?((?i:{_PART}))(?=[\s>/])[^<>]*>"
)
# What a line of cells has besides its text: attributes of the first cell, and the marks of the others.
_ATTRIBUTES = re.compile(r"[^|\[\n]*\|(?!\|)")
_CELLS = re.compile(r"\|\||!!")
# What the signs of wiki tables are, beside cells.
_SIGNS = {"{|": "table", "|}": "table", "|-": "row", "|+": "caption"}
_NO_CELL = (-1, -1)
_END_OF_CELLS = re.compile(rf"\n|</?(?i:{_TABLE_TAG})(?=[\s>/])[^<>]*>")


def strip_tables(text: str, dropped: Counter[str], tables: list[str]) -> str:
    """Remove tables; an unclosed one extends to the end of the page, as in MediaWiki.

    Args:
        text: wikitext that begins with a line feed.
        dropped: counts the links in tables as "table".
        tables: the wikitext of tables, or of cells, that contain links is appended.
    """
    if not any(opening in text for opening in _OPENINGS):
        return text
    pieces, position = [], 0
    has_html = _HTML_PART.search(text) is not None
    for start, end in _tables(text, _TABLE if has_html else _WIKI_TABLE):
        loose = _LOOSE if not has_html else _LOOSE_HTML if text[start] == "<" else _LOOSE_WIKI
        if end < 0 or loose.search(text, start, end):
            pieces.append(text[position:start])
            # Where this table ends depends on its cells, so all tables from here on are read in full.
            pieces += _without_cells(text, start, dropped, tables)
            break
        pieces += (text[position:start], "\n")
        if number := text.count("[[", start, end):
            dropped["table"] += number
            tables.append(text[start:end])
        position = end
    else:
        pieces.append(text[position:])
    return "".join(pieces)


def _tables(text: str, marks: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each table that is in no other, if all text of tables is in cells.

    The end is -1 for a wiki table that `</table>` ends.
    """
    start = depth = wiki_depth = 0
    for match in marks.finditer(text):
        mark = match[0]
        if mark[-1] == "|" or (mark[0] == "<" and mark[1] != "/"):
            if not depth:
                start = match.start()
            depth += 1
            wiki_depth += mark[-1] == "|"
        elif depth and (mark[0] == "<" or wiki_depth):
            depth -= 1
            wiki_depth -= mark[0] != "<"
            if not depth:
                yield start, -1 if wiki_depth else match.end()
    if depth:
        yield start, len(text)


class Cell(NamedTuple):
    """A line of a cell or caption: its wikitext, and the row and the column of the cell, -1 of a caption."""

    text: str
    row: int
    column: int


def linked_cells(table: str) -> list[Cell]:
    """Return the lines of the cells and captions of a table that contain links, without attributes.

    Rows without cells do not count, as in a browser. Of text that `strip_tables` has taken out of a broken table, the
    cell is not known.

    >>> linked_cells("\\n{| class=a\\n|+ [[A]]\\n|-\\n! B !! style=c | [[D|d]]\\n|}")
    [Cell(text='[[A]]', row=-1, column=-1), Cell(text='[[D|d]]', row=0, column=1)]
    """
    cells: list[Cell] = []
    numbers, position = _CellNumbers(), 0
    for mark in _BETWEEN_CELLS.finditer(table):
        before = table[position : mark.start()]
        cells += _linked_lines(before, numbers.cell)
        numbers.pass_mark(mark, before)
        position = mark.end()
    return [*cells, *_linked_lines(table[position:], numbers.cell)]


def _linked_lines(text: str, cell: tuple[int, int]) -> Iterator[Cell]:
    """Yield the lines with links of a cell, given by its row and its column."""
    if "[[" in text:
        yield from (Cell(line.strip(), *cell) for line in text.split("\n") if "[[" in line)


class _CellNumbers:
    """Counts the rows and columns of a table and of the tables in it.

    Attributes:
        cell: the row and the column of what comes next.
    """

    def __init__(self) -> None:
        self.cell = _NO_CELL
        # Of each open table, the row, and how many of its cells have begun.
        self._open: list[list[int]] = []
        # The sign that begins the line of cells; "" in other lines.
        self._sign = ""

    def pass_mark(self, match: re.Match[str], before: str) -> None:
        """Read a mark, and the text between the last one and it."""
        mark, text = match[0], match[0].lstrip("\n\t :")
        sign = text[:2]
        kind = _HTML.get((match[1] or "").lower()) or _SIGNS.get(sign, "cell")
        closes = sign in ("|}", "</")
        if "\n" in before:
            self._sign = ""
        # "||" begins a cell in a line of cells, "!!" in one of headings.
        begins_cell = kind == "cell" and not closes and (mark[0] in "\n<" or self._sign in ("!", sign[0]))
        if mark[0] in "\n<":
            self._sign = sign[0] if kind == "cell" else ""
        # Headings before what was taken for the attributes of the next one.
        more = text.count("!!", 1 if mark[0] == "\n" else 2) if self._sign == "!" else 0
        if kind == "table" and not closes:
            self._open.append([0, 0])
        elif kind == "table" and self._open:
            self._open.pop()
        elif kind == "row" and self._open and self._open[-1][1]:
            self._open[-1] = [self._open[-1][0] + 1, 0]
        elif begins_cell and self._open:
            self._open[-1][1] += 1 + more
        row, cells = self._open[-1] if self._open else (0, 0)
        self.cell = (row, cells - 1) if cells and kind != "caption" else _NO_CELL


def _without_cells(text: str, position: int, dropped: Counter[str], tables: list[str]) -> Iterator[str]:
    """Yield the text from a position on that is in no cell and no caption.

    A table within a table, but in no cell, ends the outer one, as in a browser. `</table>` ends a wiki table too, but
    its lines go on to be read as those of a table.
    """
    # For each open table, whether a cell or caption is open in it; and the number of wiki tables that "|}" has to end.
    in_cell: list[bool] = []
    wiki_depth = 0
    for match in _MARK.finditer(text, position):
        mark, name = match[0], (match[2] or "").lower()
        kind = _HTML.get(name)
        sign = mark.lstrip("\n\t ")
        wiki_opening = sign[:1] in "{:" and not name and sign != ""
        if not name and not wiki_opening and not wiki_depth and (sign != GAP or not in_cell):
            # A line of text that begins as a cell does.
            continue
        if name and kind != "table" and not in_cell:
            continue
        yield _shown(text[position : match.start()], in_cell, dropped, tables)
        position = match.end()
        if "[[" in mark:
            dropped["table"] += mark.count("[[")
        if wiki_opening or (kind == "table" and not match[1]):
            if in_cell and not in_cell[-1]:
                in_cell.pop()
            in_cell += [False]
            wiki_depth += wiki_opening
            yield "\n"
        elif kind == "table" or sign == "|}":
            wiki_depth -= not name
            yield "\n" if in_cell or not name else ""
            if in_cell:
                in_cell.pop()
        elif in_cell:
            # A template between rows may have begun a cell.
            in_cell[-1] = kind in ("cell", "caption") and not match[1] if name else sign[:2] != "|-"
        else:
            yield "\n" if sign != GAP else mark
            if sign in ("|", "!", "|+"):
                end = _END_OF_CELLS.search(text, position)
                start, position = position, end.start() if end else len(text)
                attributes = _ATTRIBUTES.match(text, start, position)
                yield _CELLS.sub("\n", text[attributes.end() if attributes else start : position])
    yield _shown(text[position:], in_cell, dropped, tables)


def _shown(text: str, in_cell: list[bool], dropped: Counter[str], tables: list[str]) -> str:
    """Return a text between marks, or "" if it is in a cell."""
    if in_cell and (in_cell[0] or len(in_cell) > 1):
        if number := text.count("[["):
            dropped["table"] += number
            # The name of a gap that began the cell is no text.
            tables.append("\n|" + text.lstrip(NAMED))
        return ""
    return text if not in_cell or text.strip() else "\n"
