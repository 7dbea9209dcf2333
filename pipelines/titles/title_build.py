"""Build the table of `title_index` with hash-partitioned joins, so that memory does not grow with the wiki.

The rows are partitioned to the worker's disk three times: titles and items by page id, then both by the hash of the
title, then redirects by the hash of their target.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import hash_strings
from wikianchor.pipelines.arrays.spill import Rows, Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import distinct, find, save_pieces
from wikianchor.pipelines.dataset.reader import groups_that_may_hold, read_batches
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.pipelines.titles.title_index import (
    BROKEN,
    DISAMBIGUATION,
    FINE,
    LIST,
    LOOP,
    NO_ITEM,
    SECTION,
    Codes,
    Ints,
)

# MediaWiki follows one redirect, and bots resolve double ones; a longer chain is a mistake of editors.
MAX_HOPS = 10
# Titles and sitelinks in memory at a time, approximately.
ROWS_AT_ONCE = 1 << 18
# An item, by the hash of its page's title or by its page id.
LINK = np.dtype([("key", np.uint64), ("item", np.int64)])
# `target`: hash of the title that a redirect leads to, 0 for no redirect; `section`: whether it leads to a section.
TITLE = np.dtype(
    [
        *(("key", np.uint64), ("page", np.int64), ("item", np.int64)),
        *(("target", np.uint64), ("section", np.bool_), ("code", np.int8)),
    ]
)
# HOP: the row of a redirect, and the title that it has led to so far. END: the row of a redirect, and its result.
HOP = np.dtype([("row", np.int64), ("target", np.uint64), ("section", np.bool_)])
END = np.dtype([("row", np.int64), ("item", np.int64), ("code", np.int8)])


def build_title_index(
    titles: Sequence[str], sitelinks: Sequence[str], wiki: str, directory: str
) -> tuple[str, dict[str, int]]:
    """Build the table of a wiki on disk.

    Args:
        titles: shards of `titles` of the wiki.
        sitelinks: shards of `sitelinks`.
        wiki: database name.
        directory: directory of the table.

    Returns:
        The path of the arrays `keys`, `items` and `codes` for `TitleIndex`, and of `groups`, those of `row_groups`;
        and counts for the report: `titles` of the dump, titles that only Wikidata has (`elsewhere`), `redirects`,
        titles with an item `by_sitelink` and `by_page_props`, and `conflicts`, where both name different items
        (page_props then takes precedence).

    Raises:
        InputError: the disk is full.
    """
    held = sum(sum(groups_that_may_hold(shard, "wiki", wiki).values()) for shard in (*titles, *sitelinks))
    parts = max(1, -(-held // ROWS_AT_ONCE))
    with Spill(TITLE, parts, directory) as table, Spill(END, parts, directory) as ends:
        counts = _join(titles, sitelinks, wiki, table, parts, directory)
        starts = np.append(0, np.cumsum([table.count(part) for part in range(parts)]))
        _follow_redirects(table, ends, starts, directory)
        groups = row_groups(titles)
        lengths = {"groups": len(groups), **dict.fromkeys(("keys", "items", "codes"), len(table))}
        pieces = chain([{"groups": groups}], _finished(table, ends, starts))
        return save_pieces(directory, f"titles-{wiki}", lengths, pieces), counts


def _join(
    titles: Sequence[str], sitelinks: Sequence[str], wiki: str, table: Spill, parts: int, directory: str
) -> dict[str, int]:
    """Write the sorted rows of the table before redirects are followed; return the counts."""
    counts: Counter[str] = Counter()
    with Spill(LINK, parts, directory) as by_title, Spill(TITLE, parts, directory) as hashed:
        with Spill(LINK, parts, directory) as by_page, Spill(TITLE, parts, directory) as paged:
            _spill_sitelinks(sitelinks, wiki, by_title, by_page, parts)
            _spill_titles(titles, wiki, paged, parts)
            for part in range(parts):
                rows = paged.read(part)
                rows["item"] = _look_up(by_page.read(part), rows["page"])
                hashed.add(rows, hash_range(rows["key"], parts))
        for part in range(parts):
            links, rows = by_title.read(part), hashed.read(part)
            # A sample of a dump lacks pages that it links to. Wikidata has sitelinks only to pages that exist: add
            # them.
            elsewhere = distinct(links["key"])
            elsewhere = elsewhere[find(np.sort(rows["key"]), elsewhere) < 0]
            rows = np.concatenate([rows, rows_of(TITLE, key=elsewhere)])
            # If a title occurs twice, the older page comes first and counts.
            rows = rows[np.lexsort((rows["page"], rows["key"]))]
            titled = _look_up(links, rows["key"])
            of_page = rows["item"] > 0
            counts["elsewhere"] += len(elsewhere)
            counts["redirects"] += int((rows["target"] != 0).sum())
            counts["by_sitelink"] += int((titled > 0).sum())
            counts["by_page_props"] += int(of_page.sum())
            counts["conflicts"] += int((of_page & (titled > 0) & (titled != rows["item"])).sum())
            rows["item"] = np.where(of_page, rows["item"], titled)
            has_item = rows["item"] > 0
            rows["code"] = np.where((rows["code"] == FINE) & ~has_item, NO_ITEM, rows["code"])
            # A redirect with its own item stands for that item; every other redirect is followed.
            rows["target"][has_item] = 0
            rows["code"][rows["target"] != 0] = BROKEN
            table.add(rows, np.full(len(rows), part))
    return {"titles": len(table) - counts["elsewhere"], **counts}


def _spill_sitelinks(shards: Sequence[str], wiki: str, by_title: Spill, by_page: Spill, parts: int) -> None:
    """Partition the items of a wiki by title and by page id."""
    for batch in _read(shards, wiki, ["qid", "title", "page_id"]):
        titles, pages, items = batch.column("title"), batch.column("page_id"), batch.column("qid").to_numpy()
        rows = rows_of(LINK, key=hash_strings(titles.drop_null()), item=items[_valid(titles)])
        by_title.add(rows, hash_range(rows["key"], parts))
        rows = rows_of(LINK, key=pages.drop_null().to_numpy(), item=items[_valid(pages)])
        by_page.add(rows, rows["key"] % np.uint64(parts))


def _spill_titles(shards: Sequence[str], wiki: str, paged: Spill, parts: int) -> None:
    """Partition the titles of a wiki by page id."""
    for batch in _read(shards, wiki, ["title", "page_id", "redirect", "redirect_fragment", "flags"]):
        redirects = batch.column("redirect")
        fragments = pc.fill_null(batch.column("redirect_fragment"), "")
        rows = rows_of(
            TITLE,
            key=hash_strings(batch.column("title")),
            page=batch.column("page_id").to_numpy(),
            section=pc.not_equal(fragments, "").to_numpy(zero_copy_only=False),
            code=_flag_codes(batch.column("flags")),
        )
        rows["target"][_valid(redirects)] = hash_strings(redirects.drop_null())
        paged.add(rows, rows["page"] % parts)


def _follow_redirects(table: Spill, ends: Spill, starts: Ints, directory: str) -> None:
    """Follow all redirects, one hop at a time. Those that lead to no title get no row in `ends`."""
    parts = len(starts) - 1
    hops = Spill(HOP, parts, directory)
    for part in range(parts):
        rows = table.read(part)
        leads_on = np.flatnonzero(rows["target"])
        _add_hops(hops, starts[part] + leads_on, rows[leads_on], parts)
    for _ in range(MAX_HOPS):
        if not len(hops):
            break
        with hops:
            hops = _hop(hops, table, ends, starts, directory)
    with hops:
        for part in range(parts):
            left = hops.read(part)["row"]
            _add_ends(ends, starts, left, np.zeros(len(left), np.int64), np.full(len(left), LOOP, np.int8))


def _hop(hops: Spill, table: Spill, ends: Spill, starts: Ints, directory: str) -> Spill:
    """Follow each redirect by one hop; return those that lead to another redirect."""
    parts = len(starts) - 1
    further = Spill(HOP, parts, directory)
    for part in range(parts):
        redirects = hops.read(part)
        if not len(redirects):
            continue
        rows = table.read(part)
        index = find(rows["key"], redirects["target"])
        redirects, targets = redirects[index >= 0], rows[index[index >= 0]]
        leads_on = targets["target"] != 0
        end, ended = targets[~leads_on], redirects[~leads_on]
        # The item is that of the whole page, so a redirect to a section is no link to it.
        _add_ends(ends, starts, ended["row"], end["item"], np.where(ended["section"], SECTION, end["code"]))
        targets["section"] |= redirects["section"]
        _add_hops(further, redirects["row"][leads_on], targets[leads_on], parts)
    return further


def _add_hops(hops: Spill, row: Ints, redirects: Rows, parts: int) -> None:
    """Partition redirects, given as rows of TITLE, by the hash of their target."""
    target, section = redirects["target"], redirects["section"]
    hops.add(rows_of(HOP, row=row, target=target, section=section), hash_range(target, parts))


def _add_ends(ends: Spill, starts: Ints, row: Ints, item: Ints, code: Codes) -> None:
    """Partition the results of redirects by their row in the table."""
    ends.add(rows_of(END, row=row, item=item, code=code), np.searchsorted(starts, row, side="right") - 1)


def _finished(table: Spill, ends: Spill, starts: Ints) -> Iterator[Mapping[str, npt.NDArray[Any]]]:
    """Yield the columns of the finished table, one partition at a time."""
    for part, start in enumerate(starts[:-1]):
        rows, ended = table.read(part), ends.read(part)
        rows["item"][ended["row"] - start] = ended["item"]
        rows["code"][ended["row"] - start] = ended["code"]
        yield {"keys": rows["key"], "items": rows["item"], "codes": rows["code"]}


def _read(shards: Sequence[str], wiki: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the columns of a wiki's rows."""
    for shard in shards:
        yield from read_batches(shard, columns, only=("wiki", wiki))


def _flag_codes(flags: pa.ListArray) -> Codes:
    codes = np.full(len(flags), FINE, np.int8)
    rows = pc.list_parent_indices(flags).to_numpy()
    names = flags.flatten()
    for name, code in (("list", LIST), ("disambiguation", DISAMBIGUATION)):
        codes[rows[pc.equal(names, name).to_numpy(zero_copy_only=False)]] = code
    return codes


def _valid(column: pa.Array) -> npt.NDArray[np.bool_]:
    return column.is_valid().to_numpy(zero_copy_only=False)


def _look_up(links: Rows, wanted: npt.NDArray[Any]) -> Ints:
    """Return the item of each key, the lowest if there are several, 0 if there is none."""
    if not len(links):
        return np.zeros(len(wanted), np.int64)
    links = links[np.lexsort((links["item"], links["key"]))]
    index = find(links["key"], wanted.astype(np.uint64))
    return np.where(index >= 0, links["item"][index], 0)
