"""Count which names stand for which items: in the links of text (anchor texts), and in titles and redirects.

Each group of shards gives sorted rows (key, surface, item, counts). No page is in two groups, so the rows of a wiki are
the sums of the rows of its groups. Item 0 is that of links whose target has no item.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import QUOTES, SEPARATOR, code_points, cut, fold_all
from wikianchor.aliases.name_table import Sums
from wikianchor.pipelines.arrays.hashing import Hashes, mix_hashes
from wikianchor.pipelines.arrays.tables import changes, find
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.mentions.page_rows import rows_by_page
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.titles.counts import look_up_links
from wikianchor.pipelines.titles.title_index import SECTION, Codes, Ints, TitleIndex
from wikianchor.schemas.choices import FRAGMENT_REGIONS

Reasons = npt.NDArray[np.int64]
# Why a link says nothing about its name, or "kept". The first eight have the numbers of the codes of the title index,
# FINE to LOOP.
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
    "gap",
    "number",
)
REASON = {name: number for number, name in enumerate(REASONS)}
ANCHOR, TITLE, REDIRECT = 1, 2, 4
TABLE = FRAGMENT_REGIONS.index("table")
# Code points of the sentences in a portion: of the powers from 2**15 to 2**21 this takes the least time.
PORTION = 1 << 19
# Names of a shard, by key: the folded surface by which names are found.
ROWS = pa.schema(
    pa.field(name, kind, nullable=False)
    for kind, names in {
        pa.string(): ("key", "surface"),
        pa.int64(): ("qid", "links", "linked_documents", "name_linked_documents"),
        pa.uint8(): ("origins",),
    }.items()
    for name in names
)


class Targets:
    """The items that links of a wiki lead to.

    Args:
        index: the title index of the wiki.
        meta: items that are no entities, such as templates or categories, ascending.
        sections: count a link or redirect to a section as one to its page.
    """

    def __init__(self, index: TitleIndex, meta: Ints, sections: bool) -> None:
        self._index, self._meta, self._sections = index, meta, sections

    def of_links(self, shard: str) -> tuple[Ints, Reasons]:
        """Return the item of each link of a shard, 0 where the link does not count, and its reason."""
        return self._checked(*look_up_links(shard, self._index))

    def of_titles(self, titles: Iterable[pa.Array]) -> tuple[Ints, Reasons]:
        """Return the item of each title, 0 where the title does not count, and its reason."""
        items, codes = self._index.look_up(titles)
        return self._checked(items, codes, np.zeros(len(items), np.bool_))

    def _checked(self, items: Ints, codes: Codes, to_section: npt.NDArray[np.bool_]) -> tuple[Ints, Reasons]:
        reasons = codes.astype(np.int64)
        if self._sections:
            reasons[(codes == SECTION) & (items > 0)] = REASON["kept"]
        else:
            reasons[to_section & (reasons == REASON["kept"])] = REASON["section_link"]
        kept = np.flatnonzero(reasons == REASON["kept"])
        reasons[kept[find(self._meta, items[kept]) >= 0]] = REASON["meta_item"]
        return np.where(reasons == REASON["kept"], items, 0), reasons


class Portion(NamedTuple):
    """The sentences and fragments of some whole pages as one text.

    Attributes:
        points: code points of the sentences, with a separator after each.
        page_starts: the first index of each page in `points`.
        numbers: the number of each link (`rows_by_page`).
        regions: the index of each link's region in FRAGMENT_REGIONS.
        pages: the page of each link, numbered from 0 within the portion.
        first: the first index of each link in `points`, after a quotation mark that belongs to no name.
        last: the index after the last of each link.
    """

    points: npt.NDArray[np.uint32]
    page_starts: Ints
    numbers: Ints
    regions: Ints
    pages: Ints
    first: Ints
    last: Ints


def portions(
    shards: Sequence[str], regions: Collection[str], first_links: Sequence[int] = (), linked: bool = False
) -> Iterator[Portion]:
    """Yield the text of shards in portions of whole pages; the arguments are those of `rows_by_page`."""
    for rows in rows_by_page(shards, regions, first_links, linked):
        yield from _cut(rows)


def _cut(rows: pa.RecordBatch) -> Iterator[Portion]:
    """Yield rows of whole pages in portions of about PORTION code points."""
    heads = np.flatnonzero(changes(rows.column("page_id").to_numpy()))
    lengths = pc.utf8_length(rows.column("text")).to_numpy().astype(np.int64) + 1
    ends = np.cumsum(lengths)
    # A page starts a new portion when its start, divided by PORTION, differs from that of the page before.
    cuts = heads[changes((ends - lengths)[heads] // PORTION)].tolist()
    for first, last in pairwise([*cuts, rows.num_rows]):
        yield _portion(rows.slice(first, last - first), lengths[first:last])


def _portion(rows: pa.RecordBatch, lengths: Ints) -> Portion:
    heads = changes(rows.column("page_id").to_numpy())
    texts = pa.ListArray.from_arrays(pa.array([0, rows.num_rows], pa.int32()), rows.column("text"))
    joined = pc.binary_join(texts, SEPARATOR)[0].as_py() + SEPARATOR
    starts = np.cumsum(lengths) - lengths
    column = rows.column("links")
    links = column.flatten()
    sentence = pc.list_parent_indices(column).to_numpy().astype(np.int64)
    points = code_points(joined)
    first, last = starts[sentence] + links.field("start").to_numpy(), starts[sentence] + links.field("end").to_numpy()
    return Portion(
        points,
        starts[heads],
        links.field("number").to_numpy(),
        rows.column("region").to_numpy()[sentence],
        (np.cumsum(heads) - 1)[sentence],
        *_without_quotes(points, first, last),
    )


_QUOTES = np.array(sorted(map(ord, QUOTES)), np.uint32)


def _without_quotes(points: npt.NDArray[np.uint32], first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return ranges of a text without quotation marks at their edges; a range with others within stays as it is."""
    opened, closed = (np.isin(points[edge], _QUOTES) for edge in (first, last - 1))
    quoted = np.flatnonzero((opened | closed) & (last - first > 2))
    inside, offsets = _concatenated(points, first[quoted] + opened[quoted], last[quoted] - closed[quoted])
    before = np.append(0, np.cumsum(np.isin(inside, _QUOTES)))
    trimmed = quoted[before[offsets[1:]] == before[offsets[:-1]]]
    first[trimmed] += opened[trimmed]
    last[trimmed] -= closed[trimmed]
    return first, last


