"""Training on a GPU: one command, nine minutes at most, no network.

    python benchmarks/gpu.py > gpu.md            # on a card: BERT-base with random weights
    python benchmarks/gpu.py --toy               # the same at toy size, on a CPU too: seconds
    python benchmarks/gpu.py --device=cpu --model=DIR --data=DIR --batches 8 64    # steps of a real model on a CPU

It prints one Markdown table, ready for RESULTS.md:

- a training step of `simcse`, `ease` and EASE's released code, with kernels launched one by one (`eager`), as CUDA
  graphs (`graphs`), and compiled too (`compiled`);
- the trainer of sentence-transformers on the same rows, with the same model, batch, length and precision;
- a softmax of 8,192 and of 65,536 sentences, against CachedMultipleNegativesRankingLoss;
- the loader alone, a million entities, encoding of as many sentences as STS-B's dev part has, and a T5's negatives.

MFU counts tokens without padding, over the peak of the card's data sheet. Idle is the share of a step in which no
kernel runs: the kernels' time is from torch.profiler, the step's from steps without it. On a CPU times are user CPU of
one thread. `products` is the share of a step that is matrix products, by torch.profiler; `bound` is how many times as
fast as sentence-transformers a step of these products alone would be: in its own row torch's, with padding; in ours
faster ones; and a note names the operators that take most of the rest. A part that fails becomes a row with the reason;
what no time is left for is left out, and named.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import torch
from lib import synthetic
from lib.measure import report, table
from lib.theirs import EaseLoss, sample
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.loop.throughput import flops_per_token, peak_flops
from wikianchor.trainer.loop.train import TrainingRun, train_step
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable

LENGTH = 32
MINUTES = 9.0
# Seconds that a part may take at most, by experience of no card yet: compiling takes longest.
COMPILING, TRAINING = 80.0, 25.0
MODES: dict[str, dict[str, Any]] = {
    "eager": {"compile": False, "graphs": False},
    "graphs": {"compile": False, "graphs": True},
    "compiled": {"compile": True, "graphs": True},
}
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "mkldnn::_linear_pointwise")
COLUMNS = ["", "batch", "ms", "sentences / s", "MFU, %", "GPU idle, %", "products, %", "times sentence-transformers"]
COLUMNS += ["bound", "note"]


@dataclass
class Row:
    """A row of the table; None is an empty cell."""

    name: str
    batch: int | None = None
    ms: float | None = None
    rate: float | None = None
    mfu: float | None = None
    idle: float | None = None
    products: float | None = None
    ratio: float | None = None
    note: str = ""

    def cells(self) -> list[object]:
        """Return the cells in the order of `COLUMNS`."""
        rate = None if self.rate is None else round(self.rate)
        percent = [None if share is None else 100 * share for share in (self.mfu, self.idle, self.products)]
        bound = (self.ratio or 1) / self.products if self.products else None
        values = [self.name, self.batch, self.ms, rate, *percent, self.ratio, bound, self.note]
        return ["" if value is None else value for value in values]


@dataclass
class Bench:
    """What all parts share.

    Attributes:
        size: of model and data.
        device: where it runs.
        precision: of the encoder.
        work: directory of generated files.
        batches: sizes of a batch.
        model: directory of the encoder.
        data: directory of the `pairs` dataset.
        steps: timed steps of a case.
        deadline: when the last part has to have begun, by time.monotonic.
        rows: of the table.
        left_out: names of parts for which no time was left.
    """

    size: synthetic.Size
    device: torch.device
    precision: str
    work: Path
    steps: int
    deadline: float
    batches: Sequence[int]
    model: str
    data: str
    rows: list[Row] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    @property
    def toy(self) -> bool:
        """Whether the sizes are those of tests."""
        return self.size is synthetic.TOY

    def part(self, name: str, seconds: float, measure: Callable[[], list[Row]], batch: int | None = None) -> None:
        """Measure a part, and keep its rows; a failure is a row too."""
        if not self.toy and time.monotonic() + seconds > self.deadline:
            self.left_out.append(f"{name} {batch or ''}".strip())
            return
        start = time.monotonic()
        try:
            rows = measure()
        except Exception as error:
            reason = " ".join(str(error).split())[:160].replace("|", "/")
            rows = [Row(name, batch, note=f"failed: {type(error).__name__}: {reason}")]
        self.rows += rows
        for row in rows:
            line = " | ".join(str(cell) for cell in row.cells() if cell != "")
            print(f"{time.monotonic() - start:.0f} s: {line}", file=sys.stderr, flush=True)
        gc.collect()
        torch._dynamo.reset()
        if self.device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def now(self) -> float:
        """Return the time at which all kernels have ended, in seconds; on a CPU the user CPU of this process."""
        if self.device.type == "cpu":
            return resource.getrusage(resource.RUSAGE_SELF).ru_utime
        torch.cuda.synchronize(self.device)
        return time.perf_counter()

    def seconds(self, function: Callable[[], object]) -> float:
        """Return the time of a function, until all its kernels have ended."""
        start = self.now()
        function()
        return self.now() - start

    def flags(self, **more: Any) -> dict[str, Any]:
        """Return the options of a run."""
        return {
            **{"data": self.data, "model": self.model, "output": str(self.work / "out")},
            **{"cache": str(self.work / "cache"), "device": str(self.device), "max_length": LENGTH, "seed": 1},
            **more,
        }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--toy", action="store_true", help="at the size of tests")
    flags.add_argument("--model", help="measure the steps of this encoder alone, on --data")
    flags.add_argument("--data", help="a `pairs` dataset (made here)")
    flags.add_argument("--batches", type=int, nargs="+", help="sizes of a batch (64 128 512)")
    flags.add_argument("--precision", choices=("bf16", "fp32"), help="of the encoder (bf16 on cuda, fp32 on a CPU)")
    flags.add_argument("--steps", type=int, default=40, help="timed steps of a case (40)")
    flags.add_argument("--minutes", type=float, default=MINUTES, help=f"time for everything ({MINUTES:g})")
    flags.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda or cpu")
    arguments = flags.parse_args(argv)
    start = time.monotonic()
    device = torch.device(arguments.device)
    if device.type == "cpu":
        # On a busy machine threads would wait for each other.
        torch.set_num_threads(1)
    size = synthetic.TOY if arguments.toy else synthetic.BERT_BASE
    precision = arguments.precision or ("bf16" if device.type == "cuda" else "fp32")
    with tempfile.TemporaryDirectory() as scratch:
        deadline = start + 60 * arguments.minutes
        work = Path(scratch)
        model = arguments.model or str(synthetic.write_bert(work / "bert", size))
        data = arguments.data or str(synthetic.write_pairs(work / "pairs", size))
        print(f"{time.monotonic() - start:.0f} s: model and data are written", file=sys.stderr)
        steps, batches = (2, [8]) if arguments.toy else (arguments.steps, arguments.batches or [64, 128, 512])
        bench = Bench(size, device, precision, work, steps, deadline, batches, model, data)
        if arguments.model:
            measure_steps(bench)
            add_ratios(bench.rows)
        else:
            measure_all(bench)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    shape = Path(arguments.model).name if arguments.model else f"BERT of {size.layers} layers of {size.width}"
    text = table(COLUMNS, [row.cells() for row in bench.rows])
    notes = f"torch {torch.__version__}, {time.monotonic() - start:.0f} s."
    if bench.left_out:
        notes += f" No time was left for: {', '.join(bench.left_out)}."
    report(f"trainer: on {name}, {shape}, {LENGTH} tokens, {precision}", f"{text}\n\n{notes}")


def measure_steps(bench: Bench) -> None:
    """Measure steps of ours and of sentence-transformers."""
    modes = ("eager",) if bench.device.type == "cpu" else tuple(MODES)
    for batch in bench.batches:
        for objective in ("simcse", "ease"):
            bench.part(f"{objective}, sentence-transformers", TRAINING, partial(theirs, bench, objective, batch), batch)
            for mode in modes:
                bench.part(f"{objective}, {mode}", TRAINING, partial(ours, bench, objective, batch, mode), batch)


def measure_all(bench: Bench) -> None:
    """Measure all parts, what matters most first."""
    modes = ("eager",) if bench.device.type == "cpu" else ("eager", "graphs")
    for batch in bench.batches:
        bench.part("simcse, sentence-transformers", TRAINING, partial(theirs, bench, "simcse", batch), batch)
        for objective in ("simcse", "ease"):
            for mode in modes:
                bench.part(f"{objective}, {mode}", TRAINING, partial(ours, bench, objective, batch, mode), batch)
    for mode in modes:
        bench.part(f"ease-bert-released, {mode}", TRAINING, partial(released, bench, mode), 128)
    bench.part("loader alone", 10, partial(loader, bench))
    bench.part("entity table", 20, partial(entity_table, bench))
    bench.part("encoding", 15, partial(encoding, bench))
    for batch in bench.batches:
        bench.part("ease, sentence-transformers", TRAINING, partial(theirs, bench, "ease", batch), batch)
    if "graphs" in modes:
        for batch in bench.batches:
            for objective in ("simcse", "ease"):
                work = partial(ours, bench, objective, batch, "compiled")
                bench.part(f"{objective}, compiled", COMPILING, work, batch)
        bench.part("ease-bert-released, compiled", COMPILING, partial(released, bench, "compiled"), 128)
    cached, large = (32, 64) if bench.toy else (8_192, 65_536)
    bench.part("simcse, cached", 40, partial(cached_step, bench, cached), cached)
    bench.part("CachedMultipleNegativesRankingLoss", 40, partial(their_cached_step, bench, cached), cached)
    bench.part("simcse, cached", 60, partial(cached_step, bench, large), large)
    bench.part("t5 negatives", 45, partial(negatives, bench))
    add_ratios(bench.rows)


# ----------------------------------------------------------------------------------------------------------------- ours


def prepared(bench: Bench, objective: str, **flags: Any) -> TrainingRun:
    """Return a run that is ready."""
    config = replace(make(objective, bench.flags(**flags), {}), precision=bench.precision)
    return task.prepare(config, open_pairs(config.data), bench.device, Log("", False))


def ours(bench: Bench, objective: str, batch: int, mode: str) -> list[Row]:
    """Measure our training steps."""
    # sentence-transformers takes the model as it is: a real one pools as it says, the one made here has no pooler.
    run = prepared(bench, objective, softmax_size=batch, **MODES[mode])
    return [stepped(bench, run, f"{objective}, {mode}", batch)]


def released(bench: Bench, mode: str) -> list[Row]:
    """Measure the step of EASE's released code: 16 softmaxes of 8 sentences, and dense AdamW over the table."""
    run = prepared(bench, "ease", preset="ease-bert-released", **MODES[mode])
    return [stepped(bench, run, f"ease-bert-released, {mode}", run.config.step_size)]


