"""Decode character references, and remove footnote numbers and behaviour switches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html.entities import html5

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.placeholders import protect

_ENTITY = re.compile(r"&(?:#0*[0-9]{1,7}|#[xX]0*[0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode character references; no-break spaces become spaces.

    Decoded markup characters become placeholders (`protect`), so that later passes do not take them for markup.
    """
    if "&" in text:
        text = _ENTITY.sub(lambda match: _entity(match[0]), text)
    return text.replace("\xa0", " ") if "\xa0" in text else text


_DATA = package_json("pipelines.wikimedia", "characters.json")
_NOTE_NUMBER = re.compile(rf"\[\d{{1,3}}\](?=[\s{re.escape(_DATA['after_note_number'])}]|\Z)")
_BEFORE_NOTE = frozenset(_DATA["before_note_number"])


@lru_cache(maxsize=4096)
def _entity(reference: str) -> str:
    name = reference[1:]
    if name[0] != "#":
        return protect(html5[name]) if name in html5 else reference
    # Without its zeros, because `int` refuses long numbers.
    digits = name[1:-1].lstrip("0") or "0"
    code = int(digits[1:], 16) if digits[0] in "xX" else int(digits)
    if code in (9, 10):
        return " "
    # MediaWiki shows other references as text (Sanitizer::validateCodepoint).
    valid = 0x20 <= code < 0x7F or 0xA0 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code < 0x110000
    return protect(chr(code)) if valid else protect(reference)


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
        return removed(text[start - 1 : start], text, match.end())
    return match[0]


def switch_pattern(switches: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of behaviour switches; some of them are valid in small letters too.

    >>> switch_pattern(["__INDEX__"]).sub("", "__toc__ __index__ __INDEX__")
    ' __index__ '
    """
    return re.compile("|".join((f"__(?i:{'|'.join(_DATA['caseless_switches'])})__", *map(re.escape, sorted(switches)))))


def strip_switches(text: str, switches: re.Pattern[str]) -> str:
    """Remove behaviour switches such as __NOTOC__ (https://www.mediawiki.org/wiki/Help:Magic_words)."""
    return switches.sub("", text) if "_" in text else text
