"""Count how often names occur in text, linked or not, and on how many pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from wikianchor.aliases.folding import cut
from wikianchor.aliases.name_table import NameTable, Sums
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.mentions.anchors import portions
from wikianchor.pipelines.titles.title_index import Ints

# Counts of portions are added up when there are this many, which bounds memory.
SUMMED_TOGETHER = 1 << 20


class Occurrences(NamedTuple):
    """Names by number, ascending, with their numbers of occurrences and of pages."""

    names: Ints
    occurrences: Ints
    documents: Ints


def count_occurrences(shards: Sequence[str], table: NameTable, regions: Collection[str], chinese: bool) -> Occurrences:
    """Count the names of a table in the text of some regions of a group of shards (`page_rows.shards_of_pages`).

    A name occurs where it starts and ends at the bounds of atoms (`wikianchor.aliases.folding`), and wherever it is a
    link. So no name is a link more often than it occurs.
    """
    none = np.zeros(0, np.int64)
    parts = [Occurrences(none, none, none)]
    for portion in portions(shards, regions):
        text = cut(portion.points, chinese)
        sums = Sums(text.points)
        names = table.find(text, sums)
        points = text.offsets[text.first[names.first]]
        pages = np.searchsorted(portion.page_starts, points, side="right") - 1
        # Links inside words are not at the bounds of atoms.
        first, last = text.folded_offsets(portion.first), text.folded_offsets(portion.last)
        inside = ~text.on_atoms(first, last)
        linked = table.numbers_of(sums.of(first[inside], last[inside]))
        known = linked >= 0
        number = np.concatenate([names.names, linked[known]]).astype(np.int64)
        page = np.concatenate([pages, portion.pages[inside][known]])
        parts.append(_count(number, page))
        if sum(len(part.names) for part in parts[1:]) > max(len(parts[0].names), SUMMED_TOGETHER):
            parts = [_sum(parts)]
    return _sum(parts)


def _count(numbers: Ints, pages: Ints) -> Occurrences:
    """Count occurrences, given as number of the name and number of the page."""
    pairs = np.sort((numbers << 32) | pages)
    names = pairs >> 32
    starts = np.flatnonzero(changes(names))
    documents = np.add.reduceat(changes(pairs).astype(np.int64), starts)
    return Occurrences(names[starts], np.diff(np.append(starts, len(pairs))), documents)


def _sum(parts: Sequence[Occurrences]) -> Occurrences:
    """Add up the counts of portions."""
    names, *counts = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(names, kind="stable")
    starts = np.flatnonzero(changes(names[order]))
    return Occurrences(names[order][starts], *(np.add.reduceat(column[order], starts) for column in counts))
