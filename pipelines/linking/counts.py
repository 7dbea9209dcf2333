"""How often items are linked to, and which of them are linked often enough."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.linking.tables import distinct, find
from pipelines.linking.title_index import FINE, Ints, Places, TitleIndex

# Items of several shards that are added up at a time, at least.
SUMMED_TOGETHER = 1 << 20


def count_links(batches: Iterable[pa.RecordBatch], index: TitleIndex, sections: bool) -> tuple[Ints, Ints, Places]:
    """Count how often each item is linked to; a link to a section counts where `sections` says so, as in `Decider`.

    Returns:
        Items, ascending; their counts; and for each link the place of its target in the index.
    """
    found = [np.zeros(0, np.int64)]
    seen = [np.zeros(0, np.int32)]
    for batch in batches:
        flat = batch.column("links").flatten()
        places = index.places(flat.field("target"))
        seen.append(places)
        counted = index.codes[places] == FINE
        if not sections:
            counted &= pc.equal(flat.field("fragment"), "").to_numpy(zero_copy_only=False)
        found.append(index.items[places[counted]])
    items, starts = _runs(np.sort(np.concatenate(found)))
    return items, np.diff(starts), np.concatenate(seen)


def sum_counts(counted: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Add counts up: items, ascending, and the sum for each. The sums are the same in any order.

    What is read is added once it is as much as the sum so far, so memory is a few times that of the sum and the time
    nearly linear.
    """
    total = waiting = np.zeros((2, 0), np.int64)
    for found in counted:
        waiting = np.concatenate([waiting, np.stack(found)], axis=1)
        if waiting.shape[1] >= max(total.shape[1], SUMMED_TOGETHER):
            total, waiting = _summed(np.concatenate([total, waiting], axis=1)), np.zeros((2, 0), np.int64)
    items, counts = _summed(np.concatenate([total, waiting], axis=1))
    return items, counts


def _summed(rows: Ints) -> Ints:
    items, counts = rows[:, np.argsort(rows[0], kind="stable")]
    unique, starts = _runs(items)
    return np.stack([unique, np.diff(np.append(0, np.cumsum(counts))[starts])])


def _runs(ascending: Ints) -> tuple[Ints, Ints]:
    """Return the different values, and where each begins, with the end of all."""
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
    return ascending[starts], np.append(starts, len(ascending))


def above_floor(counted: Mapping[str, tuple[Ints, Ints]], floor: str, min_links: int) -> tuple[Ints, Ints]:
    """Return the items that are linked to often enough, and how often in all wikis together.

    Args:
        counted: items and counts by wiki.
        floor: where the links are counted that decide: "corpus" for all wikis, "wiki" for any one of them (which one
            a row then needs is for `Decider`), or the database name of one.
        min_links: an item must be linked to more often than this.
    """
    items, counts = sum_counts(counted[wiki] for wiki in sorted(counted))
    if floor == "corpus":
        frequent = counts > min_links
    else:
        scopes = [found for wiki, found in counted.items() if floor in ("wiki", wiki)]
        enough = [some_items[some_counts > min_links] for some_items, some_counts in scopes]
        frequent = find(distinct(np.concatenate([np.zeros(0, np.int64), *enough])), items) >= 0
    return items[frequent], counts[frequent]
