"""Training on a GPU: one command, nine minutes at most, no network.

    python benchmarks/gpu.py > gpu.md            # on a card: BERT-base with random weights
    python benchmarks/gpu.py --toy               # the same at toy size, on a CPU too: seconds
    python benchmarks/gpu.py --device=cpu --model=DIR --data=DIR --batches 8 64    # steps of a real model on a CPU
    python benchmarks/gpu.py --device=cpu --parts loader table                     # these parts alone

It prints one Markdown table, ready for RESULTS.md, of these parts:

- `steps`: a training step of `simcse` and `ease`, with kernels launched one by one (`eager`), as CUDA graphs
  (`graphs`), and compiled too (`compiled`), against the trainer of sentence-transformers on the same rows, with the
  same model, batch, length and precision;
- `loader`, `table`: the loader alone, and the memory of a million entities;
- `epoch`, where it is named: an epoch of a tiny encoder, the dev score on STS-B included, so that the work beside a
  model's arithmetic is measured. The first epoch of ours tokenises the dataset, later ones read the tokens.

MFU counts tokens without padding, over the peak of the card's data sheet. Idle is the share of a step in which no
kernel runs: the kernels' time is from torch.profiler, the step's from steps without it. On a CPU times are user CPU of
one thread. `products` is the share of a step that is matrix products, by torch.profiler; `bound` is how many times as
fast as sentence-transformers a step of these products alone would be: in its own row torch's, with padding; in ours
faster ones; and a note names the operators that take most of the rest. A case that fails becomes a row with the reason;
what no time is left for is left out, and named.
"""

import argparse
import gc
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
from lib import slices
from lib.measure import report, rounds_of, table
from lib.training import LENGTH, TOY, Size, train_theirs, write_bert, write_pairs
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.evaluate.dev import load_dev
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.loop.throughput import flops_per_token, peak_flops
from wikianchor.trainer.loop.train import TrainingRun, train, train_step
from wikianchor.trainer.models.entities import EntityTable

# Seconds that a case may take at most: on an H200 training takes up to 13, compiling more than 40.
COMPILING, TRAINING = 80.0, 25.0
MODES: dict[str, dict[str, Any]] = {
    "eager": {"compile": False, "graphs": False},
    "graphs": {"compile": False, "graphs": True},
    "compiled": {"compile": True, "graphs": True},
}
PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "mkldnn::_linear_pointwise")
# The last one needs $WIKIANCHOR_DATA, and is measured only where it is named.
PARTS = ("steps", "loader", "table", "epoch")
THEIRS = ", sentence-transformers"
# Of the table; a row has the cells that it knows.
COLUMNS = ["", "batch", "ms", "sentences / s", "MFU, %", "GPU idle, %", "products, %", "times sentence-transformers"]
COLUMNS += ["bound", "note"]
Row = dict[str, Any]


class Case(NamedTuple):
    """What is measured.

    Attributes:
        part: the part that it belongs to.
        name: the first cell of its rows.
        batch: size of the batch, None for none.
        limit: seconds that it may take.
        measure: returns its rows.
    """

    part: str
    name: str
    batch: int | None
    limit: float
    measure: Callable[[], list[Row]]


