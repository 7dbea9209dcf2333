"""Remove the marks of italics and bold, '' and '''.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import re

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
    parts = _QUOTES.split(line)
    runs = [len(run) for run in _QUOTES.findall(line)]
    # Four apostrophes are one apostrophe and bold; more than five are apostrophes, bold and italics.
    kept = ["'" if run == 4 else "'" * (run - 5) if run > 5 else "" for run in runs]
    marks = [3 if run == 4 else min(run, 5) for run in runs]
    bold = sum(mark in (3, 5) for mark in marks)
    italic = sum(mark in (2, 5) for mark in marks)
    if bold % 2 and italic % 2:
        turned = _unbalanced(parts, marks)
        if turned >= 0:
            kept[turned] += "'"
    pieces = [parts[0]]
    for apostrophes, part in zip(kept, parts[1:], strict=True):
        pieces += (apostrophes, part)
    return "".join(pieces)


def _unbalanced(parts: list[str], marks: list[int]) -> int:
    """Return the number of the bold mark that MediaWiki reads as an apostrophe and italics, -1 for none.

    It is the first one after a one-letter word; otherwise after a word; otherwise after a space.
    """
    word = space = -1
    for number, mark in enumerate(marks):
        if mark != 3:
            continue
        before = parts[number]
        if before[-1:] == " ":
            space = number if space < 0 else space
        elif before[-2:-1] == " " and before[-1].isascii():
            return number
        elif word < 0:
            word = number
    return word if word >= 0 else space
