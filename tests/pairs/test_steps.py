"""Rows as steps: keys and limits under any bundling, spills and shards that lose, repeat and disorder nothing."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stand_in import Item, Page, small_wiki, work_of, write_entities, write_sentences
from wikianchor.pipelines.dataset.reader import open_datasets
from wikianchor.pipelines.engine import sorted_runs
from wikianchor.pipelines.engine.shuffle import ReduceRuns, spill_runs
from wikianchor.pipelines.engine.sorted_runs import KeyRange, SortedRun, key_ranges
from wikianchor.pipelines.engine.transforms import Group
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs import steps as rows
from wikianchor.pipelines.pairs.decisions import ANY_KEY
from wikianchor.pipelines.pairs.entity_names import NameSources, build_names
from wikianchor.pipelines.pairs.options import PairChoices, PairsOptions
from wikianchor.pipelines.pairs.steps import DecideTask, LookUps, SmallestKeys, greatest_kept, shard_bounds, smallest
from wikianchor.pipelines.pairs.table_steps import (
    TableBuilt,
    build_table,
    count_shard,
    list_sentence_shards,
)
from wikianchor.pipelines.pairs.wiki_pools import build_pools
from wikianchor.pipelines.titles.steps import IndexBuilt, WikiTitles, build_index
from wikianchor.schemas import pairs as schema

# Of each shard of sentences, what became of its links, and the runs of its rows.
Spilled = list[tuple[rows.Decided, tuple[SortedRun, ...]]]


class Steps:
    """The steps up to the decisions, run one after the other for two wikis."""

    def __init__(self, tmp_path: Path, cut: int = 2, rows_per_shard: int = 50, **choices: Any) -> None:
        wikis = {wiki: small_wiki(30, wiki=wiki) for wiki in ("enwiki", "jawiki")}
        # One item has a page in both wikis, so its rows meet.
        shared = [
            Item(item.qid, item.types, {**item.sitelinks, **other.sitelinks})
            for item, other in zip(wikis["enwiki"][1], wikis["jawiki"][1], strict=True)
        ]
        entities = open_datasets(str(write_entities(tmp_path / "e", list(wikis), shared)), "entities", "1", "entities")[
            0
        ]
        self.indexes: dict[str, IndexBuilt] = {}
        self.work = work_of(tmp_path / "out")
        config = PairsOptions(
            sentences="",
            entities="",
            output=str(tmp_path / "out"),
            choices=PairChoices(**{"min_links": 0, **choices}),
            rows_per_shard=rows_per_shard,
        )
        table_task, self.task = pairs._tasks(config, self.work, entities)
        for wiki, (pages, _) in wikis.items():
            path = write_sentences(tmp_path / wiki, wiki, pages, cut)
            self.indexes[wiki] = build_index(WikiTitles(wiki, str(path), entities.directory), self.work)
        self.together = list_sentence_shards([(wiki, str(tmp_path / wiki)) for wiki in wikis])
        self.shards = [shard for group in self.together for shard in group.members]
        self.groups = [Group(shard.order, (shard,)) for shard in self.shards]
        counted = [count_shard(shard, self.indexes, False, self.work) for shard in self.shards]
        self.links = {shard_result.order: shard_result.path for shard_result in counted}
        self.seen = {
            wiki: sum(shard_result.seen for shard_result in counted if shard_result.wiki == wiki) for wiki in wikis
        }
        self.table: TableBuilt = build_table(table_task, counted)
        self.names = {
            wiki: build_names(
                NameSources(wiki, wiki.removesuffix("wiki"), str(tmp_path / wiki), entities.directory, ()),
                self.indexes,
                self.table,
                self.work,
            )
            for wiki in wikis
        }
        self.pools = {wiki: build_pools(wiki, counted, self.table, self.work) for wiki in wikis}

    @property
    def tables(self) -> LookUps:
        return LookUps(self.indexes, self.links, self.table, self.names, self.pools)

    def caps(self) -> str:
        combine = SmallestKeys(self.task.cap)
        rows_read = [pair for shard in self.shards for pair in rows.cap_keys(shard, self.task, *self.tables)]
        return rows.save_caps(self.task, combined(combine, rows_read))

    def samples(self, caps: str | None = None) -> dict[str, int]:
        combine = SmallestKeys(self.task.sample)
        rows_read = [rows.sample_keys(shard, self.task, *self.tables, caps) for shard in self.shards]
        return dict(combined(combine, rows_read))

    def decided(self, caps: str | None = None, samples: dict[str, int] | None = None) -> Spilled:
        spill = (rows.decide_shards, self.work.scratch, rows.BY_SHUFFLE_KEY, False)
        return [spill_runs(group, *spill, self.task, *self.tables, caps, samples or {}) for group in self.groups]

    def written(self, decided: Spilled) -> list[rows.ShardWritten]:
        runs = [run for _, rows_read in decided for run in rows_read]
        ranges = key_ranges("", shard_bounds(self.table.rows, self.task).tolist())
        reduce = ReduceRuns(rows.write_shard, rows.BY_SHUFFLE_KEY, empty=False)
        written = [reduce(wanted, runs, self.work) for wanted in ranges]
        return [shard_result for shard_result in written if shard_result is not None]

    def all_rows(self, decided: Spilled) -> list[dict[str, Any]]:
        return rows_of(self.written(decided))


def rows_of(written: Iterable[rows.ShardWritten]) -> list[dict[str, Any]]:
    return [row for shard in written for part in shard.parts for row in pq.read_table(part.path).to_pylist()]


def combined(combine: SmallestKeys, pairs: Iterable[tuple[Any, bytes]]) -> list[tuple[Any, int]]:
    rows_read: dict[Any, np.ndarray] = {}
    for key, keys in pairs:
        rows_read[key] = combine.add_input(rows_read.get(key, combine.create_accumulator()), keys)
    return [(key, combine.extract_output(keys)) for key, keys in rows_read.items()]


KEYS = st.lists(st.integers(0, ANY_KEY), max_size=30)


@given(st.lists(KEYS, max_size=6), st.integers(1, 20), st.randoms())
def test_the_limit_is_the_last_of_the_lowest_under_any_bundling(parts: list[list[int]], count: int, random) -> None:
    combine = SmallestKeys(count)
    elements = [smallest(np.array(part, np.uint64), count).tobytes() for part in parts]
    distinct = sorted({key for part in parts for key in part})
    expected = distinct[count - 1] if len(distinct) >= count else ANY_KEY
    # A bundle that a runner repeats changes nothing.
    elements += random.sample(elements, random.randint(0, len(elements)))
    random.shuffle(elements)
    cut = random.randint(0, len(elements))
    bundles = []
    for bundle in (elements[:cut], [], elements[cut:]):
        accumulator = combine.create_accumulator()
        for element in bundle:
            accumulator = combine.add_input(accumulator, element)
        bundles.append(accumulator)
    assert combine.extract_output(combine.merge_accumulators(bundles)) == expected


def test_too_few_lots_limit_nothing() -> None:
    assert greatest_kept(smallest(np.array([3, 1, 3], np.uint64), 3), 3) == ANY_KEY
    assert greatest_kept(smallest(np.array([3, 1, 3, 2], np.uint64), 3), 3) == 3


@pytest.mark.parametrize(
    ("sample", "per_wiki", "shards"), [(0, False, 12), (100, False, 1), (101, False, 2), (100, True, 2), (300, True, 5)]
)
def test_shards_are_even_parts_of_all_places(tmp_path: Path, sample: int, per_wiki: bool, shards: int) -> None:
    task = Steps(tmp_path, rows_per_shard=100, sample=sample, sample_per_wiki=per_wiki).task
    bounds = shard_bounds({"enwiki": 1000, "jawiki": 150}, task).tolist()
    assert len(bounds) + 1 == shards
    assert bounds == [(number << 64) // shards for number in range(1, shards)]
    assert shard_bounds({}, task).tolist() == []


def test_rows_are_those_decided_each_once_in_the_order_of_their_places(tmp_path: Path) -> None:
    steps = Steps(tmp_path)
    decided = steps.decided()
    written = steps.written(decided)
    kept = sum(buckets[0] for group_result, _ in decided for buckets in group_result.buckets.values())
    assert sum(sum(shard.kept.values()) + sum(shard.duplicates.values()) for shard in written) == kept
    rows_read = rows_of(written)
    assert len(rows_read) == sum(sum(shard.kept.values()) for shard in written)
    assert Counter(row["wiki"] for row in rows_read) == sum((Counter(shard.kept) for shard in written), Counter())
    keys = [(row["wiki"], row["page_id"], row["text"], row["mention_start"]) for row in rows_read]
    assert len(keys) == len(set(keys))
    # Several shards, all of about the size asked for, all in the published schema.
    sizes = [shard.parts[0].rows for shard in written]
    assert len(sizes) == len(shard_bounds(steps.table.rows, steps.task)) + 1 > 5
    assert all(15 < size < 85 for size in sizes)
    assert all(pq.read_schema(shard.parts[0].path).equals(schema.SCHEMA, check_metadata=True) for shard in written)


def test_neither_wiki_nor_page_nor_frequency_shows_in_the_order(tmp_path: Path) -> None:
    """A row's place says nothing about it, under caps and samples too."""
    for number, choices in enumerate(
        ({}, {"max_per_entity": 12, "sample": 150, "sample_per_wiki": True}, {"max_per_entity": 20})
    ):
        steps = Steps(tmp_path / str(number), **choices)
        caps = steps.caps() if steps.task.cap else None
        samples = steps.samples(caps) if steps.task.sample else {}
        rows_read = steps.all_rows(steps.decided(caps, samples))
        for value in (
            [row["wiki"] == "enwiki" for row in rows_read],
            [row["page_id"] for row in rows_read],
            [row["entity_id"] for row in rows_read],
        ):
            correlation = np.corrcoef(np.arange(len(rows_read)), np.array(value, float))[0, 1]
            assert abs(correlation) < 4 / len(rows_read) ** 0.5


