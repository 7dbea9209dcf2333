"""Count the links to each item, and choose the items with enough links."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import hash_strings
from wikianchor.pipelines.arrays.spill import Spill, rows_of
from wikianchor.pipelines.arrays.tables import changes, distinct, find
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.titles.title_index import FINE, Codes, Ints, TitleIndex

COUNT = np.dtype([("wiki", np.int32), ("item", np.int64), ("count", np.int64)])
PARTS = 64


class ShardLinks(NamedTuple):
    """The links and pages of a shard of sentences.

    Attributes:
        items: the linked items, ascending.
        counts: number of links to each of `items`.
        which: by link, the index of its item in `items`, -1 if the link does not count.
        codes: by link, the code of its target (`title_index`).
        pages: page ids, ascending.
        page_items: by page, the item that the page is about, 0 without an item.
        with_lead: by page, whether it has a sentence before its first heading.
    """

    items: Ints
    counts: Ints
    which: npt.NDArray[np.int32]
    codes: Codes
    pages: Ints
    page_items: Ints
    with_lead: npt.NDArray[np.bool_]


def count_links(shard: str, index: TitleIndex, sections: bool) -> ShardLinks:
    """Look up the links of a shard of sentences, and count the links to each item.

    Args:
        shard: path of a shard of `sentences`.
        index: title index of its wiki.
        sections: whether a link to a section counts as a link to the page.
    """
    pages, titles = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    leads, to_section = [np.zeros(0, np.bool_)], [np.zeros(0, np.bool_)]

    def targets() -> Iterator[pa.Array]:
        for batch in read_batches(shard, ["page_id", "title", "region", *_LINK_COLUMNS]):
            page = batch.column("page_id").to_numpy()
            # The sentences of a page are consecutive.
            first = np.flatnonzero(changes(page))
            pages.append(page[first])
            titles.append(hash_strings(batch.column("title").take(pa.array(first))))
            # The first sentence of a page is in its lead, if it has one.
            in_lead = pc.equal(batch.column("region").take(pa.array(first)), "lead")
            leads.append(in_lead.to_numpy(zero_copy_only=False))
            yield _targets(batch, to_section)

    items, codes = index.look_up(targets())
    counted = codes == FINE
    if not sections:
        counted &= ~np.concatenate(to_section)
    which = np.full(len(items), -1, np.int32)
    items, which[counted], counts = np.unique(items[counted], return_inverse=True, return_counts=True)
    distinct_pages, first = np.unique(np.concatenate(pages), return_index=True)
    page_items, _ = index.look_up_hashes(np.concatenate(titles)[first])
    in_lead = np.concatenate(leads)[first]
    return ShardLinks(items, counts, which, codes, distinct_pages, page_items, in_lead)


_LINK_COLUMNS = ("links.list.element.target", "links.list.element.fragment")


def _targets(batch: pa.RecordBatch, to_section: list[npt.NDArray[np.bool_]]) -> pa.Array:
    """Return the target of each link of a batch of sentences; add to `to_section` whether it is to a section."""
    links = batch.column("links").flatten()
    to_section.append(pc.not_equal(links.field("fragment"), "").to_numpy(zero_copy_only=False))
    return links.field("target")


def look_up_links(shard: str, index: TitleIndex) -> tuple[Ints, Codes, npt.NDArray[np.bool_]]:
    """Look up the links of a shard of sentences.

    Returns:
        Three arrays with a value per link, in the order of the shard: item and code (`TitleIndex.look_up`), and whether
        the link is to a section.
    """
    to_section = [np.zeros(0, np.bool_)]
    items, codes = index.look_up(_targets(batch, to_section) for batch in read_batches(shard, _LINK_COLUMNS))
    return items, codes, np.concatenate(to_section)


class ItemCounts:
    """Number of links to each item by wiki, hash-partitioned on disk in one file for all wikis.

    Args:
        counted: by wiki, (items, counts) of each shard.
        directory: local directory of the file.
    """

    def __init__(self, counted: Mapping[str, Iterable[tuple[Ints, Ints]]], directory: str) -> None:
        self._wikis = sorted(counted)
        self._summed = Spill(COUNT, PARTS, directory)
        with Spill(COUNT, PARTS, directory) as by_shard:
            for number, wiki in enumerate(self._wikis):
                for items, counts in counted[wiki]:
                    by_shard.add(
                        rows_of(COUNT, item=items, count=counts, wiki=np.full(len(items), number)), items % PARTS
                    )
            for part in range(PARTS):
                rows = by_shard.read(part)
                rows = rows[np.lexsort((rows["item"], rows["wiki"]))]
                starts = np.flatnonzero(changes(rows["item"]) | changes(rows["wiki"]))
                summed = rows[starts]
                if len(summed):
                    summed["count"] = np.add.reduceat(rows["count"], starts)
                self._summed.add(summed, np.full(len(summed), part))

    def __enter__(self) -> ItemCounts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._summed.close()

    def parts(self) -> Iterator[dict[str, tuple[Ints, Ints]]]:
        """Yield one partition after another: by wiki with links, its items, ascending, and their counts."""
        for part in range(PARTS):
            rows = self._summed.read(part)
            numbers, starts = np.unique(rows["wiki"], return_index=True)
            wikis = np.split(rows, starts[1:])
            yield {
                self._wikis[number]: (of_wiki["item"], of_wiki["count"])
                for number, of_wiki in zip(numbers.tolist(), wikis, strict=False)
            }


def sum_counts(counted: Iterable[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    """Return the distinct items, ascending, and the sum of the counts of each.

    >>> import numpy
    >>> sum_counts([(numpy.array([7, 42]), numpy.array([1, 2])), (numpy.array([42]), numpy.array([3]))])
    (array([ 7, 42]), array([1, 5]))
    """
    pairs = [np.zeros((2, 0), np.int64), *map(np.stack, counted)]
    items, counts = np.concatenate(pairs, axis=1)
    order = np.argsort(items, kind="stable")
    starts = np.flatnonzero(changes(items[order]))
    return items[order[starts]], np.add.reduceat(counts[order], starts)


def frequent_items(counted: ItemCounts, floor: str, more_than: int) -> tuple[Ints, Ints]:
    """Return the items with enough links, ascending, and their links in all wikis; see `above_floor`."""
    parts = [above_floor(part, floor, more_than) for part in counted.parts()]
    items, counts = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    order = np.argsort(items)
    return items[order], counts[order]


def above_floor(counted: Mapping[str, tuple[Ints, Ints]], floor: str, more_than: int) -> tuple[Ints, Ints]:
    """Return the items with enough links, ascending, and the number of links to each in all wikis.

    Args:
        counted: by wiki, items and counts.
        floor: which links are compared with `more_than`: "corpus" for the links in all wikis, "wiki" for those in any
            single wiki, or a database name for those in one wiki.
        more_than: an item must have more links than this.
    """
    items, counts = sum_counts(counted[wiki] for wiki in sorted(counted))
    if floor == "corpus":
        frequent = counts > more_than
    else:
        scopes = [pair for wiki, pair in counted.items() if floor in ("wiki", wiki)]
        enough = [wiki_items[wiki_counts > more_than] for wiki_items, wiki_counts in scopes]
        frequent = find(distinct(np.concatenate([np.zeros(0, np.int64), *enough])), items) >= 0
    return items[frequent], counts[frequent]
