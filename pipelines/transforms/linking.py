"""The steps of `wikianchor pairs` as Beam sees them: each reads shards of datasets and tables on disk, and yields a
small record.

Rows go from worker to worker through files, not through Beam's shuffle, which holds all it is given in memory on one
machine:
`DecideLinks` writes its rows sorted and cut by output shard, `WriteShard` reads its slice of each of those files.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import ipc

from pipelines.dataset.parts import UNFINISHED, Part, PartWriter, writing
from pipelines.dataset.reader import read_batches
from pipelines.linking.decisions import BUCKETS, ORDER, Decider, DecisionOptions, Limits, count_links
from pipelines.linking.entity_table import TableOptions, build_entity_table
from pipelines.linking.hashing import Hashes
from pipelines.linking.page_links import PageLinks
from pipelines.linking.tables import find, open_tables, save_tables
from pipelines.linking.title_index import Ints, TitleIndex, build_title_index
from pipelines.wikimedia.dumps import filesystem
from schemas import pairs

# Rows held before they are sorted and written out.
SPILL_ROWS = 100_000
ROW_GROUP = 20_000


class WikiTitles(NamedTuple):
    """A wiki and the shards that its title index is made of."""

    wiki: str
    titles: tuple[str, ...]
    sitelinks: tuple[str, ...]


class SentenceShard(NamedTuple):
    """A shard of `sentences`, its place among all, and the wiki's shards of `titles`."""

    order: int
    wiki: str
    path: str
    titles: tuple[str, ...]


class IndexBuilt(NamedTuple):
    """Where the title index of a wiki is, and what went into it."""

    wiki: str
    path: str
    counts: dict[str, int]


class LinkCounts(NamedTuple):
    """How often items are linked to: ascending item numbers and counts, as the bytes of int64 arrays; and the links
    seen."""

    items: bytes
    counts: bytes
    seen: int


class Spill(NamedTuple):
    """A file of rows, one record batch for each output shard; `rows` in each."""

    order: int
    path: str
    rows: tuple[int, ...]


class Decided(NamedTuple):
    """What became of the links of a shard: bucket counts, and where the rows are."""

    order: int
    wiki: str
    buckets: tuple[int, ...]
    spills: tuple[Spill, ...]


class ShardTask(NamedTuple):
    """An output shard and the files that hold its rows."""

    number: int
    spills: tuple[str, ...]


class ShardWritten(NamedTuple):
    """An output shard, with rows kept and duplicates dropped by wiki."""

    parts: tuple[Part, ...]
    kept: dict[str, int]
    duplicates: dict[str, int]


def build_index(task: WikiTitles, output: str) -> tuple[str, IndexBuilt]:
    """Build the title index of a wiki on disk."""
    tables, counts = build_title_index(task.titles, task.sitelinks, task.wiki)
    return task.wiki, IndexBuilt(
        task.wiki, save_tables(f"{output}/{UNFINISHED}", f"titles-{task.wiki}", tables), counts
    )


def count_shard(shard: SentenceShard, indexes: Mapping[str, IndexBuilt], sections: bool) -> tuple[str, LinkCounts]:
    """Count the links of a shard of sentences by item."""
    index = TitleIndex(open_tables(indexes[shard.wiki].path))
    total = SumCounts()
    counted, seen = total.create_accumulator(), 0
    for batch in read_batches(shard.path, ["links"]):
        items, counts, number = count_links([batch], index, sections)
        counted = total.merge_accumulators([counted, (items, counts, 0)])
        seen += number
    return shard.wiki, LinkCounts(counted[0].tobytes(), counted[1].tobytes(), seen)


Counted = tuple[Ints, Ints, int]


class SumCounts(beam.CombineFn):
    """Add link counts. Sums of integers are the same in any order."""

    def create_accumulator(self, *args: Any) -> Counted:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), 0

    def add_input(self, accumulator: Counted, element: LinkCounts, *args: Any) -> Counted:
        return self.merge_accumulators([accumulator, arrays_of(element)])

    def merge_accumulators(self, accumulators: Iterable[Counted], *args: Any) -> Counted:
        items, counts, seen = zip(*accumulators, strict=True)
        found, inverse = np.unique(np.concatenate(items), return_inverse=True)
        total = np.zeros(len(found), np.int64)
        np.add.at(total, inverse, np.concatenate(counts))
        return found, total, sum(seen)

    def extract_output(self, accumulator: Counted, *args: Any) -> LinkCounts:
        return LinkCounts(accumulator[0].tobytes(), accumulator[1].tobytes(), accumulator[2])


def arrays_of(counts: LinkCounts) -> Counted:
    """Return the arrays of a record."""
    return np.frombuffer(counts.items, np.int64), np.frombuffer(counts.counts, np.int64), counts.seen


