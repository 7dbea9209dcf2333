"""The steps of `wikianchor mentions` as Beam sees them.

`gather_names` and `merge_range` are the two sides of a shuffle by name (`engine/shuffle.py`), `count_names` and
`write_range` those of a shuffle by the number of the name. Tables by which something is looked up are files.
"""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.name_table import NameTable, Nodes, merge, nodes_of, table_lengths, table_pieces
from wikianchor.io.storage import sync_file
from wikianchor.pipelines.arrays.spill import Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import distinct, open_tables, read_table, save_pieces, save_tables
from wikianchor.pipelines.dataset.arrow_files import ArrowFile, new_arrow_file
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting, key_ranges
from wikianchor.pipelines.mentions.anchors import (
    ANCHOR,
    REDIRECT,
    ROWS,
    TITLE,
    Targets,
    count_anchors,
    merge_names,
    title_names,
)
from wikianchor.pipelines.mentions.occurrences import count_occurrences
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex
from wikianchor.pipelines.wikimedia.wikidata import META_CLASSES
from wikianchor.schemas import mentions

# Names and items that a shard gives, and how often.
BY_KEY = Sorting(ROWS, "key")
# Names of a wiki by number, and how often each occurs in a shard. No name has a higher number, for the values of the
# table of names hold twice the number in 32 bits.
BY_NAME = Sorting(
    pa.schema([pa.field(name, pa.int32(), False) for name in ("name", "occurrences", "documents")]), "name"
)
# Every so many-th key of a shard's rows is known when the ranges of keys are planned.
HEAD_EVERY = 4096
# Rows merged at a time, about, which bounds memory.
MERGED_TOGETHER = 50_000
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
        work: of the run.
        longest: code points of a name at most.
        sections: whether what leads to a section counts as leading to its page.
        rows_per_shard: rows of an output shard, about.
        link_probability: a candidate's name is a link at least so often.
        commonness: a candidate is what the name's links lead to at least so often.
    """

    work: Workspace
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
    """What the rows of a shard are: how many, every `HEAD_EVERY`-th of their keys, and links by reason."""

    order: int
    wiki: str
    rows: int
    heads: tuple[str, ...]
    links: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {f"links:{reason}": number for reason, number in self.links.items()}


class Merged(NamedTuple):
    """The names of a range of keys: where their tables and their rows are, and how many there are."""

    order: int
    wiki: str
    path: str
    rows: str
    names: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {"names:merged": self.names}


class TableBuilt(NamedTuple):
    """The table by which names of a wiki are found."""

    wiki: str
    path: str


class NamesCounted(NamedTuple):
    """How many occurrences of names there are in a shard of sentences."""

    order: int
    wiki: str
    occurrences: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {"occurrences:counted": self.occurrences}


class RangeWritten(NamedTuple):
    """What was written of a range of names."""

    wiki: str
    parts: tuple[Part, ...]
    links: int
    occurrences: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        rows = {f"{part.config}:written": part.rows for part in self.parts}
        return {**rows, "bytes:written": sum(part.size for part in self.parts)}


def list_name_shards(datasets: Sequence[tuple[str, str]]) -> Iterator[NameShard]:
    """Yield the shards of `sentences` and `titles` of datasets, given as (wiki, directory)."""
    order = 0
    for wiki, directory in datasets:
        for config in ("sentences", "titles"):
            for path in shards_of(directory, config):
                yield NameShard(order, wiki, config, path)
                order += 1


def find_meta_items(entities: str, work: Workspace) -> str:
    """Write the items that are no things of the world, by their types.

    Args:
        entities: directory of the dataset.
        work: of the run.

    Returns:
        Where they are.
    """
    classes = pa.array(sorted(META_CLASSES), pa.int64())
    items = [np.zeros(0, np.int64)]
    for shard in shards_of(entities, "entities"):
        for batch in read_batches(shard, ["qid", "types"]):
            types = batch.column("types")
            meta = pc.is_in(types.flatten(), classes).to_numpy(zero_copy_only=False)
            items.append(batch.column("qid").to_numpy()[pc.list_parent_indices(types).to_numpy()[meta]])
    return save_tables(work.scratch, "meta", {"items": distinct(np.concatenate(items))})


def gather_names(
    shard: NameShard, task: NamesTask, indexes: Mapping[str, IndexBuilt], meta: str
) -> Generator[pa.Table, None, Gathered]:
    """Yield the names that a shard gives, with the items they stand for there, sorted by key."""
    index = TitleIndex(indexes[shard.wiki].path)
    targets = Targets(index, open_tables(meta)["items"], task.sections)
    links: Mapping[str, int] = {}
    if shard.config == "sentences":
        rows, links = count_anchors(shard.path, targets, task.longest)
    else:
        rows = title_names(shard.path, targets, task.longest)
    heads = rows["key"].take(pa.array(np.arange(0, rows.num_rows, HEAD_EVERY))).to_pylist()
    yield rows
    return Gathered(shard.order, shard.wiki, rows.num_rows, tuple(heads), dict(links))


def plan_ranges(gathered: Iterable[Gathered], rows_per_shard: int) -> list[KeyRange]:
    """Return ranges of keys of about so many rows, numbered over all wikis; they follow from the rows alone."""
    heads: dict[str, list[str]] = {}
    for shard in gathered:
        if shard.rows:
            heads.setdefault(shard.wiki, []).extend(filter(None, shard.heads))
    step = max(1, rows_per_shard // HEAD_EVERY)
    ranges: list[KeyRange] = []
    for wiki, keys in sorted(heads.items()):
        ranges += key_ranges(wiki, sorted(set(sorted(keys)[step::step])), len(ranges))
    return ranges


def merge_range(wanted: KeyRange, shard: Shard, work: Workspace) -> Merged:
    """Write the names of a range of keys: rows, counts of links, and the nodes of the trie."""
    nodes, total = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))], 0
    links, documents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    path = f"{work.scratch}/merged-{wanted.number:06d}-{uuid.uuid4().hex}.arrow"
    with new_arrow_file(path, _MERGED) as file:
        for window in shard.windows(MERGED_TOGETHER):
            names = merge_names(window)
            # A key that no text can hold as it is: its fold is another one.
            nodes.append(nodes_of(names.keys.to_pylist(), total))
            links.append(names.links)
            documents.append(names.documents)
            keyed = names.rows.append_column("key", names.keys.take(names.rows["name"]))
            numbered = keyed.set_column(0, "name", pc.add(keyed["name"], total))
            file.write_table(numbered.select(_MERGED.names).cast(_MERGED))
            total += len(names.keys)
            release_memory()
    sync_file(path)
    prefixes = merge(nodes)
    tables: dict[str, npt.NDArray[Any]] = {
        "hashes": prefixes.hashes,
        "values": prefixes.values,
        "links": np.concatenate(links),
        "documents": np.concatenate(documents),
    }
    tables_path = save_tables(work.scratch, f"range-{wanted.number:06d}", tables)
    return Merged(wanted.number, wanted.group, tables_path, path, total)


def number_names(merged: Iterable[Merged]) -> list[KeyRange]:
    """Return the numbers of the names of each range of keys: names of a wiki are numbered by key."""
    totals: dict[str, int] = {}
    ranges = []
    for part in sorted(merged):
        first = totals.get(part.wiki, 0)
        totals[part.wiki] = first + part.names
        ranges.append(KeyRange(part.order, part.wiki, first, first + part.names))
    return ranges


def build_name_table(
    wiki: str, merged: Mapping[int, Merged], ranges: Sequence[KeyRange], work: Workspace
) -> TableBuilt:
    """Build the table by which the names of a wiki are found, a range of hashes at a time.

    Args:
        wiki: database name.
        merged: of all wikis, by number of the range.
        ranges: what `number_names` gives for them.
        work: of the run.
    """
    numbered = [numbers for numbers in ranges if numbers.group == wiki]
    names = sum(merged[numbers.number].names for numbers in numbered)
    parts = 1 << (names // NAMES_AT_ONCE).bit_length()
    with Spill(NODE, parts) as by_hash, Spill(NODE, parts) as nodes:
        for numbers in numbered:
            path = merged[numbers.number].path
            values = read_table(path, "values")
            values += np.where(values >= 0, 2 * int(numbers.low or 0), 0).astype(np.int32)
            hashes = read_table(path, "hashes")
            by_hash.add(rows_of(NODE, hash=hashes, value=values), hash_range(hashes, parts))
        for part in range(parts):
            every = merge([_nodes_in(by_hash, part)])
            nodes.add(rows_of(NODE, hash=every.hashes, value=every.values), np.full(len(every.hashes), part))
        total = len(nodes)
        pieces = table_pieces((_nodes_in(nodes, part) for part in range(parts)), parts, total)
        return TableBuilt(wiki, save_pieces(work.scratch, f"table-{wiki}", table_lengths(total), pieces))


def _nodes_in(spill: Spill, part: int) -> Nodes:
    rows = spill.read(part)
    return Nodes(np.ascontiguousarray(rows["hash"]), np.ascontiguousarray(rows["value"]))


def count_names(shard: NameShard, tables: Mapping[str, TableBuilt]) -> Generator[pa.Table, None, NamesCounted]:
    """Yield how often each name stands in the text of a shard of sentences."""
    counts = count_occurrences(shard.path, NameTable(open_tables(tables[shard.wiki].path)))
    yield pa.table(counts._asdict()).rename_columns({"names": "name"}).cast(BY_NAME.schema)
    return NamesCounted(shard.order, shard.wiki, int(counts.occurrences.sum()))


def write_range(wanted: KeyRange, shard: Shard, task: NamesTask, merged: Mapping[int, Merged]) -> RangeWritten:
    """Write the rows of a range of names, in parts of `mentions` and `candidates`.

    Args:
        wanted: the numbers of the names.
        shard: rows of `count_names`; there are none where no name of the range occurs.
        task: how names are gathered.
        merged: by number of the range.
    """
    names = merged[wanted.number]
    counts = _Counts(
        *_add_up(shard, int(wanted.low or 0), names.names),
        *(read_table(names.path, column) for column in ("links", "documents")),
    )
    file = ArrowFile(names.rows)
    rows = pa.Table.from_batches(file.batches(), _MERGED)
    links = 0
    with (
        PartWriter(task.work.parts, "mentions", wanted.number, mentions.SCHEMA) as every,
        PartWriter(task.work.parts, "candidates", wanted.number, mentions.CANDIDATES) as chosen,
    ):
        for first in range(0, rows.num_rows, ROW_GROUP):
            columns = _columns(names.wiki, rows.slice(first, ROW_GROUP), counts)
            links += int(columns["links"].to_numpy().sum())
            every.write(_batch(columns, mentions.SCHEMA))
            likely = columns["link_probability"] >= task.link_probability
            fit = likely & (columns["commonness"] >= task.commonness)
            chosen.write(_batch(columns, mentions.CANDIDATES).filter(pa.array(fit)))
            file.forget()
    parts = tuple(writer.part for writer in (every, chosen) if writer.part)
    return RangeWritten(names.wiki, parts, links, int(counts.occurrences.sum()))


class _Counts(NamedTuple):
    """By name of a range: how often it occurs, on how many pages, how often it is a link, on how many pages."""

    occurrences: Ints
    documents: Ints
    links: Ints
    linked_documents: Ints


def _add_up(shard: Shard, start: int, names: int) -> tuple[Ints, Ints]:
    """Return the occurrences and the documents of all names of a range, `start` being the number of the first."""
    totals = np.zeros(names, np.int64), np.zeros(names, np.int64)
    for window in shard.windows():
        name = window["name"].to_numpy()
        # Rows of one name come together, in one window.
        starts = np.flatnonzero(np.append(True, name[1:] != name[:-1]))
        for total, column in zip(totals, ("occurrences", "documents"), strict=True):
            total[name[starts] - start] = np.add.reduceat(window[column].to_numpy().astype(np.int64), starts)
    return totals


def _columns(wiki: str, group: pa.Table, counts: _Counts) -> dict[str, Any]:
    """Return the columns of a row group, by name."""
    name, links = group["name"].to_numpy(), group["links"].to_numpy()
    occurrences, name_links = counts.occurrences[name], counts.links[name]
    return {
        "wiki": pa.repeat(pa.scalar(wiki), len(group)),
        "occurrences": occurrences,
        "documents": counts.documents[name],
        "name_links": name_links,
        "name_linked_documents": counts.linked_documents[name],
        "origins": _ORIGINS.take(group["origins"].combine_chunks()),
        **{column: group[column].combine_chunks() for column in ("key", "surface", "qid", "links", "linked_documents")},
        # What is no link at all is none of either.
        "link_probability": (name_links / np.maximum(occurrences, 1)).astype(np.float32),
        "commonness": (links / np.maximum(name_links, 1)).astype(np.float32),
    }


def _batch(columns: Mapping[str, Any], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(columns[name]) for name in schema.names], schema=schema)
