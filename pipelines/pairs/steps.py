"""The rows of `wikianchor pairs` as Beam sees them: caps and samples, decisions, shuffled shards.

`decide_shard` and `write_shard` are the two sides of a shuffle (`engine/shuffle.py`): rows are put in order by
their place, a keyed hash of what they say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.tables import distinct, open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import Pulse
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting
from wikianchor.pipelines.pairs.decisions import (
    ALL,
    BUCKETS,
    PLACE,
    ROW_SCHEMA,
    Decider,
    DecisionOptions,
    Limits,
    Linked,
    linked_of,
)
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.pairs.table_steps import ROW_GROUP, SentenceShard, TableBuilt
from wikianchor.pipelines.titles.counts import ShardLinks
from wikianchor.pipelines.titles.row_groups import GROUP_COLUMNS
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import TitleIndex
from wikianchor.schemas import pairs

BY_PLACE = Sorting(ROW_SCHEMA, PLACE)
# A row repeats its sentence, and an Arrow array of strings ends at 2 GB: batches are decided on in portions of this
# size.
PORTION_BYTES = 1 << 27
# What a decision needs: what links lead to has been looked up when they were counted.
SENTENCE_COLUMNS = (
    *("page_id", "rev_id", "title", "sentence_index", "text"),
    *(f"links.list.element.{name}" for name in ("start", "end", "fragment")),
)


@dataclass(frozen=True)
class DecideTask:
    """How links become rows.

    Attributes:
        work: of the run.
        options: of the decision.
        own_page: whether the page's own entity is barred from being a negative.
        rows_per_shard: rows of an output shard, about.
        sample: rows to take; 0 for all.
        cap: rows of one entity at most; 0 for any number.
        per_wiki: whether sample and cap are counted in each wiki, and not in all together.
    """

    work: Workspace
    options: DecisionOptions
    own_page: bool
    rows_per_shard: int
    sample: int
    cap: int
    per_wiki: bool

    def scope(self, wiki: str) -> str:
        """Return what rows of a wiki are sampled and capped together with: the wiki itself, or "" for all."""
        return wiki if self.per_wiki else ""


class Decided(NamedTuple):
    """What became of the links of a shard: how many ended in each bucket."""

    order: int
    wiki: str
    buckets: tuple[int, ...]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        found = {f"links:{name}": number for name, number in zip(BUCKETS, self.buckets, strict=True)}
        return {**found, "links:seen": sum(self.buckets)}


class ShardWritten(NamedTuple):
    """An output shard, with rows kept and duplicates dropped by wiki."""

    parts: tuple[Part, ...]
    kept: dict[str, int]
    duplicates: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {
            "pairs:written": sum(self.kept.values()),
            "pairs:duplicate": sum(self.duplicates.values()),
            "bytes:written": sum(part.size for part in self.parts),
        }


def cap_lots(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
) -> list[tuple[tuple[str, int], bytes]]:
    """Return, for each entity linked to more often than the cap, the lowest lots of its rows in a shard."""
    decider, batches = _opened(shard, task, indexes, links, table)
    often = open_tables(table.path)["counts"] > task.cap
    found = [decider.lots(batch, linked, Limits.none(), often) for batch, linked in batches]
    entities = np.concatenate([np.zeros(0, np.int64), *(some for some, _ in found)])
    lots = np.concatenate([np.zeros(0, np.uint64), *(some for _, some in found)])
    order = np.argsort(entities, kind="stable")
    unique, first = np.unique(entities[order], return_index=True)
    scope = task.scope(shard.wiki)
    return [
        ((scope, entity), lowest(its_lots, task.cap).tobytes())
        for entity, its_lots in zip(unique.tolist(), np.split(lots[order], first[1:]), strict=False)
    ]


def save_caps(task: DecideTask, limits: Iterable[tuple[tuple[str, int], int]]) -> str:
    """Write the highest lot taken of each entity that has as many rows as the cap or more."""
    by_scope: dict[str, list[tuple[int, int]]] = {}
    for (scope, entity), limit in limits:
        if limit < ALL:
            by_scope.setdefault(scope, []).append((entity, limit))
    tables = {}
    for scope, found in by_scope.items():
        entities, lots = zip(*sorted(found), strict=True)
        tables[f"capped-{scope}"], tables[f"caps-{scope}"] = np.array(entities, np.int64), np.array(lots, np.uint64)
    return save_tables(task.work.scratch, "caps", tables)


def sample_lots(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
    caps: str | None,
) -> tuple[str, bytes]:
    """Return the scope of a shard, and the lowest lots of the rows in a shard, as many as the sample is to have."""
    decider, batches = _opened(shard, task, indexes, links, table)
    limits = _limits(shard, task, caps, {})
    found, waiting = np.zeros(0, np.uint64), [np.zeros(0, np.uint64)]
    for batch, linked in batches:
        waiting.append(decider.lots(batch, linked, limits)[1])
        if sum(map(len, waiting)) >= task.sample:
            found, waiting = lowest(np.concatenate([found, *waiting]), task.sample), []
            # What is higher than the last of enough is in no sample.
            limits = replace(limits, sample=limit_of(found, task.sample))
    return task.scope(shard.wiki), lowest(np.concatenate([found, *waiting]), task.sample).tobytes()


def lowest(lots: Hashes, count: int) -> Hashes:
    """Return the `count` lowest different lots, ascending. Rows of one lot are duplicates of each other."""
    return distinct(lots)[:count]


def limit_of(lots: Hashes, count: int) -> int:
    """Return the highest of these lots where there are as many as wanted; else all there are may come."""
    return int(lots[-1]) if len(lots) == count else ALL


class LowestLots(beam.CombineFn):
    """Find the highest lot taken where the lowest are: commutative, associative, idempotent, so the sample is the same
    under any bundling."""

    def __init__(self, count: int) -> None:
        self._count = count

    def create_accumulator(self, *args: Any) -> Hashes:
        return np.zeros(0, np.uint64)

    def add_input(self, accumulator: Hashes, element: bytes, *args: Any) -> Hashes:
        return lowest(np.concatenate([accumulator, np.frombuffer(element, np.uint64)]), self._count)

    def merge_accumulators(self, accumulators: Iterable[Hashes], *args: Any) -> Hashes:
        return lowest(np.concatenate(list(accumulators)), self._count)

    def extract_output(self, accumulator: Hashes, *args: Any) -> int:
        return limit_of(accumulator, self._count)


def decide_shard(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
    caps: str | None,
    samples: Mapping[str, int],
) -> Generator[pa.Table, None, Decided]:
    """Decide on the links of a shard, and yield the rows of pairs that come of it.

    Args:
        shard: of sentences.
        task: how links become rows.
        indexes: by wiki.
        links: where `count_shard` wrote what the links of a shard lead to, by the place of the shard.
        table: of entities.
        caps: where `save_caps` wrote them; None for no cap.
        samples: the highest lot taken, by scope; empty for no sample.
    """
    decider, batches = _opened(shard, task, indexes, links, table)
    limits = _limits(shard, task, caps, samples)
    buckets = np.zeros(len(BUCKETS), np.int64)
    for batch, linked in batches:
        counts, rows = decider.decide(batch, linked, limits)
        buckets += counts
        yield rows
    told = {"links": int(buckets.sum()), "kept": int(buckets[BUCKETS.index("kept")])}
    Pulse(task.work.scratch, f"decide-{shard.order}").beat(file_size(shard.path), told)
    return Decided(shard.order, shard.wiki, tuple(buckets.tolist()))


def _opened(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
) -> tuple[Decider, Iterator[tuple[pa.RecordBatch, Linked]]]:
    """Return what decides on the links of a shard, and its sentences with what their links lead to."""
    found = ShardLinks(*(read_table(links[shard.order], name) for name in ShardLinks._fields))
    ids = EntityIds(table.path)
    index = indexes[shard.wiki]
    # Read, not mapped: a mapped array holds a file open, and there are some for each wiki.
    titles, groups = (
        shards_of(shard.dataset, "titles"),
        {name: read_table(index.groups, name) for name in GROUP_COLUMNS},
    )
    page_links = PageLinks(titles, groups, TitleIndex(index.path), ids, task.own_page)
    decider = Decider(shard.wiki, (found.pages, found.page_items), open_tables(table.path), page_links, task.options)
    return decider, _batches(shard, linked_of(found, ids))


def _batches(shard: SentenceShard, linked: Linked) -> Iterator[tuple[pa.RecordBatch, Linked]]:
    """Yield the sentences of a shard in portions whose rows fit in Arrow's arrays, and what their links lead to."""
    done = 0
    for batch in read_batches(shard.path, SENTENCE_COLUMNS):
        links = pc.list_value_length(batch.column("links")).to_numpy()
        sizes = pc.binary_length(batch.column("text")).to_numpy() * links.astype(np.int64)
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // PORTION_BYTES)) + 1
        for first, last in pairwise([0, *cuts.tolist(), batch.num_rows]):
            count = int(links[first:last].sum())
            yield batch.slice(first, last - first), linked.slice(done, done + count)
            done += count


