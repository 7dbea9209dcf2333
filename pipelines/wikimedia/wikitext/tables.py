"""Tables and pictures: parts of a page that are no prose, cut out with all they hold.

https://www.mediawiki.org/wiki/Help:Tables, https://www.mediawiki.org/wiki/Help:Images
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_WIKI_TABLE = re.compile(r"\n[ \t:*#;]*\{\||\n[ \t]*\|\}")
_HTML_TABLE = re.compile(r"<(/?)(?i:table)(?=[\s>/])[^<>]*>")
_BRACKETS = re.compile(r"\[\[|\]\]")


def strip_tables(text: str, dropped: Counter[str]) -> str:
    """Remove {| wiki tables |} and HTML tables, nested ones with their outermost; an unclosed one reaches to the end,
    as in MediaWiki.

    Args:
        text: wikitext that begins with a line feed.
        dropped: counts the links that went with a table.
    """
    if "{|" in text:
        marks = ((match.start(), match.end(), match[0].endswith("{|")) for match in _WIKI_TABLE.finditer(text))
        text = _cut(text, marks, dropped)
    if "<table" in text or "<TABLE" in text:
        marks = ((match.start(), match.end(), not match[1]) for match in _HTML_TABLE.finditer(text))
        text = _cut(text, marks, dropped)
    return text


def _cut(text: str, marks: Iterator[tuple[int, int, bool]], dropped: Counter[str]) -> str:
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


def strip_files(text: str, opening: re.Pattern[str], dropped: Counter[str]) -> str:
    """Remove links that show a picture, with their captions and the links in them.

    Args:
        text: wikitext without templates.
        opening: matches "[[" and a name or alias of the file namespace with its colon.
        dropped: counts the picture itself and the links in captions.
    """
    match = opening.search(text)
    if match is None:
        return text
    pieces, position = [], 0
    ends: dict[int, int] | None = None
    while match is not None:
        start = match.start()
        end = _closing(text, start) if ends is None else ends.get(start, -1)
        if end < 0 and ends is None:
            # An unclosed picture: looking to the end of the page for each would be quadratic, so find all pairs at
            # once.
            ends = _pairs(text)
            end = ends.get(start, -1)
        if end < 0:
            match = opening.search(text, start + 2)
            continue
        pieces.append(text[position:start])
        dropped["file"] += 1
        dropped["caption"] += text.count("[[", start, end) - 1
        position = end
        match = opening.search(text, end)
    pieces.append(text[position:])
    return "".join(pieces)


def _closing(text: str, start: int) -> int:
    depth = 0
    for match in _BRACKETS.finditer(text, start):
        depth += 1 if match[0] == "[[" else -1
        if depth == 0:
            return match.end()
    return -1


def _pairs(text: str) -> dict[int, int]:
    opened: list[int] = []
    ends: dict[int, int] = {}
    for match in _BRACKETS.finditer(text):
        if match[0] == "[[":
            opened.append(match.start())
        elif opened:
            ends[opened.pop()] = match.end()
    return ends
