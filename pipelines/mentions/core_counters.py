"""Count names with the compiled core, where it is installed (`core/engine/src/names.rs`).

The rows are those of `anchors.count_anchors` and `occurrences.count_occurrences`, in a fraction of the time.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import QUOTES, fold_of, kind_of, simplified
from wikianchor.aliases.name_table import NameTable
from wikianchor.pipelines.arrays.strings import string_buffers
from wikianchor.pipelines.arrays.tables import changes, local_path, open_tables
from wikianchor.pipelines.mentions import anchors, occurrences
from wikianchor.pipelines.mentions.anchors import ANCHOR, REASON, ROWS, TABLE, AnchorCounts, LinkReasons, Targets
from wikianchor.pipelines.mentions.occurrences import OCCURRENCES
from wikianchor.pipelines.mentions.page_rows import rows_by_page
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.core_record import core_problem

try:
    import wikianchor_core as core
except ImportError:
    core = None

# Bits of a description above the folding and its kind.
_KIND, _GAP, _QUOTE, _LETTER = 21, 29, 30, 31
# By what the core says of a link, the reason for which it does not count.
_EXCLUDED = np.array([REASON[name] for name in ("kept", "too_long", "gap", "number")])


def has_core() -> bool:
    """Return whether the core counts names."""
    return hasattr(core, "OccurrenceCounter") and not core_problem(core)


@cache
def describe(chinese: bool) -> Callable[[int], int]:
    """Return what describes a code point to the core: its folding, the kind of that, and properties.

    Args:
        chinese: whether traditional characters are folded to simplified ones.
    """

    @cache
    def description(point: int) -> int:
        character = chr(point)
        folded = fold_of(int(simplified(np.array([point]))[0]) if chinese else point)
        properties = (character == MISSING) << _GAP | (character in QUOTES) << _QUOTE
        return properties | (unicodedata.category(character)[0] == "L") << _LETTER | kind_of(folded) << _KIND | folded

    return description


def columns_of(rows: pa.RecordBatch) -> tuple[bytes, ...]:
    """Return the columns of rows as the core takes them, as of `page_rows.ROWS`."""
    texts, links = rows.column("text"), rows.column("links")
    ends, flat = links.offsets.to_numpy(), links.flatten()
    of_links = (flat.field(name).to_numpy().tobytes() for name in ("start", "end"))
    heads = changes(rows.column("page_id").to_numpy())
    return (*string_buffers(texts), heads.tobytes(), (ends - ends[0]).tobytes(), *of_links)


def count_occurrences(shards: Sequence[str], path: str, regions: Collection[str], chinese: bool) -> pa.Table:
    """Count the names of a table in the text of a group of shards, as `occurrences.count_occurrences` does.

    Args:
        shards, regions, chinese: as there.
        path: that of the arrays of the table.
    """
    if not has_core():
        return occurrences.count_occurrences(shards, NameTable(open_tables(path)), regions, chinese)
    counter = core.OccurrenceCounter(local_path(path), describe(chinese))
    for rows in rows_by_page(shards, regions):
        counter.add(columns_of(rows))
    return pa.table([np.frombuffer(column, np.int64) for column in counter.take()], schema=OCCURRENCES)


def count_anchors(
    shards: Sequence[str], targets: Targets, max_length: int, regions: Collection[str], chinese: bool
) -> AnchorCounts:
    """Count links by anchor text and item, as `anchors.count_anchors` does, with the same arguments."""
    if not has_core():
        return anchors.count_anchors(shards, targets, max_length, regions, chinese)
    of_links = LinkReasons(shards, targets)
    counter = core.AnchorCounter(describe(chinese), max_length)
    for rows in rows_by_page(shards, regions, of_links.first_links, linked=True):
        links = rows.column("links")
        of_rows = rows.column("region").to_numpy()[pc.list_parent_indices(links).to_numpy()]
        items, reasons = of_links.at(links.flatten().field("number").to_numpy())
        needs_letter = (of_rows == TABLE) & (reasons == REASON["kept"])
        excluded = np.frombuffer(counter.add(columns_of(rows), items.tobytes(), needs_letter.tobytes()), np.uint8)
        of_links.count(of_rows, np.where(excluded, _EXCLUDED[excluded], reasons))
    keys, surfaces, numbers = counter.take()
    strings = [
        pa.StringArray.from_buffers(len(ends) // 4 - 1, *map(pa.py_buffer, (ends, data)))
        for ends, data in (keys, surfaces)
    ]
    counts = [np.frombuffer(column, np.int64) for column in numbers]
    return of_links.counts(pa.table([*strings, *counts, np.full(len(counts[0]), ANCHOR, np.uint8)], schema=ROWS))
