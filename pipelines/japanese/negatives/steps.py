"""The steps of `wikianchor negatives`: read a shard of a corpus, fill its nouns with a T5, and keep good candidates.

This is the generation of hard negatives of SDJC. An element is all sentences of a shard, and the model handler makes
batches of them itself: the batches of Beam's `BatchElements` differ between runs, and so would the results.
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
from wikianchor.pipelines.japanese.noun_spans import spans_with_content
from wikianchor.schemas import negatives

# Sentences filled between two lines of the log.
PORTION = 1_000


class CorpusShard(NamedTuple):
    """A shard of a corpus, and its number among all."""

    order: int
    path: str


@dataclass(frozen=True)
class FillOptions:
    """The options of the steps.

    Attributes:
        work: the directories of the run.
        rule: the rule of noun spans, one of `choices.SPAN_RULES`.
        share: share of the spans of a sentence that are filled, 0 to 1.
        most_holes: maximum number of holes, for which the model has sentinels.
        longest: longer sentences are left out, characters.
        limits: which candidates are kept.
        first_rank: candidates of earlier ranks are left out.
        seed: of the choice of spans.
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
    """The sentences of a shard with holes, their ids, and numbers of sentences and spans by outcome."""

    order: int
    ids: list[int]
    items: list[Holes]
    counts: dict[str, int]


class NegativesWritten(NamedTuple):
    """A finished shard: its file, and numbers of sentences, spans and candidates by outcome."""

    parts: tuple[Part, ...]
    counts: dict[str, int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return {**self.counts, "bytes:written": sum(part.size for part in self.parts)}


def read_shard(task: CorpusShard, options: FillOptions) -> ShardTexts:
    """Read a shard, and choose the spans to fill in each sentence."""
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
    """Return the spans of a row that may be filled; count the others.

    Formal nouns are not filled, except by the rule `released`, as in the released code of SDJC.
    """
    spans = [(span["start"], span["end"]) for span in row["spans"][rule]]
    counts["spans:seen"] += len(spans)
    if rule == "released":
        return spans
    words = [(token["start"], token["end"], token["pos"]) for token in row["tokens"]]
    with_content = spans_with_content(row["text"], spans, words)
    counts["spans:formal_noun"] += len(spans) - len(with_content)
    return with_content


class FillerHandler(ModelHandler[ShardTexts, PredictionResult, HoleFiller]):
    """The model handler of RunInference for our T5. Beam's handlers cannot be imported with transformers 5.

    Args:
        directory: of the model.
        search: the options of the beam search.
    """

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
    """Return the fills of each sentence, in the order of the shard; None for a sentence that needs too much memory.

    Sentences are filled by length, so that those of a batch are about equally long.
    """
    order = sorted(range(len(shard.items)), key=lambda row: (-len(shard.items[row].text), row))
    fills: list[Ranked | None] = [None] * len(order)
    start = time.monotonic()
    for begin in range(0, len(order), PORTION):
        rows = order[begin : begin + PORTION]
        for row, ranked in zip(rows, filler.fill([shard.items[row] for row in rows]), strict=True):
            fills[row] = ranked
        done = begin + len(rows)
        rate = done / max(1e-9, time.monotonic() - start)
        logging.getLogger("wikianchor").info("shard %d: %d of %d, %.1f a second", shard.order, done, len(order), rate)
    return fills


def make_judge(rule: str) -> NounSpans:
    """Return a function that decides whether ranges of a sentence are noun spans by a rule. It is not thread-safe.

    Raises:
        UsageError: its packages are not installed.
    """
    read = make_reader()

    def judge(text: str, spans: Spans) -> bool:
        return are_noun_spans(rule, read(text), spans)

    return judge


def write_shard(result: PredictionResult, options: FillOptions, judge: NounSpans) -> NegativesWritten:
    """Write the sentences of a shard that have negatives."""
    shard: ShardTexts = result.example
    counts = Counter(shard.counts)
    rows: list[dict[str, Any]] = []
    for sentence_id, item, ranked in zip(shard.ids, shard.items, result.inference, strict=True):
        if ranked is None:
            counts["sentences:out_of_memory"] += 1
            continue
        kept = keep(item.text, item.spans, ranked, options.limits, judge, options.first_rank)
        counts.update({f"candidates:{name}": number for name, number in kept.counts.items()})
        counts["sentences:kept" if kept.texts else "sentences:no_negative"] += 1
        if kept.texts:
            row = {"text": item.text, "sentence_id": sentence_id, "negatives": kept.texts, "ranks": kept.ranks}
            rows.append({**row, "holes": len(item.spans)})
    with PartWriter(options.work.parts, "negatives", shard.order, negatives.SCHEMA) as file:
        file.write(pa.Table.from_pylist(rows, negatives.SCHEMA))
    return NegativesWritten((file.part,) if file.part else (), dict(counts))


def balance(made: Iterable[NegativesWritten], output: str) -> dict[str, dict[str, int]]:
    """Return the ledger of all shards.

    Raises:
        InputError: the numbers by outcome do not add up to the number seen.
    """
    total: Counter[str] = Counter()
    rows = 0
    for shard in made:
        total.update(shard.counts)
        rows += sum(part.rows for part in shard.parts)
    kinds = ("sentences", "candidates", "spans")
    ledger: dict[str, dict[str, int]] = {kind: {} for kind in kinds}
    for key, number in sorted(total.items()):
        kind, _, name = key.partition(":")
        ledger.setdefault(kind, {})[name] = number
    for kind in kinds:
        counts = ledger[kind]
        if sum(counts.values()) != 2 * counts.get("seen", 0):
            raise InputError(f"{output}: the ledger does not balance: {counts}")
    if ledger["sentences"].get("kept", 0) != rows:
        raise InputError(f"{output}: the ledger does not balance: {ledger['sentences']}, {rows} rows written")
    return ledger


def list_shards(datasets: Sequence[str]) -> list[CorpusShard]:
    """Return the shards of datasets of a corpus."""
    paths = [path for directory in datasets for path in shards_of(directory, "corpus")]
    return [CorpusShard(order, path) for order, path in enumerate(paths)]


FINISHED = "finished"


class ChooseSpans(beam.DoFn):
    """Yield the sentences of a shard; or, to the output FINISHED, the result of an earlier run for it."""

    def __init__(self, options: FillOptions) -> None:
        self._options = options
        self._cached = CachedStep(WriteShard(options), options.work, STEP)

    def process(self, element: CorpusShard) -> Iterator[Any]:
        with mark_errors():
            made = self._cached.find(order_of(element))
            yield read_shard(element, self._options) if made is None else beam.pvalue.TaggedOutput(FINISHED, made)


class WriteShard:
    """The step that writes a shard. The judge of candidates is loaded once for each worker."""

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
