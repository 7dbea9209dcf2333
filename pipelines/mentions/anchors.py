"""What names stand for: links of sentences, titles and redirects in, sorted rows (name, item, counts) out.

Rows are additive: those of several shards, which have no page in common, make those of the wiki by adding up. Item 0
stands for a link that leads to no item.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import SEPARATOR, code_points, cut, fold_all
from wikianchor.aliases.name_table import Sums
from wikianchor.pipelines.arrays.hashing import Hashes, mix_hashes
from wikianchor.pipelines.arrays.tables import find
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.titles.counts import look_up_links
from wikianchor.pipelines.titles.title_index import (
    BROKEN,
    DISAMBIGUATION,
    FINE,
    LIST,
    LOOP,
    NO_ITEM,
    RED,
    SECTION,
    Codes,
    Ints,
    TitleIndex,
)

Reasons = npt.NDArray[np.int64]
# Why a link says nothing about what its name stands for.
REASONS = (
    "kept",
    "no_item",
    "section_redirect",
    "disambiguation",
    "list",
    "red_link",
    "broken_redirect",
    "redirect_loop",
    "section_link",
    "meta_item",
    "too_long",
)
REASON = {name: number for number, name in enumerate(REASONS)}
_OF_CODE = {
    FINE: "kept",
    NO_ITEM: "no_item",
    SECTION: "section_redirect",
    DISAMBIGUATION: "disambiguation",
    LIST: "list",
    RED: "red_link",
    BROKEN: "broken_redirect",
    LOOP: "redirect_loop",
}
_REASON_OF_CODE = np.array([REASON[_OF_CODE[code]] for code in range(len(_OF_CODE))])
ANCHOR, TITLE, REDIRECT = 1, 2, 4
# Code points of sentences looked at together: of 2**15 to 2**21 this takes the least time.
PORTION = 1 << 19
ROWS = pa.schema(
    [
        pa.field("key", pa.string(), False),
        pa.field("surface", pa.string(), False),
        pa.field("qid", pa.int64(), False),
        pa.field("links", pa.int64(), False),
        pa.field("linked_documents", pa.int64(), False),
        pa.field("name_linked_documents", pa.int64(), False),
        pa.field("origins", pa.uint8(), False),
    ]
)


class Targets:
    """What links of a wiki lead to.

    Args:
        index: of the wiki.
        meta: items that are no things of the world, ascending.
        sections: whether what leads to a section counts as leading to its page.
    """

    def __init__(self, index: TitleIndex, meta: Ints, sections: bool) -> None:
        self._index, self._meta, self._sections = index, meta, sections

    def of_links(self, shard: str) -> tuple[Ints, Reasons]:
        """Return the item of each link of a shard of sentences, 0 where it has none or is not to count, and the number
        of the reason."""
        return self._judged(*look_up_links(shard, self._index))

    def of_titles(self, titles: Iterable[pa.Array]) -> tuple[Ints, Reasons]:
        """Return the item of each title, 0 where it has none or is not to count, and the number of the reason."""
        items, codes = self._index.look_up(titles)
        return self._judged(items, codes, np.zeros(len(items), np.bool_))

    def _judged(self, items: Ints, codes: Codes, to_section: npt.NDArray[np.bool_]) -> tuple[Ints, Reasons]:
        reasons = _REASON_OF_CODE[codes]
        if self._sections:
            reasons[(codes == SECTION) & (items > 0)] = REASON["kept"]
        else:
            reasons[to_section & (reasons == REASON["kept"])] = REASON["section_link"]
        kept = np.flatnonzero(reasons == REASON["kept"])
        reasons[kept[find(self._meta, items[kept]) >= 0]] = REASON["meta_item"]
        return np.where(reasons == REASON["kept"], items, 0), reasons


class Portion(NamedTuple):
    """Sentences of whole pages, one after the other.

    Attributes:
        points: their code points, a separator after each.
        page_starts: where each page begins in `points`.
        pages: by link, its page, numbered from 0 within the portion.
        first: by link, where it begins in `points`.
        last: by link, the place after it.
    """

    points: npt.NDArray[np.uint32]
    page_starts: Ints
    pages: Ints
    first: Ints
    last: Ints


def portions(shard: str, linked: bool = False) -> Iterator[Portion]:
    """Yield the sentences of a shard in portions that cut no page; with `linked` those alone that have a link."""
    columns = ["page_id", "text", "links.list.element.start", "links.list.element.end"]
    held: list[pa.RecordBatch] = []
    for batch in read_batches(shard, columns):
        if linked:
            batch = batch.filter(pc.greater(pc.list_value_length(batch.column("links")), 0))
        held.append(batch)
        rows = pa.Table.from_batches(held).combine_chunks().to_batches()[0]
        # The last page may go on in the next row group.
        heads = np.flatnonzero(_changes(rows.column("page_id").to_numpy()))
        whole = int(heads[-1]) if len(heads) else 0
        yield from _cut(rows.slice(0, whole))
        held = [rows.slice(whole)]
    if held:
        yield from _cut(held[0])


def _cut(rows: pa.RecordBatch) -> Iterator[Portion]:
    if not rows.num_rows:
        return
    pages = rows.column("page_id").to_numpy()
    heads = np.flatnonzero(_changes(pages))
    lengths = pc.utf8_length(rows.column("text")).to_numpy().astype(np.int64) + 1
    ends = np.cumsum(lengths)
    # A page begins a new portion when it lies in another stretch of so many code points than the page before.
    stretch = (ends - lengths)[heads] // PORTION
    cuts = heads[np.append(True, stretch[1:] != stretch[:-1])].tolist()
    for first, last in pairwise([*cuts, rows.num_rows]):
        yield _portion(rows.slice(first, last - first), lengths[first:last])


def _portion(rows: pa.RecordBatch, lengths: Ints) -> Portion:
    heads = _changes(rows.column("page_id").to_numpy())
    texts = pa.ListArray.from_arrays(pa.array([0, rows.num_rows], pa.int32()), rows.column("text"))
    joined = pc.binary_join(texts, SEPARATOR)[0].as_py() + SEPARATOR
    starts = np.cumsum(lengths) - lengths
    column = rows.column("links")
    links = column.flatten()
    sentence = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    return Portion(
        code_points(joined),
        starts[heads],
        (np.cumsum(heads) - 1)[sentence],
        starts[sentence] + links.field("start").to_numpy(),
        starts[sentence] + links.field("end").to_numpy(),
    )


def _stretches(points: npt.NDArray[np.uint32], first: Ints, last: Ints) -> tuple[npt.NDArray[np.uint32], Ints]:
    """Return stretches of a text end to end, a separator after each, and where each begins, with the end of all."""
    lengths = last - first + 1
    starts = np.append(0, np.cumsum(lengths))
    found = points[np.repeat(first - starts[:-1], lengths) + np.arange(starts[-1])]
    found[starts[1:] - 1] = 0
    return found, starts


class _Counted(NamedTuple):
    """Links counted by what is written and where it leads."""

    keys: Hashes
    surfaces: Hashes
    items: Ints
    links: Ints
    linked_documents: Ints
    name_linked_documents: Ints


def count_anchors(shard: str, targets: Targets, longest: int) -> tuple[pa.Table, Mapping[str, int]]:
    """Count what the links of a shard of sentences are called and where they lead.

    Args:
        shard: of `sentences`.
        targets: of the wiki.
        longest: names of more code points are left out.

    Returns:
        Rows sorted by key, surface and item, and the links by reason.
    """
    names: dict[int, str] = {}
    found: list[_Counted] = []
    reasons = np.zeros(len(REASONS), np.int64)
    leads_to, because = targets.of_links(shard)
    seen = 0
    for portion in portions(shard, linked=True):
        these = slice(seen, seen + len(portion.pages))
        seen = these.stop
        items, why = leads_to[these], because[these]
        # What links are called, end to end: of the text no more is looked at.
        raw, starts = _stretches(portion.points, portion.first, portion.last)
        text = cut(raw)
        first, last = text.folded_offsets(starts[:-1]), text.folded_offsets(starts[1:] - 1)
        fits = last - first <= longest
        why[~fits] = REASON["too_long"]
        reasons += np.bincount(why, minlength=len(REASONS))
        begin, end = starts[:-1][fits], starts[1:][fits] - 1
        counted, example = _count(
            Sums(text.points).of(first[fits], last[fits]), Sums(raw).of(begin, end), items[fits], portion.pages[fits]
        )
        found.append(counted)
        spans = zip(counted.surfaces.tolist(), begin[example].tolist(), end[example].tolist(), strict=True)
        for surface, start, stop in spans:
            if surface not in names:
                names[surface] = raw[start:stop].tobytes().decode("utf-32-le")
    return _rows(_sum(found), names), dict(zip(REASONS, reasons.tolist(), strict=True))


def _count(keys: Hashes, surfaces: Hashes, items: Ints, pages: Ints) -> tuple[_Counted, Ints]:
    """Count links by name and item, and return one of each besides."""
    order, starts = _alike(keys, surfaces, items)
    keys, surfaces, items, pages = keys[order], surfaces[order], items[order], pages[order]
    # Pages are counted by key and item, and by key: what is new there is booked with the row it is found in.
    names = mix_hashes(keys, pages)
    new_page, new_for_name = _first_of_each(mix_hashes(names, items)), _first_of_each(names)
    return (
        _Counted(
            keys[starts],
            surfaces[starts],
            items[starts],
            np.diff(np.append(starts, len(keys))),
            np.add.reduceat(new_page.astype(np.int64), starts) if len(starts) else starts,
            np.add.reduceat(new_for_name.astype(np.int64), starts) if len(starts) else starts,
        ),
        order[starts],
    )


def _alike(keys: Hashes, surfaces: Hashes, items: Ints) -> tuple[Ints, Ints]:
    """Return an order in which rows that say the same follow each other, and where each kind begins in it."""
    # One sort instead of three: what differs has another hash.
    together = mix_hashes(mix_hashes(keys, items), surfaces)
    order = np.argsort(together, kind="stable")
    return order, np.flatnonzero(_changes(together[order]))


def _first_of_each(values: Hashes) -> npt.NDArray[np.bool_]:
    """Whether each value is the first of its kind."""
    found = np.zeros(len(values), np.bool_)
    order = np.argsort(values, kind="stable")
    found[order[_changes(values[order])]] = True
    return found


def _changes(*columns: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each row differs from the one before; the first does."""
    found = np.zeros(len(columns[0]), np.bool_)
    found[:1] = True
    for column in columns:
        found[1:] |= column[1:] != column[:-1]
    return found


