"""Batches as tensors."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch
from torch import Tensor

BatchT = TypeVar("BatchT", bound="TensorBatch")


@dataclass(frozen=True)
class TensorBatch:
    """Base class of batches: dataclasses of tensors, of sequences of tensors, and of numbers."""

    def map(self: BatchT, function: Callable[[Tensor], Tensor]) -> BatchT:
        """Return the batch with each of its tensors replaced, in a fixed order."""
        return dataclasses.replace(self, **{name: _map(value, function) for name, value in vars(self).items()})

    def to(self: BatchT, device: torch.device) -> BatchT:
        """Return the batch on a device. Pinned memory is copied asynchronously."""
        return self.map(lambda tensor: tensor.to(device, non_blocking=True))


def _map(value: Any, function: Callable[[Tensor], Tensor]) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    return [_map(item, function) for item in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True)
class SentenceBatch(TensorBatch):
    """Base class of batches of sentences: of one or more softmaxes of equal size, or this process's share of each.

    Attributes:
        groups: token ids (rows, length) int32 and mask (rows, length) bool of each group of sentences of similar
            length; then, where the model is trained without padding, `places` and `ends` (`tokens.places_of_tokens`).
        restore: (sentences,) int64, the position of each sentence in the concatenated groups.
        softmaxes: their number. The rows of the first come first.
        cached: whether the groups are encoded one by one, since all of them would need too much memory.
        tokens: number of tokens without padding.
    """

    groups: Sequence[Sequence[Tensor]]
    restore: Tensor
    softmaxes: int
    cached: bool
    tokens: int

    def split(self, rows: Tensor) -> Tensor:
        """Return rows (n, ...) by softmax, (softmaxes, n / softmaxes, ...); as they are where there is one softmax."""
        return rows if self.softmaxes == 1 else rows.unflatten(0, (self.softmaxes, -1))


@dataclass(frozen=True)
class PairBatch(SentenceBatch):
    """n sentences with their entities.

    Attributes:
        entities: (n,) int64, entity ids.
        negatives: (n, k) int64, entity ids of the hard negatives, -1 where a row has fewer than k.
        sentences: (n,) int64, sentence ids; equal for rows of the same sentence.
    """

    entities: Tensor
    negatives: Tensor
    sentences: Tensor
