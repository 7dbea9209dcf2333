"""The dev score, by which the best weights are chosen: STS where its data is given, else the loss of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.distributed import mean_scalar
from wikianchor.trainer.models.model import Trainable
from wikianchor.trainer.sdjc.objective import TripletFeed

if TYPE_CHECKING:
    from wikianchor.trainer.evaluate.dev import Dev


@dataclass
class DevScore:
    """Higher is better, in both. The STS sets are read at once, so that what is wrong with them is known before hours
    of training."""

    config: Config
    feed: Feed | TripletFeed
    sets: Mapping[str, Dev] = field(init=False)

    def __post_init__(self) -> None:
        self.sets = read_sets(self.config) if self.config.dev else {}

    @property
    def active(self) -> bool:
        return bool(self.config.dev or self.config.held_out)

    @property
    def name(self) -> str:
        if self.config.dev:
            return f"mean Spearman of the dev parts of {self.config.dev_tasks}"
        return f"loss of {len(self.feed.excluded)} held-out rows, negative"

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the score and what it is made of."""
        if self.config.dev:
            return sts_score(model, self.sets)
        return held_out_score(model, self.feed)


def read_sets(config: Config) -> dict[str, Dev]:
    """Return the dev parts by the names of their sets.

    Raises:
        UsageError: a set has no dev part, or the extra `eval` is not installed.
        InputError: it is not there, or broken.
    """
    try:
        from wikianchor.trainer.evaluate.dev import load_dev
    except ImportError as error:
        raise UsageError(f"--dev needs the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    return {task: load_dev(config.dev, task) for task in config.dev_tasks.split(",")}


def not_compiled() -> AbstractContextManager[None]:
    """Leave the backbone as it is: its graphs are for the lengths and the gradients of training."""
    return torch.compiler.set_stance("force_eager")


def sts_score(model: Trainable, sets: Mapping[str, Dev]) -> tuple[float, Mapping[str, float]]:
    """Return the mean Spearman of STS sets' dev parts, in per cent, and that of each."""
    with not_compiled():
        encoder: Any = model.encoder
        scores = {task: dev.score(encoder) for task, dev in sets.items()}
    return sum(scores.values()) / len(scores), scores


@torch.no_grad()
def held_out_score(model: Trainable, feed: Feed | TripletFeed) -> tuple[float, Mapping[str, float]]:
    """Return the negative mean loss of the held-out rows. SimCSE's loss needs dropout; it draws the same each time."""
    model.train()
    torch.manual_seed(feed.config.seed)
    with not_compiled():
        losses = [model(batch) for batch in feed.held_out()]
    means = {name: float(mean_scalar(sum(loss[name] for loss in losses) / len(losses))) for name in losses[0]}
    return -means["loss"], means
