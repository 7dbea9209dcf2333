"""The one step of `wikianchor interlanguage`: a wiki's sitelinks and titles in, its rows out."""

from __future__ import annotations

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
    titles given do not know, as in a part of a dump, stays without page id and redirect flag.
    """
    links = _sitelinks(task)
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
    table = _once(pa.concat_tables(found))
    with PartWriter(output, "interlanguage", task.order, INTERLANGUAGE) as writer:
        for first in range(0, table.num_rows, ROW_GROUP):
            group = table.slice(first, ROW_GROUP)
            group = group.add_column(1, "wiki", pa.repeat(pa.scalar(task.wiki), group.num_rows))
            writer.write(group.select(INTERLANGUAGE.names).cast(INTERLANGUAGE))
    redirect = table["redirect"]
    redirects = pc.sum(redirect).as_py() or 0
    counts = {"pages": len(redirect) - redirect.null_count - redirects, "redirects": redirects}
    return Joined(task.wiki, (writer.part,) if writer.part else (), {**counts, "not_seen": redirect.null_count})


def _sitelinks(task: JoinTask) -> pa.Table:
    kinds = {"qid": pa.int64(), "title": pa.string(), "page_id": pa.int64()}
    found = [pa.table({name: pa.array([], kind) for name, kind in kinds.items()})]
    for shard in task.sitelinks:
        for batch in read_batches(shard, ["wiki", *kinds], only=("wiki", task.wiki)):
            batch = batch.filter(pc.equal(batch.column("wiki"), task.wiki)).select(list(kinds))
            found.append(pa.Table.from_batches([batch]).cast(found[0].schema))
    return pa.concat_tables(found).combine_chunks()


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
