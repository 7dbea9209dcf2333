"""The transforms of `wikianchor pairs` that decide on links: caps, samples, and the shuffle of the rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import apache_beam as beam

from wikianchor.pipelines.dataset.workspace import WorkPath
from wikianchor.pipelines.engine.shuffle import Reduced, Shuffle
from wikianchor.pipelines.engine.sorted_runs import KeyRange, key_ranges
from wikianchor.pipelines.engine.transforms import CallOnce, Group, RunStep
from wikianchor.pipelines.pairs import steps
from wikianchor.pipelines.pairs.repeated_texts import limit_texts
from wikianchor.pipelines.pairs.steps import Decided, DecideTask, LookUps
from wikianchor.pipelines.pairs.table_steps import SentenceShard, TableBuilt


@dataclass
class FindCaps(beam.PTransform):
    """Find, for each entity with more rows than the cap, which of them are kept; return the path of that table.

    Attributes:
        task: how links become rows.
        look_ups: see `LookUps`.
        sentences: side input, which sentences are left out; None for none.
    """

    task: DecideTask
    look_ups: LookUps
    sentences: Any

    def expand(self, shards: beam.PCollection[SentenceShard]) -> beam.PCollection[str]:
        limits = (
            shards
            | "Keys of entities"
            >> RunStep(steps.cap_keys, self.task.work, "caps", self.task, *self.look_ups, self.sentences)
            | "Each entity" >> beam.FlatMap(lambda keys: keys).with_output_types(tuple[tuple[str, int], bytes])
            | "Smallest of each entity" >> beam.CombinePerKey(steps.SmallestKeys(self.task.cap))
        )  # ((scope, id), greatest key kept)
        return shards.pipeline | "Save caps" >> CallOnce(steps.save_caps, self.task, limits)


@dataclass
class FindSamples(beam.PTransform):
    """Find which rows of each scope (a wiki, or all) are in the sample.

    Attributes:
        task: how links become rows.
        look_ups: see `LookUps`.
        caps: side input, the path of the table of caps; None for no cap.
        sentences: side input, which sentences are left out; None for none.
    """

    task: DecideTask
    look_ups: LookUps
    caps: Any
    sentences: Any

    def expand(self, shards: beam.PCollection[SentenceShard]) -> beam.PCollection[tuple[str, int]]:
        sides = (self.task, *self.look_ups, self.caps, self.sentences)
        return (
            shards
            | "Keys of shards" >> RunStep(steps.sample_keys, self.task.work, "sample", *sides)
            | "Each scope" >> beam.Map(lambda keys: keys).with_output_types(tuple[str, bytes])
            | "Smallest of all" >> beam.CombinePerKey(steps.SmallestKeys(self.task.sample))
        )  # (scope, greatest key kept)


@dataclass
class ShufflePairs(beam.PTransform):
    """Decide on the links of all shards, and write the rows in shuffled order.

    Attributes:
        task: how links become rows.
        look_ups: see `LookUps`.
        caps: side input, the path of the table of caps; None for no cap.
        samples: side input, the greatest sampling key kept by scope; empty for no sample.
        sentences: side input, which sentences are left out; None for none.
    """

    task: DecideTask
    look_ups: LookUps
    caps: Any
    samples: Any
    sentences: Any

    def expand(self, groups: beam.PCollection[Group]) -> Reduced:
        ranges = groups.pipeline | "Plan shards" >> CallOnce(plan_shards, self.look_ups.table, self.task)
        return groups | "Shuffle" >> Shuffle(
            "rows",
            self.task.work,
            steps.BY_SHUFFLE_KEY,
            map_step=steps.decide_shards,
            map_sides=(self.task, *self.look_ups, self.caps, self.samples, self.sentences),
            ranges=lambda _: beam.pvalue.AsSingleton(ranges),
            reduce_step=steps.write_shard,
            reduce_sides=self._reduce_sides,
            grouped=False,
        )

    def _reduce_sides(self, decided: beam.PCollection[Decided]) -> tuple[Any, ...]:
        task = self.task
        repeats: Any = ""
        if task.options.repeats:
            limit = CallOnce(find_repeats, decided, task, work=task.work, name="repeats")
            repeats = beam.pvalue.AsSingleton(decided.pipeline | "Limit repeats" >> limit)
        return task.work, bool(task.options.split), repeats


def find_repeats(decided: Iterable[Decided], task: DecideTask) -> WorkPath:
    """Return the path of the limits of repeated texts."""
    return limit_texts([group.texts for group in decided], task.sentences_of_text, task.work)


def plan_shards(table: TableBuilt, task: DecideTask) -> list[KeyRange]:
    """Return the ranges of shuffle keys of the output shards."""
    return key_ranges("", steps.shard_bounds(table.rows, task).tolist())
