"""The steps of `wikianchor mentions` as Beam sees them: shards of datasets go in, tables and rows go to disk, and small
records that say where they are come out."""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.dataset.arrow_files import ArrowFile, new_arrow_file
from pipelines.dataset.memory import give_back, gives_back
from pipelines.dataset.parts import UNFINISHED, Part, PartWriter
from pipelines.dataset.reader import read_batches
from pipelines.linking.anchors import ANCHOR, REDIRECT, ROWS, TITLE, Targets, count_anchors, merge_names, title_names
from pipelines.linking.occurrences import count_occurrences
from pipelines.linking.spill import Spill, hash_range, rows_of
from pipelines.linking.tables import distinct, map_tables, open_tables, read_table, save_pieces, save_tables
from pipelines.linking.title_index import Ints, TitleIndex
from pipelines.transforms.tables import IndexBuilt
from pipelines.wikimedia.wikidata import META_CLASSES
from schemas import mentions
from schemas.name_table import NameTable, Nodes, merge, nodes_of, table_lengths, table_pieces

# Rows of a record batch in a file of sorted rows; the first key of each tells where a range of keys begins.
BATCH_ROWS = 4096
_COPIED = ("key", "surface", "qid", "links", "linked_documents")
# Rows merged at a time, about, which bounds memory.
MERGED_TOGETHER = 50_000
# Of the keys of a range every so many-th is looked at to know where to cut it.
SAMPLED = 256
ROW_GROUP = 50_000
# A node of a name table: its hash, and its value as in `Nodes`.
NODE = np.dtype([("hash", np.uint64), ("value", np.int32)])
# Names whose nodes are in memory at a time, about, where the name table is built.
NAMES_AT_ONCE = 1 << 19
_MERGED = pa.schema(
    [
        pa.field("name", pa.int64()),
        *(ROWS.field(name) for name in ("key", "surface", "qid", "links", "linked_documents", "origins")),
    ]
)
_ORIGINS = pa.array(
    [
        [name for bit, name in ((ANCHOR, "anchor"), (TITLE, "title"), (REDIRECT, "redirect")) if mask & bit]
        for mask in range(8)
    ],
    mentions.SCHEMA.field("origins").type,
)


@dataclass(frozen=True)
class NamesTask:
    """How names are gathered.

    Attributes:
        output: directory of the dataset.
        longest: code points of a name at most.
        sections: whether what leads to a section counts as leading to its page.
        rows_per_shard: rows of an output shard, about.
        link_probability: a candidate's name is a link at least so often.
        commonness: a candidate is what the name's links lead to at least so often.
    """

    output: str
    longest: int
    sections: bool
    rows_per_shard: int
    link_probability: float
    commonness: float


class NameShard(NamedTuple):
    """A shard of `sentences`, or of `titles`, and its place among all."""

    order: int
    wiki: str
    config: str
    path: str


class Gathered(NamedTuple):
    """The sorted rows of a shard: the file, the first key of each of its record batches, and links by reason."""

    order: int
    wiki: str
    path: str
    rows: int
    heads: tuple[str, ...]
    links: dict[str, int]


class Range(NamedTuple):
    """Keys from `low` on and before `high`, None for all that follow, and the files that may hold some; `order` counts
    the ranges of all wikis."""

    order: int
    wiki: str
    low: str
    high: str | None
    files: tuple[Gathered, ...]


class Merged(NamedTuple):
    """The names of a range: where their tables and their rows are, and how many there are."""

    order: int
    wiki: str
    path: str
    rows: str
    names: int


class TableBuilt(NamedTuple):
    """The table by which names of a wiki are found, and where each of its ranges begins."""

    wiki: str
    path: str
    starts: tuple[tuple[int, int], ...]


class NamesCounted(NamedTuple):
    """Where the occurrences in a shard are."""

    order: int
    wiki: str
    path: str


class RangeWritten(NamedTuple):
    """What came of a range of keys."""

    wiki: str
    parts: tuple[Part, ...]
    links: int


def find_meta_items(entities: Sequence[str], output: str) -> str:
    """Write the items that are no things of the world, by their types; return where."""
    classes = pa.array(sorted(META_CLASSES), pa.int64())
    found = [np.zeros(0, np.int64)]
    for shard in entities:
        for batch in read_batches(shard, ["qid", "types"]):
            types = batch.column("types")
            meta = pc.is_in(types.flatten(), classes).to_numpy(zero_copy_only=False)
            found.append(batch.column("qid").to_numpy()[pc.list_parent_indices(types).to_numpy()[meta]])
    return save_tables(f"{output}/{UNFINISHED}", "meta", {"items": distinct(np.concatenate(found))})


