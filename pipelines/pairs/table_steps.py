"""The look-up tables of `wikianchor pairs` as Beam sees them: title indexes, link counts, the entity table.

Each step reads shards of datasets, writes tables to disk, and yields a small record that says where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.tables import distinct, find, read_table, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.pairs.entity_table import TableOptions, build_entity_table
from wikianchor.pipelines.titles.counts import ItemCounts, count_links, frequent_items
from wikianchor.pipelines.titles.steps import IndexBuilt
from wikianchor.pipelines.titles.title_index import Ints, TitleIndex
from wikianchor.schemas import pairs

ROW_GROUP = 20_000


class SentenceShard(NamedTuple):
    """A shard of `sentences`, its place among all, and the directory of its dataset."""

    order: int
    wiki: str
    path: str
    dataset: str


class Counted(NamedTuple):
    """A shard of sentences, counted: its place among all, how many links it has, and where its `ShardLinks` are."""

    order: int
    wiki: str
    seen: int
    path: str


@dataclass(frozen=True)
class TableTask:
    """What the entity table is made of.

    Attributes:
        work: of the run.
        dataset: directory of the dataset of entities.
        min_links: an entity is kept when it is linked to more often than this.
        floor: where these links are counted: "corpus", "wiki", or a database name.
        required: database name of the wiki in which an entity must have a page, or "".
        cap: rows of one entity at most; 0 for any number.
        languages: of labels, best first.
        options: how entities are typed.
    """

    work: Workspace
    dataset: str
    min_links: int
    floor: str
    required: str
    cap: int
    languages: tuple[str, ...]
    options: TableOptions


class TableBuilt(NamedTuple):
    """Where the entity table is, how many rows can come of it at most in each wiki, and the part that publishes it."""

    path: str
    rows: dict[str, int]
    parts: tuple[Part, ...]


def list_sentence_shards(datasets: Sequence[tuple[str, str]]) -> Iterator[SentenceShard]:
    """Yield the shards of `sentences` of datasets, given as (wiki, directory)."""
    order = 0
    for wiki, directory in datasets:
        for path in shards_of(directory, "sentences"):
            yield SentenceShard(order, wiki, path, directory)
            order += 1


def count_shard(shard: SentenceShard, indexes: Mapping[str, IndexBuilt], sections: bool, work: Workspace) -> Counted:
    """Look up what the links of a shard of sentences lead to, once for all steps, and count them by item."""
    found = count_links(shard.path, TitleIndex(indexes[shard.wiki].path), sections)
    path = save_tables(work.scratch, f"links-{shard.order:06d}", found._asdict())
    ProgressFile(work.scratch, f"count-{shard.order}").write(file_size(shard.path), {})
    return Counted(shard.order, shard.wiki, len(found.which), path)


def build_table(task: TableTask, counted: Iterable[Counted]) -> TableBuilt:
    """Build the entity table on disk, and the `entities` config that explains its dense ids."""
    paths: dict[str, list[str]] = {}
    for shard in sorted(counted):
        paths.setdefault(shard.wiki, []).append(shard.path)
    present = _items_in(shards_of(task.dataset, "sitelinks"), task.required) if task.required else None
    with ItemCounts(
        {
            wiki: ((read_table(path, "items"), read_table(path, "counts")) for path in found)
            for wiki, found in paths.items()
        }
    ) as counted_items:
        frequent = frequent_items(counted_items, task.floor, task.min_links)
        tables = build_entity_table(frequent, shards_of(task.dataset, "entities"), present, task.options)
        rows = _rows_at_most(counted_items, tables, task)
    path = save_tables(task.work.scratch, "entities", tables)
    return TableBuilt(path, rows, _publish_entities(task, tables))


def _rows_at_most(counted: ItemCounts, tables: dict[str, npt.NDArray[Any]], task: TableTask) -> dict[str, int]:
    """Return how many rows can come of each wiki at most; where each wiki has a floor of its own, add to the tables
    which entities are above it."""
    rows: Counter[str] = Counter()
    for part in counted.parts():
        for wiki, (items, counts) in part.items():
            place = find(tables["sorted_qids"], items)
            above = (place >= 0) & (counts > task.min_links) if task.floor == "wiki" else place >= 0
            rows[wiki] += int((np.minimum(counts, task.cap) if task.cap else counts)[above].sum())
            if task.floor == "wiki":
                frequent = tables.setdefault(f"frequent-{wiki}", np.zeros(len(tables["qids"]), np.bool_))
                frequent[tables["sorted_ids"][place[above]]] = True
    return dict(rows)


def _items_in(sitelinks: Sequence[str], wiki: str) -> Ints:
    """Return the items that have a page in a wiki, ascending."""
    found = [np.zeros(0, np.int64)]
    for shard in sitelinks:
        for batch in read_batches(shard, ["wiki", "qid"], only=("wiki", wiki)):
            found.append(batch.filter(pc.equal(batch.column("wiki"), wiki)).column("qid").to_numpy())
    return distinct(np.concatenate(found))


def _publish_entities(task: TableTask, tables: Mapping[str, npt.NDArray[Any]]) -> tuple[Part, ...]:
    qids = tables["qids"]
    labels = _labels(task, tables)
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
    """Return, by dense id, where the types start under which an entity can be drawn as a negative; and these types."""
    drawn_from = np.zeros(len(tables["pool_types"]), np.bool_)
    drawn_from[tables["choice_pools"]] = True
    pools = np.repeat(np.arange(len(drawn_from)), np.diff(tables["pool_starts"]))
    wanted = drawn_from[pools]
    members, types = tables["pool_members"][wanted], tables["pool_types"][pools[wanted]]
    order = np.lexsort((types, members))
    members, types = members[order], types[order]
    # The instances of a type and its subclasses are two pools of one type.
    once = np.ones(len(order), np.bool_)
    once[1:] = (np.diff(members) != 0) | (np.diff(types) != 0)
    starts = np.searchsorted(members[once], np.arange(len(tables["qids"]) + 1))
    return starts, types[once]


def _labels(task: TableTask, tables: Mapping[str, npt.NDArray[Any]]) -> pa.Array:
    """Return by dense id the label in the best language that there is, null where there is none."""
    row_of = np.full(len(tables["qids"]), -1, np.int64)
    texts, total = [pa.array([], pa.string())], 0
    for shard in shards_of(task.dataset, "entities"):
        for batch in read_batches(shard, ["qid", "labels"]):
            place = find(tables["sorted_qids"], batch.column("qid").to_numpy())
            matches = np.flatnonzero(place >= 0)
            row_of[tables["sorted_ids"][place[matches]]] = np.arange(total, total + len(matches))
            texts.append(_best_labels(batch.column("labels").take(pa.array(matches)), task.languages))
            total += len(matches)
    return pa.concat_arrays(texts).take(pa.array(row_of, mask=row_of < 0))


def _best_labels(labels: pa.ListArray, languages: Sequence[str]) -> pa.Array:
    """Return for each list of labels the text of the first in the best language, null for an empty list."""
    choices, rows = labels.flatten(), pc.list_parent_indices(labels).to_numpy()
    rank = pc.index_in(choices.field("language"), value_set=pa.array(languages, pa.string()))
    order = np.lexsort((pc.fill_null(rank, len(languages)).to_numpy(), rows))
    best = np.full(len(labels), -1, np.int64)
    # Of several values for one row the last one is kept, so the best come last.
    best[rows[order[::-1]]] = order[::-1]
    return choices.field("text").take(pa.array(best, mask=best < 0))
