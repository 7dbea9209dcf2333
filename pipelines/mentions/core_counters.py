"""Count names with the compiled core, where it is installed (`core/engine/src/names.rs`).

The rows are those of `anchors.count_anchors` and `occurrences.count_occurrences`, in a fraction of the time.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.aliases.folding import QUOTES, fold_of, kind_of, simplified
from wikianchor.aliases.name_table import NameTable
from wikianchor.pipelines.arrays.strings import string_buffers
from wikianchor.pipelines.arrays.tables import changes, local_path, open_tables
from wikianchor.pipelines.mentions import anchors, occurrences
from wikianchor.pipelines.mentions.anchors import ANCHOR, REASON, ROWS, TABLE, AnchorCounts, LinkReasons, Targets
from wikianchor.pipelines.mentions.occurrences import OCCURRENCES
from wikianchor.pipelines.mentions.page_rows import rows_in_order
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.pipelines.wikimedia.core_record import core_with

# Bits of a description above the folding and its kind.
_KIND, _GAP, _QUOTE, _LETTER = 21, 29, 30, 31
# By what the core says of a link, the reason for which it does not count; "kept" for those of texts that are not read.
_EXCLUDED = np.array([REASON[name] for name in ("kept", "too_long", "gap", "number", "kept")])
_NOT_READ = 4


@cache
def characters(chinese: bool) -> Any:
    """Return the characters that the counters of this process share. Each has a folding, the kind of that, and
    properties. The core must be there.

    Args:
        chinese: whether traditional characters are folded to simplified ones.
    """

    def description(point: int) -> int:
        character = chr(point)
        folded = fold_of(int(simplified(np.array([point]))[0]) if chinese else point)
        properties = (character == MISSING) << _GAP | (character in QUOTES) << _QUOTE
        return properties | (unicodedata.category(character)[0] == "L") << _LETTER | kind_of(folded) << _KIND | folded

    core: Any = core_with("NameCharacters")
    return core.NameCharacters(description)


def columns_of(rows: pa.RecordBatch, order: Ints) -> tuple[bytes, ...]:
    """Return the columns of rows of pages, as of `rows_in_order`, as the core takes them."""
    links = rows.column("links")
    ends, flat = links.offsets.to_numpy(), links.flatten()
    of_links = [ends - ends[0], *(flat.field(name).to_numpy() for name in ("start", "end"))]
    heads = changes(rows.column("page_id").to_numpy()[order])
    numbers = (column.tobytes() for column in (order.astype(np.int32), heads, *of_links))
    return (*string_buffers(rows.column("text")), *numbers)


def count_occurrences(shards: Sequence[str], path: str, regions: Collection[str], chinese: bool) -> pa.Table:
    """Count the names of a table in the text of a group of shards, as `occurrences.count_occurrences` does.

    Args:
        shards, regions, chinese: as there.
        path: that of the arrays of the table.
    """
    if not (core := core_with("NameCharacters")):
        return occurrences.count_occurrences(shards, NameTable(open_tables(path)), regions, chinese)
    counter = core.NameCounter(local_path(path), characters(chinese))
    for rows, order in rows_in_order(shards, regions):
        counter.add(columns_of(rows, order))
    return pa.table([np.frombuffer(column, np.int64) for column in counter.take()], schema=OCCURRENCES)


def count_anchors(
    shards: Sequence[str], targets: Targets, max_length: int, regions: Collection[str], chinese: bool
) -> AnchorCounts:
    """Count links by anchor text and item, as `anchors.count_anchors` does, with the same arguments."""
    if not (core := core_with("NameCharacters")):
        return anchors.count_anchors(shards, targets, max_length, regions, chinese)
    of_links = LinkReasons(shards, targets)
    counter = core.LinkCounter(characters(chinese), max_length)
    for rows, order in rows_in_order(shards, regions, of_links.first_links):
        links = rows.column("links")
        of_rows = rows.column("region").to_numpy().repeat(np.diff(links.offsets.to_numpy()))
        items, reasons = of_links.at(links.flatten().field("number").to_numpy())
        needs_letter = (of_rows == TABLE) & (reasons == REASON["kept"])
        excluded = np.frombuffer(
            counter.add(columns_of(rows, order), items.tobytes(), needs_letter.tobytes()), np.uint8
        )
        is_read = excluded != _NOT_READ
        of_links.count(of_rows[is_read], np.where(excluded, _EXCLUDED[excluded], reasons)[is_read])
    keys, surfaces, numbers = counter.take()
    counts = [np.frombuffer(column, np.int64) for column in numbers]
    origins = np.full(len(counts[0]), ANCHOR, np.uint8)
    return of_links.counts(pa.table([_strings(*keys), _strings(*surfaces), *counts, origins], schema=ROWS))


def title_names(shard: str, targets: Targets, max_length: int, chinese: bool) -> pa.Table:
    """Return the names that titles and redirects give to items, as `anchors.title_names` does, with the same
    arguments."""
    if not core_with("NameCharacters"):
        return anchors.title_names(shard, targets, max_length, chinese)
    names, items, origins = anchors.read_title_names(shard, targets, max_length)
    keys, surfaces, order = characters(chinese).sorted_names(string_buffers(names), items.tobytes())
    rows = np.frombuffer(order, np.int64)
    none = np.zeros(len(rows), np.int64)
    columns = [_strings(*keys), _strings(*surfaces), items[rows], none, none, none, origins[rows]]
    return pa.table(columns, schema=ROWS)


def _strings(ends: bytes, data: bytes) -> pa.StringArray:
    return pa.StringArray.from_buffers(len(ends) // 4 - 1, pa.py_buffer(ends), pa.py_buffer(data))
