"""Fold text, and cut it into atoms: the units with which a name may begin and end.

The pipelines count names and the trainer looks for them, so both use this module.

Folding maps each code point to one code point: lower case, normal width, ASCII apostrophes and dashes. Runs of white
space become one space. So an offset in the folded text corresponds to an offset in the text. In Chinese, traditional
characters become simplified ones: 中國 and 中国 are one name. In Japanese and Korean they are different characters.

An atom is a run of letters, digits and combining marks; a run of Katakana; or any other character with its combining
marks. Scripts without spaces (Han, Hiragana, Thai, Lao, Khmer, Burmese, Tibetan) have one atom per character, so a name
may begin and end anywhere. Hangul has one atom per syllable, but a name begins only where a word begins, because the
syllables after a name in the same word are usually a particle.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.aliases.han_pairs import SIMPLIFIED, TRADITIONAL

CodePoints = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# Kinds of characters; 0 is none. BREAK is the separator between texts: no name contains it.
SPACE, WORD, KATAKANA, SINGLE, SYLLABLE, VOWEL_BEFORE, MARK, SIGN, BREAK = range(1, 10)
SEPARATOR = "\x00"

# Unicode blocks of scripts without spaces between words.
_SINGLE = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Burmese
    (0x1780, 0x17FF),  # Khmer
    (0x2E80, 0x303F),  # radicals, ideographic iteration marks
    (0x3040, 0x309F),  # Hiragana
    (0x3100, 0x312F),  # Bopomofo
    (0x3400, 0x9FFF),  # Han
    (0xA9E0, 0xA9FF),  # Burmese
    (0xAA60, 0xAA7F),  # Burmese
    (0xF900, 0xFAFF),  # Han
    (0x20000, 0x3FFFF),  # Han
)
_KATAKANA = ((0x30A1, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F))
_SYLLABLES = ((0xAC00, 0xD7A3),)
# Thai and Lao vowels that are written before their consonant.
_VOWELS_BEFORE = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4))
# In some wikis, such as the Ukrainian one, a quotation mark beside a link is part of the link.
QUOTES = '«»„“”"「」『』'
_APOSTROPHES = "\u0384\u2018\u2019\u02bc\u02bb\u2032\u0060\u00b4"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
# White space that is not a separator in Unicode.
_CONTROLS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"
# Languages that are written in both scripts, by their codes and by those of their wikis.
_CHINESE = frozenset(["zh", "gan", "lzh", "wuu", "yue", "zh-yue", "zh-classical"])
LIMIT = 0x110000
_POINT_BITS = 21


def kind_of(point: int) -> int:
    """Return the kind of a code point: SPACE, WORD and so on."""
    if point == 0:
        return BREAK
    character = chr(point)
    category = unicodedata.category(character)
    if category[0] == "Z" or character in _CONTROLS:
        return SPACE
    if category[0] == "M" or point in (0x200C, 0x200D, 0xFF9E, 0xFF9F):
        return MARK
    if point == 0x30FB or category[0] not in "LN":
        return SIGN
    for kind, blocks in (
        (VOWEL_BEFORE, _VOWELS_BEFORE),
        (KATAKANA, _KATAKANA),
        (SYLLABLE, _SYLLABLES),
        (SINGLE, _SINGLE),
    ):
        if any(first <= point <= last for first, last in blocks):
            # Thai and Khmer digits are part of a number.
            return WORD if category == "Nd" else kind
    return WORD


def fold_of(point: int) -> int:
    """Return the code point to which a code point is folded."""
    character = chr(point)
    if character in _APOSTROPHES:
        return ord("'")
    if character in _DASHES:
        return ord("-")
    if kind_of(point) == SPACE:
        return 0x20
    decomposition = unicodedata.decomposition(character)
    if decomposition.startswith(("<wide>", "<narrow>")):
        character = chr(int(decomposition.split()[1], 16))
    for folded in (character.casefold(), character.lower()):
        if len(folded) == 1:
            return ord(folded)
    # Only İ: its lower case is two characters, a letter and a combining mark.
    return ord(character.lower()[0])


class _CharacterTable:
    """Kinds and foldings of code points, computed when a code point first occurs.

    `_entries` has a number for each code point: its kind in the upper bits, its folding in the lower ones.
    """

    def __init__(self) -> None:
        self._entries = np.zeros(LIMIT, np.uint32)
        self._add(range(1 << 10))

    def _add(self, points: Iterable[int]) -> None:
        for point in points:
            folded = fold_of(point)
            # The kind of the folded character, so that a key is cut in the same way as the text.
            self._entries[point] = kind_of(folded) << _POINT_BITS | folded

    def look_up(self, points: CodePoints) -> tuple[npt.NDArray[np.uint8], CodePoints]:
        """Return the kinds and the foldings of code points."""
        # astype, because NumPy takes twice the time with an index of another type.
        entries = self._entries[points.astype(np.int64)]
        if len(entries) and not entries.min():
            self._add(set(points[entries == 0].tolist()))
            entries = self._entries[points]
        return (entries >> np.uint32(_POINT_BITS)).astype(np.uint8), entries & np.uint32((1 << _POINT_BITS) - 1)


_table = _CharacterTable()


class FoldedText(NamedTuple):
    """A folded text and its atoms.

    Attributes:
        points: code points of the folded text, shape (n,).
        offsets: offset of each in the original text, and the length of that text, shape (n + 1,).
        first: by atom, its start in `points`.
        last: by atom, its end in `points`, exclusive.
        begins: by atom, whether a name may begin with it.
        ends: by atom, whether a name may end with it.
    """

    points: CodePoints
    offsets: Offsets
    first: Offsets
    last: Offsets
    begins: Flags
    ends: Flags

    def folded_offsets(self, offsets: Offsets) -> Offsets:
        """Convert offsets in the original text to offsets in `points`."""
        # They are equal if no white space was removed.
        if self.offsets[-1] == len(self.points):
            return offsets
        return np.searchsorted(self.offsets, offsets)

    def on_atoms(self, first: Offsets, last: Offsets) -> Flags:
        """Return for each span [first, last) of `points` whether a name may begin and end there."""
        begins, ends = (np.zeros(len(self.points) + 1, np.bool_) for _ in range(2))
        begins[self.first[self.begins]] = True
        ends[self.last[self.ends]] = True
        return begins[first] & ends[last]


def code_points(text: str) -> CodePoints:
    """Return the code points of a text as uint32, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def is_chinese(code: str) -> bool:
    """Return whether a language, given by its code or by the name of a wiki, is written in both Chinese scripts.

    >>> is_chinese("zh"), is_chinese("zh_classicalwiki"), is_chinese("jawiki")
    (True, True, False)
    """
    return code.partition("wiki")[0].replace("_", "-") in _CHINESE