class TableBuilt(NamedTuple):
    """Where the entity table is, how many rows can come of it at most, and the part that publishes it."""

    path: str
    rows: int
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class TableTask:
    """What the entity table is made of.

    Attributes:
        output: directory of the dataset.
        entities: shards of `entities`.
        sitelinks: shards of `sitelinks`.
        floor: "corpus", "wiki", or a database name whose links alone are counted.
        required: database name of the wiki in which an entity must have a page, or "".
        languages: of labels, best first.
        options: how entities are chosen and typed.
    """

    output: str
    entities: tuple[str, ...]
    sitelinks: tuple[str, ...]
    floor: str
    required: str
    languages: tuple[str, ...]
    options: TableOptions


def build_table(task: TableTask, counted: Iterable[tuple[str, LinkCounts]]) -> TableBuilt:
    """Build the entity table on disk, and the `entities` config that explains its dense ids."""
    by_wiki = dict(counted)
    total = SumCounts()
    chosen = [arrays_of(counts) for wiki, counts in sorted(by_wiki.items()) if task.floor in ("corpus", "wiki", wiki)]
    if task.floor == "wiki":
        # What is frequent in one wiki is in the table; what is not in the row's own wiki is sorted out row by row.
        kept = [
            (items[counts > task.options.min_links], counts[counts > task.options.min_links], 0)
            for items, counts, _ in chosen
        ]
        frequent = total.merge_accumulators([total.create_accumulator(), *kept])[0]
        items, counts, _ = total.merge_accumulators([total.create_accumulator(), *chosen])
        mask = np.isin(items, frequent)
        items, counts = items[mask], counts[mask]
    else:
        items, counts, _ = total.merge_accumulators([total.create_accumulator(), *chosen])
    present = None if not task.required else _present(task.sitelinks, task.required)
    tables = dict(build_entity_table((items, counts), task.entities, present, task.options))
    for wiki, found in sorted(by_wiki.items()):
        tables[f"items-{wiki}"], tables[f"counts-{wiki}"] = arrays_of(found)[:2]
    path = save_tables(f"{task.output}/{UNFINISHED}", "entities", tables)
    rows = 0
    for found in by_wiki.values():
        items, counts, _ = arrays_of(found)
        rows += int(counts[find(tables["sorted_qids"], items) >= 0].sum())
    return TableBuilt(path, rows, _publish_entities(task, tables))


def _present(shards: Sequence[str], wiki: str) -> Ints:
    found = [np.zeros(0, np.int64)]
    for shard in shards:
        for batch in read_batches(shard, ["wiki", "qid"], only=("wiki", wiki)):
            found.append(batch.filter(pc.equal(batch.column("wiki"), wiki)).column("qid").to_numpy())
    return np.unique(np.concatenate(found))


def _publish_entities(task: TableTask, tables: Mapping[str, npt.NDArray[Any]]) -> tuple[Part, ...]:
    qids = tables["qids"]
    labels = _labels(task, tables)
    with PartWriter(task.output, "entities", 0, pairs.ENTITIES) as writer:
        starts, pools = tables["choice_starts"], tables["choice_pools"]
        types = tables["pool_types"][pools] if len(pools) else np.zeros(0, np.int64)
        for first in range(0, len(qids), ROW_GROUP):
            last = min(first + ROW_GROUP, len(qids))
            bounds = starts[first : last + 1]
            writer.write(
                pa.RecordBatch.from_arrays(
                    [
                        pa.array(np.arange(first, last, dtype=np.int32)),
                        pa.array(qids[first:last]),
                        pa.array(tables["counts"][first:last]),
                        pa.array(labels[first:last], pa.string()),
                        pa.ListArray.from_arrays(
                            pa.array((bounds - bounds[0]).astype(np.int32)),
                            pa.array(types[bounds[0] : bounds[-1]]),
                            type=pairs.ENTITIES.field("types").type,
                        ),
                    ],
                    schema=pairs.ENTITIES,
                )
            )
    return (writer.part,) if writer.part else ()


def _labels(task: TableTask, tables: Mapping[str, npt.NDArray[Any]]) -> list[str | None]:
    labels: list[str | None] = [None] * len(tables["qids"])
    rank = {language: number for number, language in enumerate(task.languages)}
    for shard in task.entities:
        for batch in read_batches(shard, ["qid", "labels"]):
            place = find(tables["sorted_qids"], batch.column("qid").to_numpy())
            there = np.flatnonzero(place >= 0)
            found = batch.column("labels").take(pa.array(there)).to_pylist()
            for row, choices in zip(tables["sorted_ids"][place[there]], found, strict=True):
                best = min(choices, key=lambda label: rank.get(label["language"], len(rank)), default=None)
                labels[row] = best["text"] if best else None
    return labels


