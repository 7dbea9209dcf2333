"""The transforms of `wikianchor export` that build look-up tables: texts by entity, and the links of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.shuffle import MapStep, Shuffle
from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep
from wikianchor.pipelines.export import entity_texts, links, page_texts
from wikianchor.pipelines.export.task import ExportTask, InputShard, list_shards
from wikianchor.pipelines.export.text_index import BY_ENTITY, join_pieces, plan_ranges, write_piece


@dataclass
class _Index(beam.PTransform):
    """Shuffle texts by entity into an index, and return its path.

    Attributes:
        task: how rows are made.
        name: the name of the index.
        map_step: yields the texts of a shard.
        map_sides: its side inputs.
        most: texts that an entity keeps; 0 for all.
    """

    task: ExportTask
    name: str
    map_step: MapStep
    map_sides: tuple[Any, ...]
    most: int

    def expand(self, shards: beam.PCollection[InputShard]) -> beam.PCollection[str]:
        begin, work, entities = shards.pipeline, self.task.work, self.task.entities
        ranges = begin | "Plan pieces" >> CallOnce(plan_ranges, entities)
        shuffled = shards | "Shuffle" >> Shuffle(
            self.name,
            work,
            BY_ENTITY,
            map_step=self.map_step,
            map_sides=self.map_sides,
            ranges=lambda _: beam.pvalue.AsSingleton(ranges),
            reduce_step=write_piece,
            reduce_sides=(entities, self.most, work),
            grouped=False,
        )  # int, IndexPiece
        name = f"{self.name}-index"
        join = CallOnce(join_pieces, shuffled.shards, entities, name, work, work=work, name=name)
        return begin | "Join pieces" >> join


@dataclass
class IndexSentences(beam.PTransform):
    """Index a sample of the sentences of each entity.

    Attributes:
        task: how rows are made.
    """

    task: ExportTask

    def expand(self, shards: beam.PCollection[InputShard]) -> beam.PCollection[str]:
        task = self.task
        counted = shards | "Count rows" >> RunStep(entity_texts.count_rows, task.work, "count", task.work)  # path
        counts = shards.pipeline | "Sum counts" >> CallOnce(
            entity_texts.sum_counts, counted, task.entities, task.work, work=task.work, name="sum"
        )  # path
        sides = (task, beam.pvalue.AsSingleton(counts))
        return shards | "Sample" >> _Index(task, "sentences", entity_texts.sample_sentences, sides, task.sentences)


def _index_items(task: ExportTask, pairs: str) -> CallOnce:
    """Return the transform that saves the items of the entities of pairs."""
    return CallOnce(entity_texts.index_items, pairs, task.work, work=task.work, name="items")


@dataclass
class IndexTexts(beam.PTransform):
    """Index the labels, descriptions or aliases of the entities of pairs.

    Attributes:
        task: how rows are made.
        kind: the kind of the texts.
        pairs: directory of the dataset of pairs.
    """

    task: ExportTask
    kind: str
    pairs: str

    def expand(self, begin: Any) -> beam.PCollection[str]:
        task = self.task
        items = begin | "Index items" >> _index_items(task, self.pairs)
        shards = begin | "List entities" >> ListElements(list_shards, task.dataset or self.pairs, "entities")
        sides = (task, self.kind, beam.pvalue.AsSingleton(items))
        return shards | "Read" >> _Index(task, self.kind, entity_texts.read_texts, sides, 0)


@dataclass
class IndexPageTexts(beam.PTransform):
    """Index texts of the pages of the entities of pairs, such as their page_texts.

    Attributes:
        task: how rows are made.
        kind: the kind of text.
        pairs: the directory of the dataset of pairs.
        sentences: each wiki with the directory of its sentences.
        indexes: side input, the title indexes by wiki.
    """

    task: ExportTask
    kind: str
    pairs: str
    sentences: Sequence[tuple[str, str]]
    indexes: Any

    def expand(self, begin: Any) -> beam.PCollection[str]:
        items = begin | "Index items" >> _index_items(self.task, self.pairs)
        shards = begin | "List sentences" >> ListElements(
            page_texts.list_sentence_shards, self.sentences, page_texts.config_of(self.kind)
        )
        sides = (self.task, self.kind, beam.pvalue.AsSingleton(items), self.indexes)
        return shards | "Read" >> _Index(self.task, self.kind, page_texts.read_page_texts, sides, 0)


@dataclass
class FindLinks(beam.PTransform):
    """Find which entities the sampled sentences link to; return the path of their hashes.

    Attributes:
        index: side input, the path of the index of sentences.
        work: the workspace of the run.
    """

    index: Any
    work: Workspace

    def expand(self, shards: beam.PCollection[InputShard]) -> beam.PCollection[str]:
        begin, work = shards.pipeline, self.work
        sampled = begin | "Sampled" >> CallOnce(links.sampled_sentences, self.index, work, work=work, name="sampled")
        side = beam.pvalue.AsSingleton(sampled)
        found = shards | "Links" >> RunStep(links.find_links, work, "links", side, work)  # path
        return begin | "Join links" >> CallOnce(links.join_links, found, work, work=work, name="join-links")
