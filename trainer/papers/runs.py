"""Train and score one model of a recipe, unless an earlier call did."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import replace
from statistics import fmean, stdev
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer import task
from wikianchor.trainer.card import versions
from wikianchor.trainer.config import Config
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.evaluate.command import LoadedTasks, evaluate
from wikianchor.trainer.evaluate.report import Result, model_facts
from wikianchor.trainer.evaluate.task import EvaluationOptions
from wikianchor.trainer.loop.checkpoint import FREE
from wikianchor.trainer.models.encoder import Encoder


def train_once(config: Config) -> str:
    """Return the directory of a config's model, trained now unless it is there with the same options.

    Raises:
        UsageError: a model is there, and was trained with others.
    """
    place = f"{config.output}/model"
    if (made := _config_of(place)) is None:
        return task.run(config)
    differs = [name for name in decisive() if made.get(name) != getattr(config, name)]
    if differs:
        raise UsageError(
            f"{place}: trained with other options ({', '.join(differs)}): give the same, or another --output"
        )
    return place


def _config_of(place: str) -> dict[str, Any] | None:
    """Return the options that a finished model was trained with, None where there is no such model."""
    path = os.path.join(place, "run.json")
    if not os.path.exists(path):
        return None
    try:
        with open(path, encoding="utf-8") as stream:
            return dict(json.load(stream)["config"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: not the record of a run ({error}): remove {place}") from error


def decisive() -> list[str]:
    """The options on which a trained model depends; precision is settled by the run itself."""
    free = FREE - {"data", "model", "dev_tasks", "eval_steps", "keep"} | {"precision"}
    return [option.name for option in dataclasses.fields(Config) if option.name not in free]


def score(
    path: str, pooler: str | None, tasks: LoadedTasks, options: EvaluationOptions, device: str, whiten: int = 0
) -> list[Result]:
    """Return the results of one model, its vectors whitened to `whiten` directions where that is above 0."""
    encoder = Encoder.load(path, pooler or None, choose_device(device))
    return evaluate(encoder, model_facts(path, encoder, None, versions()), tasks, options, 128, whiten)


def over_seeds(name: str, runs: Sequence[Sequence[Result]]) -> list[Result]:
    """runs: the results of one row, by seed; returns them as one, with the mean of each cell and, of several seeds, its
    standard deviation (of a sample)."""
    merged = []
    for results in zip(*runs, strict=True):
        first = results[0]
        cells = []
        for same in zip(*(result.scores.cells for result in results), strict=True):
            values = tuple(cell.value for cell in same)
            # A row that is not the model's own, such as that of the majority, is the same for all.
            several = len(values) > 1 and not same[0].row
            spread, runs = (stdev(values), values) if several else (same[0].spread, ())
            cells.append(replace(same[0], value=fmean(values), spread=spread, runs=runs))
        revisions = ", ".join(dict.fromkeys(result.model.revision for result in results))
        model = replace(first.model, name=name, revision=revisions)
        merged.append(replace(first, model=model, scores=replace(first.scores, cells=cells)))
    return merged