def _concatenated(points: npt.NDArray[np.uint32], first: Ints, last: Ints) -> tuple[npt.NDArray[np.uint32], Ints]:
    """Return the ranges [first, last) of a text, with a separator after each, and the (ranges + 1,) offsets of them."""
    lengths = last - first + 1
    starts = np.append(0, np.cumsum(lengths))
    # The last range may end where the text does, and has no character behind it.
    text = points.take(np.repeat(first - starts[:-1], lengths) + np.arange(starts[-1]), mode="clip")
    text[starts[1:] - 1] = 0
    return text, starts


# Links of a name (key and surface, as hashes) to an item: an example's index, and numbers.
_LINKS = pa.schema(
    [
        *((name, pa.uint64()) for name in ("key", "surface")),
        *((name, pa.int64()) for name in ("qid", "example", "links", "linked_documents", "name_linked_documents")),
    ]
)


class AnchorCounts(NamedTuple):
    """The names in the links of a group of shards.

    Attributes:
        rows: as of ROWS, sorted by key, surface and item.
        reasons: number of links by reason.
        regions: number of links that give a name, by region.
    """

    rows: pa.Table
    reasons: dict[str, int]
    regions: dict[str, int]


class LinkReasons:
    """The items of all links of a group of shards, and how many links count or not, by region and reason.

    Args:
        shards: shards of `sentences` and `fragments`.
        targets: the items of the wiki's links.

    Attributes:
        first_links: the number of each shard's first link.
    """

    def __init__(self, shards: Sequence[str], targets: Targets) -> None:
        of_shards = [targets.of_links(shard) for shard in shards]
        self.first_links = np.cumsum([0, *(len(items) for items, _ in of_shards)]).tolist()[:-1]
        self._items, self._reasons = map(np.concatenate, zip(*of_shards, strict=True))
        self._counts = np.zeros((len(FRAGMENT_REGIONS), len(REASONS)), np.int64)

    def at(self, numbers: Ints) -> tuple[Ints, Reasons]:
        """Return the items of links, and their reasons as far as these follow from their targets."""
        return self._items[numbers], self._reasons[numbers]

    def count(self, regions: Ints, reasons: Reasons) -> None:
        """Count links, given their regions and reasons."""
        self._counts.reshape(-1)[:] += np.bincount(regions * len(REASONS) + reasons, minlength=self._counts.size)

    def counts(self, rows: pa.Table) -> AnchorCounts:
        """Return the names in the links."""
        return AnchorCounts(
            rows,
            dict(zip(REASONS, self._counts.sum(axis=0).tolist(), strict=True)),
            dict(zip(FRAGMENT_REGIONS, self._counts[:, REASON["kept"]].tolist(), strict=True)),
        )


