"""Look-up tables as steps: counts add up in any bundling, floors, and the `entities` config that explains the ids."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stand_in import Item, small_wiki, work_of, write_entities, write_sentences
from wikianchor.pipelines.arrays.tables import open_tables, read_table, save_tables
from wikianchor.pipelines.dataset.reader import shards_of
from wikianchor.pipelines.engine import transforms
from wikianchor.pipelines.engine.transforms import Group
from wikianchor.pipelines.pairs.entity_table import TableOptions
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.pairs.table_steps import (
    Counted,
    SentenceShard,
    TableBuilt,
    TableTask,
    build_table,
    count_shard,
    list_sentence_shards,
)
from wikianchor.pipelines.titles.counts import sum_counts
from wikianchor.pipelines.titles.steps import WikiTitles, build_index
from wikianchor.schemas import pairs as schema


def counted_as(output: str, order: int, wiki: str, counts: dict[int, int]) -> Counted:
    items = sorted(counts)
    built = {"items": np.array(items, np.int64), "counts": np.array([counts[item] for item in items], np.int64)}
    return Counted(order, wiki, sum(counts.values()), save_tables(output, f"links-{order}", built))


def table_of(
    tmp_path: Path,
    items: Sequence[Item],
    counted: dict[str, dict[int, int]],
    languages: tuple[str, ...] = ("en",),
    **more: Any,
) -> tuple[TableBuilt, list[dict[str, Any]]]:
    """Build a table from link counts; return it with the rows of its `entities` config."""
    directory = write_entities(tmp_path / "e", sorted(counted), items, labels=languages)
    options = TableOptions(more.pop("negatives", 1), "best_rank", 0, False)
    task = TableTask(
        work=work_of(tmp_path / "out"),
        dataset=str(directory),
        languages=languages,
        options=options,
        choices=PairChoices(**{"min_links": 0, **more}),
    )
    built = build_table(
        task,
        [counted_as(task.work.scratch, order, wiki, counts) for order, (wiki, counts) in enumerate(counted.items())],
    )
    rows = [row for part in built.parts for row in pq.read_table(part.path).to_pylist()]
    return built, rows


def shards_in(groups: Iterable[Group]) -> list[SentenceShard]:
    return [shard for group in groups for shard in group.members]


def test_the_largest_shards_come_first_with_the_numbers_that_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages, _ = small_wiki()
    wikis = {"aawiki": pages[:1], "bbwiki": pages}
    datasets = [(wiki, str(write_sentences(tmp_path / wiki, wiki, rows, 2))) for wiki, rows in wikis.items()]
    monkeypatch.setattr(transforms, "GROUP_BYTES", 1)
    shards = shards_in(list_sentence_shards(datasets))
    sizes = [os.path.getsize(shard.path) for shard in shards]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 1
    ordered = sorted(shards)
    assert [shard.order for shard in ordered] == list(range(len(ordered)))
    assert [shard.path for shard in ordered] == [path for _, at in datasets for path in shards_of(at, "sentences")]


@pytest.mark.parametrize("cut", [1, 4])
def test_links_are_counted_whatever_the_cut_into_shards(tmp_path: Path, cut: int) -> None:
    pages, items = small_wiki()
    sentences = write_sentences(tmp_path / "s", "enwiki", pages, cut)
    entities = write_entities(tmp_path / "e", ["enwiki"], items)
    work = work_of(tmp_path / "o")
    indexes = {"enwiki": build_index(WikiTitles("enwiki", str(sentences), str(entities)), work)}
    seen, shards = 0, []
    for order, shard in enumerate(sorted(shards_in(list_sentence_shards([("enwiki", str(sentences))])))):
        built = count_shard(shard, indexes, False, work)
        assert (built.order, built.wiki) == (order, "enwiki")
        assert len(read_table(built.path, "codes")) == built.seen
        seen += built.seen
        shards.append((read_table(built.path, "items"), read_table(built.path, "counts")))
    found_items, found_counts = sum_counts(shards)
    expected: dict[str, int] = {}
    for page in pages:
        for marked in page.sentences:
            for number, item in enumerate(items):
                name = item.sitelinks["enwiki"]
                expected[item.qid] = (
                    expected.get(item.qid, 0) + marked.count(f"[[{name}]]") + marked.count(f"[[{name}|")
                )
                assert number < len(items)
    assert dict(zip(found_items.tolist(), found_counts.tolist(), strict=True)) == {
        qid: count for qid, count in expected.items() if count
    }
    assert seen == sum(expected.values())


COUNTED = {"enwiki": {1: 5, 2: 12, 3: 11}, "jawiki": {1: 6, 3: 2, 4: 11, 5: 10}}


@pytest.mark.parametrize(
    ("floor", "qids", "rows"),
    [
        ("corpus", [3, 2, 1, 4], {"enwiki": 28, "jawiki": 19}),
        ("wiki", [3, 2, 4], {"enwiki": 23, "jawiki": 11}),
        ("enwiki", [3, 2], {"enwiki": 23, "jawiki": 2}),
    ],
)
def test_the_floor_decides_who_is_in_and_the_corpus_in_which_order(
    tmp_path: Path, floor: str, qids: list[int], rows: dict[str, int]
) -> None:
    built, published = table_of(tmp_path, [Item(1)], COUNTED, min_links=10, floor=floor)
    totals = {1: 11, 2: 12, 3: 13, 4: 11}
    assert [(row["entity_id"], row["qid"], row["count"]) for row in published] == [
        (number, qid, totals[qid]) for number, qid in enumerate(qids)
    ]
    assert built.rows == rows
    tables = open_tables(built.path)
    if floor == "wiki":
        assert tables["frequent-enwiki"].tolist() == [True, True, False]
        assert tables["frequent-jawiki"].tolist() == [False, False, True]
    else:
        assert "frequent-enwiki" not in tables


def test_a_cap_lowers_how_many_rows_are_expected(tmp_path: Path) -> None:
    built, _ = table_of(tmp_path, [Item(1)], COUNTED, max_per_entity=6)
    assert built.rows == {"enwiki": 5 + 6 + 6, "jawiki": 6 + 2 + 6 + 6}


def test_an_entity_may_have_to_have_a_page_in_a_wiki(tmp_path: Path) -> None:
    items = [Item(1, sitelinks={"enwiki": "A"}), Item(4, sitelinks={"jawiki": "D"})]
    _, published = table_of(tmp_path, items, COUNTED, required_wiki="enwiki")
    assert [row["qid"] for row in published] == [1]


def test_entities_carry_label_and_the_types_that_they_are_drawn_under(tmp_path: Path) -> None:
    items = [
        Item(1, [10, 20], labels={"de": "Eins", "en": "One"}),
        Item(2, [10], labels={"de": "Zwei"}),
        Item(3, [30], labels={"fr": "Trois"}),
        Item(4, [10], route="subclass_of"),
        Item(5, [10], route="subclass_of"),
    ]
    _, published = table_of(tmp_path, items, {"enwiki": {1: 9, 2: 8, 3: 7, 4: 6, 5: 5, 6: 4}}, ("en", "de"))
    assert [(row["label"], row["types"]) for row in published] == [
        ("One", [10]),
        ("Zwei", [10]),
        # A language that was not asked for is better than none; nobody is drawn under a type with one entity.
        ("Trois", []),
        (None, [10]),
        (None, [10]),
        (None, []),
    ]


def test_the_config_has_the_schema_that_is_published(tmp_path: Path) -> None:
    built, _ = table_of(tmp_path, [Item(1, [10])], COUNTED)
    assert pq.read_schema(built.parts[0].path).equals(schema.ENTITIES, check_metadata=True)
    assert pa.types.is_int32(schema.ENTITIES.field("entity_id").type)


def test_no_entity_makes_no_part(tmp_path: Path) -> None:
    built, published = table_of(tmp_path, [Item(1)], COUNTED, min_links=100)
    assert (built.parts, published, built.rows) == ((), [], {"enwiki": 0, "jawiki": 0})
    built, _ = table_of(tmp_path / "none", [Item(1)], {})
    assert (built.parts, built.rows) == ((), {})