def stepped(bench: Bench, run: TrainingRun, name: str, batch: int) -> Row:
    """Return the row of a run's steps."""
    # Every length comes a few times before it is timed: kernels are compiled, and graphs captured.
    warm_up, profiled = (1, 1) if bench.toy else (2, 2) if bench.device.type == "cpu" else (16, 5)
    needed = warm_up + bench.steps + profiled
    batches = endless(run, needed)
    run.model.train()
    numbers = iter(range(needed))

    def steps(count: int) -> int:
        return sum(train_step(run, batches, next(numbers))[1] for _ in range(count))

    steps(warm_up)
    tokens = 0

    def timed() -> None:
        nonlocal tokens
        tokens = steps(bench.steps)

    seconds = bench.seconds(timed) / bench.steps
    peak = peak_flops(bench.device, bench.precision)
    length = tokens / (bench.steps * batch)
    flops = tokens / bench.steps * run.model.views * flops_per_token(run.model.encoder, length)
    busy, shares = profiled_seconds(bench, lambda: steps(profiled))
    idle = None if bench.device.type == "cpu" else max(0.0, 1 - busy / profiled / seconds)
    mfu = None if peak is None else flops / seconds / peak
    products = product_share(shares) if shares else None
    others = [(name, share) for name, share in shares.items() if name not in PRODUCTS]
    largest = sorted(others, key=lambda item: -item[1])[:8]
    note = ", ".join(f"{name.rpartition(':')[2]} {share:.1%}" for name, share in largest)
    if bench.device.type == "cuda":
        note = f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB"
    if run.graphs is not None:
        note += f", {len(run.graphs.captured)} graphs" + ("" if run.graphs.works else ", which do not work")
    return Row(name, batch, 1000 * seconds, batch / seconds, mfu, idle, products, note=note)


