"""How often items are linked to, and which of them are linked often enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.linking.spill import Spill, rows_of
from pipelines.linking.tables import distinct, find
from pipelines.linking.title_index import FINE, Ints, Places, TitleIndex

COUNT = np.dtype([("item", np.int64), ("count", np.int64)])
PARTS = 64


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


class ItemCounts:
    """How often items are linked to in each wiki, on disk: memory holds a part of the items at a time.

    Args:
        counted: items and counts by wiki, each item as often as shards count it.
    """

    def __init__(self, counted: Mapping[str, Iterable[tuple[Ints, Ints]]]) -> None:
        self._spills: dict[str, Spill] = {}
        for wiki, found in sorted(counted.items()):
            self._spills[wiki] = Spill(COUNT, PARTS)
            for items, counts in found:
                self._spills[wiki].add(rows_of(COUNT, item=items, count=counts), items % PARTS)

    def __enter__(self) -> ItemCounts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for spill in self._spills.values():
            spill.close()

    def parts(self) -> Iterator[dict[str, tuple[Ints, Ints]]]:
        """Yield part after part: by wiki, items, ascending, and their counts."""
        for part in range(PARTS):
            rows = {wiki: spill.read(part) for wiki, spill in self._spills.items()}
            yield {wiki: sum_counts([(found["item"], found["count"])]) for wiki, found in rows.items()}


def sum_counts(counted: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Add counts up: items, ascending, and the sum for each. The sums are the same in any order."""
    found = [np.zeros((2, 0), np.int64), *(np.stack(one) for one in counted)]
    items, counts = np.concatenate(found, axis=1)
    order = np.argsort(items, kind="stable")
    unique, starts = _runs(items[order])
    return unique, np.diff(np.append(0, np.cumsum(counts[order]))[starts])


def _runs(ascending: Ints) -> tuple[Ints, Ints]:
    """Return the different values, and where each begins, with the end of all."""
    starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1])[: len(ascending)])
    return ascending[starts], np.append(starts, len(ascending))


def frequent_items(counted: ItemCounts, floor: str, min_links: int) -> tuple[Ints, Ints]:
    """Return the items, ascending, that are linked to often enough, and how often in all wikis together: `above_floor`
    of all."""
    found = [above_floor(part, floor, min_links) for part in counted.parts()]
    items, counts = (np.concatenate(columns) for columns in zip(*found, strict=True))
    order = np.argsort(items)
    return items[order], counts[order]


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