@cache
def _simple_forms() -> CodePoints:
    """Return the folding of the Han characters, by code point."""
    forms = np.arange(LIMIT, dtype=np.uint32)
    forms[code_points(TRADITIONAL)] = code_points(SIMPLIFIED)
    return forms


def simplified(points: CodePoints) -> CodePoints:
    """Return code points with simplified characters for traditional ones."""
    return _simple_forms()[points.astype(np.int64)]


def cut(points: CodePoints, chinese: bool = False) -> FoldedText:
    """Fold a text and cut it into atoms.

    Args:
        points: the text.
        chinese: fold traditional characters to simplified ones.

    >>> text = cut(code_points("The  Hague"))
    >>> bytes(text.points.astype(np.uint8)), text.first.tolist(), text.offsets[text.first].tolist()
    (b'the hague', [0, 4], [0, 5])
    """
    kinds, folded = _table.look_up(simplified(points) if chinese else points)
    space = kinds == SPACE
    offsets = np.arange(len(points) + 1)
    if len(points):
        again = space[1:] & space[:-1]
        if again.any():
            keep = np.append(True, ~again)
            kinds, folded, space, offsets = kinds[keep], folded[keep], space[keep], offsets[np.append(keep, True)]
    # An atom ends where the next atom or a space begins.
    begin = _begins(kinds)
    ends = np.append(begin[1:], True)[: len(kinds)] & ~space
    begin &= ~space
    first, last = np.flatnonzero(begin), np.flatnonzero(ends) + 1
    begins, ends = np.ones(len(first), np.bool_), np.ones(len(first), np.bool_)
    # Few texts contain a SYLLABLE, VOWEL_BEFORE or MARK. uint8 wraps around, so one comparison tests for all three.
    if (kinds - np.uint8(SYLLABLE) <= MARK - SYLLABLE).any():
        head = kinds[first]
        begins = head != MARK
        before = kinds[first - 1]
        begins &= ~((head == SYLLABLE) & (first > 0) & ((before == SYLLABLE) | (before == MARK)))
        ends = kinds[last - 1] != VOWEL_BEFORE
    return FoldedText(folded, offsets, first, last, begins, ends)


def _begins(kinds: npt.NDArray[np.uint8]) -> Flags:
    """Return whether an atom or a space begins at each character."""
    begins = np.ones(len(kinds), np.bool_)
    if not len(kinds):
        return begins
    before, here = kinds[:-1], kinds[1:]
    # A combining mark continues an atom, and a letter after it continues the word. After a space, a mark is an atom.
    continues = (here == MARK) & (before != SPACE) & (before != BREAK)
    continues |= (here == WORD) & ((before == WORD) | (before == MARK))
    continues |= (here == KATAKANA) & (before == KATAKANA)
    begins[1:] = ~continues
    return begins


def without_quotes(name: str) -> str:
    """Return a name without quotation marks at its edges; one with others within stays as it is.

    >>> without_quotes("«Таймс»"), without_quotes("«А» і «Б»")
    ('Таймс', '«А» і «Б»')
    """
    first, last = name[:1] in QUOTES, name[-1:] in QUOTES
    if len(name) <= 2 or not (first or last) or sum(name.count(mark) for mark in QUOTES) != first + last:
        return name
    return name[first : len(name) - last]


def fold(name: str, chinese: bool = False) -> str:
    """Return the key of a name: the folded name without white space at its edges.

    >>> fold("  Côte\\u2011d’Ivoire "), fold("ＮＨＫ"), fold("中國", chinese=True)
    ("côte-d'ivoire", 'nhk', '中国')
    """
    return fold_all([name], chinese)[0]


def fold_all(names: Sequence[str], chinese: bool = False) -> list[str]:
    """Return the keys of names; see `fold`."""
    if not names:
        return []
    joined = SEPARATOR.join(name.replace(SEPARATOR, " ") for name in names)
    points = cut(code_points(joined), chinese).points
    return [key.strip(" ") for key in points.tobytes().decode("utf-32-le", "surrogatepass").split(SEPARATOR)]