def endless(run: TrainingRun, steps: int) -> Iterator[Any]:
    """Yield the batches of as many steps as needed, epoch after epoch."""
    return run.feed.batches(0, steps)


def profiled_seconds(bench: Bench, function: Callable[[], object]) -> tuple[float, dict[str, float]]:
    """Return the time in which at least one kernel runs, and on a CPU the share of each operator."""

    cuda = bench.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as profiler:
        function()
        bench.now()
    if not cuda:
        return 0.0, shares_of(profiler)
    spans = [
        (event.time_range.start, event.time_range.end)
        for event in profiler.events() or []
        if event.device_type == DeviceType.CUDA
    ]
    return union(spans) / 1e6, {}


def shares_of(profiler: profile) -> dict[str, float]:
    """Return the share of the profiled CPU time of each operator."""
    averages = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in averages)
    return {event.key: event.self_cpu_time_total / total for event in averages}


def product_share(shares: Mapping[str, float]) -> float:
    """Return the share of matrix products."""
    return sum(shares.get(name, 0.0) for name in PRODUCTS)


def union(spans: list[tuple[float, float]]) -> float:
    """Return the length that intervals cover together.

    >>> union([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    covered, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, until))
        until = max(until, end)
    return covered


def cached_step(bench: Bench, batch: int) -> list[Row]:
    """Measure a step of a softmax that is encoded group by group."""
    size = 8 if bench.toy else 1_024
    run = prepared(bench, "simcse", softmax_size=batch, encode_size=size, compile=False, graphs=False)
    batches = run.feed.batches(0, 2)
    run.model.train()
    bench.seconds(lambda: train_step(run, batches, 0))
    seconds = bench.seconds(lambda: train_step(run, run.feed.batches(0, 1), 0))
    note = f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB" if bench.device.type == "cuda" else ""
    return [Row("simcse, cached", batch, 1000 * seconds, batch / seconds, note=note)]


# ------------------------------------------------------------------------------------------------ sentence-transformers


def theirs(bench: Bench, objective: str, batch: int) -> list[Row]:
    """Measure the steps of sentence-transformers' trainer, from the fifth of all steps on."""
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    seconds, products = train_theirs(bench, objective, batch, MultipleNegativesRankingLoss)
    return [Row(f"{objective}, sentence-transformers", batch, 1000 * seconds, batch / seconds, products=products)]


