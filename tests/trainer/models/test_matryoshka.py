"""Matryoshka: the loss is the mean of those of cut vectors, and of whole vectors alone it is the usual one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

from wikianchor.io.errors import UsageError
from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import TrainingRun, seed_dropout
from wikianchor.trainer.models.encoder import Encoder


def ready(options: dict[str, Any], objective: str, matryoshka: str) -> TrainingRun:
    config = make(objective, {**options, "matryoshka": matryoshka, "entity_to_sentence": objective == "ease"}, {})
    config = dataclasses.replace(config, precision="fp32")
    return task.prepare(config, open_pairs(config.data), torch.device("cpu"), Log(config.output, False))


def first_losses(run: TrainingRun) -> tuple[dict[str, float], torch.Tensor]:
    """Return the losses of the first step, and the gradient of a weight of the encoder."""
    run.model.train()
    seed_dropout(1, run.device)
    losses = run.model(next(run.feed.batches(0, 1)))
    losses["loss"].backward()
    gradient = next(weight.grad for weight in run.model.encoder.parameters() if weight.grad is not None)
    return {name: value.item() for name, value in losses.items()}, gradient


@pytest.mark.parametrize("objective", ["ease", "simcse"])
def test_the_whole_width_alone_changes_nothing(options: dict[str, Any], objective: str) -> None:
    usual, gradient = first_losses(ready(options, objective, ""))
    whole, same = first_losses(ready(options, objective, "32"))
    assert usual == whole
    assert torch.equal(gradient, same)


@pytest.mark.parametrize("objective", ["ease", "simcse"])
def test_the_loss_is_the_mean_over_widths(options: dict[str, Any], objective: str) -> None:
    losses, _ = first_losses(ready(options, objective, "16,8"))
    by_width = []
    for width in (8, 16, 32):
        run = ready(options, objective, "")
        encode = run.model.encode

        def cut(batch: Any, encode: Any = encode, width: int = width) -> torch.Tensor:
            return encode(batch)[..., :width]  # type: ignore[no-any-return]

        run.model.encode = cut  # type: ignore[assignment]
        by_width.append(first_losses(run)[0])
    assert len({each["loss"] for each in by_width}) == 3
    for name, value in losses.items():
        assert value == pytest.approx(sum(each[name] for each in by_width) / 3, rel=1e-6)


@pytest.mark.parametrize(
    ("widths", "said"), [("8,64", "64 is no width from 1 to 32"), ("0", "0 is no width"), ("8;16", "must be numbers")]
)
def test_widths_that_a_vector_does_not_have(options: dict[str, Any], widths: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        ready(options, "simcse", widths)


def test_the_card_names_the_widths(options: dict[str, Any]) -> None:
    folder = task.run(make("ease", {**options, "matryoshka": "8,16", "max_steps": 2}, {}))
    assert "| widths | 8,16: the first so many numbers" in Path(folder, "README.md").read_text()
    assert Encoder.load(folder).dim == 32
