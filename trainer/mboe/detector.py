"""Entity detection: names in a document, and for each name all its candidate items, without disambiguation.

By default matching is greedy and leftmost-longest, as in NABoE (https://arxiv.org/abs/1909.01259); with `all_spans` all
names are found, overlapping ones too.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wikianchor.aliases.folding import code_points, cut
from wikianchor.aliases.name_table import Sums
from wikianchor.trainer.mboe.config import Detection
from wikianchor.trainer.mboe.dictionary import Dictionary, open_dictionary, open_mentions

# Unicode's stream-safe text format (UAX 15) allows 30 marks in a row.
MAX_MARKS = 32


class EntityCandidates(NamedTuple):
    """Candidates of the names in a document, as columns; in the order of the text, the most common item first.

    Attributes:
        starts, ends: where the name is in the document, in code points; the end is exclusive.
        qids: the item, 42 for Q42.
        probability: probability that an occurrence of the name is a link.
        commonness: probability that a link with the name leads to the item.
        links: number of links with the name that lead to the item.
        counts: number of names in the document with this item among their candidates.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    qids: NDArray[np.int64]
    probability: NDArray[np.float32]
    commonness: NDArray[np.float32]
    links: NDArray[np.int64]
    counts: NDArray[np.int64]


class Bag(NamedTuple):
    """The candidate items of a document, each once, ascending.

    Attributes:
        qids: the items.
        commonness: the highest commonness of the item among its names.
        counts: number of names in the document with this item among their candidates.
    """

    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]
    counts: NDArray[np.int64]

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Bag:
        """Return the bag with some of its items."""
        return Bag(self.qids[rows], self.commonness[rows], self.counts[rows])


def make_detector(options: Detection) -> Callable[[str, str], EntityCandidates]:
    """Return the function that finds the candidates of a text in a language; it opens a dictionary with its first text.

    Raises:
        InputError: `--mentions` is no dataset of mentions.
    """
    mentions, thresholds = open_mentions(options.mentions), (options.link_probability, options.commonness)

    @functools.cache
    def dictionary(language: str) -> Dictionary:
        return open_dictionary(mentions, language, options.cache, *thresholds)

    return lambda text, language: detect(text, dictionary(language), options.all_spans)


def detect(text: str, dictionary: Dictionary, all_spans: bool = False) -> EntityCandidates:
    """Return the candidates of a document.

    Args:
        text: the document; any string, with lone surrogates too.
        dictionary: names of its language.
        all_spans: find names inside and across others too.
    """
    composed, offsets = compose(text)
    pieces = cut(code_points(composed), dictionary.chinese)
    matches = dictionary.table.find(pieces, Sums(pieces.points))
    order = np.lexsort((-matches.last, matches.first))
    if not all_spans:
        order = order[_leftmost_longest(matches.first[order], matches.last[order])]
    first, last, names = matches.first[order], matches.last[order], matches.names[order]
    counts = dictionary.starts[names + 1] - dictionary.starts[names]
    rows = np.repeat(dictionary.starts[names] - (np.cumsum(counts) - counts), counts) + np.arange(counts.sum())
    starts, ends = offsets[pieces.offsets[pieces.first[first]]], offsets[pieces.offsets[pieces.last[last]]]
    qids = dictionary.qids[rows]
    _, inverse, frequency = np.unique(qids, return_inverse=True, return_counts=True)
    return EntityCandidates(
        starts=np.repeat(starts, counts),
        ends=np.repeat(ends, counts),
        qids=qids,
        probability=np.repeat(dictionary.probability[names], counts),
        commonness=dictionary.commonness[rows],
        links=dictionary.links[rows],
        counts=frequency[inverse],
    )


def _leftmost_longest(first: NDArray[np.int64], last: NDArray[np.int64]) -> list[int]:
    """Return the rows of the leftmost-longest names; the names are sorted by `first`, the longest first."""
    chosen, end = [], -1
    for row, (begin, stop) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        if begin > end:
            chosen.append(row)
            end = stop
    return chosen


def bag_of(candidates: EntityCandidates) -> Bag:
    """Return the items of a document, each once."""
    order = np.lexsort((-candidates.commonness, candidates.qids))
    qids, rows = np.unique(candidates.qids[order], return_index=True)
    return Bag(qids, candidates.commonness[order][rows], candidates.counts[order][rows])


def compose(text: str) -> tuple[str, NDArray[np.int64]]:
    """Normalise a text to NFC, as names are.

    Returns:
        the text; and the offset of each of its characters in the original text, with the original length at the end.

    >>> composed, offsets = compose("e\\u0301tude")
    >>> composed, offsets.tolist()
    ('étude', [0, 2, 3, 4, 5, 6])
    """
    if unicodedata.is_normalized("NFC", text):
        return text, np.arange(len(text) + 1)
    pieces: list[str] = []
    offsets: list[int] = []
    start = 0
    for end in range(1, len(text) + 1):
        # Long runs of marks, which no language writes, are cut: NFC sorts marks in quadratic time.
        if end == len(text) or end - start == MAX_MARKS or not _composes(text[end - 1], text[end]):
            piece = unicodedata.normalize("NFC", text[start:end])
            pieces.append(piece)
            offsets += [start] * len(piece)
            start = end
    return "".join(pieces), np.array([*offsets, len(text)], np.int64)


def _composes(before: str, after: str) -> bool:
    """Whether NFC may change a character because of the one before it."""
    # The vowel and the final consonant of a Korean syllable compose one after the other.
    if unicodedata.combining(after) or "\u1160" <= after <= "\u11ff":
        return True
    return not unicodedata.is_normalized("NFC", before + after)
