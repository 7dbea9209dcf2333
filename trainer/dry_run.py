"""What a run would take: rows, steps, tokens, time and memory, from a few steps on this machine.

The steps are those of training, on the first rows of the dataset and with the whole entity table. Nothing is written.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import nn

from wikianchor.io.errors import UsageError
from wikianchor.io.units import duration, size
from wikianchor.trainer.config import EaseConfig, PairsConfig
from wikianchor.trainer.data.order import Mix, parse_quota, wiki_counts
from wikianchor.trainer.data.shards import PairDataset, read_batches, read_texts
from wikianchor.trainer.loop.train import TrainingRun, train_step

# Steps that are done before those that are timed: the first are slower, as memory is allocated and kernels are chosen.
WARM_UP, TIMED = 2, 4
# Steps stop after so many seconds of them.
SECONDS = 30.0
# Rows from which the number of tokens is estimated.
SAMPLE = 4096


def sample_rows(pairs: PairDataset, config: PairsConfig, directory: str) -> tuple[PairDataset, int]:
    """Return the first rows of a dataset as a dataset, and the number of rows of an epoch of the whole one.

    Args:
        pairs: the dataset.
        config: options of the run.
        directory: where the rows are written, on this machine.

    Raises:
        UsageError: `--quota` names a wiki that is not there, or the rows of an epoch are fewer than one step.
    """
    wanted, batches = max(SAMPLE, (WARM_UP + TIMED) * config.step_size), []
    for batch in read_batches(pairs):
        batches.append(batch)
        if sum(map(len, batches)) >= wanted:
            break
    table = pa.Table.from_batches(batches).slice(0, wanted)
    path = str(Path(directory, "sample.parquet"))
    pq.write_table(table, path)
    rows = epoch_rows(pairs, config)
    if rows < config.step_size:
        raise UsageError(f"{rows} rows are less than one step: --step_size={config.step_size} or fewer rows")
    return replace(pairs, shards=(path,), rows=len(table), fingerprint="sample"), rows


def epoch_rows(pairs: PairDataset, config: PairsConfig) -> int:
    """Return the number of rows of an epoch, with the quota or the temperature of each wiki."""
    rows = pairs.rows - config.held_out
    if not config.quota:
        return rows
    sizes = Counter(wiki for batch in read_batches(pairs, ("wiki",)) for wiki in batch.column("wiki").to_pylist())
    names = sorted(sizes)
    counts = wiki_counts([sizes[name] for name in names], names, Mix(parse_quota(config.quota, names)))
    return rows if counts is None else sum(counts)


def measure(run: TrainingRun) -> float:
    """Do some steps, and return the seconds of one."""
    steps = min(WARM_UP + TIMED, run.total)
    batches = run.feed.batches(0, steps)
    run.model.train()
    start, first = time.perf_counter(), 0
    for step in range(steps):
        if step == min(WARM_UP, steps - 1):
            _wait(run.device)
            start, first = time.perf_counter(), step
        train_step(run, batches, step)
        if time.perf_counter() - start > SECONDS:
            steps = step + 1
            break
    _wait(run.device)
    return (time.perf_counter() - start) / max(1, steps - first)


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Return the most bytes that this process has had: of the GPU's memory, or of the machine's."""
    if device.type == "cuda":
        return int(torch.cuda.max_memory_allocated(device))
    # Not there on Windows.
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _bytes(module: nn.Module | None) -> int:
    return sum(weight.numel() * weight.element_size() for weight in module.parameters()) if module else 0


def describe(config: PairsConfig, pairs: PairDataset, rows: int, run: TrainingRun) -> str:
    """Do some steps, and return what the whole run would take.

    Args:
        config: options of the whole run.
        pairs: its dataset.
        rows: rows of an epoch.
        run: a run on the first rows of the dataset.
    """
    feed: Any = run.feed
    encoder: Any = run.model.encoder
    mean = len(feed.tokens.tokens) / len(feed.tokens)
    started = time.perf_counter()
    texts = list(islice(read_texts(pairs), SAMPLE))
    encoder.tokenize(texts, config.max_length)
    tokenize = (time.perf_counter() - started) / len(texts) * pairs.rows
    steps = config.total_steps(rows // config.step_size)
    seconds = measure(run)
    trained, views = steps * config.step_size, run.model.views
    table, whole = _bytes(run.model.table), sum(map(_bytes, (run.model.encoder, run.model.w)))
    # Gradients, and two moments of Adam; the gradient of a sparse table has the rows of a batch alone.
    table_bytes = table * (4 if isinstance(config, EaseConfig) and config.entity_optimizer == "adamw" else 3)
    scores = steps // config.eval_steps if config.eval_steps else 1
    of = f" of {pairs.rows:,}" if rows != pairs.rows else ""
    kind = "GPU memory" if run.device.type == "cuda" else "memory of the process"
    lines = {
        "rows": f"{rows:,}{of} in an epoch, {pairs.entities:,} entities, from {pairs.source}",
        "steps": f"{steps:,} of {config.step_size:,} sentences, {config.softmax_size:,} in a softmax; "
        f"epochs: {config.epochs}",
        "tokens": f"{mean:.1f} a row, about {mean * trained:,.0f} in all, each encoded {views} times",
        "time": f"about {duration(steps * seconds + tokenize)}: {1000 * seconds:,.1f} ms a step on {run.device.type} "
        f"in {config.precision}, and {duration(tokenize)} to tokenise once"
        + (f"; besides, {scores:,} dev scores" if config.has_dev_score else ""),
        "memory": f"{size(peak_memory(run.device))} {kind} at the peak of these steps; weights, gradients and "
        f"moments of the encoder {size(4 * whole)}" + (f", of the entity table {size(table_bytes)}" if table else ""),
        "written": f"nothing; training writes {config.output}",
    }
    return "\n".join(f"{name:<8}{text}" for name, text in lines.items())
