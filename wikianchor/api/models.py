"""Training and evaluation as functions: the same as `wikianchor train` and `wikianchor evaluate`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import nearest_or_all
from wikianchor.io.options import checked, read_options

if TYPE_CHECKING:
    from wikianchor.trainer.config import Config
    from wikianchor.trainer.evaluate.report import Result

Callback = Callable[[str, int, Mapping[str, float]], object]


def train(config: str | Config, *, callbacks: Iterable[Callback] = (), **options: Any) -> str:
    """Train a model and return its directory.

    Args:
        config: "ease", "simcse", "sdjc" or "t5"; or all options, as `train_config` returns them.
        callbacks: called as `callback(event, step, values)` for each line of log.jsonl: the event is "train" or "dev",
            the values are numbers by name, such as "loss". An exception that a callback raises ends the training.
        options: as of `wikianchor train OBJECTIVE --help`, by name: data, model and output at least. `data` can be rows
            too: an iterable of dicts with the keys text, entity and negatives, such as a dataset of `datasets`.

    Raises:
        UsageError: the options do not go together.
        InputError: an input cannot be read.
        TypeError: there is no such option.

    >>> import wikianchor
    >>> sizes = {"max_steps": 1, "softmax_size": 8, "max_length": 16, "eval_steps": 0}
    >>> wikianchor.train("ease", data="out/demo/pairs", new="tiny", output="models/one", device="cpu", **sizes)
    'models/one/model'
    """
    if isinstance(config, str):
        config = train_config(config, **options)
    elif not is_dataclass(config):
        raise TypeError(f"train({config!r}): takes the name of an objective, or what train_config returns")
    elif options:
        raise UsageError(f"give {next(iter(options))} to train_config, or use dataclasses.replace")
    from wikianchor.trainer import task

    return task.run(config, tuple(callbacks))


def train_config(objective: str, config: str = "", **options: Any) -> Config:
    """Return the options of a training run, complete and checked.

    Args:
        objective: "ease", "simcse", "sdjc" or "t5".
        config: TOML file with more options, in a table [train.OBJECTIVE].
        options: as of `train`; they override those of the file.

    Raises:
        UsageError: the options do not go together.
        InputError: the file cannot be read.
        TypeError: there is no such option.

    >>> import wikianchor
    >>> config = wikianchor.train_config("ease", data="out/demo/pairs", new="tiny", output="models/ease", max_steps=3)
    >>> config.objective, config.max_steps, config.learning_rate
    ('ease', 3, 3e-05)
    """
    from wikianchor.trainer.config import CONFIGS, make
    from wikianchor.trainer.data.own_rows import save_rows
    from wikianchor.trainer.options import read_file

    if objective not in CONFIGS:
        raise UsageError(f"{objective!r} is no objective{nearest_or_all(str(objective), [*CONFIGS])}")
    given = checked(CONFIGS[objective], "train", options)
    rows = given.get("data")
    if rows is not None and not isinstance(rows, str):
        given["data"] = save_rows(rows, str(given.get("output", "")))
    return make(objective, {**(read_file(objective, config) if config else {}), **given})


def evaluate(
    model: str | os.PathLike[str], data: str | os.PathLike[str] = "", tasks: str | Sequence[str] = (), **options: Any
) -> list[Result]:
    """Score a model.

    Args:
        model: a directory, or a name on the Hub.
        data: directory with the evaluation sets.
        tasks: names of tasks or of families, such as "mono" or ["STS12", "STSBenchmark"].
        options: as of `wikianchor evaluate --help`, by name; `sts=["pairs.tsv"]` scores files of your own.

    Returns:
        A result for each task: `result.task` and the cells of tables `result.scores.cells`.

    Raises:
        UsageError: there is no such task.
        InputError: a set or the model cannot be read.
        TypeError: there is no such option.

    >>> import wikianchor
    >>> options = {"new": "tiny", "max_steps": 1, "max_length": 16, "eval_steps": 0, "device": "cpu"}
    >>> model = wikianchor.train("simcse", data="out/demo/pairs", output="models/two", **options)
    >>> [result.task for result in wikianchor.evaluate(model, sts=["demo/sts.tsv"], device="cpu")]
    ['STS.sts.tsv']
    """
    from wikianchor.trainer.evaluate.command import run
    from wikianchor.trainer.evaluate.options import EvaluateOptions

    given = {"model": [model], "data": data, "tasks": tasks or None, **options}
    config = read_options(EvaluateOptions, argparse.Namespace(**checked(EvaluateOptions, "evaluate", given)))
    results, _ = run(config, complete=True)
    return results