@dataclass
class Bench:
    """What all cases share.

    Attributes:
        size: sizes of model and data.
        device: the device that is measured.
        precision: precision of the encoder.
        work: directory of generated files.
        steps: timed steps of a case.
        model: directory of the encoder.
        data: directory of the `pairs` dataset.
    """

    size: Size
    device: torch.device
    precision: str
    work: Path
    steps: int
    model: str
    data: str

    @property
    def toy(self) -> bool:
        """Whether the sizes are those of tests."""
        return self.size is TOY

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

    def peak(self) -> str:
        """Return the most memory of the card that a case has held, in words; "" on a CPU."""
        return f"{torch.cuda.max_memory_allocated() / 1e9:.1f} GB" if self.device.type == "cuda" else ""

    def prepared(self, objective: str, **flags: Any) -> TrainingRun:
        """Return a run that is ready."""
        options: dict[str, Any] = {"data": self.data, "model": self.model, "device": str(self.device), "seed": 1}
        options |= {"output": str(self.work / "out"), "cache": str(self.work / "cache"), "max_length": LENGTH}
        config = replace(make(objective, {**options, **flags}, {}), precision=self.precision)
        run = task.prepare(config, open_pairs(config.data), self.device, Log("", active=False))
        run.model.train()
        return run


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print the table."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--toy", action="store_true", help="at the size of tests")
    flags.add_argument("--model", help="measure the steps of this encoder alone, on --data")
    flags.add_argument("--data", help="a `pairs` dataset (made here)")
    flags.add_argument("--parts", nargs="+", choices=PARTS, help="(all; `steps` with --model)")
    flags.add_argument("--batches", type=int, nargs="+", help="sizes of a batch (64 128 512)")
    flags.add_argument("--precision", choices=("bf16", "fp32"), help="of the encoder (bf16 on cuda, fp32 on a CPU)")
    flags.add_argument("--steps", type=int, default=40, help="timed steps of a case (40)")
    flags.add_argument("--minutes", type=float, default=9, help="time for everything (9)")
    flags.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="cuda or cpu")
    arguments = flags.parse_args(argv)
    start, device = time.monotonic(), torch.device(arguments.device)
    if device.type == "cpu":
        # On a busy machine threads would wait for each other.
        torch.set_num_threads(1)
    size = TOY if arguments.toy else Size()
    precision = arguments.precision or ("bf16" if device.type == "cuda" else "fp32")
    parts = arguments.parts or (("steps",) if arguments.model else PARTS[:-1])
    rows: list[Row] = []
    left_out: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        model = arguments.model or write_bert(work / "bert", size)
        data = arguments.data or write_pairs(work / "pairs", size)
        bench = Bench(size, device, precision, work, 2 if arguments.toy else arguments.steps, model=model, data=data)
        batches = [8] if arguments.toy else arguments.batches or [64, 128, 512]
        for case in (case for case in cases_of(bench, batches) if case.part in parts):
            if not arguments.toy and time.monotonic() + case.limit > start + 60 * arguments.minutes:
                left_out.append(f"{case.name} {case.batch or ''}".strip())
                continue
            rows += measure(case, bench)
            print(f"{time.monotonic() - start:.0f} s: {rows[-1]}", file=sys.stderr, flush=True)
    add_ratios(rows)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    shape = Path(arguments.model).name if arguments.model else f"BERT of {size.layers} layers of {size.width}"
    text = table(COLUMNS, [[row.get(column, "") for column in COLUMNS] for row in rows])
    notes = f"torch {torch.__version__}, {time.monotonic() - start:.0f} s."
    notes += f" No time was left for: {', '.join(left_out)}." if left_out else ""
    report(f"trainer: on {name}, {shape}, {LENGTH} tokens, {precision}", f"{text}\n\n{notes}")


def measure(case: Case, bench: Bench) -> list[Row]:
    """Return the rows of a case; a failure is a row too."""
    try:
        rows = case.measure()
    except Exception as error:
        reason = " ".join(str(error).split())[:160].replace("|", "/")
        rows = [{"": case.name, "note": f"failed: {type(error).__name__}: {reason}"}]
    gc.collect()
    torch._dynamo.reset()
    if bench.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return [{"": case.name, "batch": "" if case.batch is None else case.batch, **row} for row in rows]


def cases_of(bench: Bench, batches: Sequence[int]) -> Iterator[Case]:
    """Yield the cases, those that take longest last."""
    modes = ("eager",) if bench.device.type == "cpu" else ("eager", "graphs")
    steps = [(objective, batch) for batch in batches for objective in ("simcse", "ease")]
    for objective, batch in steps:
        yield Case("steps", f"{objective}{THEIRS}", batch, TRAINING, partial(their_steps, bench, objective, batch))
        for mode in modes:
            ours = partial(our_steps, bench, objective, mode, batch)
            yield Case("steps", f"{objective}, {mode}", batch, TRAINING, ours)
    yield Case("loader", "loader alone", batches[-1], 10, partial(loader, bench, batches[-1]))
    yield Case("table", "entity table", None, 20, partial(entity_table, bench))
    for batch in batches:
        yield Case("epoch", "epoch", batch, 0, partial(epoch, bench, batch))
    for objective, batch in steps if "graphs" in modes else ():
        ours = partial(our_steps, bench, objective, "compiled", batch)
        yield Case("steps", f"{objective}, compiled", batch, COMPILING, ours)


