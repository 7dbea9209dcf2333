"""`wikianchor negatives` against one span at a time, one sentence at a time, at the same width of the beam.

The other side decodes as SDJC's released code does: a span is masked in what came out so far, beam search over at most
15 tokens with transformers' defaults, and of the beams one rank. It needs a run for each rank that is wanted; ours
gives all of them at once. What is kept is judged by the rules of `negatives`, for both.

Needs the extra `t5`, a T5 (--model) and a corpus (--corpus) that are there already.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import measure
import torch
from transformers import T5ForConditionalGeneration

from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.negatives.filler import HoleFiller, Holes, Ranked, Search, load_filler
from wikianchor.pipelines.japanese.negatives.fills import FillLimits, NounSpans, keep
from wikianchor.pipelines.japanese.negatives.steps import make_judge
from wikianchor.schemas import corpus
from wikianchor.schemas.sentinels import Vocabulary

# Operations listed, those that take most.
OPERATIONS = 6


def main() -> None:
    arguments = measure.parser(__doc__, rounds=3)
    arguments.add_argument("--model", required=True, help="directory of a T5")
    arguments.add_argument("--corpus", required=True, help="directory of a corpus")
    arguments.add_argument("--sentences", type=int, default=32, help="sentences, evenly spread (32)")
    arguments.add_argument("--beams", type=int, default=4, help="width of the beam (4)")
    arguments.add_argument("--spans", choices=SPAN_RULES, default="chunks", help="which spans (chunks)")
    flags = arguments.parse_args()
    items = read(flags)
    together = load_filler(flags.model, Search(flags.beams, flags.beams))
    alone = Released(flags.model, flags.beams)
    cases = {
        "one at a time": lambda: measure.seconds(lambda: alone.fill(items)),
        "ours": lambda: taken(together, items),
    }
    found = measure.rounds_of(flags.rounds, cases)
    judge = make_judge(flags.spans)
    rows: list[list[Any]] = []
    for name, filler in (("one at a time", alone), ("ours", together)):
        with Pieces(alone.vocabulary.size) as pieces:
            ranked = filler.fill(items)
        counts, least = fates(items, ranked, judge), min(found[name])
        rows.append([name, len(items) / least, counts["seen"], counts["kept"], counts["kept"] / least, pieces.count])
    judging = measure.seconds(lambda: fates(items, ranked, judge))
    heads = ["decoding", "sentences a CPU second", "candidates", "that are kept", "kept a CPU second", "pieces read"]
    table = measure.table(heads, rows)
    spans = sum(len(item.spans) for item in items)
    text = f"{len(items)} sentences, {spans} spans, {flags.beams} beams."
    ratio = measure.ratio(found["one at a time"], found["ours"])
    more = f"for one negative of a sentence, {4 * ratio:.1f} times for four, which take it four runs"
    share = f"Judging all candidates takes {100 * judging / min(found['ours']):.1f} % of decoding them"
    steps = where(lambda: together.fill(items))
    measure.report("Hard negatives", f"{table}\n\n{text} Ours is {ratio:.1f} times as fast {more}. {share}.\n\n{steps}")


def read(flags: argparse.Namespace) -> list[Holes]:
    """Return sentences of the corpus with their spans."""
    (dataset,) = open_datasets(flags.corpus, "corpus", corpus.VERSION, "corpus")
    found = []
    for shard in dataset.shards("corpus"):
        for batch in read_batches(shard, ["text", "spans"]):
            for row in batch.to_pylist():
                spans = tuple((span["start"], span["end"]) for span in row["spans"][flags.spans])
                if spans:
                    found.append(Holes(row["text"], spans))
    return found[:: max(1, len(found) // flags.sentences)][: flags.sentences]


class Released:
    """Spans filled one after the other, as the released code of SDJC decodes them."""

    def __init__(self, directory: str, beams: int) -> None:
        self.vocabulary = Vocabulary.read(directory)
        self.model = T5ForConditionalGeneration.from_pretrained(directory, dtype=torch.float32).eval()
        self.beams = beams

    @torch.inference_mode()
    def fill(self, items: list[Holes]) -> list[Ranked | None]:
        """Return the fills of each sentence, of one rank."""
        found: list[Ranked | None] = []
        for item in items:
            text, shift = item.text, 0
            words: list[str | None] = []
            for start, end in item.spans:
                span = (start + shift, end + shift)
                ids = torch.tensor([self.vocabulary.with_holes(text, [span])])
                target = self.model.generate(input_ids=ids, num_beams=self.beams, max_length=15)[0, 1:].tolist()
                word = self.vocabulary.fills(target, 1)[0] or ""
                text = text[: span[0]] + word + text[span[1] :]
                shift += len(word) - (end - start)
                words.append(word)
            found.append([words])
        return found


def taken(filler: HoleFiller, items: list[Holes]) -> float:
    """Return the CPU seconds of filling all."""
    return measure.seconds(lambda: filler.fill(items))


class Pieces:
    """Counts the pieces of all hypotheses that a decoder reads: what goes into the layer that scores a vocabulary."""

    def __init__(self, vocabulary: int) -> None:
        self.count, self._vocabulary = 0, vocabulary

    def __enter__(self) -> Pieces:
        self._hook = torch.nn.modules.module.register_module_forward_pre_hook(self._see)
        return self

    def __exit__(self, *error: object) -> None:
        self._hook.remove()

    def _see(self, module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        if isinstance(module, torch.nn.Linear) and module.out_features >= self._vocabulary:
            self.count += inputs[0][..., 0].numel()


def fates(items: list[Holes], ranked: Sequence[Ranked | None], judge: NounSpans) -> Counter[str]:
    """Return what becomes of all candidates when none is surplus."""
    counts: Counter[str] = Counter()
    for item, fills in zip(items, ranked, strict=True):
        counts += keep(item.text, item.spans, fills or [], FillLimits(len(fills or []), 0.95), judge).counts
    return counts


def where(function: Callable[[], object]) -> str:
    """Return which of torch's operations take most of a function's CPU."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        function()
    spent = sorted(profile.key_averages(), key=lambda one: -one.self_cpu_time_total)
    whole = sum(one.self_cpu_time_total for one in spent)
    listed = [[one.key, 100 * one.self_cpu_time_total / whole, one.count] for one in spent[:OPERATIONS]]
    return measure.table(["operation of ours", "per cent of its CPU", "calls"], listed)


if __name__ == "__main__":
    main()
