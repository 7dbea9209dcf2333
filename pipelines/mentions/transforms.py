"""The transforms of `wikianchor mentions`: two shuffles, and between them the tables by which names are found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.shuffle import Reduced, Shuffle
from wikianchor.pipelines.engine.transforms import CallOnce, RunStep
from wikianchor.pipelines.mentions import steps
from wikianchor.pipelines.mentions.steps import NameShard, NamesTask, NameTableBuilt


@dataclass
class MergeNames(beam.PTransform):
    """Gather the names of all shards with their items, and merge those of each range of keys.

    Attributes:
        task: how names are gathered.
        indexes: side input, the title indexes by wiki.
        meta: side input, the path of the table of meta items.
    """

    task: NamesTask
    indexes: Any
    meta: Any

    def expand(self, shards: beam.PCollection[NameShard]) -> Reduced:
        def plan(gathered: beam.PCollection[Any]) -> Any:
            ranges = CallOnce(steps.plan_ranges, gathered, self.task.rows_per_shard)
            return beam.pvalue.AsSingleton(shards.pipeline | "Plan ranges" >> ranges)

        return shards | "Shuffle" >> Shuffle(
            "names",
            self.task.work,
            steps.BY_KEY,
            map_step=steps.gather_names,
            map_sides=(self.task, self.indexes, self.meta),
            ranges=plan,
            reduce_step=steps.merge_range,
            reduce_sides=(self.task.work,),
        )  # Gathered, Merged


@dataclass
class BuildNameTable(beam.PTransform):
    """Build the table of the names of each wiki.

    Attributes:
        wikis: database names.
        merged: side input, `Merged` by number of the range.
        numbers: side input, the numbers of the names of each range.
        work: of the run.
    """

    wikis: Sequence[str]
    merged: Any
    numbers: Any
    work: Workspace

    def expand(self, begin: Any) -> beam.PCollection[NameTableBuilt]:
        build = RunStep(
            steps.build_name_table, self.work, "table", self.merged, self.numbers, self.work, key=lambda wiki: wiki
        )
        return begin | "List wikis" >> beam.Create(self.wikis) | "Build" >> build


@dataclass
class CountNames(beam.PTransform):
    """Count how often each name occurs in the text, and write the rows of each range of names.

    Attributes:
        task: how names are gathered.
        tables: side input, `NameTableBuilt` by wiki.
        merged: side input, `Merged` by number of the range.
        numbers: side input, the numbers of the names of each range.
    """

    task: NamesTask
    tables: Any
    merged: Any
    numbers: Any

    def expand(self, shards: beam.PCollection[NameShard]) -> Reduced:
        return (
            shards
            | "Text" >> beam.Filter(lambda shard: shard.config == "sentences")
            | "Shuffle"
            >> Shuffle(
                "counts",
                self.task.work,
                steps.BY_NAME,
                map_step=steps.count_names,
                map_sides=(self.tables,),
                ranges=lambda _: self.numbers,
                reduce_step=steps.write_range,
                reduce_sides=(self.task, self.merged),
                empty=True,
            )
        )  # NamesCounted, RangeWritten
