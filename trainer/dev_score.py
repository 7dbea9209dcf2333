"""The dev score of encoders: STS on the sets under `--dev`, or the loss of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from wikianchor.io.errors import UsageError
from wikianchor.io.options import shown
from wikianchor.trainer.config import EncoderConfig
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.distributed import mean_scalar
from wikianchor.trainer.loop.train import DevScore


def make_dev_score(config: EncoderConfig, feed: Feed[Any]) -> DevScore | None:
    """Return the dev score of a run; None where the options ask for none.

    The STS sets are read here, so that errors in them are reported before training starts.

    Raises:
        UsageError: a set has no dev part, or the extra `eval` is not installed.
        InputError: a set is missing or damaged.
    """
    if not config.dev:
        name = f"loss of {len(feed.excluded)} held-out rows, negative"
        return DevScore(name, lambda model: held_out_score(model, feed)) if config.held_out else None
    try:
        from wikianchor.trainer.evaluate.dev import load_dev
    except ImportError as error:
        raise UsageError(f"--dev needs the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    sets = {task: load_dev(config.dev, task) for task in config.dev_tasks}

    def score(model: Any) -> tuple[float, Mapping[str, float]]:
        # The compiled graphs are for the lengths and the gradients of training.
        with torch.compiler.set_stance("force_eager"):
            scores = {task: dev.score(model.encoder) for task, dev in sets.items()}
        return sum(scores.values()) / len(scores), scores

    return DevScore(f"mean Spearman of the dev parts of {shown(config.dev_tasks)}", score)


@torch.no_grad()
def held_out_score(model: Any, feed: Feed[Any]) -> tuple[float, Mapping[str, float]]:
    """Return the negative mean loss of the held-out rows, and the mean of each loss.

    The model is in training mode, because SimCSE's loss needs dropout; its random numbers are the same in every call.
    """
    model.train()
    torch.manual_seed(feed.config.seed)
    with torch.compiler.set_stance("force_eager"):
        losses = [model(batch) for batch in feed.held_out()]
    means = {name: float(mean_scalar(sum(loss[name] for loss in losses) / len(losses))) for name in losses[0]}
    return -means["loss"], means
