"""The work of `wikianchor negatives` on a shard of a corpus: read it, let a T5 fill its nouns, keep what is good.

An element is a whole shard's sentences, so Beam's own batching, whose make-up is not the same twice, has nothing to do:
the model's handler makes the batches itself.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import apache_beam as beam
import pyarrow as pa
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.resume import CachedStep, order_of
from wikianchor.pipelines.engine.step_errors import mark_errors
from wikianchor.pipelines.engine.transforms import RunStep
from wikianchor.pipelines.japanese.negatives.filler import HoleFiller, Holes, Ranked, Search, load_filler
from wikianchor.pipelines.japanese.negatives.fills import FillLimits, NounSpans, Spans, chosen_spans, keep
from wikianchor.pipelines.japanese.noun_phrases import are_noun_spans, make_reader
from wikianchor.pipelines.japanese.noun_spans import with_content
from wikianchor.schemas import negatives

# Sentences that go through the model before the log says so.
PORTION = 1_000


class CorpusShard(NamedTuple):
    """A shard of a corpus and its place among all."""

    order: int
    path: str


@dataclass(frozen=True)
class FillOptions:
    """What decides over the rows.

    Attributes:
        work: of the run.
        rule: which noun spans are filled.
        share: of a sentence's spans.
        most_holes: that the model has sentinels for.
        longest: characters of a sentence; longer ones are left out.
        limits: what is kept.
        first_rank: ranks before it are left out.
        seed: of the share.
    """

    work: Workspace
    rule: str
    share: float
    most_holes: int
    longest: int
    limits: FillLimits
    first_rank: int
    seed: int


class ShardTexts(NamedTuple):
    """Sentences of a shard that have holes, with their ids, and how many sentences met which fate."""

    order: int
    ids: list[int]
    items: list[Holes]
    counts: dict[str, int]


class NegativesWritten(NamedTuple):
    """A finished shard: its part, and counts of sentences and candidates by fate."""

    parts: tuple[Part, ...]
    counts: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {**self.counts, "bytes:written": sum(part.size for part in self.parts)}


def read_shard(task: CorpusShard, options: FillOptions) -> ShardTexts:
    """Read a shard and choose the spans to fill."""
    counts: Counter[str] = Counter()
    ids: list[int] = []
    items: list[Holes] = []
    columns = [
        "text",
        "sentence_id",
        f"spans.{options.rule}.list.element.start",
        f"spans.{options.rule}.list.element.end",
        *(f"tokens.list.element.{name}" for name in ("start", "end", "pos")),
    ]
    for batch in read_batches(task.path, columns):
        for row in batch.to_pylist():
            counts["sentences:seen"] += 1
            if len(row["text"]) > options.longest:
                counts["sentences:too_long"] += 1
                continue
            spans = spans_of(row, options.rule, counts)
            if not spans:
                counts["sentences:no_span"] += 1
                continue
            chosen = chosen_spans(spans, options.share, options.most_holes, row["sentence_id"], options.seed)
            counts["spans:filled"] += len(chosen)
            counts["spans:not_chosen"] += len(spans) - len(chosen)
            if len(spans) > options.most_holes:
                counts["sentences_with_more_spans_than_sentinels:seen"] += 1
            ids.append(row["sentence_id"])
            items.append(Holes(row["text"], tuple(chosen)))
    return ShardTexts(task.order, ids, items, dict(counts))


def spans_of(row: Mapping[str, Any], rule: str, counts: Counter[str]) -> list[tuple[int, int]]:
    """Return the spans of a corpus's row that may be filled, and count the others: formal nouns stay, but for what the
    released code does."""
    spans = [(span["start"], span["end"]) for span in row["spans"][rule]]
    counts["spans:seen"] += len(spans)
    if rule == "released":
        return spans
    words = [(token["start"], token["end"], token["pos"]) for token in row["tokens"]]
    found = with_content(row["text"], spans, words)
    counts["spans:formal_noun"] += len(spans) - len(found)
    return found


class FillerHandler(ModelHandler[ShardTexts, PredictionResult, HoleFiller]):
    """A T5 of ours for RunInference. Beam's own handlers for transformers cannot be imported beside transformers 5."""

    def __init__(self, directory: str, search: Search) -> None:
        self._directory, self._search = directory, search

    def load_model(self) -> HoleFiller:
        return load_filler(self._directory, self._search)

    def run_inference(
        self, batch: Sequence[ShardTexts], model: HoleFiller, inference_args: Mapping[str, Any] | None = None
    ) -> Iterable[PredictionResult]:
        for shard in batch:
            yield PredictionResult(shard, fill_shard(shard, model))

    def batch_elements_kwargs(self) -> Mapping[str, int]:
        return {"min_batch_size": 1, "max_batch_size": 1}

    def get_metrics_namespace(self) -> str:
        return "wikianchor"