def count_anchors(
    shards: Sequence[str], targets: Targets, max_length: int, regions: Collection[str], chinese: bool
) -> AnchorCounts:
    """Count links by anchor text and item.

    Args:
        shards: shards of `sentences` and `fragments`, a group of `shards_of_pages`.
        targets: the items of the wiki's links.
        max_length: leave out names of more code points.
        regions: the regions whose links count.
        chinese: fold the Chinese scripts.
    """
    surfaces: dict[int, str] = {}
    counts = [_LINKS.empty_table()]
    of_links = LinkReasons(shards, targets)
    for portion in portions(shards, regions, of_links.first_links, linked=True):
        items, link_reasons = of_links.at(portion.numbers)
        # Only the anchor texts: the rest of the sentences is not folded.
        raw, starts = _concatenated(portion.points, portion.first, portion.last)
        text = cut(raw, chinese)
        first, last = text.folded_offsets(starts[:-1]), text.folded_offsets(starts[1:] - 1)
        fits = last - first <= max_length
        link_reasons[~fits] = REASON["too_long"]
        missing = np.append(0, np.cumsum(raw == ord(MISSING)))
        has_gap = missing[starts[1:]] > missing[starts[:-1]]
        link_reasons[has_gap] = REASON["gap"]
        in_table = np.flatnonzero(portion.regions == TABLE)
        is_number = np.zeros(len(fits), np.bool_)
        is_number[in_table] = ~_has_letters(raw, starts, in_table)
        is_number &= fits & ~has_gap & (link_reasons == REASON["kept"])
        link_reasons[is_number] = REASON["number"]
        fits &= ~(has_gap | is_number)
        of_links.count(portion.regions, link_reasons)
        begin, end = starts[:-1][fits], starts[1:][fits] - 1
        keys, names = Sums(text.points).of(first[fits], last[fits]), Sums(raw).of(begin, end)
        counts.append(_count(keys, names, items[fits], portion.pages[fits]))
        examples = counts[-1]["example"].to_numpy()
        decoded = raw.tobytes().decode("utf-32-le")
        of_portion = zip(
            *(column.tolist() for column in (names[examples], begin[examples], end[examples])), strict=True
        )
        surfaces |= {surface: decoded[start:stop] for surface, start, stop in of_portion if surface not in surfaces}
    total = _sum(pa.concat_tables(counts))
    rows = _sorted_rows([surfaces[surface] for surface in total["surface"].to_pylist()], total, ANCHOR, chinese)
    return of_links.counts(rows)


def _has_letters(text: npt.NDArray[np.uint32], starts: Ints, links: Ints) -> npt.NDArray[np.bool_]:
    """Return for each of some ranges of a text, as of `_concatenated`, whether a letter is in it."""
    ranges, offsets = _concatenated(text, starts[links], starts[links + 1] - 1)
    points, point = np.unique(ranges, return_inverse=True)
    letters = np.fromiter(
        (unicodedata.category(chr(code))[0] == "L" for code in points.tolist()), np.bool_, len(points)
    )
    before = np.append(0, np.cumsum(letters[point]))
    return before[offsets[1:]] > before[offsets[:-1]]


