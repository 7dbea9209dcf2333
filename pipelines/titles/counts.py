"""How often items are linked to, and which of them are linked often enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.spill import Spill, rows_of
from wikianchor.pipelines.arrays.tables import distinct, find
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.titles.title_index import FINE, Codes, Ints, TitleIndex

COUNT = np.dtype([("item", np.int64), ("count", np.int64)])
PARTS = 64


class ShardLinks(NamedTuple):
    """What the links of a shard of sentences lead to, and what its pages are about.

    Attributes:
        items: those that are linked to, ascending.
        counts: how often each is.
        which: by link, the place of its item in `items`, -1 where the link does not count.
        codes: by link, that of its target in the title index.
        pages: page ids, ascending.
        own: the item of each page, 0 where there is none.
    """

    items: Ints
    counts: Ints
    which: npt.NDArray[np.int32]
    codes: Codes
    pages: Ints
    own: Ints


def count_links(shard: str, index: TitleIndex, sections: bool) -> ShardLinks:
    """Look up what the links of a shard of sentences lead to and count how often each item is linked to.

    Args:
        shard: of `sentences`.
        index: of its wiki.
        sections: whether a link to a section counts, as in `Decider`.
    """
    items, codes, to_section = look_up_links(shard, index)
    counted = codes == FINE
    if not sections:
        counted &= ~to_section
    which = np.full(len(items), -1, np.int32)
    items, which[counted], counts = np.unique(items[counted], return_inverse=True, return_counts=True)
    return ShardLinks(items, counts, which, codes, *_own_items(shard, index))


def look_up_links(shard: str, index: TitleIndex) -> tuple[Ints, Codes, npt.NDArray[np.bool_]]:
    """Return for each link of a shard of sentences what `TitleIndex.look_up` does, and whether it is to a section."""
    to_section = [np.zeros(0, np.bool_)]

    def targets() -> Iterator[pa.Array]:
        for batch in read_batches(shard, ["links.list.element.target", "links.list.element.fragment"]):
            links = batch.column("links").flatten()
            to_section.append(pc.not_equal(links.field("fragment"), "").to_numpy(zero_copy_only=False))
            yield links.field("target")

    items, codes = index.look_up(targets())
    return items, codes, np.concatenate(to_section)


def _own_items(shard: str, index: TitleIndex) -> tuple[Ints, Ints]:
    """Return the pages of a shard, ascending, and the item of each."""
    pages = [np.zeros(0, np.int64)]

    def titles() -> Iterator[pa.Array]:
        for batch in read_batches(shard, ["page_id", "title"]):
            page = batch.column("page_id").to_numpy()
            # The sentences of a page come one after another.
            first = np.flatnonzero(np.append(True, page[1:] != page[:-1])[: len(page)])
            pages.append(page[first])
            yield batch.column("title").take(pa.array(first))

    items, _ = index.look_up(titles())
    found, first = np.unique(np.concatenate(pages), return_index=True)
    return found, items[first]


class ItemCounts:
    """How often items are linked to in each wiki, on disk: memory holds a part of the items at a time.

    Args:
        counted: items and counts by wiki, each item as often as shards count it.
    """

    def __init__(self, counted: Mapping[str, Iterable[tuple[Ints, Ints]]]) -> None:
        self._spills = {wiki: _summed(found) for wiki, found in sorted(counted.items())}

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
            yield {wiki: (found["item"], found["count"]) for wiki, found in rows.items()}


def _summed(counted: Iterable[tuple[Ints, Ints]]) -> Spill:
    """Return the sum of each item's counts, in parts: what shards count is laid out on disk, and summed once."""
    summed = Spill(COUNT, PARTS)
    with Spill(COUNT, PARTS) as by_shard:
        for items, counts in counted:
            by_shard.add(rows_of(COUNT, item=items, count=counts), items % PARTS)
        for part in range(PARTS):
            rows = by_shard.read(part)
            items, counts = sum_counts([(rows["item"], rows["count"])])
            summed.add(rows_of(COUNT, item=items, count=counts), np.full(len(items), part))
    return summed


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
