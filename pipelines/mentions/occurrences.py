"""Count how often names occur in text, linked or not, and on how many pages."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from wikianchor.aliases.folding import cut
from wikianchor.aliases.name_table import NameTable, Sums
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.mentions.anchors import portions
from wikianchor.pipelines.titles.title_index import Ints

OCCURRENCES = pa.schema([(name, pa.int64()) for name in ("name", "occurrences", "documents")])
# Counts of portions are added up when there are this many, which bounds memory.
SUMMED_TOGETHER = 1 << 20


def count_occurrences(shards: Sequence[str], table: NameTable, regions: Collection[str], chinese: bool) -> pa.Table:
    """Count the names of a table in the text of some regions of a group of shards (`page_rows.shards_of_pages`).

    A name occurs where it starts and ends at the bounds of atoms (`wikianchor.aliases.folding`), and wherever it is a
    link. So no name is a link more often than it occurs.

    Returns:
        The numbers of the names, ascending, with their numbers of occurrences and of pages, as of OCCURRENCES.
    """
    total, parts = OCCURRENCES.empty_table(), list[pa.Table]()
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
        parts.append(_count(number, np.concatenate([pages, portion.pages[inside][known]])))
        if sum(part.num_rows for part in parts) > max(total.num_rows, SUMMED_TOGETHER):
            total, parts = _sum([total, *parts]), []
    return _sum([total, *parts])


def _count(numbers: Ints, pages: Ints) -> pa.Table:
    """Count occurrences, given as number of the name and number of the page."""
    pairs = np.sort((numbers << 32) | pages)
    names = pairs >> 32
    starts = np.flatnonzero(changes(names))
    documents = np.add.reduceat(changes(pairs).astype(np.int64), starts)
    return pa.table([names[starts], np.diff(np.append(starts, len(pairs))), documents], schema=OCCURRENCES)


def _sum(parts: Sequence[pa.Table]) -> pa.Table:
    """Add up the counts of each name."""
    names = pa.concat_tables(parts).group_by("name", use_threads=False)
    sums = names.aggregate([("occurrences", "sum"), ("documents", "sum")])
    return sums.rename_columns(OCCURRENCES.names).sort_by("name")
