"""Faster dropout, linear layers and attention for training on a CPU.

torch draws one random number for each element, which takes up to a quarter of a small model's step; here one random
number of 64 bits is used for four elements. torch has no CPU kernel for attention with dropout, so attention is written
out here, with this dropout, and with a mask that broadcasts.

torch computes linear layers in float32 with MKL, which has no AVX-512 kernels for AMD's processors, and copies the bias
to every row first. oneDNN, which is part of torch too, has the kernels, and adds the bias as it writes the product.
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
# Narrower models keep torch's linear layers, and padding: calls cost more there than arithmetic.
WIDE = 256


def drop(x: Tensor, p: float) -> Tensor:
    """Return x with a share p of its elements set to zero and the others divided by 1 - p.

    On a CPU p is rounded to a multiple of 1 / 65,536, and the random numbers are from torch's default generator. On a
    GPU, and in compiled graphs, torch's dropout is used.
    """
    if x.device.type != "cpu" or torch.compiler.is_compiling():
        return nn.functional.dropout(x, p)
    factors = dropout_factors(x, p)
    return x if factors is None else x * factors


def dropout_factors(x: Tensor, p: float) -> Tensor | None:
    """Return what dropout multiplies x by: 0 with probability p, else 1 / (1 - p); None if it keeps all elements."""
    dropped = round(p * LEVELS)
    if dropped == 0:
        return None
    if dropped == LEVELS:
        return torch.zeros_like(x)
    bits = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
    # int16 is uniform from -LEVELS / 2 to LEVELS / 2 - 1.
    kept = bits.view(torch.int16)[: x.numel()].view(x.shape).ge_(dropped - LEVELS // 2)
    return (kept * (LEVELS / (LEVELS - dropped))).to(x.dtype)


class Dropout(nn.Dropout):
    """torch's dropout, faster on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop elements of x, of any shape, in training mode."""
        return drop(x, self.p) if self.training else x


class Linear(nn.Linear):
    """torch's linear layer, faster on a CPU in float32."""

    def forward(self, x: Tensor) -> Tensor:
        """Return x, (..., in), times the weights, plus the bias, (..., out)."""
        if (
            x.device.type != "cpu"
            or not _by_onednn(x)
            or torch.is_autocast_enabled("cpu")
            or torch.compiler.is_compiling()
        ):
            return super().forward(x)
        output: Tensor = _Linear.apply(x.flatten(0, -2), self.weight, self.bias)
        return output.view(*x.shape[:-1], -1)


class _Linear(torch.autograd.Function):
    """A linear layer, and its gradient."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(x, weight)
        return product(x, weight, bias)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = context.saved_tensors
        of_x, of_weight, of_bias = context.needs_input_grad
        return (
            product(gradient, weight.t()) if of_x else None,
            weight_gradient(gradient, x) if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x (rows, in) @ weight (out, in).T + bias (out,), (rows, out): in float32 by oneDNN."""
    if not _by_onednn(x):
        return nn.functional.linear(x, weight, bias)
    result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return result


def weight_gradient(gradient: Tensor, x: Tensor) -> Tensor:
    """Return the gradient of a linear layer's weights, gradient (rows, out).T @ x (rows, in), (out, in)."""
    return product(gradient.t(), x.t()) if _by_onednn(x) else gradient.t() @ x


def _by_onednn(x: Tensor) -> bool:
    return x.dtype == torch.float32 and torch.backends.mkldnn.is_available() and torch.backends.mkldnn.enabled


def replace_layers(model: PreTrainedModel) -> None:
    """Replace torch's dropout in a model by `Dropout`, and the linear layers of a wide model by `Linear`."""
    wide = getattr(model.config, "hidden_size", 0) >= WIDE
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Dropout:
                setattr(parent, name, Dropout(child.p).train(child.training))
            elif type(child) is nn.Linear and wide:
                linear = Linear(child.in_features, child.out_features, child.bias is not None, device="meta")
                linear.weight, linear.bias = child.weight, child.bias
                setattr(parent, name, linear.train(child.training))


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
