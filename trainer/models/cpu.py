"""Faster dropout and attention for training on a CPU.

torch draws one random number for each element, which takes up to a quarter of a small model's step; here one random
number of 64 bits is used for four elements. torch has no CPU kernel for attention with dropout, so attention is written
out here, with this dropout, and with a mask that broadcasts.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

ATTENTION = "wikianchor-cpu"
# Models with plain attention, softmax(q k / sqrt(width) + mask) v. Other models use their implementation "eager".
PLAIN = ("bert", "roberta", "xlm-roberta")
LEVELS = 1 << 16


def drop(x: Tensor, p: float) -> Tensor:
    """Return x with a share p of its elements set to zero and the others divided by 1 - p.

    On a CPU p is rounded to a multiple of 1 / 65,536, and the random numbers are from torch's default generator. On a
    GPU, and in compiled graphs, torch's dropout is used.
    """
    dropped = round(p * LEVELS)
    if x.device.type != "cpu" or torch.compiler.is_compiling() or dropped == LEVELS:
        return nn.functional.dropout(x, p)
    if dropped == 0:
        return x
    bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    # int16 is uniform from -LEVELS / 2 to LEVELS / 2 - 1.
    kept = bits.view(torch.int16)[: x.numel()].view(x.shape).ge_(dropped - LEVELS // 2)
    return x * (kept * (LEVELS / (LEVELS - dropped))).to(x.dtype)


class Dropout(nn.Dropout):
    """torch's dropout, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of x, of any shape, in training mode."""
        return drop(x, self.p) if self.training else x


def replace_dropout(model: PreTrainedModel) -> None:
    """Replace torch's dropout in a model by `Dropout`."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, Dropout(child.p).train(child.training))


def training_attention(model: PreTrainedModel) -> str:
    """Return the name of the attention implementation for training a model on a CPU."""
    plain = model.config.model_type in PLAIN and not model.config.is_decoder
    return ATTENTION if plain else "eager"


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
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    scores = (query * scaling) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores += attention_mask
    weights = scores.softmax(-1)
    if module.training and dropout:
        weights = drop(weights, dropout)
    return (weights @ value).transpose(1, 2).contiguous(), weights


def mask(**arguments: Any) -> Tensor | None:
    """Return the mask that is added to attention scores: 0 for tokens, the lowest number for padding.

    The arguments are those of mask functions in transformers.
    """
    tokens, dtype = arguments["attention_mask"], arguments["dtype"]
    if tokens is None or arguments["mask_function"] is not bidirectional_mask_function:
        return eager_mask(**arguments)
    return (~tokens[:, None, None, :]).to(dtype) * torch.finfo(dtype).min


AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, mask)
