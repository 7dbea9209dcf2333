"""Which entities a page names: no pair of the page has one as a hard negative (`--named_negatives` keeps them).

The names of an entity are the titles and redirects of its page, its labels, and what `mentions` has. A page names it if
the words of a name are one after the other in its sentences or fragments, as they are or with another ending: up to two
letters less, but not the first four, and up to three more if the word has three letters. For each page there are
bitmaps of the first letters of its words and of its pairs of words; of a name the first and the last pair are looked
up. So no name is missed, and a few per cent of other entities are taken for named, which are drawn again too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.pairs.page_fragments import PageFragments
from wikianchor.pipelines.pairs.words import SHORT, Bytes, Flags, WordFinder, Words
from wikianchor.pipelines.titles.title_index import Ints

# Bits of the bitmap of a page for each of its words, at least. Half of them take less time, and find twice as many
# entities that are not named.
BITS_PER_WORD = 16
_FEWEST_BITS = 64
_SEVEN_BYTES = np.uint64(1 << 48)
# Bytes of text whose words are found at a time: more do not fit into the cache of a core, fewer take more calls.
AT_ONCE = 1 << 18


def name_keys(names: Sequence[str], finder: WordFinder) -> tuple[Hashes, Flags]:
    """Return the keys of names, (names, 2), and which have any: one character of a script without spaces has none.

    A page that contains a name has both keys.
    """
    encoded = [name.encode("utf-8", "replace") for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded)) + 1
    words = finder.find(np.frombuffer(b"\0".join([*encoded, b"\0"]), np.uint8))
    # The number of the first word of each name.
    first = np.searchsorted(words.starts, np.cumsum(lengths) - lengths)
    counts = np.diff(np.append(first, len(words.starts)))
    keys = np.zeros((len(names), 2), np.uint64)
    alone, pairs = words.stems(), words.with_next(words.stems(SHORT))
    usable = np.flatnonzero(counts)
    keys[usable] = alone[first[usable], None]
    several = np.flatnonzero(counts > 1)
    keys[several, 1] = pairs[first[several] + counts[several] - 2]
    several = several[(counts[several] > 2) | words.single[first[several]]]
    keys[several, 0] = pairs[first[several]]
    single = counts == 1
    single[single] = words.single[first[single]]
    return keys, (counts > 0) & ~single


class EntityNames(NamedTuple):
    """The names of all entities in a wiki.

    Attributes:
        starts: by dense id, the index of its first name; and the number of names.
        keys: the keys of names, (names, 2).
    """

    starts: Ints
    keys: Hashes


class NameSearch:
    """Searches pages for the names of entities.

    Args:
        names: the names.
        finder: finds words.
        fragments: the fragments of the pages; None to search their sentences alone.
    """

    def __init__(self, names: EntityNames, finder: WordFinder, fragments: PageFragments | None = None) -> None:
        self._names, self._finder, self._fragments = names, finder, fragments
        self._marks = np.zeros(0, np.uint8)

    def open(self, texts: pa.StringArray, pages: Ints) -> NamedOnPages:
        """Return what some pages name.

        Args:
            texts: sentences, those of a page one after the other.
            pages: the page id of each.
        """
        named = self._open(texts, pages)
        texts, pages = self._fragments.of_pages(pages) if self._fragments else (texts, pages[:0])
        return named._replace(fragments=self._open(texts, pages)) if len(pages) else named

    def _open(self, texts: pa.StringArray, pages: Ints) -> NamedOnPages:
        heads = np.flatnonzero(changes(pages))
        bitmaps, shifts, sizes = zip(*self._bitmaps(texts, heads), strict=True)
        order = np.argsort(pages[heads], kind="stable")
        bits = np.concatenate(sizes)
        return NamedOnPages(
            names=self._names,
            bits=np.concatenate(bitmaps),
            pages=pages[heads][order],
            shifts=np.concatenate(shifts)[order],
            offsets=(np.cumsum(bits) - bits)[order].astype(np.uint64),
        )

    def _bitmaps(self, texts: pa.StringArray, heads: Ints) -> Iterator[tuple[Bytes, Hashes, Ints]]:
        """Yield the bitmaps of pages, those of several at a time, with the shifts and numbers of bits of each.

        Args:
            texts: sentences.
            heads: the first sentence of each page.
        """
        offsets = np.frombuffer(texts.buffers()[1], np.int32)[texts.offset : texts.offset + len(texts) + 1]
        starts = offsets.astype(np.int64)
        data = np.frombuffer(texts.buffers()[2] or b"\0", np.uint8)
        cuts = np.flatnonzero(changes((starts[heads] - starts[0]) // AT_ONCE))
        for first, last in pairwise([*cuts.tolist(), len(heads)]):
            begin, end = heads[first], heads[last] if last < len(heads) else len(texts)
            separated, firsts = _separated(data[starts[begin] : starts[end]], starts[begin:end] - starts[begin])
            yield self._bitmap(self._finder.find(separated), firsts[heads[first:last] - begin])

    def _bitmap(self, words: Words, pages: Ints) -> tuple[Bytes, Hashes, Ints]:
        """Return the bitmaps of pages, given the words of all of them and the offset of each; see `_bitmaps`."""
        first = np.append(np.searchsorted(words.starts, pages), len(words.starts))
        bits = np.maximum(np.diff(first) * BITS_PER_WORD, _FEWEST_BITS)
        exponents = np.ceil(np.log2(bits)).astype(np.int64)
        sizes = 1 << exponents
        total = int(sizes.sum())
        if total >= len(self._marks):
            self._marks = np.empty(2 * total, np.uint8)
        # The last mark is that of no page.
        marks = self._marks[: total + 1]
        marks.fill(0)
        shifts = (64 - exponents).astype(np.uint64)
        counts = np.diff(first)
        of_word = np.repeat(shifts, counts)
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
        return np.packbits(marks[:total], bitorder="little"), shifts, sizes


def _separated(data: Bytes, starts: Ints) -> tuple[Bytes, Ints]:
    """Return text with a separator before each sentence that begins right behind a letter, and the starts of sentences
    there."""
    begins = starts[1:]
    before = data[np.maximum(begins - 1, 0)] if len(data) else np.zeros(len(begins), np.uint8)
    glued = (before > 0x7F) & (data[np.maximum(begins - 3, 0)] != 0xE2) if (before > 0x7F).any() else before > 0x7F
    glued |= ((before | 0x20) - ord("a") < 26) | (before - ord("0") < 10)
    if not glued.any():
        return data, starts
    inserted = np.append(0, np.cumsum(glued))
    return np.insert(data, starts[1:][glued], 0), starts + inserted


class NamedOnPages(NamedTuple):
    """What pages name.

    Attributes:
        names: the names of the entities.
        bits: the bitmaps of all pages.
        pages: page ids, ascending.
        shifts: by page, the shift that makes a key the number of a bit.
        offsets: by page, its first bit.
        fragments: what their fragments name; None where there are none.
    """

    names: EntityNames
    bits: Bytes
    pages: Ints
    shifts: Hashes
    offsets: Hashes
    fragments: NamedOnPages | None = None

    def contains(self, pages: Ints, entities: Ints) -> Flags:
        """Return for each (page, entity) whether the page names the entity."""
        first = self.names.starts[entities]
        index = np.minimum(np.searchsorted(self.pages, pages), len(self.pages) - 1)
        counts = (self.names.starts[entities + 1] - first) * (self.pages[index] == pages)
        row = np.repeat(np.arange(len(pages)), counts)
        name = np.arange(len(row)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        page = index[row]
        for key in (0, 1):
            bit = (self.names.keys[name, key] >> self.shifts[page]) + self.offsets[page]
            is_set = self.bits[(bit >> np.uint64(3)).view(np.int64)] >> (bit & np.uint64(7)).astype(np.uint8) & 1 > 0
            row, name, page = row[is_set], name[is_set], page[is_set]
        named = np.zeros(len(pages), np.bool_)
        named[row] = True
        if self.fragments:
            named |= self.fragments.contains(pages, entities)
        return named
