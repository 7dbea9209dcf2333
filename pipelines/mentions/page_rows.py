"""Read the rows of `sentences` and `fragments` together, page by page.

A page may have rows in both configs, and a count of pages needs all of them at once. Shards of both come from the same
ranges of a dump, but a range without rows has no shard. So shards are read together where their page ids overlap.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.spill import Rows
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.schemas.choices import FRAGMENT_REGIONS

_COLUMNS = ["page_id", "region", "text", "links.list.element.start", "links.list.element.end"]
_LINK = pa.struct([("start", pa.int32()), ("end", pa.int32()), ("number", pa.int64())])
# `region` is an index in FRAGMENT_REGIONS.
ROWS = pa.schema([("page_id", pa.int64()), ("region", pa.int32()), ("text", pa.string()), ("links", pa.list_(_LINK))])
# Greater than all page ids.
_END = int(np.iinfo(np.int64).max)


def shards_of_pages(sentences: Sequence[str], fragments: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the shards of both configs in groups, so that all rows of a page are in one group.

    Raises:
        InputError: a shard is missing or damaged.
    """
    if not fragments:
        return [(path,) for path in sentences]
    groups: list[tuple[str, ...]] = []
    end = -1
    for first, last, path in sorted((*_bounds(row_groups([path])), path) for path in (*sentences, *fragments)):
        if first > end:
            groups.append(())
        groups[-1] += (path,)
        end = max(end, last)
    # In the order of the dump, sentences first.
    order = {path: number for number, path in enumerate((*sentences, *fragments))}
    return sorted((tuple(sorted(group, key=order.__getitem__)) for group in groups), key=lambda group: order[group[0]])


def _bounds(groups: Rows) -> tuple[int, int]:
    """Return the smallest and the greatest page id of row groups."""
    return int(groups["first"].min()), int(groups["last"].max())


def rows_by_page(
    shards: Sequence[str], regions: Collection[str], first_links: Sequence[int] = (), linked: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of shards in batches of whole pages, as of ROWS and by page id.

    Args:
        shards, regions, first_links: as of `rows_in_order`.
        linked: leave out rows without a link.
    """
    for rows, order in rows_in_order(shards, regions, first_links):
        if linked:
            order = order[np.diff(rows.column("links").offsets.to_numpy())[order] > 0]
        yield rows.take(pa.array(order))


def rows_in_order(
    shards: Sequence[str], regions: Collection[str], first_links: Sequence[int] = ()
) -> Iterator[tuple[pa.RecordBatch, Ints]]:
    """Yield the rows of shards in batches of whole pages, as of ROWS, and the indices of those of some regions, by page
    id.

    Args:
        shards: a group of `shards_of_pages`.
        regions: the regions.
        first_links: the number of each shard's first link. The links of a shard are numbered in its order.
    """
    is_wanted = np.isin(FRAGMENT_REGIONS, list(regions))
    streams = [_row_groups(*shard) for shard in zip(shards, first_links or [0] * len(shards), strict=True)]
    # For each stream, the greatest page id that was read.
    reached = [-1] * len(streams)
    held = [ROWS.empty_table()] * len(streams)
    while (bound := min(reached)) < _END:
        # The stream that is behind the others is read, so little is held.
        number = reached.index(bound)
        reached[number], rows = next(streams[number], (_END, ROWS.empty_table()))
        held[number] = pa.concat_tables([held[number], rows])
        if min(reached) > bound:
            # The page that was reached may continue in the next row group.
            complete, held = map(list, zip(*(_split(rows, min(reached)) for rows in held), strict=True))
            for batch in pa.concat_tables(complete).combine_chunks().to_batches():
                order = np.argsort(batch.column("page_id").to_numpy(), kind="stable")
                yield batch, order[is_wanted[batch.column("region").to_numpy()[order]]]


def _split(rows: pa.Table, bound: int) -> tuple[pa.Table, pa.Table]:
    """Return the rows of the pages before a page id, and the others."""
    is_before = rows["page_id"].to_numpy() < bound
    number = np.count_nonzero(is_before)
    if is_before[:number].all():
        return rows.slice(0, number), rows.slice(number)
    return rows.filter(pa.array(is_before)), rows.filter(pa.array(~is_before))


def _row_groups(shard: str, first_link: int) -> Iterator[tuple[int, pa.Table]]:
    """Yield the row groups of a shard, as of ROWS, each with its greatest page id. If page ids do not ascend from one
    row group to the next, the shard is one row group."""
    batches = read_batches(shard, _COLUMNS)
    groups = row_groups([shard])
    if (groups["last"][:-1] <= groups["first"][1:]).all():
        for last, batch in zip(groups["last"].tolist(), batches, strict=True):
            yield last, _numbered(batch, first_link)
            first_link += len(batch.column("links").flatten())
        return
    (whole,) = pa.Table.from_batches(list(batches)).combine_chunks().to_batches()
    yield _bounds(groups)[1], _numbered(whole, first_link)


def _numbered(batch: pa.RecordBatch, first_link: int) -> pa.Table:
    """Return rows as of ROWS."""
    links = batch.column("links")
    flat = links.flatten()
    members = [flat.field("start"), flat.field("end"), pa.array(first_link + np.arange(len(flat)))]
    offsets = links.offsets.to_numpy()
    columns = {
        "page_id": batch.column("page_id"),
        "region": pc.index_in(batch.column("region"), pa.array(FRAGMENT_REGIONS)),
        "text": batch.column("text"),
        "links": pa.ListArray.from_arrays(
            pa.array(offsets - offsets[0]),
            pa.StructArray.from_arrays(members, fields=list(_LINK)),
            type=ROWS.field("links").type,
        ),
    }
    return pa.table(columns, ROWS)
