"""The words of texts as hashes, by which pages are searched for the names of entities.

A word is a run of letters and digits, or one character of a script without spaces. Letters of ASCII are folded to lower
case. Words are compared by their first letters, so that "Rotterdamers" names Rotterdam, and "Сполученим Штатам" names
Сполучені Штати. All bytes of a text are looked at together, because a search in folded text (`wikianchor.aliases`)
takes as long as all other steps of `pairs`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.splits import Ints

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
# Letters by which words are compared, and by which words next to each other are. More of them would miss names with
# another ending: "Індії" names Індія.
STEM, SHORT = 4, 3
_WINDOW = 8
_LOWEST, _HIGHEST = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_CHARACTER = np.uint64(0xFFFFFF)
_STEP, _NEXT = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)
# The first byte of characters that are words: of Han, Kana and Hangul; without spaces also of Thai, Khmer and others.
FIRST_SINGLE = {False: 0xE3, True: 0xE0}


class Words(NamedTuple):
    """The words of a text, in its order.

    Attributes:
        starts: offset of each, bytes.
        single: which are one character of a script without spaces.
        heads: the first eight bytes of each.
        wide: the index of those with other letters than ASCII.
        tails: the next eight bytes of these.
    """

    starts: Ints
    single: Flags
    heads: Hashes
    wide: Ints
    tails: Hashes

    def stems(self, letters: int = STEM) -> Hashes:
        """Return a hash of the first letters of each word."""
        hashes = self.heads & np.uint64((1 << 8 * letters) - 1)
        heads = self.heads[self.wide]
        ordinals = _ordinals(heads)
        hashes[self.wide] = _until(heads, ordinals, letters)
        # Letters of three bytes go on behind the eighth byte, the last one too.
        before = ordinals >> np.uint64(56)
        long = np.flatnonzero(before <= letters)
        tails = self.tails[long]
        hashes[self.wide[long]] += _until(tails, _ordinals(tails) + before[long] * _LOWEST, letters) * _NEXT
        hashes *= _STEP
        return hashes

    def with_next(self, stems: Hashes) -> Hashes:
        """Return a hash of each word and the next one, given the stems of each; one less than there are words."""
        return stems[:-1] * _NEXT + stems[1:]


class WordFinder:
    """Find the words of texts.

    Args:
        unspaced: whether the language is written without spaces.
    """

    def __init__(self, unspaced: bool) -> None:
        self._first_single = FIRST_SINGLE[unspaced]
        self._bytes = [np.zeros(0, np.uint8)] * 2
        self._flags = [np.zeros(0, np.bool_)] * 2

    def find(self, data: Bytes) -> Words:
        """Return the words of a text, given as UTF-8."""
        size = len(data)
        if size + 2 * _WINDOW > len(self._bytes[0]):
            # New arrays for each text would take as long as all that is computed.
            self._bytes = [np.empty(2 * size + 2 * _WINDOW, np.uint8) for _ in range(2)]
            self._flags = [np.empty(2 * size, np.bool_) for _ in range(2)]
        inside, singles = self._letters(data)
        folded = self._bytes[0]
        folded[size : size + 2 * _WINDOW] = 0
        windows: Hashes = np.ndarray((size + _WINDOW,), "<u8", folded, 0, (1,))
        _fold(data, inside, folded[:size])
        begins = self._flags[1][:size]
        begins[:1] = inside[:1]
        np.greater(inside[1:], inside[:-1], out=begins[1:])
        begins[singles] = True
        starts = np.flatnonzero(begins)
        heads = _until_zero(windows[starts])
        wide = np.flatnonzero(heads & _HIGHEST > 0)
        tails = _until_zero(windows[starts[wide] + _WINDOW])
        tails *= heads[wide] >> np.uint64(56) > 0
        single = np.zeros(len(starts), np.bool_)
        if len(singles):
            folded[:size] = data
            number = np.searchsorted(starts, singles)
            single[number] = True
            heads[number] = windows[singles] & _CHARACTER
        return Words(starts, single, heads, wide, tails)

    def _letters(self, data: Bytes) -> tuple[Flags, Ints]:
        """Return which bytes are in words of several characters, and the offsets of characters that are words."""
        shifted = self._bytes[1][: len(data)]
        inside, flags = (array[: len(data)] for array in self._flags)
        np.bitwise_or(data, 0x20, out=shifted)
        np.subtract(shifted, ord("a"), out=shifted)
        np.less(shifted, 26, out=inside)
        np.subtract(data, ord("0"), out=shifted)
        np.less(shifted, 10, out=flags)
        np.logical_or(inside, flags, out=inside)
        np.greater(data, 0x7F, out=flags)
        if not flags.any():
            return inside, np.zeros(0, np.int64)
        np.logical_or(inside, flags, out=inside)
        # Nearly all characters that begin with C2 or E2 are punctuation and signs.
        signs = np.flatnonzero(data & 0xDF == 0xC2)
        _clear(inside, signs, 2)
        _clear(inside, signs[data[signs] == 0xE2], 3)
        # Of those with D8, the Arabic comma, semicolon and question mark.
        arabic = np.flatnonzero(data[:-1] == 0xD8)
        if len(arabic):
            _clear(inside, arabic[np.isin(data[arabic + 1], (0x8C, 0x9B, 0x9F))], 2)
        singles = np.flatnonzero(data >= self._first_single)
        singles = singles[data[singles] != 0xE2]
        _clear(inside, singles, 3)
        return inside, singles


def _clear(flags: Flags, starts: Ints, length: int) -> None:
    """Set as many flags from each start on to False."""
    for offset in range(length):
        flags[np.minimum(starts + offset, len(flags) - 1)] = False


def _fold(data: Bytes, inside: Flags, folded: Bytes) -> None:
    """Write the bytes of words with the letters of ASCII in lower case, and 0 for all other bytes."""
    np.invert(data, out=folded)
    np.right_shift(folded, 2, out=folded)
    np.bitwise_and(folded, 0x20, out=folded)
    np.bitwise_or(folded, data, out=folded)
    np.multiply(folded, inside.view(np.uint8), out=folded)


def _until_zero(windows: Hashes) -> Hashes:
    """Return eight bytes each without those from the first 0 on."""
    zeros = windows - _LOWEST
    zeros &= ~windows
    zeros &= _HIGHEST
    below = zeros & (~zeros + np.uint64(1))
    below -= np.uint64(1)
    below &= windows
    return below


def _ordinals(windows: Hashes) -> Hashes:
    """Return for each byte of eight the number of letters that begin up to it, in bytes."""
    return (~(windows & ~(windows << np.uint64(1))) >> np.uint64(7) & _LOWEST) * _LOWEST


def _until(windows: Hashes, ordinals: Hashes, letters: int) -> Hashes:
    """Return eight bytes each without those of letters after the first `letters`."""
    beyond = ordinals + _LOWEST * np.uint64(0x7F - letters)
    beyond &= _HIGHEST
    beyond >>= np.uint64(7)
    beyond *= np.uint64(0xFF)
    return windows & ~beyond
