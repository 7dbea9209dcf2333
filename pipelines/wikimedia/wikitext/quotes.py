"""Remove the marks of italics and bold, '' and '''.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re
from io import StringIO

from wikianchor.pipelines.wikimedia.wikitext.placeholders import SEAM, protect

_APOSTROPHE = protect("'")
_QUOTES = re.compile("'{2,}")
# In a link target they are part of the title.
_IN_TARGET = re.compile(r"\[\[[^\[\]|']*(?:'(?!')[^\[\]|']*)*''[^\[\]|]*(?=\||\]\])")

# The letters of a link's trail end at such a mark.
_AFTER_LINK = re.compile(r"(\]\]\w*)''")


def strip_quotes(line: str) -> str:
    """Remove the marks of italics and bold from a line by MediaWiki's rules (Parser::doQuotes).

    Marks beside a link become a SEAM, so that the link has no trail or prefix across them.

    >>> strip_quotes("'''Bold''' and l'''art''")
    "Bold and l'art"
    """
    if "[[" in line:
        line = _IN_TARGET.sub(lambda match: match[0].replace("'", _APOSTROPHE), line)
        line = _AFTER_LINK.sub(rf"\1{SEAM}''", line).replace("''[[", f"''{SEAM}[[")
    if "''''" not in line:
        plain = line.replace("'''", "")
        if not (line.count("'''") % 2 and plain.count("''") % 2):
            return plain.replace("''", "")
    bold = italic = 0
    for match in _QUOTES.finditer(line):
        mark = _mark(match)
        bold += mark in (3, 5)
        italic += mark in (2, 5)
    turned = _unbalanced(line) if bold % 2 and italic % 2 else -1
    # A list of all pieces of a hostile line would take thirty times its memory.
    output, end = StringIO(), 0
    for match in _QUOTES.finditer(line):
        start, run = match.start(), len(match[0])
        output.write(line[end:start])
        # Four apostrophes are one apostrophe and bold; more than five are apostrophes, bold and italics.
        output.write("'" * ((run == 4) + max(0, run - 5) + (start == turned)))
        end = match.end()
    output.write(line[end:])
    return output.getvalue()


def _mark(match: re.Match[str]) -> int:
    """Return how many apostrophes of a run are a mark: 2 for italics, 3 for bold, 5 for both."""
    run = match.end() - match.start()
    return 3 if run == 4 else min(run, 5)


def _unbalanced(line: str) -> int:
    """Return where the bold mark is that MediaWiki reads as an apostrophe and italics, -1 for none.

    It is the first one after a one-letter word; otherwise after a word; otherwise after a space.
    """
    word = space = -1
    end = 0
    for match in _QUOTES.finditer(line):
        start = match.start()
        before = line[max(end, start - 2) : start]
        end = match.end()
        if _mark(match) != 3:
            continue
        if before[-1:] == " ":
            space = start if space < 0 else space
        elif before[-2:-1] == " " and before[-1].isascii():
            return start
        elif word < 0:
            word = start
    return word if word >= 0 else space
