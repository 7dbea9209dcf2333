"""Remove tables: {| wiki tables |} and HTML tables, with those nested in them.

https://www.mediawiki.org/wiki/Help:Tables
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_WIKI_TABLE = re.compile(r"\n[ \t:*#;]*\{\||\n[ \t]*\|\}")
_HTML_TABLE = re.compile(r"<(/?)(?i:table)(?=[\s>/])[^<>]*>")


def strip_tables(text: str, dropped: Counter[str]) -> str:
    """Remove tables; an unclosed one extends to the end of the page, as in MediaWiki.

    Args:
        text: wikitext that begins with a line feed.
        dropped: counts the links in tables as "table".
    """
    if "{|" in text:
        marks = ((match.start(), match.end(), match[0].endswith("{|")) for match in _WIKI_TABLE.finditer(text))
        text = _cut(text, marks, dropped)
    if "<table" in text or "<TABLE" in text:
        marks = ((match.start(), match.end(), not match[1]) for match in _HTML_TABLE.finditer(text))
        text = _cut(text, marks, dropped)
    return text


def _cut(text: str, marks: Iterator[tuple[int, int, bool]], dropped: Counter[str]) -> str:
    """Remove tables, given the start and end of each table mark and whether it opens a table."""
    pieces, position, depth = [], 0, 0
    for start, end, opens in marks:
        if opens:
            if depth == 0:
                pieces.append(text[position:start])
                pieces.append("\n")
                position = start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                dropped["table"] += text.count("[[", position, end)
                position = end
    if depth:
        dropped["table"] += text.count("[[", position)
        position = len(text)
    pieces.append(text[position:])
    return "".join(pieces)
