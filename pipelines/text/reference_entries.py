"""Recognise list items that are references to works and no prose: "Meillet, A. (1913). Aperçu d'une histoire."

Only signs that are the same in all languages count: numbers of books, and years and pages where references have them.
"""

from __future__ import annotations

import re
from typing import Final

# Words of references to books.
CITATIONS: Final = ("ISBN", "ISSN", "PMID", "doi:")
cites = re.compile("|".join(CITATIONS)).search

# A longer item holds prose too.
_LONGEST: Final = 600
# What may stand behind the last number, and between pages. A year in round brackets is that of an event too.
_CLOSERS: Final = ' .;]"”»'
_DASHES: Final = "-–—"
_LETTERS_BEFORE_PAGES: Final = 4
# Characters before the year of an item that begins with an author, and characters that follow the bracket.
_LONGEST_AUTHORS: Final = 80
_AFTER_YEAR: Final = frozenset(".:,")
_FIRST_YEAR, _LAST_YEAR = 1500, 2099
# As these, with a year before or somewhere: "Kyiv, 1995. — 816 p.", "Title // Journal. — 1962."
_DASHED_PARTS: Final = (". — ", ". – ")
_OF_A_JOURNAL: Final = " // "
_YEARS: Final = re.compile(r"(?<![0-9])[0-9]{4}(?![0-9])")


def is_reference(item: str) -> bool:
    """Return whether a list item is a reference to a work.

    >>> [is_reference(item) for item in ("Even. Munich, 1995.", "Linguistics 105, 503-517.", "It was built in 1995.")]
    [True, True, False]
    """
    if len(item) > _LONGEST:
        return False
    if cites(item):
        return True
    return _ends_as_reference(item) or _begins_with_author(item) or _has_dashed_parts(item)


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and _FIRST_YEAR <= int(digits) <= _LAST_YEAR


def _last_number(text: str) -> str:
    """Return the ASCII digits at the end of a text."""
    start = len(text)
    while start and text[start - 1] in "0123456789":
        start -= 1
    return text[start:]


def _ends_as_reference(item: str) -> bool:
    """Return whether an item ends with a year that is a part of its own, or with pages: ", 1995", ", p. 503-517"."""
    item = item.rstrip(_CLOSERS)
    last = _last_number(item)
    if not last:
        return False
    before = item[: -len(last)]
    if _is_year(last) and before.endswith(", "):
        # Years one after another are those of events.
        return not _last_number(before[:-2])
    before = before.rstrip(" ")
    if not before or before[-1] not in _DASHES:
        return False
    before = before[:-1].rstrip(" ")
    first = _last_number(before)
    if not first or (len(first), first) >= (len(last), last) or (_is_year(first) and _is_year(last)):
        return False
    before = before[: -len(first)].rstrip(" ")
    if before.endswith("."):
        word = before[:-1]
        for _ in range(_LETTERS_BEFORE_PAGES):
            if word and word[-1].isalpha():
                word = word[:-1]
        before = word.rstrip(" ")
    return before.endswith((",", ":", ".", ")"))


def _begins_with_author(item: str) -> bool:
    """Return whether an item begins with a family name, a comma, a name and a year in brackets: "Grey, J. (1995)."."""
    head, bracket, rest = item.partition("(")
    family, comma, names = head.partition(", ")
    year, after = rest[:4], rest[4:]
    if after[:1].isascii() and after[:1].islower():
        after = after[1:]
    return bool(
        comma
        and bracket
        and len(head) <= _LONGEST_AUTHORS
        and family
        and family[0].isupper()
        and " " not in family
        and names[:1].isupper()
        and year.isascii()
        and year.isdigit()
        and _is_year(year)
        and after.startswith(")")
        and after[1:2] in _AFTER_YEAR
    )


def _has_dashed_parts(item: str) -> bool:
    for sign in _DASHED_PARTS:
        at = item.find(sign)
        while at >= 0:
            if _is_year(_last_number(item[:at])):
                return True
            at = item.find(sign, at + 1)
    return _OF_A_JOURNAL in item and any(_is_year(year) for year in _YEARS.findall(item))
