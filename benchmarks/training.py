"""The trainer's speed and memory.

    WIKIANCHOR_DATA=data python benchmarks/training.py

- An epoch of `ease` and `simcse`, the dev score on STS-B included, against the trainer of sentence-transformers on the
  same rows, with the same model, batch, lengths and precision; its loss for EASE is written here, since it has none.
  The encoder is so small that what a trainer does beside the model's arithmetic is what is measured. The first epoch
  of ours tokenises the dataset, later ones find that done.
- Batches a second out of the tokenised arrays alone, on one core.
- What a table of a million entities of 768 dimensions and its optimiser's state take.

Needs sentence-transformers, datasets and accelerate beside the extras `train` and `eval`.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy as np
import pyarrow.parquet as pq
import real_pairs
import slices
import torch
from datasets import Dataset
from measure import parser, ratio, report, rounds_of, seconds, table
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers.losses import MultipleNegativesRankingLoss
from torch import Tensor, nn

from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.feed import PairFeed
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.data.tokens import Tokens
from wikianchor.trainer.evaluate.dev import load_dev
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.loop.train import train
from wikianchor.trainer.models.entities import EntityTable

ROWS, LENGTH = 6_400, 32
# EASE's released code computes its softmax over 8 sentences; the paper says 64.
BATCHES = (8, 64)
# Layers and width: in the first the overhead is nearly all there is.
ENCODERS = ((1, 16), (2, 32))
ENTITIES, DIM = 1_000_000, 768


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__)
    arguments = flags.parse_args()
    # One thread, for what several do while they wait for each other counts as CPU time too.
    torch.set_num_threads(1)
    whole = real_pairs.pairs(arguments.work)
    data = arguments.work / f"trainer-{ROWS}"
    if not (data / "manifest.json").exists():
        real_pairs.part(whole, pq.read_table(whole / "data" / "pairs").slice(0, ROWS), data)
    for layers, width in ENCODERS:
        model = real_pairs.small_encoder(arguments.work, data, width, layers)
        for batch in BATCHES:
            with tempfile.TemporaryDirectory() as scratch:
                found = epochs(data, model, batch, Path(scratch), arguments.rounds)
            report(f"Training: {ROWS:,} rows, batch {batch}, BERT of {layers} layers of {width}, fp32", found)
    loader(arguments.rounds)
    entity_table()


# ------------------------------------------------------------------------------------------------- an epoch of training


def epochs(data: Path, model: Path, batch: int, scratch: Path, rounds: int) -> str:
    """Return the table of sentences per CPU second of an epoch, ours and theirs."""
    rows = _sample(data)
    cold = iter(range(1_000_000))

    def ours(objective: str, cache: str) -> float:
        flags = {
            "data": str(data),
            "model": str(model),
            "output": str(scratch / "ours"),
            "cache": str(scratch / cache),
            "device": "cpu",
            "precision": "fp32",
            "pooler": "avg",
            "softmax_size": batch,
            "max_length": LENGTH,
            "max_steps": ROWS // batch,
            "resume": False,
            "dev": str(slices.data() / "eval"),
        }
        return seconds(lambda: _train_ours(make(objective, flags, {})))

    def ours_cold(objective: str) -> float:
        return ours(objective, f"cold-{batch}-{next(cold)}")

    cases: dict[str, Callable[[], float]] = {}
    for objective in ("simcse", "ease"):
        cases[f"{objective}, first epoch"] = partial(ours_cold, objective)
        cases[f"{objective}, later epoch"] = partial(ours, objective, "warm")
        cases[f"{objective}, sentence-transformers"] = partial(
            seconds, partial(_train_theirs, objective, rows, str(model), batch, scratch)
        )
    ours("simcse", "warm")
    _train_theirs("simcse", rows, str(model), batch, scratch)
    found = rounds_of(rounds, cases)
    lines: list[list[Any]] = []
    for name, times in found.items():
        theirs = found[f"{name.split(',')[0]}, sentence-transformers"]
        lines.append([name, median(times), round(ROWS / median(times)), ratio(theirs, times)])
    head = ["an epoch", "user s", "sentences/CPU s", "times sentence-transformers"]
    return table(head, lines)


def _sample(data: Path) -> dict[str, list[Any]]:
    columns = pq.read_table(data / "data" / "pairs", columns=["text", "entity_id", "hard_negative_ids"])
    negatives = [ids[0] if ids else -1 for ids in columns.column("hard_negative_ids").to_pylist()]
    entities = columns.column("entity_id").to_pylist()
    return {
        "text": columns.column("text").to_pylist(),
        "label": [[entity, negative] for entity, negative in zip(entities, negatives, strict=True)],
    }


def _train_ours(config: Any) -> None:
    run = task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(config.output, "", False))
    train(run)


class TheirEase(nn.Module):
    """EASE's loss in the form that their trainer takes: SimCSE's, and entities with one hard negative each."""

    def __init__(self, model: SentenceTransformer, entities: int) -> None:
        super().__init__()
        self.simcse = MultipleNegativesRankingLoss(model)
        self.model = model
        width = model.get_embedding_dimension()
        self.table = nn.Embedding(entities, width)
        self.projection = nn.Linear(width, width)

    def forward(self, features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """features: two views of (n,) sentences; labels: (n, 2) int64, entity and hard negative, -1 for none."""
        one, two = (self.model(view)["sentence_embedding"] for view in features)
        simcse: Tensor = self.simcse.compute_loss_from_embeddings([one, two], None)
        vectors = nn.functional.normalize(torch.tanh(self.projection(self.table(labels.clamp(min=0)))), dim=-1)
        cosines = nn.functional.normalize(one, dim=-1) @ vectors.transpose(0, 1).flatten(0, 1).T / 10
        missing = labels.T.reshape(-1) < 0
        entity = nn.functional.cross_entropy(
            cosines.masked_fill(missing, -torch.inf), torch.arange(len(one), device=one.device)
        )
        return simcse + 0.01 * entity


def _train_theirs(objective: str, rows: dict[str, list[Any]], model: str, batch: int, scratch: Path) -> None:
    encoder = SentenceTransformer(model, device="cpu")
    encoder.max_seq_length = LENGTH
    columns = {"anchor": rows["text"], "positive": rows["text"]}
    loss: nn.Module = MultipleNegativesRankingLoss(encoder)
    if objective == "ease":
        columns["label"] = rows["label"]
        loss = TheirEase(encoder, 1 + max(map(max, rows["label"])))
    settings = SentenceTransformerTrainingArguments(
        output_dir=str(scratch / "theirs"),
        num_train_epochs=1,
        per_device_train_batch_size=batch,
        learning_rate=3e-5,
        use_cpu=True,
        save_strategy="no",
        logging_steps=50,
        report_to="none",
        disable_tqdm=True,
    )
    # Its log goes to stdout, where our tables do.
    with contextlib.redirect_stdout(sys.stderr):
        SentenceTransformerTrainer(encoder, settings, train_dataset=Dataset.from_dict(columns), loss=loss).train()
    dev = load_dev(str(slices.data() / "eval"), "STSBenchmark")
    EmbeddingSimilarityEvaluator(dev.pairs.first, dev.pairs.second, list(dev.pairs.gold), batch_size=128)(encoder)


# ------------------------------------------------------------------------------------------------------ batches alone


def loader(rounds: int) -> None:
    """Print rows per second of batches made from tokenised arrays, in one thread."""
    rows = 1_000_000
    generator = np.random.default_rng(0)
    counts = generator.integers(8, LENGTH + 1, rows)
    with tempfile.TemporaryDirectory() as scratch:
        # Mapped, as a run maps them.
        path = f"{scratch}/tokens.raw"
        generator.integers(5, 30_000, counts.sum()).astype(np.uint16).tofile(path)
        tokens = Tokens(
            np.memmap(path, np.uint16, "r"),
            np.concatenate(([0], np.cumsum(counts))),
            generator.integers(0, ENTITIES, rows).astype(np.int32),
            generator.integers(0, ENTITIES, (rows, 3)).astype(np.int32),
            np.arange(rows),
            np.zeros(rows, np.int16),
            ("enwiki",),
            0,
        )
        lines: list[list[Any]] = []
        for size in (64, 512):
            flags = {"data": "-", "model": "-", "output": "-", "softmax_size": size, "max_length": LENGTH}
            feed = PairFeed(tokens, make("ease", flags, {}), torch.device("cpu"))
            order = feed.order(0)

            def epoch(feed: PairFeed = feed, order: Any = order, size: int = size) -> None:
                for start in range(0, rows - size + 1, size):
                    feed.batch(order[start : start + size], 0)

            times = [seconds(epoch) for _ in range(rounds)]
            lines.append([size, round(rows / median(times))])
    report(
        f"Batches out of tokenised arrays, {rows:,} rows of 8 to {LENGTH} tokens", table(["batch", "rows/CPU s"], lines)
    )


# ------------------------------------------------------------------------------------------------------- memory


def entity_table() -> None:
    """Print what a table of a million entities takes, its weights, gradient and optimiser's state together."""
    table_ = EntityTable(torch.empty(ENTITIES, DIM).uniform_(-0.05, 0.05), sparse=True)
    optimizer = RowAdam([table_.weight], 1e-3)
    times = []
    for step in range(5):
        start = time.perf_counter()
        ids = torch.arange(512) * 1_009 + step
        table_(ids[:, None]).square().sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        times.append(1000 * (time.perf_counter() - start))
    state = sum(value.nbytes for part in optimizer.state.values() for value in part.values() if torch.is_tensor(value))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    lines = [["weights, GB", table_.weight.nbytes / 1e9], ["state of RowAdam, GB", state / 1e9]]
    lines += [["peak of the process, GB", peak], ["a step that touches 512 rows, ms", median(times)]]
    report(f"Entity table: {ENTITIES:,} of {DIM} dimensions, float32, sparse", table(["", "measured"], lines))


if __name__ == "__main__":
    main()
