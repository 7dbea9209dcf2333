"""The sentences of one softmax as tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """The sentences of one softmax, or those of this process.

    groups: token ids (n, length) int and mask (n, length) bool of parts of the batch; several are sorted by length.
    restore: (n,) int64, the place of row i among the groups' rows.
    entities: (n,) int64; negatives: (n, k) int64, -1 for none; sentences: (n,) int64.
    tokens: real tokens in `groups`.
    """

    groups: Sequence[tuple[Tensor, Tensor]]
    restore: Tensor
    entities: Tensor
    negatives: Tensor
    sentences: Tensor
    tokens: int

    def to(self, device: torch.device) -> Batch:
        """Return the batch on a device; pinned memory is copied while the CPU goes on."""

        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        groups = [(moved(ids), moved(mask)) for ids, mask in self.groups]
        entities, negatives, sentences = moved(self.entities), moved(self.negatives), moved(self.sentences)
        return Batch(groups, moved(self.restore), entities, negatives, sentences, self.tokens)