def _count(keys: Hashes, surfaces: Hashes, items: Ints, pages: Ints) -> pa.Table:
    """Count links, one array element for each, by name and item."""
    # Pages are counted once for each (key, item) and once for each key: where they occur first.
    names = mix_hashes(keys, pages)
    new_page, new_for_name = (_first_of_each(values).astype(np.int64) for values in (mix_hashes(names, items), names))
    ones = np.ones_like(items)
    return _sum(pa.table([keys, surfaces, items, np.arange(len(items)), ones, new_page, new_for_name], schema=_LINKS))


def _first_of_each(values: Hashes) -> npt.NDArray[np.bool_]:
    """Return a mask of the first occurrence of each value."""
    mask = np.zeros(len(values), np.bool_)
    mask[np.unique(values, return_index=True)[1]] = True
    return mask


def _sum(links: pa.Table) -> pa.Table:
    """Add up the counts of each name and item."""
    sums = [(name, "sum") for name in _LINKS.names[4:]]
    names = links.group_by(_LINKS.names[:3], use_threads=False).aggregate([("example", "min"), *sums])
    return names.rename_columns(_LINKS.names)


def _sorted_rows(surfaces: Sequence[str], counts: pa.Table, origins: Any, chinese: bool) -> pa.Table:
    """Return rows as of ROWS, sorted by key, surface and item.

    Args:
        surfaces: the names.
        counts: the items and their numbers of links.
        origins: where the names come from, one bit set for each or for all.
        chinese: whether to fold the Chinese scripts.
    """
    columns = {name: counts[name] for name in ROWS.names[2:-1]}
    masks = np.full(len(surfaces), origins, np.uint8)
    table = pa.table({"key": fold_all(surfaces, chinese), "surface": surfaces, **columns, "origins": masks}, ROWS)
    return table.sort_by([("key", "ascending"), ("surface", "ascending"), ("qid", "ascending")])


def name_of_title(title: str) -> str:
    """Return a title without the qualifier in brackets at its end: "Mercury" for "Mercury (planet)"."""
    bracket = title.rfind("(")
    if bracket < 1 or title.find(")", bracket) != len(title) - 1:
        return title
    return title[:bracket].rstrip(" _") or title


def read_title_names(shard: str, targets: Targets, max_length: int) -> tuple[pa.StringArray, Ints, npt.NDArray[Any]]:
    """Return the names that titles and redirects give to items, in the order of the shard: surfaces, items, origins."""
    rows = pa.Table.from_batches(read_batches(shard, ["title", "redirect"]))
    items, _ = targets.of_titles(rows["title"].chunks)
    names = rows["title"].combine_chunks()
    bracketed = pc.ends_with(names, ")")
    names = pc.replace_with_mask(
        names, bracketed, pa.array(map(name_of_title, names.filter(bracketed).to_pylist()), pa.string())
    )
    lengths = pc.utf8_length(names).to_numpy()
    fits = np.flatnonzero((lengths > 0) & (lengths <= max_length) & (items > 0))
    return (
        names.take(pa.array(fits)),
        items[fits],
        np.where(rows["redirect"].is_valid(), REDIRECT, TITLE)[fits].astype(np.uint8),
    )


def title_names(shard: str, targets: Targets, max_length: int, chinese: bool) -> pa.Table:
    """Return the names that titles and redirects give to items, as rows of ROWS, sorted by key, surface and item."""
    names, items, origins = read_title_names(shard, targets, max_length)
    counts = dict.fromkeys(ROWS.names[3:-1], np.zeros(len(items), np.int64))
    return _sorted_rows(names.to_pylist(), pa.table({"qid": items, **counts}), origins, chinese)