def fill_shard(shard: ShardTexts, filler: HoleFiller) -> list[Ranked | None]:
    """Return the fills of each sentence, in the shard's order. Portions follow the length, so that batches do too."""
    order = sorted(range(len(shard.items)), key=lambda row: (-len(shard.items[row].text), row))
    found: list[Ranked | None] = [None] * len(order)
    start = time.monotonic()
    for begin in range(0, len(order), PORTION):
        rows = order[begin : begin + PORTION]
        for row, ranked in zip(rows, filler.fill([shard.items[row] for row in rows]), strict=True):
            found[row] = ranked
        done = begin + len(rows)
        rate = done / max(1e-9, time.monotonic() - start)
        logging.getLogger("wikianchor").info("shard %d: %d of %d, %.1f a second", shard.order, done, len(order), rate)
    return found


def make_judge(rule: str) -> NounSpans:
    """Return what says whether stretches of a sentence are noun spans of a rule. It is for one thread.

    Raises:
        UsageError: its packages are not installed.
    """
    read = make_reader()

    def judge(text: str, spans: Spans) -> bool:
        return are_noun_spans(rule, read(text), spans)

    return judge


def write_shard(result: PredictionResult, options: FillOptions, judge: NounSpans) -> NegativesWritten:
    """Keep the good candidates of a shard's sentences and write the rows that have any."""
    shard: ShardTexts = result.example
    counts = Counter(shard.counts)
    rows: list[dict[str, Any]] = []
    for sentence_id, item, ranked in zip(shard.ids, shard.items, result.inference, strict=True):
        if ranked is None:
            counts["sentences:out_of_memory"] += 1
            continue
        found = keep(item.text, item.spans, ranked, options.limits, judge, options.first_rank)
        counts.update({f"candidates:{name}": number for name, number in found.counts.items()})
        if not found.texts:
            counts["sentences:no_negative"] += 1
            continue
        counts["sentences:kept"] += 1
        row = {"text": item.text, "sentence_id": sentence_id, "negatives": found.texts, "ranks": found.ranks}
        rows.append({**row, "holes": len(item.spans)})
    with PartWriter(options.work.parts, "negatives", shard.order, negatives.SCHEMA) as file:
        file.write(pa.Table.from_pylist(rows, negatives.SCHEMA))
    return NegativesWritten((file.part,) if file.part else (), dict(counts))


def balance(made: Iterable[NegativesWritten], output: str) -> dict[str, dict[str, int]]:
    """Return the ledger of all shards.

    Raises:
        InputError: the fates of sentences or candidates do not add up to those seen.
    """
    total: Counter[str] = Counter()
    rows = 0
    for one in made:
        total.update(one.counts)
        rows += sum(part.rows for part in one.parts)
    ledger: dict[str, dict[str, int]] = {"sentences": {}, "candidates": {}, "spans": {}}
    for key, number in sorted(total.items()):
        kind, _, name = key.partition(":")
        ledger.setdefault(kind, {})[name] = number
    for kind in ("sentences", "candidates", "spans"):
        found = ledger[kind]
        fates = sum(number for name, number in found.items() if name != "seen")
        if fates != found.get("seen", 0):
            raise InputError(f"{output}: the ledger does not balance: {found}")
    if ledger["sentences"].get("kept", 0) != rows:
        raise InputError(f"{output}: the ledger does not balance: {ledger['sentences']}, {rows} rows written")
    return ledger


def list_shards(datasets: Sequence[str]) -> list[CorpusShard]:
    """Return the shards of datasets of a corpus."""
    paths = [path for directory in datasets for path in shards_of(directory, "corpus")]
    return [CorpusShard(order, path) for order, path in enumerate(paths)]


FINISHED = "finished"


class ChooseSpans(beam.DoFn):
    """Yield the sentences of a shard that is to be filled, or, apart, the result that an earlier run has kept."""

    def __init__(self, options: FillOptions) -> None:
        self._options = options
        self._cached = CachedStep(WriteShard(options), options.work, STEP)

    def process(self, element: CorpusShard) -> Iterator[Any]:
        with mark_errors():
            made = self._cached.find(order_of(element))
            yield read_shard(element, self._options) if made is None else beam.pvalue.TaggedOutput(FINISHED, made)


class WriteShard:
    """The step that writes a shard; what judges its candidates is loaded once a worker."""

    def __init__(self, options: FillOptions) -> None:
        self._options = options

    @cached_property
    def _judge(self) -> NounSpans:
        return make_judge(self._options.rule)

    def __call__(self, result: PredictionResult) -> NegativesWritten:
        return write_shard(result, self._options, self._judge)


STEP = "write"


def written_once(options: FillOptions) -> RunStep:
    """Return the transform that writes shards, each once over all runs of one command."""
    return RunStep(WriteShard(options), options.work, STEP, key=lambda result: order_of(result.example))