def step_row(seconds: float, batch: int, **more: Any) -> Row:
    """Return the row of a step."""
    return {"ms": 1000 * seconds, "sentences / s": round(batch / seconds), **more}


def our_steps(bench: Bench, objective: str, mode: str, batch: int) -> list[Row]:
    """Measure our training steps."""
    # sentence-transformers takes the model as it is: a real one pools as it says, the one made here has no pooler.
    run = bench.prepared(objective, softmax_size=batch, **MODES[mode])
    # Every shape comes a few times before it is timed: kernels are compiled, and graphs captured.
    on_cpu = bench.device.type == "cpu"
    warm_up, profiled = (1, 1) if bench.toy else (2, 2) if on_cpu else (64, 5)
    numbers = range(warm_up + bench.steps + profiled)
    batches = run.feed.batches(0, len(numbers))

    def steps(which: Sequence[int]) -> int:
        return sum(train_step(run, batches, number)[1] for number in which)

    steps(numbers[:warm_up])
    tokens: list[int] = []
    seconds = bench.seconds(lambda: tokens.append(steps(numbers[warm_up:-profiled]))) / bench.steps
    busy, shares = profiled_seconds(bench, lambda: steps(numbers[-profiled:]))
    if on_cpu:
        others = sorted((item for item in shares.items() if item[0] not in PRODUCTS), key=lambda item: -item[1])[:8]
        note = ", ".join(f"{name.rpartition(':')[2]} {share:.1%}" for name, share in others)
        return [step_row(seconds, batch, note=note, **{"products, %": 100 * product_share(shares)})]
    flops = tokens[0] / bench.steps * run.model.views
    flops *= flops_per_token(run.model.encoder, tokens[0] / (bench.steps * batch))
    peak = peak_flops(bench.device, bench.precision)
    cells = {"MFU, %": "" if peak is None else 100 * flops / seconds / peak}
    cells["GPU idle, %"] = 100 * max(0.0, 1 - busy / profiled / seconds)
    note = bench.peak()
    if run.graphs is not None:
        note += f", {len(run.graphs.captured)} graphs{'' if run.graphs.works else ', which do not work'}"
    return [step_row(seconds, batch, note=note, **cells)]