@dataclass(frozen=True)
class DecideTask:
    """How links become rows.

    Attributes:
        output: directory of the dataset.
        options: of the decision.
        rows_per_shard: rows of an output shard, about.
        sample: rows to take; 0 for all.
        per_wiki: whether the sample is taken from each wiki.
        cap: rows of one entity at most; 0 for any number.
    """

    output: str
    options: DecisionOptions
    rows_per_shard: int
    sample: int
    per_wiki: bool
    cap: int


def _decisions(
    shard: SentenceShard, task: DecideTask, indexes: Mapping[str, IndexBuilt], table: TableBuilt, limits: Limits
) -> Iterator[tuple[Ints, pa.Table]]:
    index, tables = TitleIndex(open_tables(indexes[shard.wiki].path)), open_tables(table.path)
    counts = (tables[f"items-{shard.wiki}"], tables[f"counts-{shard.wiki}"])
    decider = Decider(shard.wiki, index, tables, counts, task.options)
    page_links = PageLinks(shard.titles, index, tables)
    columns = ["page_id", "rev_id", "title", "sentence_index", "text", "links"]
    for batch in read_batches(shard.path, columns):
        linked = batch.filter(pc.greater(pc.list_value_length(batch.column("links")), 0))
        if linked.num_rows:
            yield decider.decide(linked, page_links, limits)


LimitMap = Mapping[str, Any]


def limits_of(wiki: str, caps: str | None, samples: Mapping[str, int]) -> Limits:
    """Put the limits for a wiki together from a table of caps on disk and the samples' highest hashes ("" for all
    wikis)."""
    sample = samples.get(wiki, samples.get(""))
    if caps is None:
        return Limits(sample, np.zeros(0, np.int64), np.zeros(0, np.uint64))
    tables = open_tables(caps)
    return Limits(sample, tables["capped"], tables["caps"])


def cap_candidates(
    shard: SentenceShard, task: DecideTask, indexes: Mapping[str, IndexBuilt], table: TableBuilt
) -> Iterator[tuple[int, bytes]]:
    """Yield, for each entity linked more often than the cap, the lowest order hashes of its rows in a shard."""
    hot = np.flatnonzero(open_tables(table.path)["counts"] > task.cap)
    found: dict[int, list[Hashes]] = {}
    for _, rows in _decisions(shard, task, indexes, table, Limits.none()):
        ids, order = rows["entity_id"].to_numpy(), rows["order"].to_numpy()
        for entity in np.unique(ids[np.isin(ids, hot)]):
            found.setdefault(int(entity), []).append(order[ids == entity])
    for entity, hashes in sorted(found.items()):
        yield entity, lowest(np.concatenate(hashes), task.cap).tobytes()


