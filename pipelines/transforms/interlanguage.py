"""The one step of `wikianchor interlanguage`: a wiki's sitelinks and titles in, its rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dataset.parts import Part, PartWriter
from pipelines.dataset.reader import read_batches
from pipelines.linking.hashing import hash_strings
from pipelines.linking.tables import find
from pipelines.linking.title_index import Ints
from schemas.mentions import INTERLANGUAGE

ROW_GROUP = 50_000
# Sitelinks that memory holds, with the pages and redirects that they lead to.
ITEMS_AT_ONCE = 100_000
COLUMNS = ("qid", "title", "page_id")


class JoinTask(NamedTuple):
    """A wiki, the shards of `sitelinks`, and those of its `titles`, None where they were not given."""

    order: int
    wiki: str
    sitelinks: tuple[str, ...]
    titles: tuple[str, ...] | None


class Joined(NamedTuple):
    """The rows of a wiki, and how many are what."""

    wiki: str
    parts: tuple[Part, ...]
    counts: dict[str, int]


def join_wiki(task: JoinTask, output: str) -> Joined:
    """Write the rows of a wiki, sorted by item, each item and page once.

    An item that both routes name, Wikidata's sitelinks and the wiki's page_props, is one row where they agree. What the
    titles given do not know, as in a part of a dump, stays without page id and redirect flag. Memory holds a range of
    items at a time; the titles of the wiki are read once for each.
    """
    pages = redirects = not_seen = 0
    with PartWriter(output, "interlanguage", task.order, INTERLANGUAGE) as writer:
        for first, last in _ranges(task):
            table = _join(task, first, last)
            for start in range(0, table.num_rows, ROW_GROUP):
                group = table.slice(start, ROW_GROUP)
                group = group.add_column(1, "wiki", pa.repeat(pa.scalar(task.wiki), group.num_rows))
                writer.write(group.select(INTERLANGUAGE.names).cast(INTERLANGUAGE))
            redirect = table["redirect"]
            found = pc.sum(redirect).as_py() or 0
            redirects += found
            not_seen += redirect.null_count
            pages += len(redirect) - redirect.null_count - found
    counts = {"pages": pages, "redirects": redirects, "not_seen": not_seen}
    return Joined(task.wiki, (writer.part,) if writer.part else (), counts)


def _ranges(task: JoinTask) -> Iterator[tuple[int, int]]:
    """Yield ranges of items, [first, last), with ITEMS_AT_ONCE sitelinks each, or a few more of one item."""
    column = [batch.column("qid").to_numpy() for batch in _sitelinks(task, ["qid"])]
    if not column:
        return
    qids = np.sort(np.concatenate(column))
    firsts = np.unique(qids[::ITEMS_AT_ONCE]).tolist()
    yield from zip(firsts, [*firsts[1:], int(qids[-1]) + 1], strict=True)


def _join(task: JoinTask, first: int, last: int) -> pa.Table:
    """Return the rows of the items in [first, last)."""
    kinds = {"qid": pa.int64(), "title": pa.string(), "page_id": pa.int64()}
    empty = pa.table({name: pa.array([], kind) for name, kind in kinds.items()})
    parts = [empty]
    for batch in _sitelinks(task, list(kinds)):
        qids = batch.column("qid").to_numpy()
        batch = batch.filter(pa.array((first <= qids) & (qids < last)))
        parts.append(pa.Table.from_batches([batch]).cast(empty.schema))
    links = pa.concat_tables(parts).combine_chunks()
    titles, pages = links["title"].combine_chunks(), links["page_id"].combine_chunks()
    by_title = _sorted(hash_strings(titles.drop_null()), _valid(titles))
    by_page = _sorted(pages.drop_null().to_numpy(), _valid(pages))
    known = np.zeros(links.num_rows, np.bool_)
    found = [pa.table({name: pa.array([], INTERLANGUAGE.field(name).type) for name in (*COLUMNS, "redirect")})]
    for shard in task.titles or ():
        for batch in read_batches(shard, ["title", "page_id", "redirect"]):
            rows, of = _matches(*by_title, hash_strings(batch.column("title")))
            more, of_page = _matches(*by_page, batch.column("page_id").to_numpy())
            rows, of = np.concatenate([rows, more]), np.concatenate([of, of_page])
            known[rows] = True
            batch = batch.take(pa.array(of))
            columns = {
                "qid": links["qid"].take(pa.array(rows)),
                "title": batch.column("title"),
                "page_id": batch.column("page_id"),
                "redirect": batch.column("redirect").is_valid(),
            }
            found.append(pa.table(columns))
    rest = links.filter(pa.array(~known)).select(COLUMNS)
    found.append(rest.append_column("redirect", pa.nulls(rest.num_rows, pa.bool_())))
    return _once(pa.concat_tables(found))


def _sitelinks(task: JoinTask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for shard in task.sitelinks:
        for batch in read_batches(shard, ["wiki", *columns], only=("wiki", task.wiki)):
            yield batch.filter(pc.equal(batch.column("wiki"), task.wiki)).select(columns)


def _valid(column: pa.Array) -> Ints:
    return np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))


def _sorted(keys: np.ndarray, rows: Ints) -> tuple[np.ndarray, Ints]:
    order = np.argsort(keys, kind="stable")
    return keys[order], rows[order]


def _matches(keys: np.ndarray, rows: Ints, wanted: np.ndarray) -> tuple[Ints, Ints]:
    """Return the rows whose keys are wanted, and the places in `wanted`, of all that match."""
    there = np.flatnonzero(find(keys, wanted) >= 0)
    first, last = (np.searchsorted(keys, wanted[there], side) for side in ("left", "right"))
    counts = last - first
    starts = np.repeat(first - np.append(0, np.cumsum(counts))[:-1], counts)
    return rows[starts + np.arange(counts.sum())], np.repeat(there, counts)


def _once(table: pa.Table) -> pa.Table:
    """Sort rows by item and page, and keep one of those that are alike."""
    table = table.sort_by([("qid", "ascending"), ("page_id", "ascending"), ("title", "ascending")]).combine_chunks()
    new = np.ones(table.num_rows, np.bool_)
    if table.num_rows > 1:
        same = [
            pc.fill_null(pc.equal(column[1:], column[:-1]), False).to_numpy(zero_copy_only=False)
            | pc.and_(column[1:].is_null(), column[:-1].is_null()).to_numpy(zero_copy_only=False)
            for column in (table[name].combine_chunks() for name in COLUMNS)
        ]
        new[1:] = ~np.logical_and.reduce(same)
    return table.filter(pa.array(new))
