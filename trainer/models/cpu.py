"""Faster dropout, linear layers and attention for training on a CPU, without padding.

torch draws one random number for each element, which takes up to a quarter of a small model's step; here one random
number of 64 bits is used for four elements. torch has no CPU kernel for attention with dropout, so attention is written
out here, with this dropout, and with a mask that broadcasts.

torch computes linear layers in float32 with MKL, which has no AVX-512 kernels for AMD's processors, and copies the bias
to every row first. oneDNN, which is part of torch too, has the kernels, and adds the bias as it writes the product.

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
    return x * factors(x, dropped)


def factors(x: Tensor, dropped: int) -> Tensor:
    """Return what dropout multiplies x by: 0 for `dropped` of 65,536 elements on average, and 1 / (1 - p) for the
    others."""
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
            or x.dtype != torch.float32
            or not torch.backends.mkldnn.enabled
            or torch.is_autocast_enabled("cpu")
            or torch.compiler.is_compiling()
        ):
            return super().forward(x)
        output: Tensor = _Linear.apply(x.flatten(0, -2), self.weight, self.bias)
        return output.view(*x.shape[:-1], -1)


class _Linear(torch.autograd.Function):
    """A linear layer by oneDNN; the gradient of the weights by MKL, which is faster there."""

    @staticmethod
    def forward(context: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        context.save_for_backward(x, weight)
        return _product(x, weight, bias)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = context.saved_tensors
        of_x, of_weight, of_bias = context.needs_input_grad
        return (
            _product(gradient, weight.t(), None) if of_x else None,
            gradient.t() @ x if of_weight else None,
            gradient.sum(0) if of_bias else None,
        )


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x (rows, in) @ weight (out, in).T + bias (out,), (rows, out)."""
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def replace_layers(model: PreTrainedModel) -> None:
    """Replace torch's dropout in a model by `Dropout`, and the linear layers of a wide model by `Linear`."""
    wide = getattr(model.config, "hidden_size", 0) >= PACKED_WIDTH and torch.backends.mkldnn.is_available()
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


class Packing:
    """The places of the tokens of sentences in a batch that is padded on the right.

    Args:
        mask: (n, length), of a batch on a CPU.

    Attributes:
        index: (tokens,) int64, places in the flattened batch.
        positions: (1, tokens) int64, the number of each token in its sentence.
        shape: n and length.
        mask: (n, length) bool.
    """

    def __init__(self, mask: Tensor) -> None:
        self.shape = tuple(mask.shape)
        self.index = mask.flatten().nonzero()[:, 0]
        self.positions = (self.index % mask.shape[1])[None]
        self.mask = mask.bool()
        self._heads: Heads | None = None

    def heads(self, heads: int) -> Heads:
        """Return the places of the tokens in arrays of attention heads; all layers share them."""
        if self._heads is None:
            self._heads = Heads(self, heads)
        return self._heads

    def pack(self, padded: Tensor) -> Tensor:
        """Return the tokens of (n, length, ...) as (1, tokens, ...)."""
        return padded.flatten(0, 1).index_select(0, self.index)[None]

    def unpack(self, packed: Tensor) -> Tensor:
        """Return (1, tokens, ...) as (n, length, ...), with zeros for padding."""
        n, length = self.shape
        padded = packed.new_zeros(n * length, *packed.shape[2:])
        return padded.index_copy(0, self.index, packed[0]).view(n, length, *packed.shape[2:])


class Heads:
    """The places of packed tokens in arrays of one matrix for each sentence and head.

    Args:
        packing: of the tokens.
        heads: their number.

    Attributes:
        mask: (n * heads, 1, length) float32, added to attention scores.
    """

    def __init__(self, packing: Packing, heads: int) -> None:
        n, length = packing.shape
        self.shape, self.heads, self.tokens = (n * heads, length), heads, packing.mask
        head = torch.arange(heads)
        sentence, position = packing.index.div(length, rounding_mode="floor"), packing.index % length
        # Of each token and head, its row in the matrices.
        self.index = ((sentence[:, None] * heads + head) * length + position[:, None]).flatten()
        # Of each row its token and head; padding takes the first.
        self.source = torch.zeros(n * heads * length, dtype=torch.int64)
        self.source[self.index] = torch.arange(len(self.index))
        least = torch.finfo(torch.float32).min
        self.mask = (~packing.mask).float().mul_(least).repeat_interleave(heads, 0)[:, None]

    def split(self, packed: Tensor) -> Tensor:
        """Return (tokens, heads, width) as (n * heads, length, width), with any numbers for padding."""
        return packed.reshape(-1, packed.shape[-1]).index_select(0, self.source).view(*self.shape, -1)

    def split_gradient(self, packed: Tensor) -> Tensor:
        """Do the same with zeros for padding."""
        split = self.split(packed)
        split.unflatten(0, (-1, self.heads)).mul_(self.tokens[:, None, :, None])
        return split

    def join(self, split: Tensor) -> Tensor:
        """Return (n * heads, length, width) as (tokens, heads, width)."""
        return split.flatten(0, 1).index_select(0, self.index).view(-1, self.heads, split.shape[-1])


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
) -> tuple[Tensor, Tensor | None]:
    """Return attention, softmax(q k / sqrt(width) + mask) v, by the interface of transformers.

    Args:
        module: the attention layer, for its mode.
        query, key, value: (batch, heads, length, width).
        attention_mask: added to the scores; broadcasts to (batch, heads, length, length).
        scaling: factor of the scores, 1 / sqrt(width) by default.
        dropout: probability.

    Returns:
        (batch, length, heads, width), and the attention weights (batch, heads, length, length), None where tokens are
        packed.
    """
    packing, scaling = _packing.get(), query.shape[-1] ** -0.5 if scaling is None else scaling
    if packing is not None:
        p = dropout if module.training else 0.0
        one_row = (x[0].transpose(0, 1) for x in (query, key, value))
        mixed = _PackedAttention.apply(*one_row, packing.heads(query.shape[1]), scaling, p)
        return mixed[None], None
    scores = (query * scaling) @ key.transpose(2, 3)
    if attention_mask is not None:
        scores += attention_mask
    weights = scores.softmax(-1)
    if module.training and dropout:
        weights = drop(weights, dropout)
    return (weights @ value).transpose(1, 2).contiguous(), weights


class _PackedAttention(torch.autograd.Function):
    """Attention of packed tokens, with its gradient, because autograd would copy every array several times."""

    @staticmethod
    def forward(
        context: Any, query: Tensor, key: Tensor, value: Tensor, heads: Heads, scaling: float, p: float
    ) -> Tensor:
        q, k, v = heads.split(query), heads.split(key), heads.split(value)
        weights = torch.baddbmm(heads.mask.to(q.dtype), q, k.mT, alpha=scaling).softmax(-1)
        dropped = round(p * LEVELS)
        kept = factors(weights, dropped) if dropped else None
        used = weights if kept is None else weights * kept
        context.save_for_backward(q, k, v, weights, kept, used)
        context.heads, context.scaling = heads, scaling
        return heads.join(used @ v)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, weights, kept, used = context.saved_tensors
        heads: Heads = context.heads
        g = heads.split_gradient(gradient)
        of_used = g @ v.mT
        of_weights = of_used if kept is None else of_used.mul_(kept)
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype).mul_(context.scaling)
        joined = (heads.join(x) for x in (of_scores @ k, of_scores.mT @ q, used.mT @ g))
        return (*joined, None, None, None)


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