def _sum(found: Sequence[_Counted]) -> _Counted:
    """Add the counts of several portions up."""
    if not found:
        none = np.zeros(0, np.int64)
        return _Counted(none.view(np.uint64), none.view(np.uint64), none, none, none, none)
    joined = _Counted(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
    order, starts = _alike(joined.keys, joined.surfaces, joined.items)
    if not len(starts):
        return joined
    first = order[starts]
    sums = (np.add.reduceat(column[order], starts) for column in joined[3:])
    return _Counted(joined.keys[first], joined.surfaces[first], joined.items[first], *sums)


def _rows(counted: _Counted, names: Mapping[int, str]) -> pa.Table:
    surfaces = [names[surface] for surface in counted.surfaces.tolist()]
    return _sorted_rows(
        surfaces,
        counted.items,
        counted.links,
        counted.linked_documents,
        counted.name_linked_documents,
        np.full(len(surfaces), ANCHOR, np.uint8),
    )


def _sorted_rows(surfaces: Sequence[str], *columns: npt.NDArray[Any]) -> pa.Table:
    table = pa.Table.from_arrays(
        [pa.array(fold_all(surfaces), pa.string()), pa.array(surfaces, pa.string()), *columns], schema=ROWS
    )
    return table.sort_by([("key", "ascending"), ("surface", "ascending"), ("qid", "ascending")])


def name_of_title(title: str) -> str:
    """Return what a title says without the bracket that tells it from its namesakes."""
    bracket = title.rfind("(")
    if bracket < 1 or title.find(")", bracket) != len(title) - 1:
        return title
    return title[:bracket].rstrip(" _") or title


def title_names(shard: str, targets: Targets, longest: int) -> pa.Table:
    """Return the names that titles and redirects give their items, each once, sorted as those of links."""
    surfaces: list[str] = []
    items, origins = [np.zeros(0, np.int64)], [np.zeros(0, np.uint8)]
    leads_to, _ = targets.of_titles(batch.column("title") for batch in read_batches(shard, ["title"]))
    for batch in read_batches(shard, ["title", "redirect"]):
        titles = batch.column("title")
        qids, leads_to = leads_to[: len(titles)], leads_to[len(titles) :]
        names = [name_of_title(title) if title.endswith(")") else title for title in titles.to_pylist()]
        fits = np.fromiter((0 < len(name) <= longest for name in names), np.bool_, len(names)) & (qids > 0)
        surfaces += [names[place] for place in np.flatnonzero(fits).tolist()]
        items.append(qids[fits])
        redirects = batch.column("redirect").is_valid().to_numpy(zero_copy_only=False)
        origins.append(np.where(redirects, REDIRECT, TITLE).astype(np.uint8)[fits])
    none = np.zeros(len(surfaces), np.int64)
    return _sorted_rows(surfaces, np.concatenate(items), none, none, none, np.concatenate(origins))


class Names(NamedTuple):
    """Names of a range of keys.

    Attributes:
        keys: ascending, each once.
        rows: of a name and an item, by key and, in it, the item linked to most often first: `name`, the place of the
            key in `keys`; `surface`; `qid`; `links`; `linked_documents`; `origins`.
        links: by key, links with this name to anything.
        documents: by key, pages with such a link.
    """

    keys: pa.Array
    rows: pa.Table
    links: Ints
    documents: Ints


def merge_names(table: pa.Table) -> Names:
    """Add up the rows of several shards, all that there are of each key. Names that stand for no item are left out.

    Args:
        table: rows as of `ROWS`, ascending by key; those of one key in any order.
    """
    keys = table["key"].combine_chunks()
    new_key = np.append(True, pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False))[: len(keys)]
    distinct = keys.filter(pa.array(new_key))
    key = np.cumsum(new_key) - 1
    surfaces = table["surface"].combine_chunks().dictionary_encode()
    by_name = np.empty(len(surfaces.dictionary), np.int64)
    by_name[pc.sort_indices(surfaces.dictionary).to_numpy()] = np.arange(len(by_name))
    surface = surfaces.indices.to_numpy().astype(np.int64)
    qid, links = table["qid"].to_numpy(), table["links"].to_numpy()
    documents = table["linked_documents"].to_numpy()
    origins = table["origins"].to_numpy()
    name_links = np.bincount(key, links, len(distinct)).astype(np.int64)
    name_documents = np.bincount(key, table["name_linked_documents"].to_numpy(), len(distinct)).astype(np.int64)
    # First by surface, to know which is written most often; then by item.
    by = np.lexsort((by_name[surface], qid, key))
    by = by[qid[by] > 0]
    starts = np.flatnonzero(_changes(key[by], qid[by], surface[by]))
    if not len(starts):
        return Names(
            distinct[:0], _name_rows(distinct[:0], surfaces.dictionary[:0]), name_links[:0], name_documents[:0]
        )
    at = by[starts]
    surface_links = np.add.reduceat(links[by], starts)
    surface_documents = np.add.reduceat(documents[by], starts)
    surface_origins = np.bitwise_or.reduceat(origins[by], starts)
    best = np.lexsort((by_name[surface[at]], -surface_links, qid[at], key[at]))
    at = at[best]
    starts = np.flatnonzero(_changes(key[at], qid[at]))
    row = at[starts]
    links = np.add.reduceat(surface_links[best], starts)
    documents = np.add.reduceat(surface_documents[best], starts)
    origins = np.bitwise_or.reduceat(surface_origins[best], starts)
    last = np.lexsort((qid[row], -links, key[row]))
    row = row[last]
    kept, name = np.unique(key[row], return_inverse=True)
    rows = _name_rows(
        name, surfaces.dictionary.take(pa.array(surface[row])), qid[row], links[last], documents[last], origins[last]
    )
    return Names(distinct.take(pa.array(kept)), rows, name_links[kept], name_documents[kept])


def _name_rows(name: Any, surface: Any, *columns: Any) -> pa.Table:
    names = ("name", "surface", "qid", "links", "linked_documents", "origins")
    kinds = (pa.int64(), pa.string(), pa.int64(), pa.int64(), pa.int64(), pa.uint8())
    empty: list[list[Any]] = [[] for _ in range(len(names) - 2)]
    arrays = [pa.array(values, kind) for values, kind in zip((name, surface, *(columns or empty)), kinds, strict=True)]
    return pa.Table.from_arrays(arrays, names=list(names))
