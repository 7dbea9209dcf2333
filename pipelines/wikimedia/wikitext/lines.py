"""Classify lines as heading, list item, preformatted or plain, and mark them by a placeholder as first character.

A reader sees consecutive plain lines as one paragraph. Here they stay separate, because some editors write one sentence
per line; only a line that continues a sentence is joined to the line before.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re
from io import StringIO

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.breaks import Breaks, breaks_of_lines
from wikianchor.pipelines.wikimedia.wikitext.placeholders import BREAK, GAP, HEADING, LIST, NAMED, PREFORMATTED, SEAM
from wikianchor.pipelines.wikimedia.wikitext.quotes import strip_quotes
from wikianchor.pipelines.wikimedia.wikitext.stretches import pieces_between, stretches
from wikianchor.pipelines.wikimedia.wikitext.tags import HTML_TAGS

_HEADING = re.compile(r"(={1,6})(.+?)\1[ \t]*")
_SCHEMES = "|".join(package_json("pipelines.wikimedia", "characters.json")["schemes"])
# A colon, and what may contain a colon that separates no definition: a link, italics, a tag, an address.
_TOKEN = re.compile(
    rf"\b(?ai:{_SCHEMES})(?=[^\s\[\]<>\"'])|"
    r"\[\[[^\[\]<>|]+(?:\|[^\[\]]*)?\]\]|''+|<(/?)([a-zA-Z][a-zA-Z0-9]*)(?=[\s/>])[^<>]*>|-\{|\}-|:(//)?"
)


# A rule for language variants, -{a:b}-, keeps its colons.
_RULE_EDGES = {"-{": 1, "}-": -1}

_VOID = frozenset(package_json("pipelines.wikimedia", "tags.json")["void"])
_NESTED = re.compile(f"{LIST}+")
# First character of a line that continues the line before; removed in this module.
_JOINED = "\x06"
_DATA = package_json("pipelines.wikimedia", "characters.json")
_CLOSING = frozenset(_DATA["closing"])
_OPEN_TARGET = re.compile(r"\[\[[^\[\]|]*\Z")
# Last characters, besides letters and digits, of a line that may continue with a lower-case letter.
_OPEN_ENDS = frozenset(_DATA["open_ends"])


def read_lines(text: str, literal: bool = False, breaks: Breaks | None = None) -> str:
    """Mark headings, list items and preformatted lines by placeholders, and remove the marks of italics and bold.

    A heading has its placeholder once for each level.

    Args:
        text: wikitext of the page without templates, tables and images.
        literal: as in MediaWiki, treat bullet characters as text, and do not join lines.
        breaks: if given, the line feeds that replace images and those before list items are appended.
    """
    text = "\n".join([_read_stretch(stretch, literal) for stretch in stretches(text)])
    if breaks is not None:
        breaks += breaks_of_lines(text)
    if LIST + LIST in text:
        text = _NESTED.sub(LIST, text)
    return text.replace(BREAK, "\n") if BREAK in text else text


def _read_stretch(text: str, literal: bool) -> str:
    """Return marked lines; an item has its placeholder once for each list that it is in."""
    readers = _READERS if literal else _ALL_READERS
    output = StringIO()
    # The line before if it is plain, without changes.
    before, joined = "", False
    for line in pieces_between(text, "\n"):
        if not line:
            before = ""
            output.write("\n")
            continue
        if line[0] in readers:
            line = readers[line[0]](line)
            before = ""
        elif literal:
            pass
        else:
            if before and _goes_on(before, line):
                joined, seamless = True, line[0] in _CLOSING or line[0] == SEAM
                line = _JOINED + ("" if seamless else " ") + line
            before = line
        output.write(strip_quotes(line) if "''" in line else line)
        output.write("\n")
    text = output.getvalue()[:-1]
    return text.replace("\n" + _JOINED, "") if joined else text


def _goes_on(before: str, line: str) -> bool:
    """Return whether a plain line continues the sentence at the end of the plain line before."""
    end = before.rstrip(" ")[-1:]
    first = line.lstrip(SEAM)[:1]
    if not end.isalnum() and end not in _OPEN_ENDS:
        return False
    if "[[" in before and _OPEN_TARGET.search(before):
        # The target of a link is in one line.
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
    return HEADING * len(match[1]) + title if title else ""


def _title(line: str) -> str:
    # Without its template, this heading consists of "=" only.
    return _heading(line) if line.strip("= \t") else ""


def _item(line: str) -> str:
    content = line.lstrip("*#:;")
    marks = LIST * (len(line) - len(content))
    if ":" in content and ";" in line[: len(marks)]:
        content = _split_term(content, marks)
    return marks + content.lstrip(" \t")


def _split_term(content: str, marks: str) -> str:
    """Split "term : definition" into two lines, of which the second begins with marks."""
    tags = rules = 0
    bold = italic = False
    for token in _TOKEN.finditer(content):
        sign, end, name = token[0], token[1], token[2]
        if sign[0] == "'":
            bold, italic = bold != (len(sign) > 2), italic != (len(sign) == 2 or len(sign) > 4)
        elif sign[0] == "<":
            if name.lower() in HTML_TAGS and not (sign.endswith("/>") and name.lower() in _VOID):
                # A closing tag alone is not there for MediaWiki.
                tags = max(0, tags - 1) if end else tags + 1
        elif sign in _RULE_EDGES:
            rules = max(0, rules + _RULE_EDGES[sign])
        elif sign == ":" and not (tags or rules or bold or italic):
            return f"{content[: token.start()].rstrip()}\n{marks}{content[token.end() :].lstrip()}"
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
_ALL_READERS = _READERS | {"=": _title, "-": _dash, **dict.fromkeys(_DATA["bullets"], _bullet)}
