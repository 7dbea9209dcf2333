"""Look-up tables of `linking`: the pages of items, the items of names, and the links of earlier documents.

Each is an array of 64-bit keys, ascending, with columns beside it, in one file that workers memory-map. Keys are
uniformly distributed, so rows are partitioned to disk by ranges of keys, and one partition is in memory at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.hashing import Hashes, hash_strings, mix
from wikianchor.pipelines.arrays.spill import TableSpill, hash_range
from wikianchor.pipelines.arrays.tables import changes, distinct, find, open_tables, save_pieces
from wikianchor.pipelines.dataset.reader import dataset_at
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.schemas.mentions import ORIGINS

Ints = npt.NDArray[np.int64]
Arrays = Mapping[str, npt.NDArray[Any]]
# Approximate number of rows of a partition, and the largest number of partitions; links of a page, about.
ROWS_AT_ONCE, MOST_PARTS, LINKS_OF_PAGE = 1 << 16, 1 << 15, 16
# Candidates of a name; one more is kept, so that as many are left if a link is not counted.
CANDIDATES = 30
# Characters that are kept of a lead.
LEAD = 1_000
_PAGE = pa.schema([("key", pa.uint64()), ("page_id", pa.int64()), ("title", pa.string()), ("lead", pa.string())])
_NAME = pa.schema([("key", pa.uint64()), *((name, pa.int64()) for name in ("qid", "links", "name_links", "other"))])
_KEY = pa.schema([("key", pa.uint64())])
_COUNT = pa.schema([("key", pa.uint64()), ("links", pa.int64())])


class WikiIndexes(NamedTuple):
    """The tables of a wiki.

    Attributes:
        wiki: database name.
        wiki_of_names: the wiki whose names are looked up.
        pages: path of the table of `Pages`.
        names, links: paths of the tables of `Names` and of the links of each item.
        earlier: path of the table of the links of earlier documents; "" without these.
    """

    wiki: str
    wiki_of_names: str
    pages: WorkPath
    names: WorkPath
    links: WorkPath
    earlier: WorkPath


class IndexTask(NamedTuple):
    """A wiki whose tables are made: its name and that of the wiki of its names."""

    wiki: str
    wiki_of_names: str


def item_keys(qids: Ints) -> Hashes:
    """Return a key for each item; no two items have the same, because `mix` of one number is a bijection."""
    return mix(0, qids)


def link_keys(page_ids: Ints, qids: Ints) -> Hashes:
    """Return a key for each link of a page to an item."""
    return mix(0, page_ids, qids)


def build_indexes(task: IndexTask, documents: str, mentions: str, previous: str, work: Workspace) -> WikiIndexes:
    """Write the tables of a wiki.

    Args:
        task: the wiki.
        documents, mentions: directories of the datasets.
        previous: that of the earlier documents, "" for none.
        work: the directories of the run.
    """
    wiki, of_names = task
    rows = dataset_at(documents).rows("documents")
    pages = _build(f"pages-{wiki}", _pages(documents, wiki), _PAGE, _sorted_pages, rows=rows, work=work)
    rows = dataset_at(mentions).rows("mentions")
    names = _build(f"names-{wiki}", _names(mentions, of_names), _NAME, _top_names, rows=rows, work=work)
    links = _build(f"links-{wiki}", _link_counts(mentions, of_names), _COUNT, _summed, rows=rows, work=work)
    earlier = ""
    if previous:
        rows = LINKS_OF_PAGE * dataset_at(previous).rows("documents")
        earlier = _build(f"earlier-{wiki}", _links(previous, wiki), _KEY, _distinct, rows=rows, work=work)
    return WikiIndexes(wiki, of_names, pages, names, links, earlier=earlier)


def _build(
    name: str,
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    arrays_of: Callable[[pa.Table], Arrays],
    *,
    rows: int,
    work: Workspace,
) -> WorkPath:
    """Write a table of about so many rows; `arrays_of` returns the arrays of a partition, with the same names for each.

    Arrays named `*_offsets` are the ends of what a partition has, and become the offsets of what the table has, from 0.
    """
    parts = min(MOST_PARTS, 1 + rows // ROWS_AT_ONCE)
    with TableSpill(schema, parts, work.scratch) as spill:
        for batch in batches:
            spill.add(batch, hash_range(batch["key"].to_numpy(), parts))
        lengths: Counter[str] = Counter()
        for part in range(parts):
            lengths.update({key: len(values) for key, values in arrays_of(spill.read(part)).items()})
        lengths.update(key for key in list(lengths) if key.endswith("_offsets"))
        pieces = map(arrays_of, map(spill.read, range(parts)))
        return save_pieces(work.scratch, name, lengths, _with_offsets(pieces))


def _with_offsets(pieces: Iterable[Arrays]) -> Iterator[Arrays]:
    last: dict[str, int] = {}
    for piece in pieces:
        ends = [key for key in piece if key.endswith("_offsets")]
        if not last:
            yield {key: np.zeros(1, np.int64) for key in ends}
        yield {key: values + last.get(key, 0) if key in ends else values for key, values in piece.items()}
        last |= {key: last.get(key, 0) + int(piece[key][-1]) if len(piece[key]) else last.get(key, 0) for key in ends}


def _pages(documents: str, wiki: str) -> Iterator[pa.RecordBatch]:
    """Yield the pages of a wiki that have an item."""
    for batch in dataset_at(documents).batches(
        "documents", ["page_id", "title", "qid", "blocks", "text"], only=("wiki", wiki)
    ):
        batch = batch.filter(batch["qid"].is_valid())
        leads = map(lead_of, batch["blocks"].to_pylist(), batch["text"].to_pylist())
        keys = item_keys(batch["qid"].to_numpy())
        columns = [pa.array(keys), batch["page_id"], batch["title"], pa.array(leads, pa.string())]
        yield pa.RecordBatch.from_arrays(columns, schema=_PAGE)


def lead_of(blocks: Sequence[Mapping[str, Any]], text: str) -> str:
    """Return the beginning of the first paragraph of a document: one before the first heading, if there is one.

    >>> lead_of([{"kind": "heading", "start": 0, "end": 1}, {"kind": "paragraph", "start": 2, "end": 4}], "A\\nIt")
    'It'
    """
    first = next((block for block in blocks if block["kind"] == "paragraph"), None)
    return text[first["start"] : min(first["end"], first["start"] + LEAD)] if first else ""


def _sorted_pages(rows: pa.Table) -> Arrays:
    order = np.argsort(rows["key"].to_numpy(), kind="stable")
    arrays = {name: rows[name].to_numpy()[order] for name in ("key", "page_id")}
    return {**arrays, **_texts(rows["title"], order, "title"), **_texts(rows["lead"], order, "lead")}


def _texts(column: pa.ChunkedArray, order: npt.NDArray[np.intp], name: str) -> Arrays:
    """Return the bytes of texts in an order, and the ends of the texts among them."""
    texts = column.combine_chunks().take(pa.array(order)).cast(pa.large_string())
    sizes = pc.binary_length(texts).to_numpy(zero_copy_only=False).astype(np.int64)
    data = np.frombuffer(texts.buffers()[2] or b"", np.uint8)
    return {f"{name}_offsets": np.cumsum(sizes), name: data[: int(sizes.sum())]}


def _names(mentions: str, wiki: str) -> Iterator[pa.RecordBatch]:
    """Yield the names of a wiki with their items."""
    for batch in dataset_at(mentions).batches(
        "mentions", ["key", "qid", "links", "name_links", "origins"], only=("wiki", wiki)
    ):
        sources = batch["origins"]
        is_other = pc.not_equal(sources.flatten(), ORIGINS[0]).to_numpy(zero_copy_only=False)
        other = np.bincount(pc.list_parent_indices(sources).to_numpy()[is_other], minlength=batch.num_rows)
        columns = [pa.array(hash_strings(batch["key"])), batch["qid"], batch["links"], batch["name_links"]]
        yield pa.RecordBatch.from_arrays([*columns, pa.array(other.astype(np.int64))], schema=_NAME)


def most_frequent(groups: npt.NDArray[Any], links: Ints, qids: Ints, most: int) -> npt.NDArray[np.intp]:
    """Return the indices of the rows that have most links in their group, by group, links and item.

    Args:
        groups: what is equal for the rows of a group.
        links, qids: number of links and item of each row.
        most: largest number of rows of a group.
    """
    order = np.lexsort((qids, -links, groups))
    starts = np.flatnonzero(changes(groups[order]))
    within = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return order[within < most]


def _top_names(rows: pa.Table) -> Arrays:
    columns = {name: rows[name].to_numpy() for name in rows.schema.names}
    top = most_frequent(columns["key"], columns["links"], columns["qid"], CANDIDATES + 1)
    keys = columns.pop("key")[top]
    starts = np.flatnonzero(changes(keys))
    of_rows = {name: values[top] for name, values in columns.items()}
    return {"key": keys[starts], "name_offsets": np.append(starts[1:], len(top))[: len(starts)], **of_rows}


def _link_counts(mentions: str, wiki: str) -> Iterator[pa.RecordBatch]:
    for batch in dataset_at(mentions).batches("mentions", ["qid", "links"], only=("wiki", wiki)):
        yield pa.RecordBatch.from_arrays([pa.array(item_keys(batch["qid"].to_numpy())), batch["links"]], schema=_COUNT)


def _summed(rows: pa.Table) -> Arrays:
    order = np.argsort(rows["key"].to_numpy(), kind="stable")
    keys, links = (rows[name].to_numpy()[order] for name in ("key", "links"))
    starts = np.flatnonzero(changes(keys))
    return {"key": keys[starts], "links": np.add.reduceat(links, starts) if len(starts) else links}


def _links(documents: str, wiki: str) -> Iterator[pa.RecordBatch]:
    """Yield the keys of the links of documents to items."""
    for batch in dataset_at(documents).batches("documents", ["page_id", "links"], only=("wiki", wiki)):
        links = batch["links"]
        qids = links.flatten().field("qid")
        known = qids.is_valid().to_numpy(zero_copy_only=False)
        pages = batch["page_id"].to_numpy()[pc.list_parent_indices(links).to_numpy()[known]]
        yield pa.RecordBatch.from_arrays([pa.array(link_keys(pages, qids.drop_null().to_numpy()))], schema=_KEY)


def _distinct(rows: pa.Table) -> Arrays:
    return {"key": distinct(rows["key"].to_numpy())}


class Pages:
    """The pages of the items of a wiki.

    Args:
        path: as `build_indexes` returned it.
    """

    def __init__(self, path: str) -> None:
        tables = open_tables(path)
        self._keys, self.page_ids = tables["key"], tables["page_id"]
        self.titles, self.leads = (_strings(tables, name) for name in ("title", "lead"))

    def find(self, qids: Ints) -> Ints:
        """Return the index of the page of each item, -1 for an item without one."""
        return find(self._keys, item_keys(qids))


def _strings(tables: Arrays, name: str) -> pa.Array:
    """Return texts that stay on disk until they are read."""
    offsets = tables[f"{name}_offsets"]
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(tables[name])]
    return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)


class Candidates(NamedTuple):
    """The candidates of some names, one array element for each candidate, by name and then the most frequent first.

    Attributes:
        names: index of the name.
        ranks: index of the candidate among those of the name.
        qids, links: the item, and the number of links with the name that lead to it.
        priors: share of the links with the name that lead to it.
        other: whether a title or a redirect gives it the name, too.
    """

    names: Ints
    ranks: Ints
    qids: Ints
    links: Ints
    priors: npt.NDArray[np.float32]
    other: npt.NDArray[np.bool_]


class Names:
    """The items of the names of a wiki.

    Args:
        path: as `build_indexes` returned it.
    """

    def __init__(self, path: str) -> None:
        self._tables = open_tables(path)

    def candidates(self, keys: pa.Array) -> Candidates:
        """Return the candidates of folded names, up to CANDIDATES + 1 of each."""
        tables = self._tables
        index = find(tables["key"], hash_strings(keys))
        bounds = tables["name_offsets"]
        # An index of -1 is that of a name without candidates.
        starts = np.where(index >= 0, bounds[index], 0)
        counts = np.where(index >= 0, bounds[index + 1], 0) - starts
        names = np.repeat(np.arange(len(index)), counts)
        ranks = np.arange(len(names)) - np.repeat(np.cumsum(counts) - counts, counts)
        rows = starts[names] + ranks
        links, of_name = tables["links"][rows], tables["name_links"][rows]
        priors = (links / np.maximum(of_name, 1)).astype(np.float32)
        other = tables["other"][rows] > 0
        return Candidates(names=names, ranks=ranks, qids=tables["qid"][rows], links=links, priors=priors, other=other)


def link_counts(path: str, qids: Ints) -> Ints:
    """Return the number of links to each item.

    Args:
        path: that of the table of the links of each item.
        qids: the items.
    """
    tables = open_tables(path)
    index = find(tables["key"], item_keys(qids))
    counts = np.zeros(len(qids), np.int64)
    counts[index >= 0] = tables["links"][index[index >= 0]]
    return counts


def are_known(path: str, page_ids: Ints, qids: Ints) -> npt.NDArray[np.bool_]:
    """Return which links the earlier documents have, given the path of their table."""
    return find(open_tables(path)["key"], link_keys(page_ids, qids)) >= 0
