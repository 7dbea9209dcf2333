"""The table of `title_build` as SQL in DuckDB: the same arrays to the byte, to be compared with ours in `joins.py`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import hash_strings
from wikianchor.pipelines.arrays.tables import save_pieces
from wikianchor.pipelines.titles.title_build import MAX_HOPS, _flag_codes, _read
from wikianchor.pipelines.titles.title_index import BROKEN, FINE, LOOP, NO_ITEM, SECTION

LINKS = pa.schema([("key", pa.uint64()), ("page", pa.int64()), ("item", pa.int64())])
TITLES = pa.schema(
    [
        *(("number", pa.int64()), ("key", pa.uint64()), ("page", pa.int64())),
        *(("target", pa.uint64()), ("section", pa.bool_()), ("code", pa.int8())),
    ]
)
JOIN = f"""
create table links as select * from links_in;
create table titles as select * from titles_in;
create table rows as
    with paged as (select page, min(item) as lowest from links where page is not null group by page),
        titled as (select key, min(item) as lowest from links where key is not null group by key)
    select key, coalesce(t.page, 0) as page, number, target,
        coalesce(paged.lowest, 0) as by_page, coalesce(titled.lowest, 0) as by_title,
        if(by_page > 0, by_page, by_title) as item,
        if(item > 0, null, target) as leads_to,
        coalesce(section, false) as section,
        case when leads_to is not null then {BROKEN}
            when coalesce(code, {FINE}) = {FINE} and item = 0 then {NO_ITEM}
            else coalesce(code, {FINE}) end::tinyint as code
    from titles t left join paged on t.page = paged.page full join titled using (key);
drop table links; drop table titles;
"""
COUNTS = """
select count(number) as titles, count(*) - count(number) as elsewhere, count(target) as redirects,
    count(*) filter (by_title > 0) as by_sitelink, count(*) filter (by_page > 0) as by_page_props,
    count(*) filter (by_page > 0 and by_title > 0 and by_page != by_title) as conflicts
from rows
"""
# Redirects lead to the first row of a title.
FOLLOW = """
create table repeated as
    select rowid as row from rows where key in (select key from rows group by key having count(*) > 1)
    qualify row_number() over (partition by key order by page, number) > 1;
create table ends (row bigint, item bigint, code tinyint);
create table hops as select rowid as row, leads_to, section from rows where leads_to is not null;
"""
HOP = f"""
create table reached as
    select hops.row, hops.section or next.section as section, hops.section as by_section, next.leads_to, item, code
    from hops join rows next on hops.leads_to = next.key where next.rowid not in (select row from repeated);
insert into ends select row, item, if(by_section, {SECTION}, code) from reached where leads_to is null;
create or replace table hops as select row, leads_to, section from reached where leads_to is not null;
drop table reached;
"""
FINISHED = """
select key, coalesce(ends.item, rows.item) as item, coalesce(ends.code, rows.code) as code
from rows left join ends on rows.rowid = ends.row order by key, page, number
"""


def build_title_index(
    titles: Sequence[str], sitelinks: Sequence[str], wiki: str, directory: str, threads: int, memory_mb: int
) -> tuple[str, dict[str, int]]:
    """Do what `title_build.build_title_index` does.

    Args:
        titles: shards of `titles` of the wiki.
        sitelinks: shards of `sitelinks`.
        wiki: database name.
        directory: where the table is to be.
        threads: of DuckDB.
        memory_mb: what DuckDB may hold.
    """
    with tempfile.TemporaryDirectory() as place:
        config: dict[str, Any] = {"threads": threads, "memory_limit": f"{memory_mb}MB", "temp_directory": place}
        with duckdb.connect(config=config | {"preserve_insertion_order": False}) as db:
            db.register("links_in", pa.RecordBatchReader.from_batches(LINKS, _links(sitelinks, wiki)))
            db.register("titles_in", pa.RecordBatchReader.from_batches(TITLES, _titles(titles, wiki)))
            db.execute(JOIN)
            counted = db.execute(COUNTS)
            names = [column[0] for column in counted.description or []]
            counts = dict(zip(names, counted.fetchone() or (), strict=True))
            _follow(db)
            rows = counts["titles"] + counts["elsewhere"]
            lengths = dict.fromkeys(("keys", "items", "codes"), rows)
            return save_pieces(directory, f"titles-{wiki}", lengths, _finished(db)), counts


def _follow(db: duckdb.DuckDBPyConnection) -> None:
    db.execute(FOLLOW)
    for _ in range(MAX_HOPS):
        db.execute(HOP)
    db.execute(f"insert into ends select row, 0, {LOOP} from hops")


def _finished(db: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    pieces = 0
    for batch in db.sql(FINISHED).to_arrow_reader(100_000):
        pieces += 1
        yield dict(zip(("keys", "items", "codes"), (column.to_numpy() for column in batch.columns), strict=True))
    if not pieces:
        yield {"keys": np.zeros(0, np.uint64), "items": np.zeros(0, np.int64), "codes": np.zeros(0, np.int8)}


def _links(shards: Sequence[str], wiki: str) -> Iterator[pa.RecordBatch]:
    for batch in _read(shards, wiki, ["qid", "title", "page_id"]):
        columns = [_hashes(batch.column("title")), batch.column("page_id"), batch.column("qid")]
        yield pa.RecordBatch.from_arrays(columns, schema=LINKS)


def _titles(shards: Sequence[str], wiki: str) -> Iterator[pa.RecordBatch]:
    total = 0
    for batch in _read(shards, wiki, ["title", "page_id", "redirect", "redirect_fragment", "flags"]):
        columns = [
            pa.array(np.arange(total, total + len(batch))),
            _hashes(batch.column("title")),
            batch.column("page_id"),
            _hashes(batch.column("redirect")),
            pc.not_equal(pc.fill_null(batch.column("redirect_fragment"), ""), ""),
            pa.array(_flag_codes(batch.column("flags"))),
        ]
        total += len(batch)
        yield pa.RecordBatch.from_arrays(columns, schema=TITLES)


def _hashes(texts: pa.Array) -> pa.Array:
    """Hash strings; null stays null."""
    found = np.zeros(len(texts), np.uint64)
    valid = texts.is_valid().to_numpy(zero_copy_only=False)
    found[valid] = hash_strings(texts.drop_null())
    return pa.array(found, mask=~valid)
