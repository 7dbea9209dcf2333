"""The one step of `wikianchor interlanguage`: a wiki's sitelinks and titles in, its rows out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import hash_strings
from wikianchor.pipelines.arrays.spill import TableSpill
from wikianchor.pipelines.arrays.tables import find
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.schemas.mentions import INTERLANGUAGE

ROW_GROUP = 20_000
# Sitelinks and titles that memory holds, about.
ROWS_AT_ONCE = 1 << 16
# Sitelinks are counted by ranges of so many items, of which parts are put together.
ITEMS = 1 << 12
COLUMNS = ("qid", "title", "page_id")
# `key`: the hash of a title, or a page id.
LINK = pa.schema([("key", pa.uint64()), *((name, INTERLANGUAGE.field(name).type) for name in COLUMNS)])
TITLE = pa.schema([("key", pa.uint64()), ("title", pa.string()), ("page_id", pa.int64()), ("redirect", pa.bool_())])
ROW = pa.schema([*((name, INTERLANGUAGE.field(name).type) for name in COLUMNS), ("redirect", pa.bool_())])


class JoinTask(NamedTuple):
    """A wiki, the directory of the dataset of entities, and that of its sentences and titles, None where not given."""

    order: int
    wiki: str
    entities: str
    sentences: str | None

    def titles(self) -> list[str]:
        """Return the shards of `titles`."""
        return shards_of(self.sentences, "titles") if self.sentences else []


class Joined(NamedTuple):
    """The rows of a wiki, and how many are what."""

    wiki: str
    parts: tuple[Part, ...]
    counts: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        counts = {f"rows:{name}": number for name, number in self.counts.items()}
        return {**counts, "bytes:written": sum(part.size for part in self.parts)}


def join_wiki(task: JoinTask, work: Workspace) -> Joined:
    """Write the rows of a wiki, sorted by item, each item and page once.

    An item that both routes name, Wikidata's sitelinks and the wiki's page_props, is one row where they agree. What the
    titles given do not know, as in a part of a dump, stays without page id and redirect flag. Memory holds a part of
    the wiki at a time: sitelinks and titles are laid out by what they are joined on, and what comes of it by item.
    """
    bounds, held = _bounds(task)
    parts = max(1, -(-held // ROWS_AT_ONCE))
    pages = redirects = not_seen = 0
    with (
        TableSpill(ROW, len(bounds) + 1) as joined,
        PartWriter(work.parts, "interlanguage", task.order, INTERLANGUAGE) as writer,
    ):
        for rows in _joined(task, parts):
            joined.add(rows, np.searchsorted(bounds, rows.column("qid").to_numpy(), side="right"))
            release_memory()
        for part in range(len(bounds) + 1):
            table = _once(joined.read(part))
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


def _bounds(task: JoinTask) -> tuple[Ints, int]:
    """Return the first item of each part but the first, parts of about ROWS_AT_ONCE sitelinks; and how many rows are to
    be joined."""
    counts = np.zeros(0, np.int64)
    for batch in _sitelinks(task, ["qid"]):
        found = np.bincount(batch.column("qid").to_numpy() // ITEMS, minlength=len(counts))
        found[: len(counts)] += counts
        counts = found
    before = np.cumsum(counts) - counts
    titles = sum(batch.num_rows for shard in task.titles() for batch in read_batches(shard, ["page_id"]))
    return (np.flatnonzero(np.diff(before // ROWS_AT_ONCE)) + 1) * ITEMS, int(counts.sum()) + titles


def _joined(task: JoinTask, parts: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a wiki, in any order, some of them twice."""
    with (
        TableSpill(LINK, parts) as links_by_title,
        TableSpill(LINK, parts) as links_by_page,
        TableSpill(TITLE, parts) as by_title,
        TableSpill(TITLE, parts) as by_page,
    ):
        for batch in _sitelinks(task, COLUMNS):
            # A sitelink is of a title, or of a page.
            titled = batch.filter(batch.column("title").is_valid())
            _add(links_by_title, titled, hash_strings(titled.column("title")), parts)
            paged = batch.filter(batch.column("title").is_null())
            _add(links_by_page, paged, paged.column("page_id").to_numpy(), parts)
        for shard in task.titles():
            for batch in read_batches(shard, ["title", "page_id", "redirect"]):
                batch = batch.set_column(2, "redirect", batch.column("redirect").is_valid())
                _add(by_title, batch, hash_strings(batch.column("title")), parts)
                _add(by_page, batch, batch.column("page_id").to_numpy(), parts)
        for links, titles in ((links_by_title, by_title), (links_by_page, by_page)):
            for part in range(parts):
                yield from _match(links.read(part), titles.read(part)).to_batches()


def _add(spill: TableSpill, rows: pa.RecordBatch, keys: npt.NDArray[Any], parts: int) -> None:
    keys = keys.astype(np.uint64)
    columns = [pa.array(keys), *rows.columns]
    spill.add(pa.RecordBatch.from_arrays(columns, ["key", *rows.schema.names]), keys % np.uint64(parts))


def _match(links: pa.Table, titles: pa.Table) -> pa.Table:
    """Return a row for each sitelink and title that have one key, and one for each sitelink that has no title."""
    keys = links["key"].to_numpy()
    order = np.argsort(keys, kind="stable")
    rows, of = _matches(keys[order], order, titles["key"].to_numpy())
    titles = titles.take(pa.array(of))
    known = np.zeros(links.num_rows, np.bool_)
    known[rows] = True
    rest = links.filter(pa.array(~known))
    found = {"qid": links["qid"].take(pa.array(rows)), **{name: titles[name] for name in ROW.names[1:]}}
    return pa.concat_tables(
        [
            pa.table(found).cast(ROW),
            rest.select(COLUMNS).append_column("redirect", pa.nulls(rest.num_rows, pa.bool_())).cast(ROW),
        ]
    )


def _sitelinks(task: JoinTask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for shard in shards_of(task.entities, "sitelinks"):
        for batch in read_batches(shard, ["wiki", *columns], only=("wiki", task.wiki)):
            yield batch.filter(pc.equal(batch.column("wiki"), task.wiki)).select(columns)


def _matches(keys: npt.NDArray[Any], rows: Ints, wanted: npt.NDArray[Any]) -> tuple[Ints, Ints]:
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