@pytest.mark.parametrize("cut", [1, 5])
@pytest.mark.parametrize(("spill", "portion"), [(100_000, 1 << 27), (60, 1), (1, 2000)])
@pytest.mark.parametrize("grouped", [False, True])
def test_neither_cut_nor_spill_nor_portion_nor_group_shows_in_the_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int, spill: int, portion: int, grouped: bool
) -> None:
    expected = Steps(tmp_path / "whole")
    whole = [shard.parts[0].sha256 for shard in expected.written(expected.decided())]
    monkeypatch.setattr(sorted_runs, "RUN_ROWS", spill)
    monkeypatch.setattr(rows, "PORTION_BYTES", portion)
    steps = Steps(tmp_path / "cut", cut)
    if grouped:
        assert len(steps.together) < len(steps.groups)
        steps.groups = steps.together
    decided = steps.decided()
    assert [shard.parts[0].sha256 for shard in steps.written(decided[::-1])] == whole
    # And once more, as a runner may.
    assert [shard.parts[0].sha256 for shard in steps.written(steps.decided())] == whole


@pytest.mark.parametrize("per_wiki", [False, True])
@pytest.mark.parametrize("cut", [1, 4])
def test_samples_are_exact_and_the_same_for_any_cut(tmp_path: Path, per_wiki: bool, cut: int) -> None:
    steps = Steps(tmp_path, cut, sample=77, sample_per_wiki=per_wiki)
    decided = steps.decided(None, steps.samples())
    rows_read = steps.all_rows(decided)
    assert Counter(row["wiki"] for row in rows_read) == (
        {"enwiki": 77, "jawiki": 77} if per_wiki else Counter(row["wiki"] for row in rows_read)
    )
    assert len(rows_read) == (154 if per_wiki else 77)
    buckets = Counter(dict.fromkeys(steps.seen, 0))
    for group_result, _ in decided:
        buckets.update({wiki: sum(numbers) for wiki, numbers in group_result.buckets.items()})
    assert buckets == steps.seen
    reference = Steps(tmp_path / "whole", sample=77, sample_per_wiki=per_wiki)
    assert reference.all_rows(reference.decided(None, reference.samples())) == rows_read