def _limits(shard: SentenceShard, task: DecideTask, caps: str | None, samples: Mapping[str, int]) -> Limits:
    scope = task.scope(shard.wiki)
    none = Limits.none()
    tables = open_tables(caps) if caps is not None else {}
    return Limits(
        samples.get(scope, ALL), tables.get(f"capped-{scope}", none.capped), tables.get(f"caps-{scope}", none.caps)
    )


def shard_bounds(rows: Mapping[str, int], task: DecideTask) -> Hashes:
    """Return the lowest place of each output shard after the first: even parts of all places."""
    most = {wiki: min(count, task.sample or count) for wiki, count in rows.items()} if task.per_wiki else rows
    expected = sum(most.values())
    if task.sample and not task.per_wiki:
        expected = min(expected, task.sample)
    shards = max(1, -(-expected // task.rows_per_shard))
    return np.array([(number << 64) // shards for number in range(1, shards)], np.uint64)


def write_shard(wanted: KeyRange, shard: Shard, work: Workspace) -> ShardWritten:
    """Write an output shard by place, less duplicates of the first row in the dump.

    A row group is a range of places, so that one row group at a time is in memory.
    """
    kept, repeated = Counter[str](), Counter[str]()
    with PartWriter(work.parts, "pairs", wanted.number, pairs.SCHEMA, pairs.REPEATING) as writer:
        for rows in shard.cut_at(_row_groups(shard)):
            places = rows[PLACE].to_numpy()
            first = np.append(True, places[1:] != places[:-1])
            if not first.all():
                repeated.update(_counts(rows["wiki"].filter(pa.array(~first))))
                rows = rows.filter(pa.array(first))
            kept.update(_counts(rows["wiki"]))
            writer.write(rows.select(pairs.SCHEMA.names).cast(pairs.SCHEMA))
    return ShardWritten((writer.part,) if writer.part else (), dict(kept), dict(repeated))


def _row_groups(shard: Shard) -> list[int]:
    """Return the lowest place of each row group but the first: even parts of the places that rows have."""
    lowest_place, highest = shard.ends()
    groups = -(-shard.rows // ROW_GROUP)
    span = highest - lowest_place + 1
    return [lowest_place + span * number // groups for number in range(1, groups)]


def _counts(values: pa.ChunkedArray) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(values).to_pylist()}
