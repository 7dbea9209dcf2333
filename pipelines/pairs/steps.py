"""The steps of `wikianchor pairs` that make rows: sample keys for caps and samples, decisions, output shards.

`decide_shards` is the map side and `write_shard` the reduce side of a shuffle (`engine/shuffle.py`). Rows are sorted by
their shuffle key, a keyed hash of their content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.hashing import Hashes
from wikianchor.pipelines.arrays.tables import changes, distinct, map_tables, open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.split_configs import split_config
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.sorted_runs import KeyRange, Shard, Sorting
from wikianchor.pipelines.engine.transforms import Group
from wikianchor.pipelines.pairs.decisions import (
    ANY_KEY,
    BUCKETS,
    ROW_SCHEMA,
    SHUFFLE_KEY,
    SPLIT_SHIFT,
    Decider,
    DecisionOptions,
    KeyLimits,
    Linked,
    linked_of,
)
from wikianchor.pipelines.pairs.entity_names import NamesBuilt
from wikianchor.pipelines.pairs.entity_table import EntityIds
from wikianchor.pipelines.pairs.page_links import PageLinks
from wikianchor.pipelines.pairs.repeated_texts import TEXT, is_repeated, texts_of
from wikianchor.pipelines.pairs.sentence_checks import SentenceLimits, dropped_links
from wikianchor.pipelines.pairs.table_steps import ROW_GROUP, SentenceShard, TableBuilt
from wikianchor.pipelines.pairs.wiki_pools import PoolsBuilt
from wikianchor.pipelines.titles.counts import ShardLinks
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex
from wikianchor.schemas import pairs

BY_SHUFFLE_KEY = Sorting(ROW_SCHEMA, SHUFFLE_KEY)
BUCKET_COUNTERS = tuple(f"links:{name}" for name in (*BUCKETS, "seen"))
# Each row repeats its sentence, and an Arrow array of strings holds at most 2 GB: so batches are cut into portions
# whose rows have this many bytes of text, about.
PORTION_BYTES = 1 << 27
# Links that are decided on together, about.
LINKS_TOGETHER = 1 << 15
# The columns that a decision needs. The targets of links are not among them: `count_shard` has looked them up.
SENTENCE_COLUMNS = (
    *("page_id", "rev_id", "title", "sentence_index", "text"),
    *(f"links.list.element.{name}" for name in ("start", "end", "fragment")),
)


@dataclass(frozen=True)
class DecideTask:
    """How links become rows.

    Attributes:
        work: the directories of the run.
        options: the rules of a decision.
        own_page: never draw the entity that a page is about as a negative on that page.
        rows_per_shard: approximate number of rows in an output shard.
        sample: number of rows to sample; 0 keeps all.
        cap: maximum number of rows of one entity; 0 for no maximum.
        per_wiki: apply sample and cap to each wiki, instead of to all wikis together.
        sentences_of_text: sentences kept of each text in all wikis, digits aside, if `options.repeats` is set.
    """

    work: Workspace
    options: DecisionOptions
    own_page: bool
    rows_per_shard: int
    sample: int
    cap: int
    per_wiki: bool
    sentences_of_text: int = 0

    def scope(self, wiki: str) -> str:
        """Return the group in which rows of a wiki are sampled and capped: the wiki itself, or "" for all wikis."""
        return wiki if self.per_wiki else ""


class LookUps(NamedTuple):
    """Tables by which every decision on links is made; for a graph, the side inputs that hold them.

    Attributes:
        indexes: the title index of each wiki.
        links: by shard number, the path where `count_shard` saved the targets of its links.
        table: the entity table.
        names: the names of entities in each wiki; empty where pages may name their negatives.
        pools: the pools of each wiki; empty where negatives need no page there.
    """

    indexes: Any
    links: Any
    table: Any
    names: Any
    pools: Any


class Decided(NamedTuple):
    """What became of the links of a group of shards.

    Attributes:
        order: number of the first shard.
        buckets: the number of links in each of `BUCKETS`, by wiki.
        texts: path of the arrays `texts` and `sentences`, hash and id of each sentence that has a row; "" where
            repeated texts stay.
    """

    order: int
    buckets: dict[str, tuple[int, ...]]
    texts: WorkPath

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        buckets = [sum(numbers) for numbers in zip(*self.buckets.values(), strict=True)]
        return dict(zip(BUCKET_COUNTERS, (*buckets, sum(buckets)), strict=True))


class ShardWritten(NamedTuple):
    """An output shard, and by wiki the number of rows written, and of duplicates and repeated texts dropped."""

    parts: tuple[Part, ...]
    kept: dict[str, int]
    duplicates: dict[str, int]
    repeats: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {
            "pairs:written": sum(self.kept.values()),
            "pairs:duplicate": sum(self.duplicates.values()),
            "pairs:repeated_text": sum(self.repeats.values()),
        }


def cap_keys(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
    names: Mapping[str, NamesBuilt],
    pools: Mapping[str, PoolsBuilt],
    sentences: SentenceLimits | None = None,
) -> list[tuple[tuple[str, int], bytes]]:
    """Return the `cap` smallest sample keys of each entity in a shard, as ((scope, dense id), uint64 bytes).

    Entities that are linked to no more often than the cap are left out.
    """
    decider, batches = _open_shard(shard, task, LookUps(indexes, links, table, names, pools), sentences)
    frequent = open_tables(table.path)["counts"] > task.cap
    empty = np.zeros(0, np.int64), np.zeros(0, np.uint64)
    parts = [decider.sample_keys(batch, linked, KeyLimits(), frequent) for batch, linked in batches]
    entities, keys = (np.concatenate(columns) for columns in zip(empty, *parts, strict=True))
    order = np.argsort(entities, kind="stable")
    unique, first = np.unique(entities[order], return_index=True)
    scope = task.scope(shard.wiki)
    return [
        ((scope, entity), smallest(entity_keys, task.cap).tobytes())
        for entity, entity_keys in zip(unique.tolist(), np.split(keys[order], first[1:]), strict=False)
    ]


def save_caps(task: DecideTask, limits: Iterable[tuple[tuple[str, int], int]]) -> str:
    """Write the greatest sample key kept of each entity that has as many rows as the cap or more.

    Args:
        task: how links become rows.
        limits: ((scope, dense id), greatest key), as `SmallestKeys` returns them.

    Returns:
        The path of the tables.
    """
    by_scope: dict[str, list[tuple[int, int]]] = {}
    for (scope, entity), limit in limits:
        if limit < ANY_KEY:
            by_scope.setdefault(scope, []).append((entity, limit))
    tables = {}
    for scope, scope_limits in by_scope.items():
        entities, keys = zip(*sorted(scope_limits), strict=True)
        tables[f"capped-{scope}"], tables[f"caps-{scope}"] = np.array(entities, np.int64), np.array(keys, np.uint64)
    return save_tables(task.work.scratch, "caps", tables)


def sample_keys(
    shard: SentenceShard,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
    names: Mapping[str, NamesBuilt],
    pools: Mapping[str, PoolsBuilt],
    caps: str | None,
    sentences: SentenceLimits | None = None,
) -> tuple[str, bytes]:
    """Return the scope of a shard and the `sample` smallest sample keys of its rows, as uint64 bytes."""
    decider, batches = _open_shard(shard, task, LookUps(indexes, links, table, names, pools), sentences)
    limits = _limits(shard, task, caps, {})
    keys = [np.zeros(0, np.uint64)]
    for batch, linked in batches:
        keys.append(decider.sample_keys(batch, linked, limits)[1])
        if sum(map(len, keys[1:])) >= task.sample:
            keys = [smallest(np.concatenate(keys), task.sample)]
            # Rows with greater keys cannot be in the sample: no negatives are drawn for them in later batches.
            limits = replace(limits, sample=greatest_kept(keys[0], task.sample))
    return task.scope(shard.wiki), smallest(np.concatenate(keys), task.sample).tobytes()


def smallest(keys: Hashes, count: int) -> Hashes:
    """Return the `count` smallest distinct keys, ascending. Rows with equal keys are duplicates of each other."""
    return distinct(keys)[:count]


def greatest_kept(keys: Hashes, count: int) -> int:
    """Return the greatest of `count` ascending keys, or ANY_KEY where there are fewer: then all rows are kept."""
    return int(keys[-1]) if len(keys) == count else ANY_KEY


class SmallestKeys(beam.CombineFn):
    """Find the greatest of the `count` smallest keys. Commutative, associative and idempotent, so that the sample does
    not depend on how a runner bundles elements."""

    def __init__(self, count: int) -> None:
        self._count = count

    def create_accumulator(self, *args: Any) -> Hashes:
        return np.zeros(0, np.uint64)

    def add_input(self, accumulator: Hashes, element: bytes, *args: Any) -> Hashes:
        return smallest(np.concatenate([accumulator, np.frombuffer(element, np.uint64)]), self._count)

    def merge_accumulators(self, accumulators: Iterable[Hashes], *args: Any) -> Hashes:
        return smallest(np.concatenate(list(accumulators)), self._count)

    def extract_output(self, accumulator: Hashes, *args: Any) -> int:
        return greatest_kept(accumulator, self._count)


def decide_shards(
    group: Group,
    task: DecideTask,
    indexes: Mapping[str, IndexBuilt],
    links: Mapping[int, str],
    table: TableBuilt,
    names: Mapping[str, NamesBuilt],
    pools: Mapping[str, PoolsBuilt],
    caps: str | None,
    samples: Mapping[str, int],
    sentences: SentenceLimits | None = None,
) -> Generator[pa.Table, None, Decided]:
    """Decide on the links of a group of shards and yield the rows that are kept, in ROW_SCHEMA.

    Args:
        group: the shards of sentences.
        task: how links become rows.
        indexes: the title index of each wiki.
        links: by shard number, the path where `count_shard` saved the targets of its links.
        table: the entity table.
        names: the names of entities in each wiki; empty where pages may name their negatives.
        pools: the pools of each wiki; empty where negatives need no page there.
        caps: the path that `save_caps` returned; None for no cap.
        samples: the greatest sample key kept, by scope; empty for no sample.
        sentences: which sentences are left out; None for none.
    """
    buckets: dict[str, Ints] = {}
    sentences_with_rows = [np.zeros(0, TEXT)]
    for shard in group.members:
        decider, batches = _open_shard(shard, task, LookUps(indexes, links, table, names, pools), sentences)
        limits = _limits(shard, task, caps, samples)
        of_wiki = buckets.setdefault(shard.wiki, np.zeros(len(BUCKETS), np.int64))
        for batch, linked in batches:
            batch_buckets, rows = decider.decide(batch, linked, limits)
            of_wiki += batch_buckets
            if task.options.repeats:
                sentences_with_rows.append(texts_of(rows))
            yield rows
    arrays = {"texts": np.concatenate(sentences_with_rows)}
    decided = Decided(
        order=group.order,
        buckets={wiki: tuple(numbers.tolist()) for wiki, numbers in buckets.items()},
        texts=save_tables(task.work.scratch, f"texts-{group.order:06d}", arrays) if task.options.repeats else "",
    )
    counts = {name: decided.metrics[f"links:{key}"] for name, key in (("links", "seen"), ("kept", "kept"))}
    ProgressFile(task.work.scratch, f"decide-{group.order}").write(
        sum(file_size(shard.path) for shard in group.members), counts
    )
    return decided


def _open_shard(
    shard: SentenceShard, task: DecideTask, look_ups: LookUps, sentences: SentenceLimits | None
) -> tuple[Decider, Iterator[tuple[pa.RecordBatch, Linked]]]:
    """Return the decider for a shard, and its sentences in batches with the targets of their links."""
    links = ShardLinks(**map_tables(look_ups.links[shard.order]))
    table: TableBuilt = look_ups.table
    ids = _entity_ids(table.path)
    index: IndexBuilt = look_ups.indexes[shard.wiki]
    groups = read_table(index.path, "groups")
    titles = shards_of(shard.dataset, "titles")
    page_links = PageLinks(titles, groups, TitleIndex(index.path), ids, task.own_page)
    names = look_ups.names[shard.wiki].open() if shard.wiki in look_ups.names else None
    pools = look_ups.pools[shard.wiki].open() if shard.wiki in look_ups.pools else None
    decider = Decider(
        wiki=shard.wiki,
        page_items=(links.pages, links.page_items),
        table=open_tables(table.path),
        page_links=page_links,
        options=task.options,
        names=names,
        pools=pools,
    )
    dropped = dropped_links(shard, sentences) if sentences is not None else None
    return decider, _batches(shard, linked_of(links, ids, dropped))


# A small entity table stays in memory for the next shard.
@lru_cache(maxsize=1)
def _entity_ids(path: str) -> EntityIds:
    return EntityIds(path)


def _batches(shard: SentenceShard, linked: Linked) -> Iterator[tuple[pa.RecordBatch, Linked]]:
    """Yield the sentences of a shard in portions of whole pages and of about PORTION_BYTES, each with the targets of
    its links."""
    done = 0  # links yielded
    for batch in _whole_pages(read_batches(shard.path, SENTENCE_COLUMNS)):
        links = pc.list_value_length(batch.column("links")).to_numpy()
        sizes = pc.binary_length(batch.column("text")).to_numpy() * links.astype(np.int64)
        heads = np.flatnonzero(changes(batch.column("page_id").to_numpy()))
        cuts = heads[np.flatnonzero(np.diff(np.append(0, np.cumsum(sizes))[heads] // PORTION_BYTES)) + 1]
        for first, last in pairwise([0, *cuts.tolist(), batch.num_rows]):
            count = int(links[first:last].sum())
            yield batch.slice(first, last - first), linked.slice(done, done + count)
            done += count


def _whole_pages(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield sentences in batches of about LINKS_TOGETHER links that end with the last sentence of a page."""
    held: list[pa.RecordBatch] = []
    links = 0
    for batch in batches:
        last = int(np.flatnonzero(changes(batch.column("page_id").to_numpy()))[-1])
        held.append(batch.slice(0, last))
        links += len(batch.column("links").flatten())
        if last and links >= LINKS_TOGETHER:
            yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]
            held, links = [], 0
        held.append(batch.slice(last))
    if held:
        yield pa.Table.from_batches(held).combine_chunks().to_batches()[0]


