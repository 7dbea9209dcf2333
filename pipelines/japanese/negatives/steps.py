"""The steps of `wikianchor negatives`: read a shard of a corpus, fill its nouns with a T5, and keep good candidates.

This is the generation of hard negatives of SDJC. An element is all sentences of a shard, and the model handler makes
batches of them itself: the batches of Beam's `BatchElements` differ between runs, and so would the results.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import apache_beam as beam
from apache_beam.ml.inference.base import ModelHandler, PredictionResult

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.part_writer import Part, write_part
from wikianchor.pipelines.dataset.reader import NumberedShard, read_batches
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.resume import CachedStep, order_of
from wikianchor.pipelines.engine.stage import counts_by_kind
from wikianchor.pipelines.engine.step_errors import mark_errors
from wikianchor.pipelines.japanese.negatives.filler import HoleFiller, Holes, Ranked, load_filler
from wikianchor.pipelines.japanese.negatives.fills import Spans, chosen_spans, keep
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions
from wikianchor.pipelines.japanese.noun_phrases import Read, are_noun_spans, make_reader
from wikianchor.pipelines.japanese.noun_spans import spans_with_content
from wikianchor.schemas import negatives

# Sentences filled between two lines of the log.
PORTION = 1_000


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
        return self.counts


def read_shard(task: NumberedShard, config: NegativesOptions, most_holes: int) -> ShardTexts:
    """Read a shard, and choose the spans to fill in each sentence: at most `most_holes`."""
    counts: Counter[str] = Counter()
    ids: list[int] = []
    items: list[Holes] = []
    columns = [
        "text",
        "sentence_id",
        f"spans.{config.spans}.list.element.start",
        f"spans.{config.spans}.list.element.end",
        *(f"tokens.list.element.{name}" for name in ("start", "end", "pos")),
    ]
    for batch in read_batches(task.path, columns):
        for row in batch.to_pylist():
            counts["sentences:seen"] += 1
            if len(row["text"]) > config.longest:
                counts["sentences:too_long"] += 1
                continue
            spans = spans_of(row, config.spans, counts)
            if not spans:
                counts["sentences:no_span"] += 1
                continue
            chosen = chosen_spans(spans, config.share, most_holes, row["sentence_id"], config.seed)
            counts["spans:filled"] += len(chosen)
            counts["spans:not_chosen"] += len(spans) - len(chosen)
            if len(spans) > most_holes:
                counts["sentences_with_more_spans_than_sentinels:seen"] += 1
            ids.append(row["sentence_id"])
            items.append(Holes(row["text"], tuple(chosen)))
    return ShardTexts(task.order, ids, items, dict(counts))


def spans_of(row: Mapping[str, Any], rule: str, counts: Counter[str]) -> list[tuple[int, int]]:
    """Return the spans of a row that may be filled; count the others.

    Formal nouns are not filled, except by the rules of SDJC: `nouns` as in the paper, `released` as in the code.
    """
    spans = [(span["start"], span["end"]) for span in row["spans"][rule]]
    counts["spans:seen"] += len(spans)
    if rule in ("nouns", "released"):
        return spans
    words = [(token["start"], token["end"], token["pos"]) for token in row["tokens"]]
    with_content = spans_with_content(row["text"], spans, words)
    counts["spans:formal_noun"] += len(spans) - len(with_content)
    return with_content


class FillerHandler(ModelHandler[ShardTexts, PredictionResult, HoleFiller]):
    """The model handler of RunInference for our T5. Beam's handlers cannot be imported with transformers 5."""

    def __init__(self, options: NegativesOptions) -> None:
        self._options = options

    def load_model(self) -> HoleFiller:
        return load_filler(self._options)

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


def balance(made: Sequence[NegativesWritten], output: str) -> dict[str, dict[str, int]]:
    """Return the ledger of all shards.

    Raises:
        InputError: the numbers by outcome do not add up to the number seen.
    """
    kinds = ("sentences", "candidates", "spans")
    ledger: dict[str, dict[str, int]] = {kind: {} for kind in kinds} | counts_by_kind(shard.counts for shard in made)
    rows = sum(part.rows for shard in made for part in shard.parts)
    for kind in kinds:
        counts = ledger[kind]
        if sum(counts.values()) != 2 * counts.get("seen", 0):
            raise InputError(f"{output}: the ledger does not balance: {counts}")
    if ledger["sentences"].get("kept", 0) != rows:
        raise InputError(f"{output}: the ledger does not balance: {ledger['sentences']}, {rows} rows written")
    return ledger


# The name of the step that writes shards, and the output for its earlier results.
STEP, FINISHED = "write", "finished"


class ChooseSpans(beam.DoFn):
    """Yield the sentences of a shard; or, to the output FINISHED, the result of an earlier run for it."""

    def __init__(self, config: NegativesOptions, work: Workspace, most_holes: int) -> None:
        self._config, self._most_holes = config, most_holes
        self._cached = CachedStep(WriteShard(config, work), work, STEP)

    def process(self, element: NumberedShard) -> Iterator[Any]:
        with mark_errors():
            made = self._cached.find(order_of(element))
            if made is None:
                yield read_shard(element, self._config, self._most_holes)
            else:
                yield beam.pvalue.TaggedOutput(FINISHED, made)


class WriteShard:
    """The step that writes the sentences of a shard that have negatives. Sudachi is loaded once for each worker."""

    def __init__(self, config: NegativesOptions, work: Workspace) -> None:
        self._config, self._work = config, work

    @cached_property
    def _read(self) -> Read:
        return make_reader()

    def _are_noun_spans(self, text: str, spans: Spans) -> bool:
        return are_noun_spans(self._config.spans, self._read(text), spans)

    def __call__(self, result: PredictionResult) -> NegativesWritten:
        shard: ShardTexts = result.example
        counts = Counter(shard.counts)
        rows: list[dict[str, Any]] = []
        for sentence_id, item, ranked in zip(shard.ids, shard.items, result.inference, strict=True):
            if ranked is None:
                counts["sentences:out_of_memory"] += 1
                continue
            kept, outcomes = keep(item.text, item.spans, ranked, self._config, self._are_noun_spans)
            counts.update({f"candidates:{name}": number for name, number in outcomes.items()})
            counts["sentences:kept" if kept else "sentences:no_negative"] += 1
            if kept:
                lists = {"negatives": list(kept), "ranks": list(kept.values())}
                rows.append({"text": item.text, "sentence_id": sentence_id, **lists, "holes": len(item.spans)})
        parts = write_part(self._work.parts, "negatives", shard.order, negatives.SCHEMA, rows)
        return NegativesWritten(parts, dict(counts))
