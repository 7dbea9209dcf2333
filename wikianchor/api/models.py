"""Training and evaluation as functions: the same as `wikianchor train` and `wikianchor evaluate`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wikianchor.trainer.evaluate.report import Result


def train(objective: str, **options: Any) -> str:
    """Train a model and return its directory.

    Args:
        objective: "ease", "simcse", "sdjc" or "t5".
        options: as of `wikianchor train OBJECTIVE --help`, by name: data, model and output at least.

    Raises:
        UsageError: the options do not go together.
        InputError: an input cannot be read.

    Example:
        wikianchor.train("ease", data="out/pairs", model="bert-base-uncased", output="models/ease", max_steps=1000)
    """
    from wikianchor.trainer import task
    from wikianchor.trainer.config import make

    return task.run(make(objective, options))


def evaluate(model: str, data: str = "", tasks: str | Sequence[str] = (), **options: Any) -> list[Result]:
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
    """
    from wikianchor.trainer.evaluate.command import run
    from wikianchor.trainer.evaluate.options import EvaluateOptions

    names = tasks if isinstance(tasks, str) else ",".join(tasks)
    given = {"data": data, **({"tasks": names} if names else {}), **options}
    results, _ = run(EvaluateOptions(model=(model,), **given), complete=True)
    return results
