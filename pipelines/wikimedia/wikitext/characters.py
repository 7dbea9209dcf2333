"""Decode character references, and remove superfluous blanks, footnote numbers and behaviour switches."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from wikianchor.pipelines.wikimedia.wikitext.placeholders import protect

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode character references; no-break spaces become spaces.

    Decoded markup characters become placeholders (`protect`), so that later passes do not take them for markup.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda match: _entity(match[0]), text)
    return text.replace("\xa0", " ") if "\xa0" in text else text


_NOTE_NUMBER = re.compile(r"\[\d{1,3}\](?=[\s.,;:!?)।۔。\[]|\Z)")
_BEFORE_NOTE = frozenset('.!?…,;:»”")।۔。')
_SHORT_WORD = 3
_ENDS = frozenset(".!?…")
# At most 50 repetitions, because `re` stores every repetition of a group.
_LOOSE_SIGN = re.compile(r" ([.,])((?: \.){0,50})(?=[ \n]|\Z)")


@lru_cache(maxsize=4096)
def _entity(reference: str) -> str:
    char = html.unescape(reference)
    if char == reference:
        return char
    if len(char) == 1 and char < " ":
        return " "
    return protect(char)


def fold_spaces(text: str) -> str:
    """Replace tabs and runs of blanks by one blank."""
    if "\t" in text:
        text = text.replace("\t", " ")
    first, *parts = text.split("  ")
    return first + "".join([" " + rest for part in parts if (rest := part.lstrip(" "))]) if parts else text


def drop_note_numbers(text: str) -> str:
    """Remove footnote numbers that an editor copied as text from another page.

    >>> drop_note_numbers("So it was. [84] Then a[5] came.")
    'So it was.  Then a[5] came.'
    """
    return _NOTE_NUMBER.sub(_note_number, text) if "[" in text else text


def _note_number(match: re.Match[str]) -> str:
    # A footnote number follows a punctuation mark, or a word and a blank; "a[5]" and "[[5]]" are something else.
    text, start = match.string, match.start()
    before = text[start - 2 : start] if start > 1 else text[:start]
    if before[-1:] in _BEFORE_NOTE or (before[-1:] == " " and (before[:1].isalnum() or before[:1] in _BEFORE_NOTE)):
        return ""
    return match[0]


def close_up(text: str) -> str:
    """Remove the blank before a full stop or comma that a removed footnote left there.

    ". ." becomes one full stop, ". . ." an ellipsis. The blank stays after a short lower-case word, because words are
    missing in "an area of .".
    """
    return _LOOSE_SIGN.sub(_close_up, text) if " ." in text or " ," in text else text


def _close_up(match: re.Match[str]) -> str:
    if match[2]:
        return "..."
    before = match.string[max(0, match.start() - _SHORT_WORD - 1) : match.start()]
    word = before.rpartition(" ")[2].rpartition("\n")[2]
    if len(word) <= _SHORT_WORD and word.isalpha() and word.islower():
        return match[0]
    return "" if match[1] == "." and before[-1:] in _ENDS else match[1]


def strip_switches(text: str, switches: re.Pattern[str]) -> str:
    """Remove behaviour switches such as __NOTOC__ (https://www.mediawiki.org/wiki/Help:Magic_words)."""
    return switches.sub("", text) if "_" in text else text