@gives_back
def gather_names(shard: NameShard, task: NamesTask, indexes: Mapping[str, IndexBuilt], meta: str) -> Gathered:
    """Write the names that a shard gives, with the items they stand for there, sorted by key."""
    index = TitleIndex(indexes[shard.wiki].path)
    targets = Targets(index, open_tables(meta)["items"], task.sections)
    links: Mapping[str, int] = {}
    if shard.config == "sentences":
        rows, links = count_anchors(shard.path, targets, task.longest)
    else:
        rows = title_names(shard.path, targets, task.longest)
    path = f"{task.output}/{UNFINISHED}/names-{shard.order:06d}-{uuid.uuid4().hex}.arrow"
    heads = []
    with new_arrow_file(path, ROWS) as file:
        for batch in rows.combine_chunks().to_batches(BATCH_ROWS):
            heads.append(batch.column("key")[0].as_py())
            file.write_batch(batch)
    return Gathered(shard.order, shard.wiki, path, rows.num_rows, tuple(heads), dict(links))


def plan_ranges(gathered: Iterable[Gathered], rows_per_shard: int) -> Iterator[Range]:
    """Yield ranges of keys of about so many rows; they follow from the rows alone."""
    by_wiki: dict[str, list[Gathered]] = {}
    for one in sorted(gathered):
        if one.rows:
            by_wiki.setdefault(one.wiki, []).append(one)
    order = 0
    for wiki, files in sorted(by_wiki.items()):
        heads = sorted(head for one in files for head in one.heads if head)
        for low, high in pairwise(["", *_every(heads, rows_per_shard // BATCH_ROWS), None]):
            assert low is not None
            yield Range(order, wiki, low, high, tuple(one for one in files if high is None or one.heads[0] < high))
            order += 1


@gives_back
def merge_range(task: Range, output: str) -> Merged:
    """Write the names of a range: rows, counts of links, and the nodes of the trie."""
    files = [(one.heads, ArrowFile(one.path)) for one in task.files]
    nodes, total = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))], 0
    links, documents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    path = f"{output}/{UNFINISHED}/merged-{task.order:06d}-{uuid.uuid4().hex}.arrow"
    with new_arrow_file(path, _MERGED) as to:
        for low, high in _stretches(task, files):
            names = merge_names([_taken(files, low, high)])
            # A key that no text can hold as it is: its fold is another one.
            nodes.append(nodes_of(names.keys.to_pylist(), total))
            links.append(names.links)
            documents.append(names.documents)
            keyed = names.rows.append_column("key", names.keys.take(names.rows["name"]))
            numbered = keyed.set_column(0, "name", pc.add(keyed["name"], total))
            to.write_table(numbered.select(_MERGED.names).cast(_MERGED))
            total += len(names.keys)
            give_back()
    prefixes = merge(nodes)
    tables: dict[str, npt.NDArray[Any]] = {
        "hashes": prefixes.hashes,
        "values": prefixes.values,
        "links": np.concatenate(links),
        "documents": np.concatenate(documents),
    }
    return Merged(
        task.order, task.wiki, save_tables(f"{output}/{UNFINISHED}", f"range-{task.order:06d}", tables), path, total
    )


def _taken(files: Sequence[tuple[Sequence[str], ArrowFile]], low: str, high: str | None) -> pa.Table:
    """Return the rows of all files with keys from `low` on and before `high`."""
    taken = [ROWS.empty_table()]
    for heads, file in files:
        rows = pa.Table.from_batches(_rows_in(heads, file, low, high), ROWS)
        # Copied, so that no more than one file is in memory: there are as many as shards, and of each a stretch is
        # small beside the pages of the disk that it lies on.
        taken.append(rows.take(pa.array(np.arange(rows.num_rows))))
        file.forget()
    return pa.concat_tables(taken).combine_chunks()


