"""Bitmaps of the words of pages, in which the names of entities are looked up (`named_entities`).

The core makes them where it is installed (`core/engine/src/words.rs`), in a fraction of the time, and else NumPy: the
same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from types import ModuleType

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.splits import Ints
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.pairs.words import FIRST_SINGLE, SHORT, Bytes, WordFinder, Words
from wikianchor.pipelines.wikimedia.core_record import core_with

# Bits of the bitmap of a page for each of its words, at least. Half of them take less time, and find twice as many
# entities that are not named.
BITS_PER_WORD = 16
_FEWEST_BITS = 64
_SEVEN_BYTES = np.uint64(1 << 48)
# Bytes of text whose words are found at a time: more do not fit into the cache of a core, fewer take more calls.
AT_ONCE = 1 << 18
# Of texts, the first one of each page, and the first one behind it: the bitmaps of the pages, one after the other, and
# the binary logarithm of the number of bits of each.
PageBitmaps = Callable[[pa.StringArray, Ints, Ints], tuple[Bytes, Bytes]]


def page_bitmaps(unspaced: bool) -> PageBitmaps:
    """Return what makes bitmaps of pages.

    Args:
        unspaced: whether the language is written without spaces.
    """
    core = core_with("page_bitmaps")
    return core_bitmaps(core, unspaced) if core else NumpyBitmaps(unspaced)


def core_bitmaps(core: ModuleType, unspaced: bool) -> PageBitmaps:
    """Return what makes bitmaps of pages with the core."""

    def bitmaps(texts: pa.StringArray, firsts: Ints, lasts: Ints) -> tuple[Bytes, Bytes]:
        offsets, data = _buffers(texts)
        text, numbers = data[offsets[0] : offsets[-1]], (array.astype("<i8").tobytes() for array in (firsts, lasts))
        made = core.page_bitmaps(
            text.tobytes(), offsets.astype("<i4").tobytes(), *numbers, FIRST_SINGLE[unspaced], BITS_PER_WORD
        )
        return np.frombuffer(made[0], np.uint8), np.frombuffer(made[1], np.uint8)

    return bitmaps


class NumpyBitmaps:
    """Makes bitmaps of pages with NumPy.

    Args:
        unspaced: whether the language is written without spaces.
    """

    def __init__(self, unspaced: bool) -> None:
        self._finder = WordFinder(unspaced)

    def __call__(self, texts: pa.StringArray, firsts: Ints, lasts: Ints) -> tuple[Bytes, Bytes]:
        inside = np.zeros(len(texts) + 1, np.int8)
        inside[firsts] += 1
        inside[lasts] -= 1
        texts = texts.filter(pa.array(np.cumsum(inside[:-1]) > 0))
        counts = lasts - firsts
        bits, exponents = zip(*self._of_portions(texts, np.cumsum(counts) - counts), strict=True)
        return np.concatenate(bits), np.concatenate(exponents)

    def _of_portions(self, texts: pa.StringArray, heads: Ints) -> Iterator[tuple[Bytes, Bytes]]:
        """Yield the bitmaps of pages, those of several at a time.

        Args:
            texts: sentences.
            heads: the first sentence of each page.
        """
        starts, data = _buffers(texts)
        cuts = np.flatnonzero(changes((starts[heads] - starts[0]) // AT_ONCE))
        for first, last in pairwise([*cuts.tolist(), len(heads)]):
            begin, end = heads[first], heads[last] if last < len(heads) else len(texts)
            before = starts[begin:end] - starts[begin]
            words = self._finder.find(np.insert(data[starts[begin] : starts[end]], before, 0))
            yield self._of_words(words, before[heads[first:last] - begin] + heads[first:last] - begin)

    def _of_words(self, words: Words, pages: Ints) -> tuple[Bytes, Bytes]:
        """Return the bitmaps of pages, given the words of all of them and the offset of each."""
        first = np.append(np.searchsorted(words.starts, pages), len(words.starts))
        bits = np.maximum(np.diff(first) * BITS_PER_WORD, _FEWEST_BITS)
        exponents = np.ceil(np.log2(bits)).astype(np.uint8)
        sizes = np.int64(1) << exponents
        total = int(sizes.sum())
        # The last mark is that of no page.
        marks = np.zeros(total + 1, np.uint8)
        counts = np.diff(first)
        of_word = np.repeat((64 - exponents).astype(np.uint64), counts)
        offsets = np.repeat((np.cumsum(sizes) - sizes).astype(np.uint64), counts)
        stems, short = words.stems(), words.stems(SHORT)
        pairs = words.with_next(short)
        for alone in (stems, short):
            alone >>= of_word
            alone += offsets
        # A name of three letters may have up to three more.
        longer = words.heads >= _SEVEN_BYTES
        longer[words.wide] = False
        np.putmask(short, longer, total)
        if words.single.any():
            stems[words.single] = short[words.single] = total
        marks[stems.view(np.int64)] = 1
        marks[short.view(np.int64)] = 1
        pairs >>= of_word[:-1]
        pairs += offsets[:-1]
        # The last word of a page has no next one.
        last = first[1:-1] - 1
        pairs[last[(last >= 0) & (last < len(pairs))]] = total
        marks[pairs.view(np.int64)] = 1
        return np.packbits(marks[:total], bitorder="little"), exponents


def _buffers(texts: pa.StringArray) -> tuple[Ints, Bytes]:
    """Return the offsets of texts with the end of the last one, and the bytes in which they are."""
    offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return offsets.astype(np.int64), np.frombuffer(texts.buffers()[2] or b"\0", np.uint8)
