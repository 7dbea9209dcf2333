"""The steps of `wikianchor mentions`.

`gather_names` and `merge_range` are the map and the reduce side of a shuffle by key (`engine/shuffle.py`),
`count_names` and `write_range` those of a shuffle by number of the name. Look-up tables are files.
"""

from __future__ import annotations

import uuid
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import is_chinese
from wikianchor.aliases.name_table import Nodes, merge, nodes_of, table_lengths, table_pieces
from wikianchor.io.storage import sync_scratch
from wikianchor.pipelines.arrays.spill import Spill, hash_range, rows_of
from wikianchor.pipelines.arrays.tables import changes, distinct, open_tables, read_table, save_pieces, save_tables
from wikianchor.pipelines.dataset.arrow_files import ArrowFile, new_arrow_file
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting, key_ranges
from wikianchor.pipelines.mentions.anchors import (
    ANCHOR,
    REDIRECT,
    ROWS,
    TITLE,
    AnchorCounts,
    Targets,
    merge_names,
)
from wikianchor.pipelines.mentions.core_counters import count_anchors, count_occurrences, title_names
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.pipelines.mentions.page_rows import shards_of_pages
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex
from wikianchor.pipelines.wikimedia.wikidata import META_CLASSES
from wikianchor.schemas import mentions

BY_KEY = Sorting(ROWS, "key")
# Numbers of names fit in 31 bits: the name table stores twice the number in 32.
BY_NAME = Sorting(
    pa.schema([pa.field(name, pa.int32(), nullable=False) for name in ("name", "occurrences", "documents")]), "name"
)
# The ranges of keys are planned from a sample of the keys of each shard: every HEAD_EVERY-th.
HEAD_EVERY = 4096
# Approximate number of rows merged at a time, which bounds memory.
MERGED_TOGETHER = 50_000
ROW_GROUP = 50_000
# A node of the name table, as in `Nodes`.
NODE = np.dtype([("hash", np.uint64), ("value", np.int32)])
# Approximate number of names whose nodes are in memory while the name table is built.
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


class NameShard(NamedTuple):
    """A shard of `titles`, or a group of shards of `sentences` and `fragments`, and its number among all."""

    order: int
    wiki: str
    is_text: bool
    paths: tuple[str, ...]


class Gathered(NamedTuple):
    """The rows that a shard gave: their number, and every `HEAD_EVERY`-th of their keys; its links by reason, and those
    that give a name by region."""

    order: int
    wiki: str
    rows: int
    heads: tuple[str, ...]
    links: dict[str, int]
    regions: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {f"links:{reason}": number for reason, number in self.links.items()}


class Merged(NamedTuple):
    """The names of a range of keys: the paths of their tables and of their rows, and their number."""

    order: int
    wiki: str
    path: WorkPath
    rows: WorkPath
    names: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {"names:merged": self.names}


class NameTableBuilt(NamedTuple):
    """The name table of a wiki."""

    wiki: str
    path: WorkPath


class NamesCounted(NamedTuple):
    """The number of occurrences of names in the text of a shard."""

    order: int
    wiki: str
    occurrences: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {"occurrences:counted": self.occurrences}


class RangeWritten(NamedTuple):
    """The files written for a range of names, and the numbers of links and of occurrences in their rows."""

    wiki: str
    parts: tuple[Part, ...]
    links: int
    occurrences: int

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        rows = {f"{part.config}:written": part.rows for part in self.parts}
        return {**rows, "bytes:written": sum(part.size for part in self.parts)}


def list_name_shards(datasets: Sequence[tuple[str, str]]) -> list[NameShard]:
    """Return the shards of text and titles of datasets, given as (wiki, directory)."""
    shards: list[tuple[str, bool, tuple[str, ...]]] = []
    for wiki, directory in datasets:
        texts = shards_of_pages(shards_of(directory, "sentences"), shards_of(directory, "fragments"))
        shards += [(wiki, True, paths) for paths in texts]
        shards += [(wiki, False, (path,)) for path in shards_of(directory, "titles")]
    return [NameShard(order, *shard) for order, shard in enumerate(shards)]


