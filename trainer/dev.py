"""The dev score, by which the best weights are chosen: STS where its data is given, else the loss of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from trainer.config import Config
from trainer.distributed import mean_scalar
from trainer.feed import Feed
from trainer.model import Model


@dataclass
class DevScore:
    """Higher is better, in both."""

    config: Config
    feed: Feed

    @property
    def active(self) -> bool:
        return bool(self.config.dev or self.config.held_out)

    @property
    def name(self) -> str:
        if self.config.dev:
            return f"mean Spearman of the dev parts of {self.config.dev_tasks}"
        return f"loss of {len(self.feed.excluded)} held-out rows, negative"

    def score(self, model: Model) -> tuple[float, Mapping[str, float]]:
        """Return the score and what it is made of."""
        if self.config.dev:
            return sts_score(model, self.config)
        return held_out_score(model, self.feed)


def sts_score(model: Model, config: Config) -> tuple[float, Mapping[str, float]]:
    """Return the mean Spearman of STS sets' dev parts, in per cent, and that of each."""
    from trainer.evaluate.sts import dev_score

    scores = {task: dev_score(model.encoder, config.dev, task) for task in config.dev_tasks.split(",")}
    return sum(scores.values()) / len(scores), scores


@torch.no_grad()
def held_out_score(model: Model, feed: Feed) -> tuple[float, Mapping[str, float]]:
    """Return the negative mean loss of the held-out rows. SimCSE's loss needs dropout; it draws the same each time."""
    model.train()
    torch.manual_seed(feed.config.seed)
    losses = [model(batch) for batch in feed.held_out()]
    means = {name: float(mean_scalar(sum(loss[name] for loss in losses) / len(losses))) for name in losses[0]}
    return -means["loss"], means