def their_cached_step(bench: Bench, batch: int) -> list[Row]:
    """Measure a step of their cached loss."""
    from sentence_transformers.losses import CachedMultipleNegativesRankingLoss

    loss = partial(CachedMultipleNegativesRankingLoss, mini_batch_size=8 if bench.toy else 1_024)
    seconds, _ = train_theirs(bench, "simcse", batch, loss, steps=2)
    return [Row("simcse, cached, sentence-transformers", batch, 1000 * seconds, batch / seconds)]


def train_theirs(
    bench: Bench, objective: str, batch: int, loss_of: Callable[[Any], Any], steps: int = 0
) -> tuple[float, float | None]:
    """Return the seconds of a step of sentence-transformers' trainer on the same rows, and on a CPU the share of a step
    that is matrix products, measured in a step of its own."""
    import sentence_transformers as st
    import transformers
    from datasets import Dataset, disable_progress_bars

    disable_progress_bars()
    steps = steps or (3 if bench.toy else bench.steps)
    on_cpu = bench.device.type == "cpu"
    profiler = profile(activities=[ProfilerActivity.CPU])
    skipped = max(1, steps // 5)
    rows = sample(Path(bench.data))
    encoder = st.SentenceTransformer(bench.model, device=str(bench.device))
    encoder.max_seq_length = LENGTH
    columns = {"anchor": rows["text"], "positive": rows["text"]}
    loss: nn.Module = loss_of(encoder)
    if objective == "ease":
        columns["label"] = rows["label"]
        loss = EaseLoss(encoder, loss, 1 + max(map(max, rows["label"])))
    times: list[float] = []

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (skipped, steps):
                times.append(bench.now())
            if on_cpu and state.global_step == steps:
                profiler.start()
            if on_cpu and state.global_step > steps:
                profiler.stop()

    settings = st.SentenceTransformerTrainingArguments(
        output_dir=str(bench.work / "theirs"),
        max_steps=steps + on_cpu,
        per_device_train_batch_size=batch,
        learning_rate=3e-5,
        use_cpu=on_cpu,
        bf16=bench.precision == "bf16",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_num_workers=0,
        dataloader_drop_last=True,
    )
    trainer = st.SentenceTransformerTrainer(
        encoder, settings, train_dataset=Dataset.from_dict(columns), loss=loss, callbacks=[Clock()]
    )
    # Its log goes to stdout, where our table does.
    with contextlib.redirect_stdout(sys.stderr):
        trainer.train()
    seconds = (times[1] - times[0]) / (steps - skipped)
    return seconds, product_share(shares_of(profiler)) if on_cpu else None


def add_ratios(rows: list[Row]) -> None:
    """Fill in how many times as fast as sentence-transformers each row is, with the same objective and batch."""
    suffix = ", sentence-transformers"
    other = {(row.name.removesuffix(suffix), row.batch): row.ms for row in rows if row.name.endswith(suffix) and row.ms}
    for row in rows:
        name = row.name.removesuffix(suffix)
        base = other.get((name if "cached" in name else name.partition(",")[0], row.batch))
        if base and row.ms:
            row.ratio = 1.0 if row.name.endswith(suffix) else base / row.ms


# ---------------------------------------------------------------------------------------------------------- the others


def loader(bench: Bench) -> list[Row]:
    """Measure batches alone, on the device."""
    batch = bench.batches[-1]
    run = prepared(bench, "ease", softmax_size=batch, epochs=1 if bench.toy else 4, **MODES["eager"])

    def read() -> None:
        for _ in run.feed.batches(0, run.total):
            pass

    seconds = bench.seconds(read)
    return [Row("loader alone", batch, 1000 * seconds / run.total, batch * run.total / seconds, note="rows / s")]


def entity_table(bench: Bench) -> list[Row]:
    """Measure the memory of a million entities, and a step that touches 1,024 rows."""
    entities = 1_000 if bench.toy else 1_000_000
    width = bench.size.width
    entity_vectors = EntityTable(torch.empty(entities, width, device=bench.device).uniform_(-0.05, 0.05))
    optimizer = RowAdam([entity_vectors.weight], 1e-3)

    def step() -> None:
        ids = torch.randint(entities, (512, 2), device=bench.device)
        entity_vectors(ids).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()

    def steps() -> None:
        for _ in range(10):
            step()

    seconds = bench.seconds(steps) / 10
    state = [value for part in optimizer.state.values() for value in part.values() if torch.is_tensor(value)]
    total = sum(value.nbytes for value in (entity_vectors.weight, *state)) / 1e9
    peak = torch.cuda.max_memory_allocated() / 1e9 if bench.device.type == "cuda" else total
    note = f"{total:.2f} GB with moments, {peak:.2f} GB at most; target: 12 GB"
    return [Row(f"{entities:,} entities of {width}, a step of 1,024 rows", None, 1000 * seconds, note=note)]


def encoding(bench: Bench) -> list[Row]:
    """Measure the encoding of 3,000 sentences, as many as STS-B's dev part has, in each precision."""
    encoder = Encoder.load(str(bench.work / "bert"), "cls_before_pooler", bench.device)
    sentences = synthetic.texts(bench.size, seed=2)[: 64 if bench.toy else 3_000]
    tokens = encoder.tokenize(sentences)
    rows = []
    exact = encoder.encode_tokens(tokens)
    for precision in ("fp32", "tf32", "bf16"):
        encoder.precision = precision
        encoder.encode_tokens(tokens)
        seconds = bench.seconds(lambda: encoder.encode_tokens(tokens))
        vectors = encoder.encode_tokens(tokens)
        cosines = (exact * vectors).sum(1) / np.linalg.norm(exact, axis=1) / np.linalg.norm(vectors, axis=1)
        note = f"{len(tokens):,} sentences; smallest cosine with fp32 {cosines.min():.6f}"
        rows.append(Row(f"encoding, {precision}", None, 1000 * seconds, len(tokens) / seconds, note=note))
    return rows


def negatives(bench: Bench) -> list[Row]:
    """Measure the candidates that a T5 fills into the holes of sentences, by beam search."""
    from wikianchor.pipelines.japanese.negatives.filler import Holes, Search, load_filler
    from wikianchor.schemas.sentinels import MODEL_FILE, SETTINGS_FILE
    from wikianchor.trainer.t5.model import new_filler

    sentences = synthetic.texts(bench.size, seed=3)
    filler = new_filler("tiny" if bench.toy else "base", 400 if bench.toy else 8_000, sentences[:20_000])
    place = bench.work / "t5"
    filler.backbone.save_pretrained(place)
    (place / MODEL_FILE).write_bytes(filler.vocabulary.model)
    (place / SETTINGS_FILE).write_text(json.dumps(filler.vocabulary.settings()))
    beams = 2 if bench.toy else 20
    ready = load_filler(str(place), Search(beams, device=str(bench.device)))
    items = [Holes(text, tuple(word_spans(text))) for text in sentences[: 8 if bench.toy else 512]]
    ready.fill(items[:2])
    filled: list[Any] = []
    seconds = bench.seconds(lambda: filled.extend(ready.fill(items)))
    candidates = sum(len(ranked) for ranked in filled if ranked is not None)
    name = f"t5 negatives, {beams} beams"
    return [Row(name, None, None, len(items) / seconds, note=f"{candidates / seconds:,.0f} candidates / s")]


def word_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of every fifth word, three at most."""
    start = 0
    for number, word in enumerate(text.split(" ")):
        if number in (1, 6, 11):
            yield start, start + len(word)
        start += len(word) + 1


if __name__ == "__main__":
    main()
