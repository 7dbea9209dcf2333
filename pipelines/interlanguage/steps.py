"""The step of `wikianchor interlanguage`: join the sitelinks of a wiki with its titles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import hash_strings
from wikianchor.pipelines.arrays.spill import TableSpill
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import dataset_at, read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.titles.title_index import Ints
from wikianchor.schemas.mentions import INTERLANGUAGE

ROW_GROUP = 20_000
# Approximate number of sitelinks and titles in a partition of the join, which bounds memory.
ROWS_AT_ONCE = 1 << 16
# The output is partitioned by item; bounds are multiples of this many item numbers.
ITEMS = 1 << 12
COLUMNS = ("qid", "title", "page_id")
# `key` is what is joined on: the hash of a title, or a page id.
LINK = pa.schema([("key", pa.uint64()), *((name, INTERLANGUAGE.field(name).type) for name in COLUMNS)])
TITLE = pa.schema([("key", pa.uint64()), ("title", pa.string()), ("page_id", pa.int64()), ("redirect", pa.bool_())])
ROW = pa.schema([*((name, INTERLANGUAGE.field(name).type) for name in COLUMNS), ("redirect", pa.bool_())])


class JoinTask(NamedTuple):
    """A wiki to join.

    Attributes:
        order: number of the wiki.
        wiki: database name.
        entities: directory of the dataset of entities.
        sentences: directory of the dataset of its sentences and titles; None if not given.
    """

    order: int
    wiki: str
    entities: str
    sentences: str | None

    def titles(self) -> list[str]:
        """Return the shards of `titles`."""
        return shards_of(self.sentences, "titles") if self.sentences else []


class Joined(NamedTuple):
    """The file of a wiki, and its numbers of rows that are pages, redirects, or in no titles that were given."""

    wiki: str
    parts: tuple[Part, ...]
    counts: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {f"rows:{name}": number for name, number in self.counts.items()}


def join_wiki(task: JoinTask, work: Workspace) -> Joined:
    """Write the rows of a wiki, sorted by item, each (item, page) once.

    A page whose item is in both Wikidata's sitelinks and the wiki's page_props is one row if they agree. A sitelink
    whose page is not in the titles keeps a null page id and redirect flag. The join is hash-partitioned to disk, and
    its result is partitioned by item, so that one partition is in memory at a time.
    """
    bounds, total = _bounds(task)
    parts = max(1, -(-total // ROWS_AT_ONCE))
    counts: Counter[str] = Counter(pages=0, redirects=0, not_seen=0)
    with (
        TableSpill(ROW, len(bounds) + 1, work.scratch) as joined,
        PartWriter(work.parts, "interlanguage", task.order, INTERLANGUAGE) as writer,
    ):
        for rows in _joined(task, parts, work.scratch):
            joined.add(rows, np.searchsorted(bounds, rows.column("qid").to_numpy(), side="right"))
            release_memory()
        for part in range(len(bounds) + 1):
            table = _distinct(joined.read(part))
            table = table.append_column("wiki", pa.repeat(pa.scalar(task.wiki), table.num_rows))
            table = table.select(INTERLANGUAGE.names).cast(INTERLANGUAGE)
            for start in range(0, table.num_rows, ROW_GROUP):
                writer.write(table.slice(start, ROW_GROUP))
            redirect = table["redirect"]
            redirects = pc.sum(redirect).as_py() or 0
            pages = len(redirect) - redirect.null_count - redirects
            counts.update(pages=pages, redirects=redirects, not_seen=redirect.null_count)
    return Joined(task.wiki, (writer.part,) if writer.part else (), dict(counts))


def _bounds(task: JoinTask) -> tuple[Ints, int]:
    """Return the first item of each output partition but the first, and the number of rows to be joined.

    A partition has about ROWS_AT_ONCE sitelinks.
    """
    counts = np.zeros(0, np.int64)
    for batch in _sitelinks(task, ["qid"]):
        batch_counts = np.bincount(batch.column("qid").to_numpy() // ITEMS, minlength=len(counts))
        batch_counts[: len(counts)] += counts
        counts = batch_counts
    before = np.cumsum(counts) - counts
    titles = sum(batch.num_rows for shard in task.titles() for batch in read_batches(shard, ["page_id"]))
    return (np.flatnonzero(np.diff(before // ROWS_AT_ONCE)) + 1) * ITEMS, int(counts.sum()) + titles


def _joined(task: JoinTask, parts: int, scratch: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a wiki, in any order, possibly with duplicates."""
    with (
        TableSpill(LINK, parts, scratch) as links_by_title,
        TableSpill(LINK, parts, scratch) as links_by_page,
        TableSpill(TITLE, parts, scratch) as by_title,
        TableSpill(TITLE, parts, scratch) as by_page,
    ):
        for batch in _sitelinks(task, COLUMNS):
            # Sitelinks of Wikidata have a title, those of page_props a page id.
            with_title = batch.filter(batch.column("title").is_valid())
            _add(links_by_title, with_title, hash_strings(with_title.column("title")), parts)
            with_id = batch.filter(batch.column("title").is_null())
            _add(links_by_page, with_id, with_id.column("page_id").to_numpy(), parts)
        for shard in task.titles():
            for batch in read_batches(shard, ["title", "page_id", "redirect"]):
                batch = batch.set_column(2, "redirect", batch.column("redirect").is_valid())
                _add(by_title, batch, hash_strings(batch.column("title")), parts)
                _add(by_page, batch, batch.column("page_id").to_numpy(), parts)
        for links, titles in ((links_by_title, by_title), (links_by_page, by_page)):
            for part in range(parts):
                yield from _match(links.read(part), titles.read(part)).to_batches()


def _add(spill: TableSpill, rows: pa.RecordBatch, keys: npt.NDArray[Any], parts: int) -> None:
    """Add rows to the partitions of their keys."""
    keys = keys.astype(np.uint64)
    columns = [pa.array(keys), *rows.columns]
    spill.add(pa.RecordBatch.from_arrays(columns, ["key", *rows.schema.names]), keys % np.uint64(parts))


def _match(links: pa.Table, titles: pa.Table) -> pa.Table:
    """Return a row for each sitelink and title with equal keys, and one for each sitelink without a title."""
    joined = links.join(titles, "key", join_type="left outer", right_suffix="_known", use_threads=False)
    columns = {name: pc.coalesce(joined[f"{name}_known"], joined[name]) for name in ("title", "page_id")}
    return pa.table({"qid": joined["qid"], **columns, "redirect": joined["redirect"]}, ROW)


def _sitelinks(task: JoinTask, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the sitelinks of the wiki."""
    yield from dataset_at(task.entities).batches("sitelinks", columns, only=("wiki", task.wiki))


def _distinct(table: pa.Table) -> pa.Table:
    """Return the distinct rows, sorted by item, page id and title. Rows with equal ones agree in `redirect`."""
    distinct = table.group_by(list(COLUMNS), use_threads=False).aggregate([("redirect", "first")])
    distinct = distinct.rename_columns(ROW.names)
    return distinct.sort_by([("qid", "ascending"), ("page_id", "ascending"), ("title", "ascending")])
