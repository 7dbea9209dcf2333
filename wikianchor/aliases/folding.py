"""What a name is: how it is folded, and where one may begin and end in a text. Whoever counts names and whoever looks
for them must agree on this, so it stands with the schemas.

Folding goes code point by code point: case, full and half width, apostrophes, dashes; runs of white space become one
space. So a place in the folded text is a place in the text.

Text is cut into atoms: a run of letters, digits and their marks; a run of Katakana; and every other character by
itself with the marks after it. A name begins and ends with atoms. Scripts without spaces (Han, Hiragana, Thai, Lao,
Khmer, Burmese, Tibetan) have an atom for each character, so a name may stand anywhere in them. Hangul has one for each
syllable, but a name begins where a word begins: what follows it in its word is a particle as a rule.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

CodePoints = npt.NDArray[np.uint32]
Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

# The kinds of characters; 0 is none. BREAK stands between texts: no name holds it.
SPACE, WORD, KATAKANA, SINGLE, SYLLABLE, VOWEL_BEFORE, MARK, SIGN, BREAK = range(1, 10)
SEPARATOR = "\x00"
SPACE_POINT = np.uint32(0x20)

# Blocks whose letters follow each other without spaces between words.
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
# Thai and Lao vowels that are written before the consonant they belong to.
_VOWELS_BEFORE = ((0x0E40, 0x0E44), (0x0EC0, 0x0EC4))
_APOSTROPHES = "\u0384\u2018\u2019\u02bc\u02bb\u2032\u0060\u00b4"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"
# White space beside what Unicode calls a separator.
_CONTROLS = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"
_LIMIT = 0x110000
_POINT_BITS = 21


def _inside(point: int, blocks: Iterable[tuple[int, int]]) -> bool:
    return any(first <= point <= last for first, last in blocks)


def kind_of(point: int) -> int:
    """Return the kind of a character."""
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
        if _inside(point, blocks):
            # A digit of Thai or Khmer belongs to a number.
            return WORD if category == "Nd" else kind
    return WORD


def fold_of(point: int) -> int:
    """Return what a character is folded to."""
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
    # The capital I with a dot, alone: a letter and a mark.
    return ord(character.lower()[0])


class _Table:
    """What has been asked about characters so far: Python's Unicode tables are read for those that occur.

    `facts` has a number for each character: what it is folded to, and above that its kind.
    """

    def __init__(self) -> None:
        self.facts = np.zeros(_LIMIT, np.uint32)
        self._know(range(1 << 10))

    def _know(self, points: Iterable[int]) -> None:
        for point in points:
            folded = fold_of(point)
            # A key is cut as the text is where it stands, so the kind is that of what is folded.
            self.facts[point] = kind_of(folded) << _POINT_BITS | folded

    def of(self, points: CodePoints) -> tuple[npt.NDArray[np.uint8], CodePoints]:
        """Return the kinds and the foldings of code points."""
        # NumPy takes twice as long where it has to widen the places itself.
        facts = self.facts[points.astype(np.int64)]
        if len(facts) and not facts.min():
            self._know(set(points[facts == 0].tolist()))
            facts = self.facts[points]
        return (facts >> np.uint32(_POINT_BITS)).astype(np.uint8), facts & np.uint32((1 << _POINT_BITS) - 1)


_table = _Table()


class Text(NamedTuple):
    """A text, folded and cut.

    Attributes:
        points: code points of the folded text.
        places: where each stands in the text as it was given; one more for its end.
        first: by atom, where it begins in `points`.
        last: by atom, the place after it.
        begins: by atom, whether a name may begin with it.
        ends: by atom, whether a name may end with it.
    """

    points: CodePoints
    places: Places
    first: Places
    last: Places
    begins: Flags
    ends: Flags

    def folded_places(self, places: Places) -> Places:
        """Return where places of the text as it was given stand in `points`."""
        # Where nothing was taken out they are the same.
        if self.places[-1] == len(self.points):
            return places
        return np.searchsorted(self.places, places)

    def on_atoms(self, first: Places, last: Places) -> Flags:
        """Whether a name may stand at [first, last) of `points`: begins with an atom and ends with one."""
        begins, ends = (np.zeros(len(self.points) + 1, np.bool_) for _ in range(2))
        begins[self.first[self.begins]] = True
        ends[self.last[self.ends]] = True
        return begins[first] & ends[last]


def code_points(text: str) -> CodePoints:
    """Return the code points of a text; a lone surrogate is one."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


# Places of texts from which nothing is taken out; longer texts are rare.
_PLACES = np.arange(1 << 20)
_PLACES.flags.writeable = False


def _counted(number: int) -> Places:
    return _PLACES[:number] if number <= len(_PLACES) else np.arange(number)


def cut(points: CodePoints) -> Text:
    """Fold a text and cut it into atoms."""
    kinds, folded = _table.of(points)
    space = kinds == SPACE
    places = _counted(len(points) + 1)
    if len(points):
        again = space[1:] & space[:-1]
        if again.any():
            keep = np.append(True, ~again)
            kinds, folded, space, places = kinds[keep], folded[keep], space[keep], places[np.append(keep, True)]
    # An atom ends where the next or a space begins.
    begin = _begins(kinds)
    ends = np.append(begin[1:], True)[: len(kinds)] & ~space
    begin &= ~space
    first, last = np.flatnonzero(begin), np.flatnonzero(ends) + 1
    begins, ends = np.ones(len(first), np.bool_), np.ones(len(first), np.bool_)
    # Few texts have what follows; uint8 wraps around, so this is SYLLABLE, VOWEL_BEFORE or MARK.
    if (kinds - np.uint8(SYLLABLE) <= MARK - SYLLABLE).any():
        head = kinds[first]
        begins = head != MARK
        before = kinds[first - 1]
        begins &= ~((head == SYLLABLE) & (first > 0) & ((before == SYLLABLE) | (before == MARK)))
        ends = kinds[last - 1] != VOWEL_BEFORE
    return Text(folded, places, first, last, begins, ends)


def _begins(kinds: npt.NDArray[np.uint8]) -> Flags:
    """Whether an atom, or a space, begins at each character."""
    found = np.ones(len(kinds), np.bool_)
    if not len(kinds):
        return found
    before, here = kinds[:-1], kinds[1:]
    # A mark belongs to what is before it, and a letter after it goes on with the word; after a space it is alone.
    goes_on = (here == MARK) & (before != SPACE) & (before != BREAK)
    goes_on |= (here == WORD) & ((before == WORD) | (before == MARK))
    goes_on |= (here == KATAKANA) & (before == KATAKANA)
    found[1:] = ~goes_on
    return found


def fold(name: str) -> str:
    """Return the key of a name."""
    return fold_all([name])[0]


def fold_all(names: Sequence[str]) -> list[str]:
    """Return the keys of names. White space at the edges goes."""
    if not names:
        return []
    joined = SEPARATOR.join(name.replace(SEPARATOR, " ") for name in names)
    points = cut(code_points(joined)).points
    return [key.strip(" ") for key in points.tobytes().decode("utf-32-le", "surrogatepass").split(SEPARATOR)]