def test_a_sample_of_more_than_there_is_takes_all(tmp_path: Path) -> None:
    steps = Steps(tmp_path, sample=100_000)
    assert steps.samples() == {"": ANY_KEY}
    everything = Steps(tmp_path / "all")
    assert len(steps.all_rows(steps.decided(None, steps.samples()))) == len(everything.all_rows(everything.decided()))


@pytest.mark.parametrize("per_wiki", [False, True])
def test_caps_are_exact(tmp_path: Path, per_wiki: bool) -> None:
    cap = 9
    everything = Steps(tmp_path / "all")
    steps = Steps(tmp_path / "some", max_per_entity=cap, sample_per_wiki=per_wiki)
    decided = steps.decided(steps.caps())

    def counted(rows_read: Iterable[dict[str, Any]]) -> Counter[tuple[str, int]]:
        return Counter((row["wiki"] if per_wiki else "", row["entity_qid"]) for row in rows_read)

    expected = {key: min(cap, number) for key, number in counted(everything.all_rows(everything.decided())).items()}
    rows_read = steps.all_rows(decided)
    assert counted(rows_read) == expected
    assert max(expected.values()) == cap
    over = sum(group_result.metrics["links:over_cap"] for group_result, _ in decided)
    assert over > 0


@pytest.mark.parametrize("per_wiki", [False, True])
def test_a_capped_sample_is_a_sample_of_what_the_cap_leaves(tmp_path: Path, per_wiki: bool) -> None:
    def keys(rows_read: Iterable[dict[str, Any]]) -> set[tuple[int, int]]:
        return {(row["sentence_id"], row["mention_start"]) for row in rows_read}

    capped = Steps(tmp_path / "capped", max_per_entity=2, sample_per_wiki=per_wiki)
    left = capped.all_rows(capped.decided(capped.caps()))
    both = Steps(tmp_path / "both", max_per_entity=2, sample=30, sample_per_wiki=per_wiki)
    caps = both.caps()
    chosen = both.all_rows(both.decided(caps, both.samples(caps)))
    assert len(chosen) == (60 if per_wiki else 30)
    assert keys(chosen) <= keys(left)