def find_meta_items(entities: str, work: Workspace) -> WorkPath:
    """Write the items whose type is a meta class, such as templates and categories.

    Args:
        entities: directory of the dataset.
        work: the directories of the run.

    Returns:
        The path of the table.
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
    shard: NameShard, config: MentionsOptions, indexes: Mapping[str, IndexBuilt], meta: str
) -> Generator[pa.Table, None, Gathered]:
    """Yield the names in a shard with the items that they stand for, sorted by key."""
    index = TitleIndex(indexes[shard.wiki].path)
    targets = Targets(index, open_tables(meta)["items"], config.section_links)
    if shard.is_text:
        counts = count_anchors(shard.paths, targets, config.max_length, config.regions, is_chinese(shard.wiki))
    else:
        rows = title_names(shard.paths[0], targets, config.max_length, is_chinese(shard.wiki))
        counts = AnchorCounts(rows, {}, {})
    rows = counts.rows
    heads = rows["key"].take(pa.array(np.arange(0, rows.num_rows, HEAD_EVERY))).to_pylist()
    yield rows
    return Gathered(
        shard.order, shard.wiki, rows=rows.num_rows, heads=tuple(heads), links=counts.reasons, regions=counts.regions
    )


def plan_ranges(gathered: Iterable[Gathered], rows_per_shard: int) -> list[KeyRange]:
    """Cut the keys of each wiki into ranges of about `rows_per_shard` rows. The cut depends only on the rows."""
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
    """Write the names of a range of keys: their rows, their counts of links, and the nodes of the name table."""
    nodes, total = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))], 0
    links, documents = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    path = f"{work.scratch}/merged-{wanted.number:06d}-{uuid.uuid4().hex}.arrow"
    with new_arrow_file(path, _MERGED) as file:
        for window in shard.windows(MERGED_TOGETHER):
            names = merge_names(window)
            nodes.append(nodes_of(names.keys.to_pylist(), total))
            links.append(names.links)
            documents.append(names.documents)
            keyed = names.rows.append_column("key", names.keys.take(names.rows["name"]))
            numbered = keyed.set_column(0, "name", pc.add(keyed["name"], total))
            file.write_table(numbered.select(_MERGED.names).cast(_MERGED))
            total += len(names.keys)
            release_memory()
    sync_scratch(path)
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
    """Return the numbers of the names in each range of keys. The names of a wiki are numbered in the order of keys."""
    totals: dict[str, int] = {}
    ranges = []
    for part in sorted(merged):
        first = totals.get(part.wiki, 0)
        totals[part.wiki] = first + part.names
        ranges.append(KeyRange(part.order, part.wiki, first, first + part.names))
    return ranges


def build_name_table(
    wiki: str, merged: Mapping[int, Merged], ranges: Sequence[KeyRange], work: Workspace
) -> NameTableBuilt:
    """Build the name table of a wiki, a range of hashes at a time.

    Args:
        wiki: database name.
        merged: the ranges of all wikis, by number of the range.
        ranges: the numbers of their names, as `number_names` returns them.
        work: the directories of the run.
    """
    numbered = [numbers for numbers in ranges if numbers.group == wiki]
    names = sum(merged[numbers.number].names for numbers in numbered)
    parts = 1 << (names // NAMES_AT_ONCE).bit_length()
    with Spill(NODE, parts, work.scratch) as by_hash, Spill(NODE, parts, work.scratch) as nodes:
        for numbers in numbered:
            path = merged[numbers.number].path
            values = read_table(path, "values")
            values += np.where(values >= 0, 2 * int(numbers.low or 0), 0).astype(np.int32)
            hashes = read_table(path, "hashes")
            by_hash.add(rows_of(NODE, hash=hashes, value=values), hash_range(hashes, parts))
        for part in range(parts):
            merged_nodes = merge([_nodes_in(by_hash, part)])
            rows = rows_of(NODE, hash=merged_nodes.hashes, value=merged_nodes.values)
            nodes.add(rows, np.full(len(rows), part))
        total = len(nodes)
        pieces = table_pieces((_nodes_in(nodes, part) for part in range(parts)), parts, total)
        return NameTableBuilt(wiki, save_pieces(work.scratch, f"table-{wiki}", table_lengths(total), pieces))


def _nodes_in(spill: Spill, part: int) -> Nodes:
    rows = spill.read(part)
    return Nodes(np.ascontiguousarray(rows["hash"]), np.ascontiguousarray(rows["value"]))


def count_names(
    shard: NameShard, config: MentionsOptions, tables: Mapping[str, NameTableBuilt]
) -> Generator[pa.Table, None, NamesCounted]:
    """Yield how often each name occurs in the text of a shard."""
    counts = count_occurrences(shard.paths, tables[shard.wiki].path, config.regions, is_chinese(shard.wiki))
    yield counts.cast(BY_NAME.schema)
    return NamesCounted(shard.order, shard.wiki, pc.sum(counts["occurrences"]).as_py() or 0)


def write_range(
    wanted: KeyRange, shard: Shard, config: MentionsOptions, work: Workspace, merged: Mapping[int, Merged]
) -> RangeWritten:
    """Write the rows of `mentions` and `candidates` for a range of names.

    Args:
        wanted: the numbers of the names.
        shard: the rows of `count_names`; empty if no name of the range occurs.
        config: the options.
        work: the directories of the run.
        merged: the ranges, by number.
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
        PartWriter(work.parts, "mentions", wanted.number, mentions.SCHEMA) as all_names,
        PartWriter(work.parts, "candidates", wanted.number, mentions.CANDIDATES) as candidates,
    ):
        for first in range(0, rows.num_rows, ROW_GROUP):
            columns = _columns(names.wiki, rows.slice(first, ROW_GROUP), counts)
            links += int(columns["links"].to_numpy().sum())
            all_names.write(pa.RecordBatch.from_pydict(columns, mentions.SCHEMA))
            likely = columns["link_probability"] >= config.link_probability
            mask = pa.array(likely & (columns["commonness"] >= config.commonness))
            candidates.write(pa.RecordBatch.from_pydict(columns, mentions.CANDIDATES).filter(mask))
            file.forget()
    parts = tuple(writer.part for writer in (all_names, candidates) if writer.part)
    return RangeWritten(names.wiki, parts, links, int(counts.occurrences.sum()))


class _Counts(NamedTuple):
    """Counts of the names of a range, one array element for each name."""

    occurrences: Ints
    documents: Ints
    links: Ints
    linked_documents: Ints


def _add_up(shard: Shard, start: int, names: int) -> tuple[Ints, Ints]:
    """Return the numbers of occurrences and of pages of the names [start, start + names)."""
    totals = np.zeros(names, np.int64), np.zeros(names, np.int64)
    for window in shard.windows():
        name = window["name"].to_numpy()
        # All rows of a name are in one window.
        starts = np.flatnonzero(changes(name))
        for total, column in zip(totals, ("occurrences", "documents"), strict=True):
            total[name[starts] - start] = np.add.reduceat(window[column].to_numpy().astype(np.int64), starts)
    return totals


def _columns(wiki: str, group: pa.Table, counts: _Counts) -> dict[str, Any]:
    """Return the columns of `mentions` and `candidates` for a row group."""
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
        # Names from titles and redirects may have no link and no occurrence: both shares are 0.
        "link_probability": (name_links / np.maximum(occurrences, 1)).astype(np.float32),
        "commonness": (links / np.maximum(name_links, 1)).astype(np.float32),
    }