class Names(NamedTuple):
    """The names of a range of keys.

    Attributes:
        keys: ascending and distinct.
        rows: one for each name and item, by key, and for each key the item with the most links first: `name`, the index
            of the key in `keys`; `surface`; `qid`; `links`; `linked_documents`; `origins`.
        links: number of links with each name, whatever their target.
        documents: number of pages with such a link.
    """

    keys: pa.Array
    rows: pa.Table
    links: Ints
    documents: Ints


def merge_names(table: pa.Table) -> Names:
    """Add up the rows of all shards for some keys. Names that stand for no item are left out.

    Of the surfaces of a name and item, the one with the most links is kept; of equals, the first in the order of its
    bytes.

    Args:
        table: all rows of these keys, as of ROWS, ascending by key; the rows of a key in any order.
    """
    keys = table["key"].combine_chunks()
    new_key = np.ones(len(keys), np.bool_)
    new_key[1:] = pc.not_equal(keys[1:], keys[:-1]).to_numpy(zero_copy_only=False)
    distinct = keys.filter(pa.array(new_key))
    key = np.cumsum(new_key) - 1
    surfaces = table["surface"].combine_chunks().dictionary_encode()
    rank = np.empty(len(surfaces.dictionary), np.int64)
    rank[pc.sort_indices(surfaces.dictionary).to_numpy()] = np.arange(len(rank))
    surface = surfaces.indices.to_numpy().astype(np.int64)
    qid = table["qid"].to_numpy()
    counts = tuple(table[name].to_numpy() for name in ("links", "linked_documents", "origins"))
    name_links = np.bincount(key, counts[0], len(distinct)).astype(np.int64)
    name_documents = np.bincount(key, table["name_linked_documents"].to_numpy(), len(distinct)).astype(np.int64)

    # Sum by key, item and surface.
    order = np.flatnonzero(qid > 0)
    order = order[_order_of(key[order], qid[order], rank[surface[order]])]
    row, counts = _reduce(order, changes(key[order], qid[order], surface[order]), counts, order)
    # Sum by key and item; the first surface is the most frequent. The rows are in the order of key, item and surface.
    of_items = np.cumsum(changes(key[row], qid[row]), dtype=np.int64)
    best = _order_of(of_items, counts[0].max(initial=0) - counts[0], np.arange(len(row)))
    row, counts = _reduce(row[best], changes(of_items[best]), counts, best)
    order = _order_of(key[row], counts[0].max(initial=0) - counts[0], np.arange(len(row)))
    row = row[order]
    kept = key[row[changes(key[row])]]
    columns = {
        "name": np.cumsum(changes(key[row])) - 1,
        "surface": surfaces.dictionary.take(pa.array(surface[row])),
        "qid": qid[row],
        **dict(zip(("links", "linked_documents", "origins"), (column[order] for column in counts), strict=True)),
    }
    return Names(distinct.take(pa.array(kept)), pa.table(columns), name_links[kept], name_documents[kept])


def _order_of(*columns: Ints) -> Ints:
    """Return the order of rows by some columns, the first one first, of numbers of 0 and more. Equal rows are in any
    order."""
    widths = [int(column.max(initial=0)).bit_length() for column in columns]
    if sum(widths) > 63:
        return np.lexsort(columns[::-1])
    # One sort of all takes a fraction of the time of one for each column.
    code = columns[0]
    for column, width in zip(columns[1:], widths[1:], strict=True):
        code = code << width | column
    return np.argsort(code)


def _reduce(
    rows: Ints, new: npt.NDArray[np.bool_], counts: Sequence[npt.NDArray[Any]], order: Ints
) -> tuple[Ints, tuple[npt.NDArray[Any], ...]]:
    """Reduce groups of adjacent rows.

    Args:
        rows: row numbers, the rows of a group one after another.
        new: which of them start a group.
        counts: numbers of links and of pages, which are added up, and bit sets of origins, which are united.
        order: indices into the counts, one for each of `rows`.

    Returns:
        The first row number of each group, and its counts.
    """
    starts = np.flatnonzero(new)
    links, documents, origins = (column[order] for column in counts)
    sums = np.add.reduceat(links, starts), np.add.reduceat(documents, starts)
    return rows[starts], (*sums, np.bitwise_or.reduceat(origins, starts))