@pytest.mark.parametrize(
    "choices", [{"sample": 100}, {"max_per_entity": 5}, {"sample": 60, "sample_per_wiki": True, "max_per_entity": 8}]
)
def test_what_is_chosen_by_lot_is_spread_over_all_shards(tmp_path: Path, choices: dict[str, Any]) -> None:
    """The smallest keys are taken, so were they the order too, the first shards would hold all."""
    steps = Steps(tmp_path, rows_per_shard=20, **choices)
    caps = steps.caps() if steps.task.cap else None
    decided = steps.decided(caps, steps.samples(caps) if steps.task.sample else {})
    sizes = np.array([shard.parts[0].rows for shard in steps.written(decided)])
    assert len(sizes) > 4
    expected = sizes.sum() / len(sizes)
    assert abs(sizes - expected).max() < 4 * expected**0.5


def test_an_output_shard_without_rows_is_not_written(tmp_path: Path) -> None:
    assert (
        ReduceRuns(rows.write_shard, rows.BY_SHUFFLE_KEY, empty=False)(
            KeyRange(0, "", None, None), [], work_of(tmp_path)
        )
        is None
    )


def test_the_first_in_the_dump_stays_of_rows_that_say_the_same(tmp_path: Path) -> None:
    pages = [
        *(Page(f"P{number}", [f"In {number} there came [[A]]."]) for number in range(6)),
        Page("A"),
        Page("B", ["As [[A]] did."]),
        Page("On B", ["Of [[B]]."]),
    ]
    items = [Item(1, [7], {"enwiki": "A"}), Item(2, [7], {"enwiki": "B"})]
    sentences = write_sentences(tmp_path / "s", "enwiki", pages, 3)
    entities = write_entities(tmp_path / "e", ["enwiki"], items)
    options = PairsOptions(
        sentences=str(sentences),
        entities=str(entities),
        output=str(tmp_path / "out"),
        choices=PairChoices(min_links=0, max_repeats=0),
    )
    manifest = pairs.run(options, [])
    links = manifest["ledger"]["links"]["enwiki"]
    assert links["duplicate"] == 5
    (path,) = (tmp_path / "out/data/pairs").iterdir()
    assert {row["title"] for row in pq.read_table(path).to_pylist()} == {"P0", "On B"}


def test_the_scope_is_the_wiki_or_all() -> None:
    task = DecideTask(work_of(""), None, True, 1, 1, 1, True)  # type: ignore[arg-type]
    assert task.scope("enwiki") == "enwiki"
