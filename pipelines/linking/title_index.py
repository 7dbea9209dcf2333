"""Titles to Wikidata items: redirects followed, in one sorted table for each wiki.

The table has three columns: the hash of a title, the item of the page that a link to it opens, and a code that says
why such a link is no link to that item. It takes 17 bytes a title, 290 MB for the 17 million of English Wikipedia, and
is shared by all workers of a machine. A title is looked up once: from then on its place in the table stands for it.
To build it takes several times that for a moment, on one worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dataset.reader import read_batches
from pipelines.linking.hashing import hash_strings
from pipelines.linking.tables import FOUND_TOGETHER, distinct, find

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Places = npt.NDArray[np.int32]
# FINE: the title stands for its item. BROKEN: a redirect that leads to no page of the wiki's articles.
FINE, NO_ITEM, SECTION, DISAMBIGUATION, LIST, RED, BROKEN, LOOP = range(8)
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
        Arrays `keys`, `items` and `codes` for `TitleIndex`, the last two longer by one; and counts for the report:
        titles of the dump and titles that Wikidata alone knows, those with an item by each route, and those in
        conflict, where the two routes name different items (then the wiki's own page_props counts).
    """
    by_title, by_page = _read_sitelinks(sitelinks, wiki)
    columns = _read_titles(titles, wiki, by_page)
    del by_page
    rows = len(columns["keys"])
    order = np.argsort(columns["keys"], kind="stable")
    keys = columns.pop("keys")[order]
    # A part of a dump does not hold every page that it links to, but Wikidata links to pages that exist only.
    elsewhere = distinct(by_title[0])
    elsewhere = elsewhere[find(keys, elsewhere) < 0]
    # Where each row of the table comes from: those of pages elsewhere, and the last, from the row of zeros.
    places = np.searchsorted(keys, elsewhere)
    source = np.append(np.insert(order, places, rows), rows)
    keys = np.insert(keys, places, elsewhere)
    del order, places
    # Column by column, so that memory holds one of them twice.
    items, targets, flags, sections = (columns.pop(name)[source] for name in ("paged", "targets", "flags", "sections"))
    del source
    codes = np.full(len(items), NO_ITEM, np.int8)
    counts = {"titles": rows, "elsewhere": len(elsewhere), "redirects": int((targets != 0).sum())}
    counts |= dict.fromkeys(("by_sitelink", "by_page_props", "conflicts"), 0)
    for first in range(0, len(keys), FOUND_TOGETHER):
        here = slice(first, min(first + FOUND_TOGETHER, len(keys)))
        paged, titled = items[here], _look_up(*by_title, keys[here])
        counts["by_sitelink"] += int((titled > 0).sum())
        counts["by_page_props"] += int((paged > 0).sum())
        counts["conflicts"] += int(((titled > 0) & (paged > 0) & (titled != paged)).sum())
        items[here] = np.where(paged > 0, paged, titled)
        codes[here] = np.where(flags[here] != FINE, flags[here], np.where(items[here] > 0, FINE, NO_ITEM))
    codes[-1] = RED
    # A redirect with an item of its own stands for that item; every other leads on.
    leads_on = (targets != 0) & (items == 0)
    codes[leads_on] = BROKEN
    start = position = np.flatnonzero(leads_on)
    through_section = sections[start]
    for _ in range(MAX_HOPS):
        found = find(keys, targets[position])
        there = found >= 0
        start, position, through_section = start[there], found[there], through_section[there]
        further = leads_on[position]
        end = position[~further]
        items[start[~further]] = items[end]
        # The item is that of the whole page, so a link by way of a section is no link to it.
        codes[start[~further]] = np.where(through_section[~further], SECTION, codes[end])
        start, position = start[further], position[further]
        through_section = through_section[further] | sections[position]
    codes[start] = LOOP
    return {"keys": keys, "items": items, "codes": codes}, counts


def _read_titles(shards: Sequence[str], wiki: str, by_page: tuple[Ints, Ints]) -> dict[str, npt.NDArray[Any]]:
    """Return the titles of a wiki as columns: `keys`, the hash; and, with a last row of zeros, `paged`, the item by the
    page id or 0; `targets`, the hash of what a redirect leads to or 0; `flags`, their code; `sections`, whether a
    redirect leads to one."""
    found: dict[str, list[npt.NDArray[Any]]] = {
        "keys": [np.zeros(0, np.uint64)],
        "paged": [np.zeros(0, np.int64)],
        "targets": [np.zeros(0, np.uint64)],
        "flags": [np.zeros(0, np.int8)],
        "sections": [np.zeros(0, np.bool_)],
    }
    for shard in shards:
        for batch in read_batches(shard, ["wiki", "title", "page_id", "redirect", "redirect_fragment", "flags"]):
            batch = batch.filter(pc.equal(batch.column("wiki"), wiki))
            redirects = batch.column("redirect")
            has = redirects.is_valid().to_numpy(zero_copy_only=False)
            targets = np.zeros(batch.num_rows, np.uint64)
            targets[has] = hash_strings(redirects.drop_null())
            fragment = pc.fill_null(batch.column("redirect_fragment"), "")
            found["keys"].append(hash_strings(batch.column("title")))
            # Page ids ascend in a dump: to walk through sorted keys is ten times as fast as to jump about in them.
            found["paged"].append(_look_up(*by_page, batch.column("page_id").to_numpy()))
            found["targets"].append(targets)
            found["flags"].append(_flag_codes(batch.column("flags")))
            found["sections"].append(pc.not_equal(fragment, "").to_numpy(zero_copy_only=False))
    columns = {}
    for name in list(found):
        parts = found.pop(name)
        columns[name] = np.concatenate(parts if name == "keys" else [*parts, np.zeros(1, parts[0].dtype)])
    return columns


def _flag_codes(flags: pa.ListArray) -> Codes:
    codes = np.full(len(flags), FINE, np.int8)
    rows = pc.list_parent_indices(flags).to_numpy()
    names = flags.flatten()
    for name, code in (("list", LIST), ("disambiguation", DISAMBIGUATION)):
        codes[rows[pc.equal(names, name).to_numpy(zero_copy_only=False)]] = code
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
    place = find(keys, wanted)
    return np.where(place >= 0, values[place], 0)


class TitleIndex:
    """The table of a wiki, opened.

    Attributes:
        items: by place, the item of the page that a link to the title opens, 0 where there is none.
        codes: by place, FINE, or the code of why a link to the title is no link to that item.

    Both end with a row for titles that are not in the table, so the place -1 reads right.
    """

    def __init__(self, tables: Mapping[str, npt.NDArray[Any]]) -> None:
        self._keys = tables["keys"]
        self.items: Ints = tables["items"]
        self.codes: Codes = tables["codes"]

    def places(self, titles: pa.Array) -> Places:
        """Return the place of each title in the table, -1 where it is not there."""
        hashes = hash_strings(titles)
        places = np.full(len(hashes), -1, np.int32)
        if len(self._keys):
            # Sorted look-ups walk the table once instead of jumping about in it.
            order = np.argsort(hashes)
            places[order] = find(self._keys, hashes[order])
        return places
