"""Gradients of a batch whose sentences do not fit in memory together: GradCache.

https://aclanthology.org/2021.repl4nlp-1.31/. The groups of the batch are encoded one after the other without a graph.
The loss of all vectors gives the gradient of each vector. Then each group is encoded again, with the same random
numbers, and the gradients of its vectors are propagated. That is the gradient of one pass over the batch, for a third
more arithmetic and in the memory of one group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from wikianchor.trainer.data.batch import SentenceBatch
from wikianchor.trainer.models.losses import Losses
from wikianchor.trainer.models.model import SentenceModel, in_order


def backward(model: Any, batch: Any, share: float = 1.0, before_last: Callable[[], object] = lambda: None) -> Losses:
    """Add the gradients of a batch's loss to those of the weights, and return its losses.

    Args:
        model: a `Trainable`.
        batch: one that the model takes.
        share: factor of the loss.
        before_last: called before the last backward pass through the encoder.
    """
    if isinstance(batch, SentenceBatch) and batch.cached:
        return _backward_by_group(model, batch, share, before_last)
    losses: Losses = model(batch)
    before_last()
    _scaled(losses["loss"], share).backward()
    return losses


def _backward_by_group(
    model: SentenceModel, batch: SentenceBatch, share: float, before_last: Callable[[], object]
) -> Losses:
    states, encoded = [], []
    with torch.no_grad():
        for group in batch.groups:
            states.append(random_state(group[0].device))
            encoded.append(model.encode_group(*group))
    vectors = in_order(encoded, batch).requires_grad_()
    sizes = [len(group[0]) for group in batch.groups]
    del encoded
    losses = model.losses(batch, vectors)
    _scaled(losses["loss"], share).backward()
    assert vectors.grad is not None
    gradients = torch.empty_like(vectors.grad).index_copy_(1, batch.restore, vectors.grad)
    after = random_state(vectors.device)
    last = batch.groups[-1]
    for group, state, gradient in zip(batch.groups, states, gradients.split(sizes, 1), strict=True):
        set_random_state(group[0].device, state)
        if group is last:
            before_last()
        model.encode_group(*group).backward(gradient)
    set_random_state(vectors.device, after)
    return losses


def _scaled(loss: Tensor, share: float) -> Tensor:
    return loss if share == 1 else loss * share


def random_state(device: torch.device) -> list[Tensor]:
    """Return the state of the generators that dropout draws from on a device."""
    cuda = [torch.cuda.get_rng_state(device)] if device.type == "cuda" else []
    return [torch.get_rng_state(), *cuda]


def set_random_state(device: torch.device, state: list[Tensor]) -> None:
    """Set the generators to what `random_state` returned."""
    torch.set_rng_state(state[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(state[1], device)
