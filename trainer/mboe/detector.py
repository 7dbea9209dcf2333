"""What a document may speak of: names found in it, and every item that they may stand for. Nothing is disambiguated.

By default the longest name from each place on is taken, and the next is looked for after it, as NABoE does; or all
names, overlapping ones too.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.aliases.folding import code_points, cut
from wikianchor.aliases.name_table import Sums
from wikianchor.trainer.mboe.dictionary import Dictionary

# Of Unicode's stream-safe text (UAX 15), and some.
MARKS = 32


class Candidates(NamedTuple):
    """What names of a document may stand for, as columns; in the order of the text, the most common item first.

    Attributes:
        starts: where the name begins in the document, code points.
        ends: the place after it.
        qids: the item, 42 for Q42.
        probability: how likely the name is a link.
        commonness: how likely such a link leads to this item.
        links: how many links with this name do.
        counts: in how many places of the document this item is a candidate.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    qids: NDArray[np.int64]
    probability: NDArray[np.float32]
    commonness: NDArray[np.float32]
    links: NDArray[np.int64]
    counts: NDArray[np.int64]


class Bag(NamedTuple):
    """The items that a document may speak of, each once, ascending: the commonness of the likeliest of its names there,
    and in how many places it is a candidate."""

    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]
    counts: NDArray[np.int64]


def detect(text: str, dictionary: Dictionary, all_spans: bool = False) -> Candidates:
    """Return the candidates of a document; none is no error.

    Args:
        text: the document; it may hold anything, lone surrogates among it.
        dictionary: of its language.
        all_spans: take names inside and across others too.
    """
    composed, places = compose(text)
    pieces = cut(code_points(composed))
    found = dictionary.table.find(pieces, Sums(pieces.points))
    order = np.lexsort((-found.last, found.first))
    first, last, names = found.first[order], found.last[order], found.names[order]
    if not all_spans:
        taken = _longest(first, last)
        first, last, names = first[taken], last[taken], names[taken]
    counts = dictionary.starts[names + 1] - dictionary.starts[names]
    rows = np.repeat(dictionary.starts[names] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    starts, ends = pieces.offsets[pieces.first[first]], pieces.offsets[pieces.last[last]]
    if places is not None:
        starts, ends = places[starts], places[ends]
    qids = dictionary.qids[rows]
    _, inverse, often = np.unique(qids, return_inverse=True, return_counts=True)
    return Candidates(
        np.repeat(starts, counts),
        np.repeat(ends, counts),
        qids,
        np.repeat(dictionary.probability[names], counts),
        dictionary.commonness[rows],
        dictionary.links[rows],
        often[inverse],
    )


def _longest(first: NDArray[np.int64], last: NDArray[np.int64]) -> list[int]:
    """Return the rows to take, of names sorted by their first atom, the longest first."""
    taken, end = [], -1
    for row, (begin, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        if begin > end:
            taken.append(row)
            end = stop
    return taken


def bag_of(found: Candidates) -> Bag:
    """Return the items of a document, each once."""
    order = np.lexsort((-found.commonness, found.qids))
    qids = found.qids[order]
    heads = np.flatnonzero(np.append(True, qids[1:] != qids[:-1])[: len(qids)])
    return Bag(qids[heads], found.commonness[order][heads], found.counts[order][heads])


def compose(text: str) -> tuple[str, NDArray[np.int64] | None]:
    """Return a text as names are written, letters and their marks composed (NFC), and where each character of it stood,
    with one more for the end; None where nothing had to be done."""
    if unicodedata.is_normalized("NFC", text):
        return text, None
    pieces: list[str] = []
    places: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        # A piece ends where nothing can join it any more, or where it has more marks than any language writes: putting
        # marks in order takes the square of their number.
        if end == len(text) or end - start == MARKS or not _joins(text[end - 1], text[end]):
            piece = unicodedata.normalize("NFC", text[start:end])
            pieces.append(piece)
            places += [start] * len(piece)
            start = end
    return "".join(pieces), np.array([*places, len(text)], np.int64)


def _joins(before: str, after: str) -> bool:
    """Whether a character may become one with what is before it."""
    # The vowel and the end of a Korean syllable join one after the other.
    if unicodedata.combining(after) or "\u1160" <= after <= "\u11ff":
        return True
    return not unicodedata.is_normalized("NFC", before + after)