def sample_candidates(
    shard: SentenceShard, task: DecideTask, indexes: Mapping[str, IndexBuilt], table: TableBuilt, caps: str | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the lowest order hashes of the rows in a shard, as many as the sample is to have."""
    found = np.zeros(0, np.uint64)
    for _, rows in _decisions(shard, task, indexes, table, limits_of(shard.wiki, caps, {})):
        found = lowest(np.concatenate([found, rows["order"].to_numpy()]), task.sample)
    yield shard.wiki if task.per_wiki else "", found.tobytes()


def lowest(hashes: Hashes, count: int) -> Hashes:
    """Return the `count` lowest different hashes, ascending. Rows of one hash are duplicates of each other."""
    return np.unique(hashes)[:count]


class LowestHashes(beam.CombineFn):
    """Keep the lowest hashes: commutative, associative, idempotent, so the sample is the same under any bundling."""

    def __init__(self, count: int) -> None:
        self._count = count

    def create_accumulator(self, *args: Any) -> Hashes:
        return np.zeros(0, np.uint64)

    def add_input(self, accumulator: Hashes, element: bytes, *args: Any) -> Hashes:
        return lowest(np.concatenate([accumulator, np.frombuffer(element, np.uint64)]), self._count)

    def merge_accumulators(self, accumulators: Iterable[Hashes], *args: Any) -> Hashes:
        return lowest(np.concatenate(list(accumulators)), self._count)

    def extract_output(self, accumulator: Hashes, *args: Any) -> tuple[int, int]:
        """Return how many there are and the highest of them."""
        return len(accumulator), int(accumulator[-1]) if len(accumulator) else 0


def save_caps(output: str, cap: int, highest: Iterable[tuple[int, tuple[int, int]]]) -> str:
    """Write the highest hash taken of each entity that has the cap's number of rows or more."""
    full = sorted((entity, limit) for entity, (count, limit) in highest if count >= cap)
    capped = np.array([entity for entity, _ in full], np.int64)
    return save_tables(
        f"{output}/{UNFINISHED}", "caps", {"capped": capped, "caps": np.array([limit for _, limit in full], np.uint64)}
    )


def decide_shard(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    table: TableBuilt,
    caps: str | None,
    samples: Mapping[str, int],
) -> Decided:
    """Decide on the links of a shard and write the rows that come of it, sorted and cut by output shard."""
    buckets = np.zeros(len(BUCKETS), np.int64)
    limits = limits_of(shard.wiki, caps, samples)
    bounds = shard_bounds(table.rows, task, len(indexes), samples)
    waiting: list[pa.Table] = []
    spills: list[Spill] = []
    held = 0
    for counts, rows in _decisions(shard, task, indexes, table, limits):
        buckets += counts
        waiting.append(rows)
        held += rows.num_rows
        if held >= SPILL_ROWS:
            spills.append(_spill(task.output, (shard.order, len(spills)), waiting, bounds))
            waiting, held = [], 0
    if held:
        spills.append(_spill(task.output, (shard.order, len(spills)), waiting, bounds))
    return Decided(shard.order, shard.wiki, tuple(buckets.tolist()), tuple(spills))


def shard_bounds(rows: int, task: DecideTask, wikis: int, samples: Mapping[str, int]) -> Hashes:
    """Return the lowest order hash of each output shard after the first: even parts of the hashes that are taken."""
    expected = min(rows, task.sample * (wikis if task.per_wiki else 1)) if task.sample else rows
    shards = max(1, -(-expected // task.rows_per_shard))
    top = max(samples.values()) + 1 if samples and len(samples) == (wikis if task.per_wiki else 1) else 1 << 63
    return np.array([top * number // shards for number in range(1, shards)], np.uint64)


def _spill(output: str, place: tuple[int, int], tables: Sequence[pa.Table], bounds: Hashes) -> Spill:
    rows = pa.concat_tables(tables)
    order = rows["order"].to_numpy()
    permutation = np.argsort(order, kind="stable")
    cuts = np.concatenate([[0], np.searchsorted(order[permutation], bounds), [len(order)]])
    rows = rows.take(pa.array(permutation)).combine_chunks()
    path = f"{output}/{UNFINISHED}/rows-{place[0]:06d}-{place[1]:04d}-{uuid.uuid4().hex}.arrow"
    files, inner = filesystem(path)
    with writing(path):
        files.create_dir(inner.rpartition("/")[0], recursive=True)
        with (
            files.open_output_stream(inner) as stream,
            ipc.new_file(stream, rows.schema, options=ipc.IpcWriteOptions(compression="zstd")) as writer,
        ):
            for first, last in pairwise(cuts):
                batches = rows.slice(first, last - first).to_batches()
                writer.write_batch(batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema))
    return Spill(place[0], path, tuple(int(last - first) for first, last in pairwise(cuts)))


def plan_shards(decided: Iterable[Decided]) -> Iterator[ShardTask]:
    """Yield the output shards that have rows, with the files that hold them."""
    spills = [spill for one in sorted(decided, key=lambda one: one.order) for spill in one.spills]
    for number in range(max((len(spill.rows) for spill in spills), default=0)):
        paths = tuple(spill.path for spill in spills if spill.rows[number])
        if paths:
            yield ShardTask(number, paths)


def write_shard(task: ShardTask, output: str) -> ShardWritten:
    """Merge the rows of an output shard, drop duplicates, and write it in the order of the hashes."""
    found = []
    for path in task.spills:
        files, inner = filesystem(path)
        with ipc.open_file(files.open_input_file(inner)) as reader:
            found.append(pa.Table.from_batches([reader.get_batch(task.number)]))
    rows = pa.concat_tables(found).combine_chunks()
    keys = [(name, "ascending") for name in ("order", "wiki", "page_id", "sentence_index", "mention_start")]
    rows = rows.take(pc.sort_indices(rows, sort_keys=keys))
    order = rows["order"].to_numpy()
    first = np.ones(len(order), bool)
    first[1:] = order[1:] != order[:-1]
    kept, repeated = rows.filter(pa.array(first)), rows.filter(pa.array(~first))
    with PartWriter(output, "pairs", task.number, pairs.SCHEMA) as writer:
        published = kept.drop_columns(list(ORDER)).cast(pairs.SCHEMA)
        for start in range(0, published.num_rows, ROW_GROUP):
            writer.write(published.slice(start, ROW_GROUP))
    return ShardWritten((writer.part,) if writer.part else (), _by_wiki(kept), _by_wiki(repeated))


def _by_wiki(rows: pa.Table) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(rows["wiki"]).to_pylist()}
