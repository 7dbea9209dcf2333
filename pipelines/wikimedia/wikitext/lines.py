"""What a line is: a heading, a list item, preformatted, or plain. The first character of a line says it from then on.

Lines of the source that are one paragraph to a reader stay apart, as editors who put each sentence on a line of its own
would have it; only a line that goes on in the middle of a sentence is joined to the one before.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re

from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LIST, NAMED, PREFORMATTED, SEAM
from wikianchor.pipelines.wikimedia.wikitext.quotes import strip_quotes
from wikianchor.pipelines.wikimedia.wikitext.stretches import stretches

_HEADING = re.compile(r"(={1,6})(.+?)\1[ \t]*")
# What may hold a colon that divides nothing: a link, italics, a tag, an address.
_TOKEN = re.compile(r"\[\[[^\[\]]*\]\]|''+|<(/?)[a-zA-Z][^<>]*>|:(//)?")


# Begins a line that goes on the one before; gone when lines are read.
_JOINED = "\x06"
_CLOSING = frozenset(",.;:)]»”。，、；：）」』")
# What a line ends with that goes on with a small letter, besides letters and digits.
_OPEN_ENDS = frozenset(",])\"'»”’–—")


def read_lines(text: str, literal: bool = False) -> str:
    """Mark headings, list items and preformatted lines by their first characters, and remove the marks of italics and
    bold, which end with the line. A heading has its mark once for each level.

    Args:
        text: of the page.
        literal: take hand-made bullets for text, as MediaWiki does, and every line for one of its own.
    """
    return "\n".join([_read_stretch(stretch, literal) for stretch in stretches(text)])


def _read_stretch(text: str, literal: bool) -> str:
    readers = _READERS if literal else _ALL_READERS
    lines = text.split("\n")
    # The line before, as it was written, if it is plain.
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
    """Return whether a plain line is the middle of a sentence that began on the plain line before."""
    end = before.rstrip(" ")[-1:]
    first = line.lstrip(SEAM)[:1]
    if not end.isalnum() and end not in _OPEN_ENDS:
        return False
    if first in _CLOSING:
        return bool(first) and not line.lstrip(SEAM)[1:2].isalnum()
    # Georgian's only letters are small ones to Unicode.
    if first.islower() and not "\u10d0" <= first <= "\u10ff":
        return True
    # Who breaks lines by hand leaves a blank where the next word would have come.
    return before[-1] == " " and (end.isalnum() or end == ",") and (first.isalnum() or first in "['\"")


def _heading(line: str) -> str:
    match = _HEADING.fullmatch(line)
    if match is None:
        return line
    title = match[2].strip()
    # Of a heading that was a template only its signs are left.
    return HEADING * len(match[1]) + title if title.strip("=") else ""


def _item(line: str) -> str:
    content = line.lstrip("*#:;")
    if line[len(line) - len(content) - 1] == ";" and ":" in content:
        content = _split_term(content)
    return LIST + content.lstrip(" \t")


def _split_term(content: str) -> str:
    """Put a definition, "; term : definition", on a line of its own."""
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
    # A template that stands alone on its line is a box or a note: no sentence misses it.
    return line if line.strip(GAP + NAMED + " ") else ""


def _bullet(line: str) -> str:
    # "• one" and "- one" were typed instead of a list.
    return LIST + line[1:].lstrip(" \t") if line[1:2] in _BLANKS else line


def _dash(line: str) -> str:
    return _bullet(line) if line[1:2] == " " else _rule(line)


_BLANKS = (" ", "\t", "\xa0")
_READERS = {GAP: _gap, "=": _heading, " ": _preformatted, "-": _rule, **dict.fromkeys("*#:;", _item)}
_ALL_READERS = _READERS | {"-": _dash, **dict.fromkeys("•·●▪–", _bullet)}
