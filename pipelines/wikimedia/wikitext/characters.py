"""Character references, blanks, and behaviour switches: what is left to tidy when the structure is gone."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from wikianchor.pipelines.wikimedia.wikitext.placeholders import protect

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode character references; markup characters among them stay harmless, no-break spaces become spaces."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: _entity(match[0]), text)
    return text.replace("\xa0", " ") if "\xa0" in text else text


_NOTE_NUMBER = re.compile(r"\[\d{1,3}\](?=[\s.,;:!?)।۔。\[]|\Z)")
_BEFORE_NOTE = frozenset('.!?…,;:»”")।۔。')
_SHORT_WORD = 3
_ENDS = frozenset(".!?…")
# A run of signs counts in pieces, for `re` remembers each turn of a group.
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
    """Make runs of blanks one blank."""
    if "\t" in text:
        text = text.replace("\t", " ")
    first, *parts = text.split("  ")
    return first + "".join([" " + rest for part in parts if (rest := part.lstrip(" "))]) if parts else text


def drop_note_numbers(text: str) -> str:
    """Remove the numbers of footnotes that were copied as text from a page that had them: "so it was. [84] Then"."""
    return _NOTE_NUMBER.sub(_note_number, text) if "[" in text else text


def _note_number(match: re.Match[str]) -> str:
    # Behind a sign, or a blank away from a word: "a[5]" and "[[5]]" are none.
    text, start = match.string, match.start()
    before = text[start - 2 : start] if start > 1 else text[:start]
    if before[-1:] in _BEFORE_NOTE or (before[-1:] == " " and (before[:1].isalnum() or before[:1] in _BEFORE_NOTE)):
        return ""
    return match[0]


def close_up(text: str) -> str:
    """Remove the blank before a full stop or comma, which a footnote left there; ". ." is one full stop, ". . ." is an
    ellipsis. Behind a short word in small letters it stays: "an area of ." misses something."""
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
