"""Faster dropout and attention for training on a CPU, without padding.

torch draws one random number for each element, which takes up to a quarter of a small model's step; here one random
number of 64 bits is used for four elements. torch has no CPU kernel for attention with dropout, so attention is written
out here, with this dropout, and with a mask that broadcasts.

Up to a third of a batch of random sentences is padding, and most of a step is matrix products. So the tokens of all
sentences go through the layers as one row (`Packing`), and only attention sees sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

ATTENTION = "wikianchor-cpu"
# Models with plain attention, softmax(q k / sqrt(width) + mask) v. Other models use their implementation "eager".
PLAIN = ("bert", "roberta", "xlm-roberta")
LEVELS = 1 << 16
# In narrower models packing costs more than the padding.
PACKED_WIDTH = 256


def drop(x: Tensor, p: float) -> Tensor:
    """Return x with a share p of its elements set to zero and the others divided by 1 - p.

    On a CPU p is rounded to a multiple of 1 / 65,536, and the random numbers are from torch's default generator. On a
    GPU, and in compiled graphs, torch's dropout is used.
    """
    dropped = round(p * LEVELS)
    if x.device.type != "cpu" or not 0 < dropped < LEVELS or torch.compiler.is_compiling():
        return nn.functional.dropout(x, p)
    bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    # int16 is uniform from -LEVELS / 2 to LEVELS / 2 - 1.
    kept = bits.view(torch.int16)[: x.numel()].view(x.shape).ge_(dropped - LEVELS // 2)
    return x * (kept * (LEVELS / (LEVELS - dropped))).to(x.dtype)


class Dropout(nn.Dropout):
    """torch's dropout, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of x, of any shape, in training mode."""
        return drop(x, self.p) if self.training else x


def replace_dropout(model: nn.Module) -> None:
    """Replace torch's dropout modules in a model by `Dropout`."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, Dropout(child.p).train(child.training))


def training_attention(model: PreTrainedModel) -> str:
    """Return the name of the attention implementation for training a model on a CPU."""
    plain = model.config.model_type in PLAIN and not model.config.is_decoder
    return ATTENTION if plain else "eager"


class Packing:
    """The places of the tokens of sentences in a batch that is padded on the right.

    Args:
        mask: (n, length), of a batch on a CPU.

    Attributes:
        index: (tokens,) int64, places in the flattened batch.
        positions: (1, tokens) int64, the number of each token in its sentence.
        shape: n and length.
        mask: (n, 1, 1, length) float32, added to attention scores.
    """

    def __init__(self, mask: Tensor) -> None:
        self.shape = tuple(mask.shape)
        self.index = mask.flatten().nonzero()[:, 0]
        self.positions = (self.index % mask.shape[1])[None]
        self.mask = (~mask.bool()[:, None, None, :]).float() * torch.finfo(torch.float32).min

    def pack(self, padded: Tensor) -> Tensor:
        """Return the tokens of (n, length, ...) as (1, tokens, ...)."""
        return padded.flatten(0, 1).index_select(0, self.index)[None]

    def unpack(self, packed: Tensor) -> Tensor:
        """Return (1, tokens, ...) as (n, length, ...), with zeros for padding."""
        n, length = self.shape
        padded = packed.new_zeros(n * length, *packed.shape[2:])
        return padded.index_copy(0, self.index, packed[0]).view(n, length, *packed.shape[2:])


_packing: ContextVar[Packing | None] = ContextVar("packing", default=None)


@contextmanager
def packed(packing: Packing) -> Iterator[None]:
    """Within this context the attention of this module takes packed tokens."""
    token = _packing.set(packing)
    try:
        yield
    finally:
        _packing.reset(token)


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Return attention, softmax(q k / sqrt(width) + mask) v, by the interface of transformers.

    Args:
        module: the attention layer, for its mode.
        query, key, value: (batch, heads, length, width).
        attention_mask: added to the scores; broadcasts to (batch, heads, length, length).
        scaling: factor of the scores, 1 / sqrt(width) by default.
        dropout: probability.

    Returns:
        (batch, length, heads, width), and the attention weights (batch, heads, length, length).
    """
    packing = _packing.get()
    if packing is not None:
        query, key, value = (packing.unpack(x.transpose(1, 2)).transpose(1, 2) for x in (query, key, value))
        attention_mask = packing.mask.to(query.dtype)
    scores = (query * (query.shape[-1] ** -0.5 if scaling is None else scaling)) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores += attention_mask
    weights = scores.softmax(-1)
    if module.training and dropout:
        weights = drop(weights, dropout)
    mixed = (weights @ value).transpose(1, 2)
    return (mixed.contiguous() if packing is None else packing.pack(mixed)), weights


def mask(**arguments: Any) -> Tensor | None:
    """Return the mask that is added to attention scores: 0 for tokens, the lowest number for padding; None where tokens
    are packed.

    The arguments are those of mask functions in transformers.
    """
    if _packing.get() is not None:
        return None
    tokens, dtype = arguments["attention_mask"], arguments["dtype"]
    if tokens is None or arguments["mask_function"] is not bidirectional_mask_function:
        return eager_mask(**arguments)
    return (~tokens[:, None, None, :]).to(dtype) * torch.finfo(dtype).min


AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, mask)
