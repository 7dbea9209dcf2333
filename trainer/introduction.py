"""The first paragraph of a run's log: model, data, number of steps, device and output directory."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import torch
from torch import nn

from wikianchor.trainer.config import Config
from wikianchor.trainer.distributed import world

WIDTH = 110
# Longer lists are cut.
MOST_NAMES = 6


def introduction(config: Config, model: nn.Module, data: str, steps: int, device: torch.device) -> str:
    """Return the paragraph of a run of the training loop.

    Args:
        config: options of the run.
        model: what is trained; its weights are counted.
        data: rows and their source, such as "1,067 pairs in out/demo/pairs".
        steps: steps of the optimiser.
        device: this process's device.
    """
    preset = f", preset {config.preset}" if config.preset else ""
    epochs = f"{config.epochs} epoch" + ("s" if config.epochs > 1 else "")
    return paragraph(
        f"Training {config.objective}{preset}: {config.begun}, {weights(model)}, on {data}.",
        f"{steps:,} steps of {config.step_size:,} sentences ({epochs}), at most {config.max_length} tokens each, "
        f"learning rate {config.learning_rate:g}, seed {config.seed}, on {machine(device, config.precision)}.",
        f"The model goes to {config.output}/model; all options are in {config.output}/run.json.",
    )


def paragraph(*sentences: str) -> str:
    """Wrap sentences to lines without breaking words, so that paths can be copied."""
    return textwrap.fill(" ".join(sentences), WIDTH, break_long_words=False, break_on_hyphens=False)


def weights(model: nn.Module) -> str:
    """Return the number of weights of a model, in words.

    >>> weights(nn.Linear(1000, 3, bias=False))
    '3.0 thousand weights'
    """
    number = sum(parameter.numel() for parameter in model.parameters())
    return f"{number / 1e6:,.1f} million weights" if number >= 1e6 else f"{number / 1e3:.1f} thousand weights"


def names(values: Sequence[str]) -> str:
    """Return names separated by commas; a long list is cut.

    >>> names(["dewiki", "enwiki"])
    'dewiki, enwiki'
    >>> names([f"{letter}wiki" for letter in "abcdefghij"])
    'awiki, bwiki, cwiki, dwiki, ewiki, fwiki and 4 more'
    """
    more = f" and {len(values) - MOST_NAMES:,} more" if len(values) > MOST_NAMES else ""
    return ", ".join(values[:MOST_NAMES]) + more


def machine(device: torch.device, precision: str) -> str:
    """Return the device, the precision and the number of processes in words.

    >>> machine(torch.device("cpu"), "fp32")
    'cpu in fp32'
    """
    several = f"{world()} processes, each on " if world() > 1 else ""
    return f"{several}{device.type} in {precision}"