def _limits(shard: SentenceShard, task: DecideTask, caps: str | None, samples: Mapping[str, int]) -> KeyLimits:
    """Return the greatest sample keys that are kept in a shard."""
    scope = task.scope(shard.wiki)
    limits = KeyLimits(samples.get(scope, ANY_KEY))
    tables = open_tables(caps) if caps is not None else {}
    if f"capped-{scope}" not in tables:
        return limits
    return replace(limits, capped=tables[f"capped-{scope}"], caps=tables[f"caps-{scope}"])


def shard_bounds(rows: Mapping[str, int], task: DecideTask) -> Hashes:
    """Return the smallest shuffle key of each output shard but the first. The shards cut the keys of a split evenly.

    Args:
        rows: upper bound of the number of rows, by wiki.
        task: how links become rows.
    """
    most = {wiki: min(count, task.sample or count) for wiki, count in rows.items()} if task.per_wiki else rows
    expected = sum(most.values())
    if task.sample and not task.per_wiki:
        expected = min(expected, task.sample)
    width = 1 << (SPLIT_SHIFT if task.options.split else 64)
    bounds: list[int] = []
    for split, share in enumerate(task.options.split.row_shares):
        shards = max(1, -(-int(expected * share) // task.rows_per_shard))
        bounds += [split * width + number * width // shards for number in range(shards)]
    return np.array(bounds[1:], np.uint64)


def write_shard(
    wanted: KeyRange, shard: Shard, work: Workspace, is_split: bool = False, repeats: str = ""
) -> ShardWritten:
    """Write the rows of an output shard, sorted by shuffle key, without those of repeated texts; of duplicates only the
    first in the order of the dump.

    A row group is a range of shuffle keys, so only one row group at a time is in memory.

    Args:
        wanted: the range of shuffle keys.
        shard: its rows.
        work: the workspace of the run.
        is_split: whether the highest bits of a key are the split of its row.
        repeats: the path that `limit_texts` returned; "" where repeated texts stay.
    """
    kept, duplicates, repeated = Counter[str](), Counter[str](), Counter[str]()
    limits = open_tables(repeats) if repeats else None
    config = split_config("pairs", pairs.SPLITS[int(wanted.low or 0) >> SPLIT_SHIFT if is_split else 0])
    with PartWriter(work.parts, config, wanted.number, pairs.SCHEMA, pairs.REPEATING) as writer:
        for rows in shard.cut_at(_row_groups(shard)):
            if limits is not None and (over := is_repeated(rows, limits)).any():
                repeated.update(_counts(rows["wiki"].filter(pa.array(over))))
                rows = rows.filter(pa.array(~over))
            keys = rows[SHUFFLE_KEY].to_numpy()
            first = np.append(True, keys[1:] != keys[:-1])
            if not first.all():
                duplicates.update(_counts(rows["wiki"].filter(pa.array(~first))))
                rows = rows.filter(pa.array(first))
            kept.update(_counts(rows["wiki"]))
            writer.write(rows.select(pairs.SCHEMA.names).cast(pairs.SCHEMA))
    return ShardWritten((writer.part,) if writer.part else (), dict(kept), dict(duplicates), dict(repeated))


def _row_groups(shard: Shard) -> list[int]:
    """Return the smallest shuffle key of each row group but the first. They cut the keys of the shard evenly."""
    first, last = shard.ends()
    groups = -(-shard.rows // ROW_GROUP)
    return [first + (last - first + 1) * number // groups for number in range(1, groups)]


def _counts(values: pa.ChunkedArray) -> dict[str, int]:
    return {entry["values"]: entry["counts"] for entry in pc.value_counts(values).to_pylist()}
