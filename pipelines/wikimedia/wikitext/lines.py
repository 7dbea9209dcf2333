"""Classify lines as heading, list item, preformatted or plain, and mark them by a placeholder as first character.

A reader sees consecutive plain lines as one paragraph. Here they stay separate, because some editors write one sentence
per line; only a line that continues a sentence is joined to the line before.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re

from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, PREFORMATTED, SEAM
from wikianchor.pipelines.wikimedia.wikitext.quotes import strip_quotes
from wikianchor.pipelines.wikimedia.wikitext.stretches import stretches

_HEADING = re.compile(r"(={1,6})(.+?)\1[ \t]*")
# A colon, and what may contain a colon that separates no definition: a link, italics, a tag, an address.
_TOKEN = re.compile(r"\[\[[^\[\]]*\]\]|''+|<(/?)[a-zA-Z][^<>]*>|:(//)?")


# First character of a line that continues the line before; removed in this module.
_JOINED = "\x06"
_CLOSING = frozenset(",.;:)]»”。，、；：）」』")
# Last characters, besides letters and digits, of a line that may continue with a lower-case letter.
_OPEN_ENDS = frozenset(",])\"'»”’–—")


def read_lines(text: str, literal: bool = False) -> str:
    """Mark headings, list items and preformatted lines by placeholders, and remove the marks of italics and bold.

    A heading has its placeholder once for each level.

    Args:
        text: wikitext of the page without templates, tables and images.
        literal: as in MediaWiki, treat bullet characters as text, and do not join lines.
    """
    return "\n".join([_read_stretch(stretch, literal) for stretch in stretches(text)])


def _read_stretch(text: str, literal: bool) -> str:
    readers = _READERS if literal else _ALL_READERS
    lines = text.split("\n")
    # The line before if it is plain, without changes.
    before, joined = "", False
    for number, line in enumerate(lines):
        if not line:
            before = ""
            continue
        if line[0] in readers:
            line = lines[number] = readers[line[0]](line)
            before = ""
        elif literal:
            pass
        else:
            if before and _goes_on(before, line):
                joined, seamless = True, line[0] in _CLOSING or line[0] == SEAM
                line = lines[number] = _JOINED + ("" if seamless else " ") + line
            before = line
        if "''" in line:
            lines[number] = strip_quotes(line)
    text = "\n".join(lines)
    return text.replace("\n" + _JOINED, "") if joined else text


def _goes_on(before: str, line: str) -> bool:
    """Return whether a plain line continues the sentence at the end of the plain line before."""
    end = before.rstrip(" ")[-1:]
    first = line.lstrip(SEAM)[:1]
    if not end.isalnum() and end not in _OPEN_ENDS:
        return False
    if first in _CLOSING:
        return bool(first) and not line.lstrip(SEAM)[1:2].isalnum()
    # All Georgian letters are lower-case in Unicode.
    if first.islower() and not "\u10d0" <= first <= "\u10ff":
        return True
    # A blank at the end of a line shows that an editor broke the line by hand.
    return before[-1] == " " and (end.isalnum() or end == ",") and (first.isalnum() or first in "['\"")


def _heading(line: str) -> str:
    match = _HEADING.fullmatch(line)
    if match is None:
        return line
    title = match[2].strip()
    # Without its template, this heading consists of "=" only.
    return HEADING * len(match[1]) + title if title.strip("=") else ""


def _item(line: str) -> str:
    content = line.lstrip("*#:;")
    if line[len(line) - len(content) - 1] == ";" and ":" in content:
        content = _split_term(content)
    return LIST + content.lstrip(" \t")


def _split_term(content: str) -> str:
    """Split "term : definition" into two lines."""
    tags, quoted = 0, False
    for token in _TOKEN.finditer(content):
        if token[0][0] == "'":
            quoted = not quoted
        elif token[0][0] == "<":
            if not token[0].endswith("/>"):
                tags += -1 if token[1] else 1
        elif token[0] == ":" and tags <= 0 and not quoted:
            return f"{content[: token.start()].rstrip()}\n{LIST}{content[token.end() :].lstrip()}"
    return content


def _preformatted(line: str) -> str:
    return PREFORMATTED + line[1:] if line.strip() else ""


def _rule(line: str) -> str:
    return line.lstrip("-") if line.startswith("----") else line


def _gap(line: str) -> str:
    # A template alone on its line is a box or a hatnote: no sentence lacks it.
    return line if line.strip(GAP + NAMED + " ") else ""


def _bullet(line: str) -> str:
    # An editor typed "• item" or "- item" instead of a list.
    return LIST + line[1:].lstrip(" \t") if line[1:2] in _BLANKS else line


def _dash(line: str) -> str:
    return _bullet(line) if line[1:2] == " " else _rule(line)


_BLANKS = (" ", "\t", "\xa0")
_READERS = {GAP: _gap, "=": _heading, " ": _preformatted, "-": _rule, **dict.fromkeys("*#:;", _item)}
_ALL_READERS = _READERS | {"-": _dash, **dict.fromkeys("•·●▪–", _bullet)}
