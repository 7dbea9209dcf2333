"""What a line is: a heading, a list item, preformatted, or plain. The first character of a line says it from then on.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re

from pipelines.wikimedia.wikitext.marks import GAP, HEADING, LIST, NAMED, PREFORMATTED
from pipelines.wikimedia.wikitext.pieces import stretches
from pipelines.wikimedia.wikitext.quotes import strip_quotes

_HEADING = re.compile(r"(={1,6})(.+?)\1[ \t]*")
# What may hold a colon that divides nothing: a link, italics, a tag, an address.
_TOKEN = re.compile(r"\[\[[^\[\]]*\]\]|''+|<(/?)[a-zA-Z][^<>]*>|:(//)?")


def read_lines(text: str) -> str:
    """Mark headings, list items and preformatted lines by their first characters, and remove the marks of italics and
    bold, which end with the line. A heading has its mark once for each level."""
    return "\n".join(map(_read_stretch, stretches(text)))


def _read_stretch(text: str) -> str:
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line[:1] in _READERS:
            line = lines[number] = _READERS[line[0]](line)
        if "''" in line:
            lines[number] = strip_quotes(line)
    return "\n".join(lines)


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


_READERS = {GAP: _gap, "=": _heading, " ": _preformatted, "-": _rule, **dict.fromkeys("*#:;", _item)}
