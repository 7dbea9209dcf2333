"""The look-up tables of `wikianchor pairs`: link counts and the entity table.

Each step reads shards of datasets, writes tables to disk, and returns a small record with their paths.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.tables import distinct, find, read_table, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import dataset_at, read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.engine.transforms import Group, groups_of
from wikianchor.pipelines.pairs.entity_names import LabelNames
from wikianchor.pipelines.pairs.entity_table import TableOptions, build_entity_table
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.titles.counts import ItemCounts, count_links, frequent_items
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex
from wikianchor.schemas import pairs

ROW_GROUP = 20_000


class SentenceShard(NamedTuple):
    """A shard of `sentences`.

    Attributes:
        order: its number among the shards of all wikis.
        wiki: database name.
        path: the path of the shard.
        dataset: directory of its dataset.
    """

    order: int
    wiki: str
    path: str
    dataset: str


class Counted(NamedTuple):
    """The links of a shard of sentences, counted.

    Attributes:
        order: number of the shard.
        wiki: database name.
        seen: how many links it has.
        path: the path of the tables of its `ShardLinks`.
    """

    order: int
    wiki: str
    seen: int
    path: WorkPath


@dataclass(frozen=True)
class TableTask:
    """What the entity table is made of.

    Attributes:
        work: the workspace of the run.
        dataset: directory of the dataset of entities.
        choices: the options that decide which entities are kept, and how many rows each may have.
        languages: the languages of labels, best first.
        options: how entities are typed.
        name_languages: the languages of labels by which pages may name an entity; empty if names do not matter.
    """

    work: Workspace
    dataset: str
    choices: PairChoices
    languages: tuple[str, ...]
    options: TableOptions
    name_languages: tuple[str, ...] = ()


class TableBuilt(NamedTuple):
    """The entity table, on disk.

    Attributes:
        path: the path of its tables.
        rows: by wiki, the maximum number of rows that its entities can have.
        parts: the parts of the config `entities`, which publishes it.
        labels: the path of the names that labels give to its entities, by language (`LabelNames`).
    """

    path: WorkPath
    rows: dict[str, int]
    parts: tuple[Part, ...]
    labels: WorkPath


def list_sentence_shards(datasets: Sequence[tuple[str, str]]) -> list[Group]:
    """Return groups of the shards of `sentences` of datasets, given as (wiki, directory), the largest first: the other
    workers would wait for one that begins a large shard last."""
    shards: list[SentenceShard] = []
    sizes: list[int] = []
    for wiki, directory in datasets:
        dataset = dataset_at(directory)
        paths = dataset.shards("sentences")
        shards += [SentenceShard(order, wiki, path, directory) for order, path in enumerate(paths, len(shards))]
        sizes += dataset.sizes("sentences")
    return sorted(groups_of(shards, sizes), key=lambda group: -sum(sizes[shard.order] for shard in group.members))


def count_shard(shard: SentenceShard, indexes: Mapping[str, IndexBuilt], sections: bool, work: Workspace) -> Counted:
    """Look up the targets of the links of a shard of sentences, count them by item, and save both for later steps."""
    links = count_links(shard.path, TitleIndex(indexes[shard.wiki].path), sections)
    path = save_tables(work.scratch, f"links-{shard.order:06d}", links._asdict())
    return Counted(shard.order, shard.wiki, len(links.which), path)


def count_shards(
    group: Group, indexes: Mapping[str, IndexBuilt], sections: bool, work: Workspace
) -> tuple[Counted, ...]:
    """Count the links of a group of shards; see `count_shard`."""
    counted = tuple(count_shard(shard, indexes, sections, work) for shard in group.members)
    ProgressFile(work.scratch, f"count-{group.order}").write(sum(file_size(shard.path) for shard in group.members), {})
    return counted


def build_table(task: TableTask, counted: Iterable[Counted]) -> TableBuilt:
    """Build the entity table on disk, and the `entities` config that explains its dense ids."""
    paths: dict[str, list[str]] = {}
    for shard in sorted(counted):
        paths.setdefault(shard.wiki, []).append(shard.path)
    required = task.choices.required_wiki
    present = _items_in(shards_of(task.dataset, "sitelinks"), required) if required else None
    with ItemCounts(
        {
            wiki: ((read_table(path, "items"), read_table(path, "counts")) for path in wiki_paths)
            for wiki, wiki_paths in paths.items()
        },
        task.work.scratch,
    ) as counted_items:
        frequent = frequent_items(counted_items, task.choices.floor, task.choices.min_links)
        tables = build_entity_table(frequent, shards_of(task.dataset, "entities"), present, task.options)
        rows = _rows_at_most(counted_items, tables, task)
    path = save_tables(task.work.scratch, "entities", tables)
    names = LabelNames(task.name_languages, task.work.scratch)
    parts = _publish_entities(task, tables, _labels(task, tables, names))
    return TableBuilt(path, rows, parts, names.save())


def _rows_at_most(counted: ItemCounts, tables: dict[str, npt.NDArray[Any]], task: TableTask) -> dict[str, int]:
    """Return the maximum number of rows of each wiki. With a floor for each wiki, add to the tables which entities are
    above it."""
    rows: Counter[str] = Counter()
    floor, least, most = task.choices.floor, task.choices.min_links, task.choices.max_per_entity
    for part in counted.parts():
        for wiki, (items, counts) in part.items():
            position = find(tables["sorted_qids"], items)
            above = (position >= 0) & (counts > least) if floor == "wiki" else position >= 0
            rows[wiki] += int((np.minimum(counts, most) if most else counts)[above].sum())
            if floor == "wiki":
                frequent = tables.setdefault(f"frequent-{wiki}", np.zeros(len(tables["qids"]), np.bool_))
                frequent[tables["sorted_ids"][position[above]]] = True
    return dict(rows)


def _items_in(sitelinks: Sequence[str], wiki: str) -> Ints:
    """Return the items that have a page in a wiki, ascending."""
    items = [np.zeros(0, np.int64)]
    for shard in sitelinks:
        items += [batch.column("qid").to_numpy() for batch in read_batches(shard, ["qid"], only=("wiki", wiki))]
    return distinct(np.concatenate(items))


def _publish_entities(task: TableTask, tables: Mapping[str, npt.NDArray[Any]], labels: pa.Array) -> tuple[Part, ...]:
    qids = tables["qids"]
    starts, types = _types_drawn_under(tables)
    with PartWriter(task.work.parts, "entities", 0, pairs.ENTITIES) as writer:
        for first in range(0, len(qids), ROW_GROUP):
            last = min(first + ROW_GROUP, len(qids))
            bounds = starts[first : last + 1]
            columns = [
                pa.array(np.arange(first, last, dtype=np.int32)),
                pa.array(qids[first:last]),
                pa.array(tables["counts"][first:last]),
                labels[first:last],
                pa.ListArray.from_arrays(
                    pa.array((bounds - bounds[0]).astype(np.int32)),
                    pa.array(types[bounds[0] : bounds[-1]]),
                    type=pairs.ENTITIES.field("types").type,
                ),
            ]
            writer.write(pa.RecordBatch.from_arrays(columns, schema=pairs.ENTITIES))
    return (writer.part,) if writer.part else ()


def _types_drawn_under(tables: Mapping[str, npt.NDArray[Any]]) -> tuple[Ints, Ints]:
    """Return the types under which an entity can be drawn as a negative: their offsets by dense id, and the types."""
    drawn_from = np.zeros(len(tables["pool_types"]), np.bool_)
    drawn_from[tables["choice_pools"]] = True
    pools = np.repeat(np.arange(len(drawn_from)), np.diff(tables["pool_starts"]))
    is_drawn = drawn_from[pools]
    members, types = tables["pool_members"][is_drawn], tables["pool_types"][pools[is_drawn]]
    order = np.lexsort((types, members))
    members, types = members[order], types[order]
    # The instances of a type and its subclasses are two pools of one type.
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = (np.diff(members) != 0) | (np.diff(types) != 0)
    starts = np.searchsorted(members[is_first], np.arange(len(tables["qids"]) + 1))
    return starts, types[is_first]


def _labels(task: TableTask, tables: Mapping[str, npt.NDArray[Any]], names: LabelNames) -> pa.Array:
    """Return by dense id the label in the best available language, null for an entity without a label; add all labels
    to `names`."""
    row_of = np.full(len(tables["qids"]), -1, np.int64)
    texts, total = [pa.array([], pa.string())], 0
    for batch in dataset_at(task.dataset).batches("entities", ["qid", "labels"]):
        position = find(tables["sorted_qids"], batch.column("qid").to_numpy())
        matches = np.flatnonzero(position >= 0)
        labels = batch.column("labels").take(pa.array(matches))
        entities = tables["sorted_ids"][position[matches]].astype(np.int64)
        row_of[entities] = np.arange(total, total + len(matches))
        names.add(labels, entities)
        texts.append(_best_labels(labels, task.languages))
        total += len(matches)
    return pa.concat_arrays(texts).take(pa.array(row_of, mask=row_of < 0))


def _best_labels(labels: pa.ListArray, languages: Sequence[str]) -> pa.Array:
    """Return for each list of labels the first text in its best language, null for an empty list."""
    choices, rows = labels.flatten(), pc.list_parent_indices(labels).to_numpy()
    rank = pc.index_in(choices.field("language"), value_set=pa.array(languages, pa.string()))
    order = np.lexsort((pc.fill_null(rank, len(languages)).to_numpy(), rows))
    best = np.full(len(labels), -1, np.int64)
    # Of several values for one row the last one is kept, so the best come last.
    best[rows[order[::-1]]] = order[::-1]
    return choices.field("text").take(pa.array(best, mask=best < 0))
