"""The runner of all recipes: train each row of a table for each seed, unless an earlier call did, and score it."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev

from wikianchor.io.errors import UsageError
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import read_bytes, reading
from wikianchor.trainer import task
from wikianchor.trainer.card import versions
from wikianchor.trainer.config import Config
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.command import LoadedTasks, evaluate
from wikianchor.trainer.evaluate.report import Result, model_facts, write_results
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.loop.checkpoint import FREE
from wikianchor.trainer.models.encoder import Encoder

BATCH_SIZE = 128


@dataclass(frozen=True)
class ScoredRow:
    """A row of a table.

    Attributes:
        name: title of the row.
        model: directory or Hub name of the model, by seed; trains it if needed.
        trained: whether the model depends on the seed; if not, it is scored once.
        pooler: of the model, None for the model's own.
        whiten: directions kept by whitening, 0 for vectors as they are.
        whiten_texts: returns the training sentences that the whitening is fitted on.
    """

    name: str
    model: Callable[[int], str]
    trained: bool
    pooler: str | None = None
    whiten: int = 0
    whiten_texts: Callable[[], Sequence[str]] = tuple


def score_rows(
    rows: Sequence[ScoredRow],
    seeds: Sequence[int],
    tasks: LoadedTasks,
    options: EvaluationOptions,
    device: str,
    output: str,
) -> list[Result]:
    """Train and score all rows, and write the results of each model to OUTPUT/results.

    Returns:
        one result for each row and task, the mean over the seeds.
    """
    merged: list[Result] = []
    for row in rows:
        runs = []
        for seed in seeds if row.trained else seeds[:1]:
            print(f"-- {row.name}" + (f", seed {seed}" if row.trained else ""), file=sys.stderr, flush=True)
            path = row.model(seed)
            encoder = Encoder.load(path, row.pooler or None, choose_device(device))
            facts = model_facts(path, encoder, None, versions())
            texts = row.whiten_texts() if row.whiten else ()
            runs.append(evaluate(encoder, facts, tasks, options, BATCH_SIZE, row.whiten, texts))
            suffix = "-whitened" if row.whiten else ""
            written = [
                replace(result, model=replace(result.model, name=result.model.name + suffix)) for result in runs[-1]
            ]
            write_results(written, output)
        merged += over_seeds(row.name, runs)
    return merged


def train_once(config: Config) -> str:
    """Return the directory of a config's model; train it if it does not exist.

    Raises:
        UsageError: the model exists and was trained with other options.
    """
    directory = f"{config.output}/model"
    record = os.path.join(directory, "run.json")
    if not os.path.exists(record):
        return task.run(config)
    with reading(record), malformed(f"{record}: not the record of a run, remove {directory}"):
        before = dict(json.loads(read_bytes(record))["config"])
    changed = [name for name in decisive() if before.get(name) != getattr(config, name)]
    if changed:
        raise UsageError(
            f"{directory}: trained with other options ({', '.join(changed)}): give the same, or another --output"
        )
    return directory


def decisive() -> list[str]:
    """Return the options that a trained model depends on. The run itself chooses the precision."""
    free = FREE - {"data", "model", "dev_tasks", "eval_steps", "keep"} | {"precision"}
    return [option.name for option in dataclasses.fields(Config) if option.name not in free]


def over_seeds(name: str, runs: Sequence[Sequence[Result]]) -> list[Result]:
    """Merge the results of several seeds: the mean of each cell, with the sample standard deviation.

    Args:
        name: of the merged model.
        runs: the results of each seed, with the same tasks in the same order.
    """
    merged = []
    for results in zip(*runs, strict=True):
        first = results[0]
        cells = []
        for same in zip(*(result.scores.cells for result in results), strict=True):
            values = tuple(cell.value for cell in same)
            # Rows that are no model, such as the majority label, do not depend on the seed.
            several = len(values) > 1 and not same[0].row
            spread, runs = (stdev(values), values) if several else (same[0].spread, ())
            cells.append(replace(same[0], value=fmean(values), spread=spread, runs=runs))
        revisions = ", ".join(dict.fromkeys(result.model.revision for result in results))
        model = replace(first.model, name=name, revision=revisions)
        merged.append(replace(first, model=model, scores=replace(first.scores, cells=cells)))
    return merged
