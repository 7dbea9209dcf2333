"""Dropout and attention for training on a CPU.

There torch draws dropout's numbers one by one, which takes up to a quarter of a small model's step; here one number
of 64 bits decides on four elements. Attention with dropout has no kernel of its own on a CPU, so it is written out,
with that dropout and with a mask that is no larger than the tokens.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

ATTENTION = "wikianchor-cpu"
# Those whose attention is softmax(q k / sqrt(width) + mask) v and nothing more; others have an "eager" of their own.
PLAIN = ("bert", "roberta", "xlm-roberta")
LEVELS = 1 << 16


def drop(x: Tensor, p: float) -> Tensor:
    """Return x with a share p of its elements set to zero and the others scaled up.

    On a CPU p is taken to one in 65,536, and the numbers come out of torch's own generator. A graph that is compiled
    has a kernel of its own, and so has a GPU.
    """
    gone = round(p * LEVELS)
    if x.device.type != "cpu" or not 0 < gone < LEVELS or torch.compiler.is_compiling():
        return nn.functional.dropout(x, p)
    drawn = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    # 16 bits are a number from -LEVELS / 2 on.
    kept = drawn.view(torch.int16)[: x.numel()].view(x.shape).ge_(gone - LEVELS // 2)
    return x * (kept * (LEVELS / (LEVELS - gone))).to(x.dtype)


class Dropout(nn.Dropout):
    """torch's dropout, quicker on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """x: of any shape."""
        return drop(x, self.p) if self.training else x


def replace_dropout(model: nn.Module) -> None:
    """Put `Dropout` in the place of torch's in a model."""
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, Dropout(child.p).train(child.training))


def training_attention(model: PreTrainedModel) -> str:
    """Return the name of the attention to train a model with on a CPU."""
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
    """query, key, value: (batch, heads, length, width); attention_mask: 0 or very negative, of a shape that broadcasts
    to (batch, heads, length, length); returns (batch, length, heads, width) and the shares that were dropped out of."""
    scores = (query * (query.shape[-1] ** -0.5 if scaling is None else scaling)) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores += attention_mask
    shares = scores.softmax(-1)
    if module.training and dropout:
        shares = drop(shares, dropout)
    return (shares @ value).transpose(1, 2).contiguous(), shares


def mask(**given: Any) -> Tensor:
    """Return what is added to the scores of attention: 0 for a token, very negative for padding. The arguments are
    those that transformers calls such a function with."""
    tokens, dtype = given["attention_mask"], given["dtype"]
    if tokens is None or given["mask_function"] is not bidirectional_mask_function:
        return eager_mask(**given)
    return (~tokens[:, None, None, :]).to(dtype) * torch.finfo(dtype).min


AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, mask)