def _stretches(task: Range, files: Sequence[tuple[Sequence[str], ArrowFile]]) -> Iterator[tuple[str, str | None]]:
    """Yield stretches of the keys of a range, of about as many rows as are merged at a time."""
    # Files of one wiki resemble each other, so that the heads of their batches stand close together.
    sampled: list[str] = []
    for heads, file in files:
        for batch in _rows_in(heads, file, task.low, task.high):
            sampled += batch.column("key").take(pa.array(range(0, batch.num_rows, SAMPLED))).to_pylist()
        file.forget()
    for low, high in pairwise([task.low, *_every(sorted(sampled), MERGED_TOGETHER // SAMPLED), task.high]):
        assert low is not None
        if low != high:
            yield low, high


def _every(keys: Sequence[str], step: int) -> list[str]:
    """Return every so many-th of ascending keys, each once."""
    step = max(1, step)
    return sorted(set(keys[step::step]))


def _rows_in(heads: Sequence[str], file: ArrowFile, low: str, high: str | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file with keys from `low` on and before `high`.

    Args:
        heads: the first key of each of its record batches.
        file: sorted by key.
        low: the lowest key.
        high: the key after the highest, None for all that follow.
    """
    # The batch before the first that begins in the range may end in it.
    first = max(0, bisect_left(heads, low) - 1)
    last = len(heads) if high is None else bisect_left(heads, high)
    for number in range(first, last):
        batch = file.batch(number)
        start = _first_from(batch.column("key"), low)
        end = batch.num_rows if high is None else _first_from(batch.column("key"), high)
        if start < end:
            yield batch.slice(start, end - start)


def _first_from(keys: pa.StringArray, low: str) -> int:
    """Return the place of the first of ascending keys that is not below `low`."""
    return bisect_left(range(len(keys)), low, key=lambda place: keys[place].as_py())


@gives_back
def build_name_table(wiki: str, merged: Iterable[Merged], output: str) -> tuple[str, TableBuilt]:
    """Build the table by which the names of a wiki are found, a range of hashes at a time."""
    found = [one for one in sorted(merged) if one.wiki == wiki]
    starts = [0, *np.cumsum([one.names for one in found]).tolist()]
    parts = 1 << (starts[-1] // NAMES_AT_ONCE).bit_length()
    with Spill(NODE, parts) as by_hash, Spill(NODE, parts) as nodes:
        for one, start in zip(found, starts, strict=False):
            values = read_table(one.path, "values")
            values += np.where(values >= 0, 2 * start, 0).astype(np.int32)
            hashes = read_table(one.path, "hashes")
            by_hash.add(rows_of(NODE, hash=hashes, value=values), hash_range(hashes, parts))
        for part in range(parts):
            every = merge([_nodes_in(by_hash, part)])
            nodes.add(rows_of(NODE, hash=every.hashes, value=every.values), np.full(len(every.hashes), part))
        total = len(nodes)
        pieces = table_pieces((_nodes_in(nodes, part) for part in range(parts)), parts, total)
        path = save_pieces(f"{output}/{UNFINISHED}", f"table-{wiki}", table_lengths(total), pieces)
    orders = (one.order for one in found)
    return wiki, TableBuilt(wiki, path, tuple(zip(orders, starts, strict=False)))


def _nodes_in(spill: Spill, part: int) -> Nodes:
    rows = spill.read(part)
    return Nodes(np.ascontiguousarray(rows["hash"]), np.ascontiguousarray(rows["value"]))


@gives_back
def count_names(shard: NameShard, tables: Mapping[str, TableBuilt], output: str) -> NamesCounted:
    """Count how often each name stands in the text of a shard of sentences."""
    counted = count_occurrences(shard.path, NameTable(open_tables(tables[shard.wiki].path)))
    path = save_tables(f"{output}/{UNFINISHED}", f"counts-{shard.order:06d}", counted._asdict())
    return NamesCounted(shard.order, shard.wiki, path)


@gives_back
def write_range(
    one: Merged, task: NamesTask, tables: Mapping[str, TableBuilt], counted: Iterable[NamesCounted]
) -> RangeWritten:
    """Write the rows of a range, in parts of `mentions` and `candidates`."""
    start = dict(tables[one.wiki].starts)[one.order]
    occurrences, documents = (np.zeros(one.names, np.int64) for _ in range(2))
    for shard in sorted(counted):
        if shard.wiki == one.wiki:
            # Mapped, for of the whole a range is read, and one at a time, for there are as many as shards.
            found = map_tables(shard.path)
            first, last = np.searchsorted(found["names"], (start, start + one.names))
            places = found["names"][first:last] - start
            occurrences[places] += found["occurrences"][first:last]
            documents[places] += found["documents"][first:last]
    own = open_tables(one.path)
    file = ArrowFile(one.rows)
    rows = pa.Table.from_batches(file.batches(), _MERGED)
    links = 0
    with (
        PartWriter(task.output, "mentions", one.order, mentions.SCHEMA) as every,
        PartWriter(task.output, "candidates", one.order, mentions.CANDIDATES) as chosen,
    ):
        for first in range(0, rows.num_rows, ROW_GROUP):
            group = rows.slice(first, ROW_GROUP)
            name = group["name"].to_numpy()
            columns = {
                "wiki": pa.repeat(pa.scalar(one.wiki), len(group)),
                "occurrences": occurrences[name],
                "documents": documents[name],
                "name_links": own["links"][name],
                "name_linked_documents": own["documents"][name],
                "origins": _ORIGINS.take(group["origins"].combine_chunks()),
                **{
                    column: group[column].combine_chunks()
                    for column in ("key", "surface", "qid", "links", "linked_documents")
                },
            }
            links += int(group["links"].to_numpy().sum())
            probability, commonness = _ratios(columns)
            columns |= {"link_probability": probability, "commonness": commonness}
            every.write(_batch(columns, mentions.SCHEMA))
            fit = (probability >= task.link_probability) & (commonness >= task.commonness)
            chosen.write(_batch(columns, mentions.CANDIDATES).filter(pa.array(fit)))
            file.forget()
    parts = [writer.part for writer in (every, chosen) if writer.part]
    return RangeWritten(one.wiki, tuple(parts), links)


def _ratios(columns: Mapping[str, Any]) -> tuple[Ints, Ints]:
    links = np.asarray(columns["links"])
    occurrences, name_links = columns["occurrences"], columns["name_links"]
    # What is no link at all is none of either.
    return (
        (name_links / np.maximum(occurrences, 1)).astype(np.float32),
        (links / np.maximum(name_links, 1)).astype(np.float32),
    )


def _batch(columns: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(columns[name]) for name in schema.names], schema=schema)
