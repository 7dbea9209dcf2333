"""Which entities a page names: no pair of the page has one as a hard negative (`--named_negatives` keeps them).

The names of an entity are the titles and redirects of its page, its labels, and what `mentions` has. A page names it if
the words of a name are one after the other in its sentences or fragments, as they are or with another ending: up to two
letters less, but not the first four, and up to three more if the word has three letters. For each page there are
bitmaps of the first letters of its words and of its pairs of words (`page_bitmaps`); of a name the first and the last
pair are looked up. So no name is missed, and a few per cent of other entities are taken for named, which are drawn
again too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.tables import changes, find
from wikianchor.pipelines.pairs.page_bitmaps import PageBitmaps
from wikianchor.pipelines.pairs.page_fragments import PageFragments
from wikianchor.pipelines.pairs.words import SHORT, Bytes, Flags, WordFinder
from wikianchor.pipelines.titles.title_index import Ints


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


# The shift of a bitmap of 64 bits.
_FEWEST = np.uint64(58)


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
        bitmaps: makes bitmaps of pages.
        fragments: the fragments of the pages; None to search their sentences alone.
    """

    def __init__(self, names: EntityNames, bitmaps: PageBitmaps, fragments: PageFragments | None = None) -> None:
        self._names, self._bitmaps, self._fragments = names, bitmaps, fragments

    def open(self, texts: pa.StringArray, pages: Ints, rows: Ints) -> NamedOnPages:
        """Return what some pages name.

        Args:
            texts: sentences, those of a page one after the other.
            pages: the page id of each.
            rows: sentences of the pages that are searched, one or more.
        """
        searched, in_sentences = self._bitmaps_of(texts, pages, rows)
        bitmaps = [in_sentences]
        if self._fragments:
            texts, pages = self._fragments.near(searched)
            rows = np.flatnonzero(find(searched, pages) >= 0)
            if len(rows):
                with_any, in_fragments = self._bitmaps_of(texts, pages, rows)
                bitmaps.append(in_fragments.at(find(with_any, searched)))
        return NamedOnPages(self._names, searched, tuple(bitmaps))

    def _bitmaps_of(self, texts: pa.StringArray, pages: Ints, rows: Ints) -> tuple[Ints, Bitmaps]:
        """Return the pages of some rows, ascending, and their bitmaps."""
        heads = np.flatnonzero(changes(pages))
        wanted = np.zeros(len(heads), np.bool_)
        wanted[np.searchsorted(heads, rows, side="right") - 1] = True
        firsts = heads[wanted]
        bits, exponents = self._bitmaps(texts, firsts, np.append(heads[1:], len(pages))[wanted])
        order = np.argsort(pages[firsts], kind="stable")
        sizes = np.uint64(1) << exponents.astype(np.uint64)
        shifts = np.uint64(64) - exponents.astype(np.uint64)[order]
        return pages[firsts][order], Bitmaps(bits, shifts, (np.cumsum(sizes) - sizes)[order])


class Bitmaps(NamedTuple):
    """The bitmaps of pages.

    Attributes:
        bits: those of all pages.
        shifts: by page, the shift that makes a key the number of a bit.
        offsets: by page, its first bit.
    """

    bits: Bytes
    shifts: Hashes
    offsets: Hashes

    def at(self, pages: Ints) -> Bitmaps:
        """Return the bitmaps of pages, an empty one for -1."""
        shifts, offsets = np.append(self.shifts, _FEWEST), np.append(self.offsets, np.uint64(len(self.bits) * 8))
        return Bitmaps(np.append(self.bits, np.zeros(8, np.uint8)), shifts[pages], offsets[pages])

    def contain(self, keys: Hashes, pages: Ints) -> Flags:
        """Return which keys are in the bitmaps of pages."""
        bit = (keys >> self.shifts[pages]) + self.offsets[pages]
        flags: Flags = self.bits[(bit >> np.uint64(3)).view(np.int64)] >> (bit & np.uint64(7)).astype(np.uint8) & 1 > 0
        return flags


class NamedOnPages(NamedTuple):
    """What pages name.

    Attributes:
        names: the names of the entities.
        pages: page ids, ascending.
        bitmaps: of the sentences of the pages, and of their fragments if there are any.
    """

    names: EntityNames
    pages: Ints
    bitmaps: tuple[Bitmaps, ...]

    def contains(self, pages: Ints, entities: Ints) -> Flags:
        """Return for each (page, entity) whether the page, which is one of `pages`, names the entity."""
        starts, keys = self.names
        first = starts[entities]
        counts = starts[entities + 1] - first
        row = np.repeat(np.arange(len(pages)), counts)
        name = np.arange(len(row)) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        page = np.searchsorted(self.pages, pages)[row]
        first_keys = keys[name, 0]
        named = np.zeros(len(pages), np.bool_)
        for bitmaps in self.bitmaps:
            begun = np.flatnonzero(bitmaps.contain(first_keys, page))
            named[row[begun[bitmaps.contain(keys[name[begun], 1], page[begun])]]] = True
        return named
