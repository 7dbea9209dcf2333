"""Titles to Wikidata items: redirects followed, in one sorted table for each wiki.

The table has two columns, the hash of a title and what a link to it means: the number of an item, or a code below one
that says why
there is none. It takes 16 bytes a title, 280 MB for the 17 million of English Wikipedia, and is shared by all workers
of a machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dataset.reader import read_batches
from pipelines.linking.hashing import Hashes, hash_column, hash_strings

Ints = npt.NDArray[np.int64]
NO_ITEM, SECTION, DISAMBIGUATION, LIST, RED, LOOP = 0, -1, -2, -3, -4, -5
# MediaWiki follows one redirect; bots resolve double ones, and what is longer is a mistake in the making.
MAX_HOPS = 10


def build_title_index(
    titles: Sequence[str], sitelinks: Sequence[str], wiki: str
) -> tuple[Mapping[str, npt.NDArray[Any]], dict[str, int]]:
    """Build the table of a wiki.

    Args:
        titles: shards of `titles` of the wiki.
        sitelinks: shards of `sitelinks`.
        wiki: database name.

    Returns:
        Arrays `keys` and `values` for `save_tables`, and counts for the report: titles, with an item by each route,
        and in conflict
        where the two routes name different items (then the wiki's own page_props counts).
    """
    keys, page_ids, targets, flags, sections = _read_titles(titles, wiki)
    order = np.argsort(keys, kind="stable")
    by_title, by_page = _read_sitelinks(sitelinks, wiki)
    titled = _look_up(*by_title, keys)
    paged = _look_up(*by_page, page_ids)
    own = np.where(paged > 0, paged, titled)
    counts = {
        "titles": len(keys),
        "by_sitelink": int((titled > 0).sum()),
        "by_page_props": int((paged > 0).sum()),
        "conflicts": int(((titled > 0) & (paged > 0) & (titled != paged)).sum()),
    }
    values = np.where(flags != 0, flags, own)
    # A redirect with an item of its own is that item; another leads on, unless it leads to a section of something else.
    leads_on = (targets != 0) & (own == 0)
    values[leads_on] = RED
    at = np.flatnonzero(leads_on)
    position = at.copy()
    through_section = sections[at].copy()
    for _ in range(MAX_HOPS):
        if not len(at):
            break
        found = _positions(keys, order, targets[position])
        there = found >= 0
        at, position, through_section = at[there], found[there], through_section[there]
        goes_on = leads_on[position]
        through_section |= sections[position] & goes_on
        done = ~goes_on
        reached = values[position[done]]
        values[at[done]] = np.where(through_section[done], SECTION, reached)
        at, position, through_section = at[goes_on], position[goes_on], through_section[goes_on]
    values[at] = LOOP
    counts["redirects"] = int((targets != 0).sum())
    return {"keys": keys[order], "values": values[order]}, counts


def _read_titles(shards: Sequence[str], wiki: str) -> tuple[Hashes, Ints, Hashes, Ints, npt.NDArray[np.bool_]]:
    """Return, for each title of the wiki: its hash, page id, hash of the redirect target or 0, code of its flag, leads
    to a section."""
    columns = ["wiki", "title", "page_id", "redirect", "redirect_fragment", "flags"]
    found: list[tuple[npt.NDArray[Any], ...]] = []
    for shard in shards:
        for batch in read_batches(shard, columns):
            batch = batch.filter(pc.equal(batch.column("wiki"), wiki))
            redirects = batch.column("redirect")
            has = redirects.is_valid().to_numpy(zero_copy_only=False)
            targets = np.zeros(batch.num_rows, np.uint64)
            targets[has] = hash_strings(redirects.drop_null())
            fragment = pc.fill_null(batch.column("redirect_fragment"), "")
            found.append(
                (
                    hash_strings(batch.column("title")),
                    batch.column("page_id").to_numpy(),
                    targets,
                    _flag_codes(batch.column("flags")),
                    pc.not_equal(fragment, "").to_numpy(zero_copy_only=False),
                )
            )
    empty = (
        np.zeros(0, np.uint64),
        np.zeros(0, np.int64),
        np.zeros(0, np.uint64),
        np.zeros(0, np.int64),
        np.zeros(0, bool),
    )
    found = found or [empty]
    keys, page_ids, targets, flags, sections = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return keys, page_ids, targets, flags, sections


def _flag_codes(flags: pa.ListArray) -> Ints:
    codes = np.zeros(len(flags), np.int64)
    rows = pc.list_parent_indices(flags).to_numpy()
    names = flags.flatten().to_pylist()
    for row, name in zip(rows, names, strict=True):
        if name == "disambiguation":
            codes[row] = DISAMBIGUATION
        elif not codes[row]:
            codes[row] = LIST
    return codes


def _read_sitelinks(shards: Sequence[str], wiki: str) -> tuple[tuple[Any, Ints], tuple[Any, Ints]]:
    """Return (sorted hashes of titles, items) and (sorted page ids, items) of a wiki."""
    hashes, title_items, pages, page_items = (
        [np.zeros(0, np.uint64)],
        [np.zeros(0, np.int64)],
        [np.zeros(0, np.int64)],
        [np.zeros(0, np.int64)],
    )
    for shard in shards:
        for batch in read_batches(shard, ["wiki", "qid", "title", "page_id"], only=("wiki", wiki)):
            batch = batch.filter(pc.equal(batch.column("wiki"), wiki))
            qids = batch.column("qid").to_numpy()
            titled = batch.column("title").is_valid().to_numpy(zero_copy_only=False)
            hashes.append(hash_strings(batch.column("title").drop_null()))
            title_items.append(qids[titled])
            paged = batch.column("page_id").is_valid().to_numpy(zero_copy_only=False)
            pages.append(batch.column("page_id").drop_null().to_numpy())
            page_items.append(qids[paged])
    return _sorted(hashes, title_items), _sorted(pages, page_items)


def _sorted(keys: Iterable[npt.NDArray[Any]], values: Iterable[Ints]) -> tuple[npt.NDArray[Any], Ints]:
    joined, items = np.concatenate(list(keys)), np.concatenate(list(values))
    order = np.lexsort((items, joined))
    return joined[order], items[order]


def _look_up(keys: npt.NDArray[Any], values: Ints, wanted: npt.NDArray[Any]) -> Ints:
    """Return the value of each wanted key, 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], 0)


def _positions(keys: Hashes, order: Ints, wanted: Hashes) -> Ints:
    """Return where each wanted hash stands in the unsorted keys, -1 where it does not."""
    at = np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)
    found = order[at]
    return np.where(keys[found] == wanted, found, -1)


class TitleIndex:
    """The table of a wiki, opened."""

    def __init__(self, tables: Mapping[str, npt.NDArray[Any]]) -> None:
        self._keys, self._values = tables["keys"], tables["values"]

    def resolve(self, titles: pa.Array) -> Ints:
        """Return for each title the item that a link to it means, or the code of why there is none."""
        hashes, rows = hash_column(titles)
        if not len(hashes) or not len(self._keys):
            return np.full(len(titles), RED, np.int64)
        # Sorted look-ups walk the table once instead of jumping about in it.
        order = np.argsort(hashes)
        at = np.empty(len(hashes), np.int64)
        at[order] = np.minimum(np.searchsorted(self._keys, hashes[order]), len(self._keys) - 1)
        values = np.where(self._keys[at] == hashes, self._values[at], RED)
        return values[rows]
