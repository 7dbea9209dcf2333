"""The dev score of encoders: STS on the sets under `--dev`, or the loss of held-out rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from wikianchor.io.errors import UsageError
from wikianchor.io.options import shown
from wikianchor.trainer.config import EncoderConfig
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.distributed import mean_scalar

if TYPE_CHECKING:
    from wikianchor.trainer.evaluate.dev import DevSet


@dataclass
class DevScore:
    """A score that chooses the best weights; higher is better.

    The STS sets are read when it is made, so that errors in them are reported before training starts.
    """

    config: EncoderConfig
    feed: Feed[Any]
    sets: Mapping[str, DevSet] = field(init=False)

    def __post_init__(self) -> None:
        self.sets = read_sets(self.config) if self.config.dev else {}

    @property
    def active(self) -> bool:
        """Whether there is a score at all."""
        return self.config.has_dev_score

    @property
    def name(self) -> str:
        """What the score is, for records."""
        if self.config.dev:
            return f"mean Spearman of the dev parts of {shown(self.config.dev_tasks)}"
        return f"loss of {len(self.feed.excluded)} held-out rows, negative"

    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the score, and the values that it is computed from."""
        # The compiled graphs are for the lengths and the gradients of training.
        with torch.compiler.set_stance("force_eager"):
            if self.config.dev:
                scores = {task: dev.score(model.encoder) for task, dev in self.sets.items()}
                return sum(scores.values()) / len(scores), scores
            return held_out_score(model, self.feed)


def read_sets(config: EncoderConfig) -> dict[str, DevSet]:
    """Return the dev parts of `--dev_tasks` by the names of their sets.

    Raises:
        UsageError: a set has no dev part, or the extra `eval` is not installed.
        InputError: a set is missing or damaged.
    """
    try:
        from wikianchor.trainer.evaluate.dev import load_dev
    except ImportError as error:
        raise UsageError(f"--dev needs the extra eval ({error}): pip install 'wikianchor[eval]'") from error
    return {task: load_dev(config.dev, task) for task in config.dev_tasks}


@torch.no_grad()
def held_out_score(model: Any, feed: Feed[Any]) -> tuple[float, Mapping[str, float]]:
    """Return the negative mean loss of the held-out rows, and the mean of each loss.

    The model is in training mode, because SimCSE's loss needs dropout; its random numbers are the same in every call.
    """
    model.train()
    torch.manual_seed(feed.config.seed)
    losses = [model(batch) for batch in feed.held_out()]
    means = {name: float(mean_scalar(sum(loss[name] for loss in losses) / len(losses))) for name in losses[0]}
    return -means["loss"], means
