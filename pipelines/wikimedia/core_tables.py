"""Character classes, case and normal forms of the running Python, for the compiled core.

Each Python knows another version of Unicode. With its tables both engines agree on every character.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

# Chinese characters and Hangul are letters without case and marks, so one question is enough. Compatibility forms are
# not among them.
_LETTERS = ((0x3400, 0x4DC0), (0x4E00, 0xA000), (0xAC00, 0xD7A4), (0x20000, 0x2F800), (0x30000, 0x33480))
_OTHERS = (
    (0, 0x3400),
    (0x4DC0, 0x4E00),
    (0xA000, 0xAC00),
    (0xD7A4, 0xD800),
    (0xE000, 0x20000),
    (0x2F800, 0x30000),
    (0xE0000, 0xE0200),
)
_UNASSIGNED = ("Cn", "Co")
_CLASSES = (str.isalnum, str.isalpha, str.isdecimal, str.isdigit, str.isspace, str.islower, str.isupper)


class CharacterTables(NamedTuple):
    """Tables of all characters that have a class; above are private use and unassigned ones.

    Attributes:
        letters: Chinese characters and Hangul.
        others: all other characters that are assigned.
        classes: a byte for each class (`unicode.rs`) and each of the others, 1 if it has it.
        lower, upper, title: characters that the methods of `str` change, with what they change to.
        zeros: the digit zero of each script.
        combining: characters with a combining class.
        decomposed: characters with a canonical decomposition, without Hangul, which is computed.
        composed: the characters that two compose to.
        needs_nfc: characters that a text in normal form C may lack, or that may compose with the one before.
    """

    letters: str
    others: str
    classes: list[bytes]
    lower: list[tuple[str, str]]
    upper: list[tuple[str, str]]
    title: list[tuple[str, str]]
    zeros: list[str]
    combining: list[tuple[str, int]]
    decomposed: list[tuple[str, str]]
    composed: list[tuple[tuple[str, str], str]]
    needs_nfc: str


def character_tables() -> CharacterTables:
    """Return the tables of the running Python."""
    letters, others = ("".join("".join(map(chr, range(*part))) for part in parts) for parts in (_LETTERS, _OTHERS))
    # What is neither belongs to no class: more than half of them, private use and unassigned.
    others = "".join(char for char in others if char.isprintable() or unicodedata.category(char) not in _UNASSIGNED)
    classes = [bytes(map(test, others)) for test in _CLASSES]
    classes.append(bytes(category[0] == "M" for category in map(unicodedata.category, others)))
    classes.append(bytes(map(str.isprintable, others)))
    combining = [pair for pair in zip(others, map(unicodedata.combining, others), strict=True) if pair[1]]
    decomposed = [
        (char, unicodedata.normalize("NFD", char)) for char in others if not unicodedata.is_normalized("NFD", char)
    ]
    # Those that normal form C does not keep.
    changed = {char for char, _ in decomposed if not unicodedata.is_normalized("NFC", char)}
    composed = [(_pair(char), char) for char, _ in decomposed if char not in changed]
    # Vowels and final consonants of Hangul compose with what stands before them too.
    following = {*(pair[1] for pair, _ in composed), *map(chr, range(0x1161, 0x11C3))}
    return CharacterTables(
        letters="".join(filter(str.isalpha, letters)),
        others=others,
        classes=classes,
        lower=_changes(others, str.lower),
        upper=_changes(others, str.upper),
        title=_changes(others, str.title),
        zeros=[char for char in filter(str.isdecimal, others) if unicodedata.decimal(char) == 0],
        combining=combining,
        decomposed=decomposed,
        composed=composed,
        needs_nfc="".join(sorted(changed.union((char for char, _ in combining), following))),
    )


def _changes(chars: str, case: Callable[[str], str]) -> list[tuple[str, str]]:
    """Return the characters that a method of `str` changes, with what they change to."""
    return [(char, form) for char, form in zip(chars, map(case, chars), strict=True) if form != char]


def _pair(char: str) -> tuple[str, str]:
    """Return the two characters that compose to one."""
    first, second = (chr(int(code, 16)) for code in unicodedata.decomposition(char).split())
    return first, second
