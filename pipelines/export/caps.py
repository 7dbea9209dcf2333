"""Which rows are left out because others have the same positive or nearly the same anchor.

A row has a key of its positive, one or more of its anchor, and a rank, which is a keyed hash. Of the rows of a key
those of the smallest ranks stay. `cap_rows` finds, for each key of which rows are left out, the greatest rank that
stays; only these keys are kept, so that the table is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.spill import Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import HashSet, changes, open_tables, read_table, save_pieces
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace

# Rows that are sorted in memory at a time.
ROWS_AT_ONCE = 1 << 22
_ROW = np.dtype([("key", np.uint64), ("rank", np.uint64)])


class Cap(NamedTuple):
    """Where the keys and ranks of rows are, and how many rows of a key stay.

    Attributes:
        name: the column of keys in the tables of the shards.
        table: the field of `ShardChoices` with the path of these tables.
        most: the largest number of rows of a key.
        unrelated: the rank from which on rows stay only if all rows of the key are of such ranks; None for all ranks.
    """

    name: str
    table: str
    most: int
    unrelated: np.uint64 | None = None


def cap_rows(paths: Sequence[str], cap: Cap, work: Workspace) -> WorkPath:
    """Save the keys with too many rows, ascending, with the greatest rank that stays; return the path of the table."""
    ordered = sorted(paths)
    total = sum(open_tables(path)[cap.name].size for path in ordered)
    parts = max(1, -(-total // ROWS_AT_ONCE))
    with Spill(_ROW, parts, work.scratch) as spill:
        for path in ordered:
            keys = read_table(path, cap.name)
            ranks = np.repeat(read_table(path, "ranks"), keys.shape[1])
            rows = rows_of(_ROW, key=keys.ravel(), rank=ranks)
            spill.add(rows, hash_range(rows["key"], parts))
        full = [greatest_ranks(spill.read(part), cap) for part in range(parts)]
    pieces = [{"keys": rows["key"], "ranks": rows["rank"]} for rows in full]
    length = sum(map(len, full))
    return save_pieces(work.scratch, f"cap-{cap.name}", {"keys": length, "ranks": length}, pieces)


def greatest_ranks(rows: npt.NDArray[np.void], cap: Cap) -> npt.NDArray[np.void]:
    """Return, of each key of which rows are left out, the row that is the last to stay, by key.

    >>> rows = np.array([(7, 3), (5, 1), (7, 1), (7, 2), (5, 9)], _ROW)
    >>> greatest_ranks(rows, Cap("positives", "keys", 2)).tolist()
    [(7, 2)]
    >>> greatest_ranks(rows, Cap("positives", "keys", 2, unrelated=np.uint64(9))).tolist()
    [(5, 1), (7, 2)]
    """
    rows = rows[_order(rows["key"], rows["rank"])]
    starts = np.flatnonzero(changes(rows["key"]))
    counts = np.diff(np.append(starts, len(rows)))
    staying = np.minimum(counts, cap.most)
    if cap.unrelated is not None and len(rows):
        related = np.add.reduceat((rows["rank"] < cap.unrelated).astype(np.int64), starts)
        staying = np.where(related > 0, np.minimum(staying, related), staying)
    last: npt.NDArray[np.void] = rows[(starts + staying - 1)[staying < counts]]
    return last


def _order(keys: Hashes, ranks: Hashes) -> npt.NDArray[np.int64]:
    """Return the order of rows by key, then by rank, as np.lexsort does in several times the time."""
    order = np.argsort(keys)
    by_rank = np.argsort(ranks[order])
    # The number of the key, and the place among all ranks, of which there are fewer than 2**32.
    places = np.empty(len(keys), np.int64)
    places[by_rank] = np.arange(len(keys))
    places |= np.cumsum(changes(keys[order])) << 32
    return order[by_rank[np.sort(places) & 0xFFFFFFFF]]


def is_over(limits: str, keys: Hashes, ranks: Hashes) -> npt.NDArray[np.bool_]:
    """Return which rows do not stay.

    Args:
        limits: path of the table of `cap_rows`.
        keys: (rows, keys of a row) keys. A row has to stay among those of each of its keys.
        ranks: (rows,) ranks.
    """
    tables = open_tables(limits)
    index = HashSet(tables["keys"]).find(keys.ravel())
    over: npt.NDArray[np.bool_] = index >= 0
    over[over] = np.repeat(ranks, keys.shape[1])[over] > tables["ranks"][index[over]]
    return np.asarray(over.reshape(keys.shape).any(axis=1))