def profiled_seconds(bench: Bench, function: Callable[[], object]) -> tuple[float, dict[str, float]]:
    """Return the time in which at least one kernel runs, and on a CPU the share of each operator."""
    cuda = bench.device.type == "cuda"
    with profile(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as profiler:
        function()
        bench.now()
    if not cuda:
        return 0.0, shares_of(profiler)
    kernels = (event for event in profiler.events() or [] if event.device_type == DeviceType.CUDA)
    return union([(event.time_range.start, event.time_range.end) for event in kernels]) / 1e6, {}


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


def their_steps(bench: Bench, objective: str, batch: int) -> list[Row]:
    """Measure the steps of sentence-transformers' trainer on the same rows, from the fifth of all steps on; on a CPU
    also the share of a step that is matrix products, in a step of its own."""
    import transformers

    steps = 3 if bench.toy else bench.steps
    on_cpu = bench.device.type == "cpu"
    profiler = profile(activities=[ProfilerActivity.CPU])
    skipped = max(1, steps // 5)
    times: list[float] = []

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, arguments: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (skipped, steps):
                times.append(bench.now())
            if on_cpu and state.global_step >= steps:
                (profiler.start if state.global_step == steps else profiler.stop)()

    train_theirs(
        bench.data,
        bench.model,
        objective,
        [Clock()],
        output_dir=str(bench.work / "theirs"),
        max_steps=steps + on_cpu,
        use_cpu=on_cpu,
        per_device_train_batch_size=batch,
        bf16=bench.precision == "bf16",
        dataloader_drop_last=True,
    )
    products = {"products, %": 100 * product_share(shares_of(profiler))} if on_cpu else {}
    return [step_row((times[1] - times[0]) / (steps - skipped), batch, **products)]


def add_ratios(rows: list[Row]) -> None:
    """Fill in how many times as fast as sentence-transformers each row is, with the same objective and batch."""
    steps = [row for row in rows if "ms" in row and row["batch"] != ""]
    theirs = {(row[""].removesuffix(THEIRS), row["batch"]): row["ms"] for row in steps if row[""].endswith(THEIRS)}
    for row in steps:
        name = row[""].removesuffix(THEIRS)
        if base := theirs.get((name.partition(",")[0], row["batch"])):
            row["times sentence-transformers"] = base / row["ms"]
        if products := row.get("products, %"):
            row["bound"] = 100 * row.get("times sentence-transformers", 1.0) / products


def epoch(bench: Bench, batch: int) -> list[Row]:
    """Measure epochs of a tiny encoder, ours and theirs, with the dev score; the rows have the mean time of a step."""
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator

    size = TOY if bench.toy else Size(layers=1, width=16, heads=2, rows=6_400)
    work, dev, steps = bench.work / f"epoch-{batch}", str(slices.data() / "eval"), size.rows // batch
    tiny = replace(bench, work=work, model=write_bert(work / "bert", size), data=write_pairs(work / "pairs", size))
    flags = {"softmax_size": batch, "max_steps": steps, "pooler": "avg", "resume": False, "dev": dev}

    def ours(objective: str, cache: str) -> None:
        train(tiny.prepared(objective, **flags, cache=cache or tempfile.mkdtemp(dir=work)))

    def theirs(objective: str) -> None:
        encoder = train_theirs(
            tiny.data,
            tiny.model,
            objective,
            output_dir=str(work / "theirs"),
            num_train_epochs=1,
            use_cpu=bench.device.type == "cpu",
            per_device_train_batch_size=batch,
        )
        pairs = load_dev(dev, "STSBenchmark").pairs
        EmbeddingSimilarityEvaluator(pairs.first, pairs.second, list(pairs.gold), batch_size=128)(encoder)

    cases: dict[str, Callable[[], object]] = {}
    for objective in ("simcse", "ease"):
        cases[f"{objective} epoch, first"] = partial(ours, objective, "")
        cases[f"{objective} epoch, later"] = partial(ours, objective, str(work / "kept"))
        cases[f"{objective} epoch{THEIRS}"] = partial(theirs, objective)
    # Imports and kernels are loaded, and tokens written, before the first round.
    for case in cases.values():
        case()
    times = rounds_of(3, {name: partial(bench.seconds, case) for name, case in cases.items()})
    return [{"": name, **step_row(median(column) / steps, batch)} for name, column in times.items()]


def loader(bench: Bench, batch: int) -> list[Row]:
    """Measure batches alone, on the device."""
    run = bench.prepared("ease", softmax_size=batch, epochs=1 if bench.toy else 4, **MODES["eager"])
    seconds = bench.seconds(lambda: [None for _ in run.feed.batches(0, run.total)]) / run.total
    return [step_row(seconds, batch, note="rows / s")]


def entity_table(bench: Bench) -> list[Row]:
    """Measure the memory of a million entities, and a step that touches 1,024 rows."""
    entities, width = 1_000 if bench.toy else 1_000_000, bench.size.width
    entity_vectors = EntityTable(torch.empty(entities, width, device=bench.device).uniform_(-0.05, 0.05))
    optimizer = RowAdam([entity_vectors.weight], 1e-3)

    def take_steps(number: int) -> None:
        for _ in range(number):
            ids = torch.randint(entities, (512, 2), device=bench.device)
            entity_vectors(ids).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    take_steps(1)
    seconds = bench.seconds(partial(take_steps, 10)) / 10
    state = [value for part in optimizer.state.values() for value in part.values() if torch.is_tensor(value)]
    total = sum(value.nbytes for value in (entity_vectors.weight, *state)) / 1e9
    peak = bench.peak() or f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB"
    note = f"{total:.2f} GB with moments, {peak} at most; target: 12 GB"
    return [{"": f"{entities:,} entities of {width}, a step of 1,024 rows", "ms": 1000 * seconds, "note": note}]


if __name__ == "__main__":
    main()
