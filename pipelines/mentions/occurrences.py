"""How often names stand in the text of a shard, linked or not, and on how many pages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wikianchor.aliases.folding import cut
from wikianchor.aliases.name_table import NameTable, Sums
from wikianchor.pipelines.mentions.anchors import portions
from wikianchor.pipelines.titles.title_index import Ints

# Counts of portions that are added up at a time, at least.
SUMMED_TOGETHER = 1 << 20


class Occurrences(NamedTuple):
    """Names by number, ascending: how often each occurs, and on how many pages."""

    names: Ints
    occurrences: Ints
    documents: Ints


def count_occurrences(shard: str, table: NameTable) -> Occurrences:
    """Count the names of a table in the text of a shard of sentences.

    A name occurs where it begins and ends with atoms of the text (`wikianchor.aliases.folding`), and wherever it is a
    link: so no name is a link more often than it occurs.
    """
    found: list[Occurrences] = []
    for portion in portions(shard):
        text = cut(portion.points)
        sums = Sums(text.points)
        names = table.find(text, sums)
        at = text.offsets[text.first[names.first]]
        pages = np.searchsorted(portion.page_starts, at, side="right") - 1
        # Links inside words are not found that way.
        first, last = text.folded_offsets(portion.first), text.folded_offsets(portion.last)
        inside = ~text.on_atoms(first, last)
        linked = table.numbers_of(sums.of(first[inside], last[inside]))
        there = linked >= 0
        number = np.concatenate([names.names, linked[there]]).astype(np.int64)
        page = np.concatenate([pages, portion.pages[inside][there]])
        found.append(_count(number, page))
        if sum(len(part.names) for part in found[1:]) > max(len(found[0].names), SUMMED_TOGETHER):
            found = [_sum(found)]
    return _sum(found)


def _count(numbers: Ints, pages: Ints) -> Occurrences:
    both = np.sort((numbers << 32) | pages)
    new_page = np.append(True, both[1:] != both[:-1])[: len(both)]
    names = both >> 32
    starts = np.flatnonzero(np.append(True, names[1:] != names[:-1])[: len(both)])
    if not len(starts):
        return Occurrences(starts, starts, starts)
    documents = np.add.reduceat(new_page.astype(np.int64), starts)
    return Occurrences(names[starts], np.diff(np.append(starts, len(both))), documents)


def _sum(found: list[Occurrences]) -> Occurrences:
    none = np.zeros(0, np.int64)
    names, *counts = (
        np.concatenate([none, *parts]) for parts in zip(Occurrences(none, none, none), *found, strict=True)
    )
    order = np.argsort(names, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(names[order]) != 0)[: len(names)])
    if not len(starts):
        return Occurrences(none, none, none)
    return Occurrences(names[order][starts], *(np.add.reduceat(column[order], starts) for column in counts))
