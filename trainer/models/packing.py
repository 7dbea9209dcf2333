"""The layers of BERT and RoBERTa for training on a CPU: without padding, and each layer with a gradient of its own.

Up to a third of a batch of random sentences is padding, and most of a step is matrix products. So the tokens of all
sentences go through the layers as one row, and only attention sees sentences, in buckets of similar length.

autograd would save and copy more: here queries, keys and values are one product, and the gradient of a layer is
written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PretrainedConfig, PreTrainedModel

from wikianchor.trainer.distributed import world
from wikianchor.trainer.models.cpu import PLAIN, WIDE, dropout_factors, product, weight_gradient

# Attention pads the tokens of a sentence to a multiple of `STEP`, and to `SHORTEST` at least: softmax is slow for rows
# that are shorter than a vector of the processor.
STEP, SHORTEST = 8, 16

# Weights and biases of a layer.
WEIGHTS = 16


def can_pack(config: PretrainedConfig) -> bool:
    """Whether the layers of a model are those of this module, and wide enough to gain."""
    return (
        config.model_type in PLAIN
        and not config.is_decoder
        and config.hidden_act == "gelu"
        and config.hidden_size >= WIDE
    )


class Packing:
    """The places of the tokens of a batch that is padded on the right.

    The tokens of a sentence are neighbours; sentences are sorted by their bucket.

    Args:
        mask: (n, length), of a batch on a CPU; each sentence has a token at least.
        heads: of attention.

    Attributes:
        shape: n and length.
        index: (tokens,) int64, places in the flattened batch.
        positions: (1, tokens) int64, the number of each token in its sentence.
        first: (n,) int64, the place of the first token of each sentence in the packed batch, in the batch's order.
        buckets: sentences of similar length.
    """

    def __init__(self, mask: Tensor, heads: int) -> None:
        self.shape = tuple(mask.shape)
        lengths = mask.sum(1)
        padded = ((lengths + STEP - 1) // STEP * STEP).clamp_(SHORTEST)
        order = padded.argsort(stable=True)
        row, position = mask.index_select(0, order).nonzero(as_tuple=True)
        self.index = order[row] * mask.shape[1] + position
        self.positions = position[None]
        lengths = lengths[order]
        starts = lengths.cumsum(0) - lengths
        self.first = torch.empty_like(starts).index_copy_(0, order, starts)
        sizes, counts = (x.tolist() for x in padded.unique(return_counts=True))
        of_buckets = zip(sizes, lengths.split(counts), starts.split(counts), strict=True)
        self.buckets = [Bucket(size, heads, *of_sentences) for size, *of_sentences in of_buckets]

    def pack(self, padded: Tensor) -> Tensor:
        """Return the tokens of (n, length, ...) as (1, tokens, ...)."""
        return padded.flatten(0, 1).index_select(0, self.index)[None]

    def unpack(self, packed: Tensor) -> Tensor:
        """Return (tokens, width) as (n, length, width), with zeros for padding."""
        n, length = self.shape
        padded = packed.new_zeros(n * length, packed.shape[-1])
        return padded.index_copy(0, self.index, packed).view(n, length, -1)


class Bucket:
    """n sentences that attention pads to one length; their tokens are neighbours in the packed batch.

    Args:
        length: of the padded sentences.
        heads: of attention.
        lengths: (n,) of the sentences.
        starts: (n,) the places of their first tokens in the packed batch.

    Attributes:
        mask: (n * heads, 1, length) float32, added to attention scores.
        is_token: (n * heads, length, 1) bool.
    """

    def __init__(self, length: int, heads: int, lengths: Tensor, starts: Tensor) -> None:
        start = int(starts[0])
        self.tokens = slice(start, int(starts[-1] + lengths[-1]))
        self.shape = (len(lengths), length, heads)
        position = torch.arange(length)
        is_token = position < lengths[:, None]
        # Padding takes the first token of the bucket.
        self.source = torch.where(is_token, starts[:, None] - start + position, 0).flatten()
        self.place = is_token.flatten().nonzero()[:, 0]
        self.is_token = is_token.repeat_interleave(heads, 0)[:, :, None]
        self.mask = torch.where(self.is_token.mT, 0.0, torch.finfo(torch.float32).min)

    def split(self, packed: Tensor, parts: int) -> Tensor:
        """Return (tokens, parts * heads * width) as (parts, n * heads, length, width), with any numbers for padding."""
        n, length, heads = self.shape
        padded = packed[self.tokens].index_select(0, self.source)
        matrices = padded.view(n, length, parts, heads, -1).permute(2, 0, 3, 1, 4)
        return matrices.reshape(parts, n * heads, length, -1)

    def join(self, matrices: Tensor, packed: Tensor) -> None:
        """Write (parts, n * heads, length, width) to the bucket's tokens of (tokens, parts * heads * width)."""
        n, length, heads = self.shape
        padded = matrices.view(-1, n, heads, length, matrices.shape[-1]).permute(1, 3, 0, 2, 4)
        torch.index_select(padded.reshape(n * length, -1), 0, self.place, out=packed[self.tokens])


@dataclass(frozen=True)
class Settings:
    """What a layer needs besides tensors.

    Attributes:
        packing: of the tokens.
        scaling: factor of the attention scores.
        dropout: its probabilities for attention weights, the output of attention, and the output of the layer.
        epsilon: of layer norms.
        first_only: compute the layer's output for the first token of each sentence alone.
        dtype: of matrix products, except those of attention.
    """

    packing: Packing
    scaling: float
    dropout: tuple[float, float, float]
    epsilon: float
    first_only: bool
    dtype: torch.dtype


def encode(backbone: PreTrainedModel, ids: Tensor, mask: Tensor, first_only: bool) -> tuple[Packing, list[Tensor]]:
    """Return the hidden states of the embeddings and of each layer, (tokens, width) each, packed.

    Args:
        backbone: a model that `can_pack`, in training mode.
        ids, mask: (batch, length).
        first_only: of the last layer compute the first token of each sentence alone, (batch, width).
    """
    config = backbone.config
    packing = Packing(mask, config.num_attention_heads)
    positions = packing.positions
    if config.model_type != "bert":
        # RoBERTa and XLM-R number positions from here on.
        positions = positions + config.pad_token_id + 1
    embeddings = backbone.embeddings
    # Of all words a batch has few. Between processes gradients are dense: sparse ones need equal numbers of rows.
    words = nn.functional.embedding(packing.pack(ids), embeddings.word_embeddings.weight, sparse=world() == 1)
    hidden = embeddings(inputs_embeds=words, position_ids=positions, token_type_ids=torch.zeros_like(positions))[0]
    layers = [hidden]
    autocast = torch.is_autocast_enabled("cpu")
    dtype = torch.get_autocast_dtype("cpu") if autocast else hidden.dtype
    for number, layer in enumerate(backbone.encoder.layer, 1):
        attention, output = layer.attention, layer.output
        settings = Settings(
            packing,
            attention.self.scaling,
            (attention.self.dropout.p, attention.output.dropout.p, output.dropout.p),
            config.layer_norm_eps,
            first_only and number == len(backbone.encoder.layer),
            dtype,
        )
        parts = (
            *(attention.self.query, attention.self.key, attention.self.value),
            *(attention.output.dense, attention.output.LayerNorm),
            *(layer.intermediate.dense, output.dense, output.LayerNorm),
        )
        weights = (weight for part in parts for weight in (part.weight, part.bias))
        hidden = _Layer.apply(hidden, settings, *weights)
        layers.append(hidden)
    return packing, layers


class _Layer(torch.autograd.Function):
    """A layer of BERT: attention and feed-forward network, each with dropout, residual connection and layer norm."""

    @staticmethod
    def forward(context: Any, x: Tensor, settings: Settings, *weights: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            output, saved = _forward(x, settings, weights)
        context.settings = settings
        context.save_for_backward(*weights, *saved)
        return output

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        weights, saved = context.saved_tensors[:WEIGHTS], context.saved_tensors[WEIGHTS:]
        with torch.autocast("cpu", enabled=False):
            of_x, of_weights = _backward(gradient, context.settings, weights, saved)
        return of_x, None, *of_weights


def _forward(x: Tensor, settings: Settings, weights: Sequence[Tensor]) -> tuple[Tensor, list[Tensor | None]]:
    """Return the output of a layer, and what its gradient needs."""
    of_attention, of_residual, of_output = settings.dropout
    *of_qkv, w_mix, b_mix, w_norm, b_norm, w_up, b_up, w_down, b_down, w_last, b_last = weights
    input = x.to(settings.dtype)
    qkv = _product(input, torch.cat(of_qkv[::2]), torch.cat(of_qkv[1::2]))
    mixed, saved = _attention(qkv.to(x.dtype), settings, of_attention)
    mixed = mixed.to(settings.dtype)
    if settings.first_only:
        first = settings.packing.first
        mixed, x = mixed.index_select(0, first), x.index_select(0, first)
    middle, *saved_middle = _residual(x, _product(mixed, w_mix, b_mix), of_residual, w_norm, b_norm, settings.epsilon)
    middle_input = middle.to(settings.dtype)
    up = _product(middle_input, w_up, b_up)
    activated = nn.functional.gelu(up)
    output, *saved_output = _residual(
        middle, _product(activated, w_down, b_down), of_output, w_last, b_last, settings.epsilon
    )
    return output, [input, mixed, *saved_middle, middle_input, up, activated, *saved_output, *saved]


def _backward(
    gradient: Tensor, settings: Settings, weights: Sequence[Tensor], saved: Sequence[Any]
) -> tuple[Tensor, list[Tensor]]:
    """Return the gradients of a layer's input and of its weights."""
    *of_qkv, w_mix, _, w_norm, b_norm, w_up, _, w_down, _, w_last, b_last = weights
    input, mixed, *saved = saved
    saved_middle, (middle_input, up, activated), saved_output, saved = saved[:4], saved[4:7], saved[7:11], saved[11:]
    residual, branch, *of_last = _residual_gradient(gradient, saved_output, w_last, b_last)
    branch = branch.to(settings.dtype)
    of_down = weight_gradient(branch, activated), branch.sum(0)
    of_activated = _product(branch, w_down.t())
    of_upper = torch.ops.aten.gelu_backward.grad_input(of_activated, up, grad_input=of_activated)
    of_up = weight_gradient(of_upper, middle_input), of_upper.sum(0)
    gradient = residual.add_(_product(of_upper, w_up.t()))
    del of_activated, of_upper

    residual, branch, *of_norm = _residual_gradient(gradient, saved_middle, w_norm, b_norm)
    branch = branch.to(settings.dtype)
    of_mix = weight_gradient(branch, mixed), branch.sum(0)
    of_mixed = _product(branch, w_mix.t()).to(residual.dtype)
    if settings.first_only:
        first, rows = settings.packing.first, len(input)
        of_mixed = of_mixed.new_zeros(rows, of_mixed.shape[1]).index_copy_(0, first, of_mixed)
        residual = residual.new_zeros(rows, residual.shape[1]).index_copy_(0, first, residual)
    of_outputs = _attention_gradient(of_mixed, settings, saved).to(settings.dtype)
    of_w, of_b = weight_gradient(of_outputs, input), of_outputs.sum(0)
    of_x = residual.add_(_product(of_outputs, torch.cat(of_qkv[::2]).t()))
    pairs = zip(of_w.chunk(3), of_b.chunk(3), strict=True)
    return of_x, [*(x for pair in pairs for x in pair), *of_mix, *of_norm, *of_up, *of_down, *of_last]


def _product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x (rows, in) @ weight (out, in).T + bias (out,), (rows, out), in the precision of x."""
    return product(x, weight.to(x.dtype), None if bias is None else bias.to(x.dtype))


def _residual(
    x: Tensor, branch: Tensor, p: float, weight: Tensor, bias: Tensor, epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Return the layer norm of x + dropout(branch), (rows, width), and what its gradient needs."""
    factors = dropout_factors(x, p)
    branch = branch.to(x.dtype)
    total = x + branch if factors is None else torch.addcmul(x, branch, factors)
    output, mean, deviation = torch.native_layer_norm(total, weight.shape, weight, bias, epsilon)
    return output, total, mean, deviation, factors


def _residual_gradient(
    gradient: Tensor, saved: Sequence[Any], weight: Tensor, bias: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return the gradients of x, of the branch, and of the layer norm's weight and bias."""
    total, mean, deviation, factors = saved
    of_total, of_weight, of_bias = torch.ops.aten.native_layer_norm_backward(
        gradient.contiguous(), total, weight.shape, mean, deviation, weight, bias, [True] * 3
    )
    return of_total, of_total if factors is None else of_total * factors, of_weight, of_bias


def _attention(qkv: Tensor, settings: Settings, p: float) -> tuple[Tensor, list[Tensor | None]]:
    """Return softmax(q k / sqrt(width)) v of each sentence, (tokens, width), and what its gradient needs.

    Args:
        qkv: (tokens, 3 * width).
        settings: of the layer.
        p: dropout of the attention weights.
    """
    mixed, saved = qkv.new_empty(len(qkv), qkv.shape[1] // 3), []
    for bucket in settings.packing.buckets:
        matrices = bucket.split(qkv, 3)
        query, key, value = matrices
        weights = torch.baddbmm(bucket.mask.to(qkv.dtype), query, key.mT, alpha=settings.scaling).softmax(-1)
        factors = dropout_factors(weights, p)
        used = weights if factors is None else weights * factors
        bucket.join((used @ value)[None], mixed)
        saved += [matrices, weights, factors, used]
    return mixed, saved


def _attention_gradient(gradient: Tensor, settings: Settings, saved: Sequence[Any]) -> Tensor:
    """Return the gradient of queries, keys and values, (tokens, 3 * width)."""
    of_qkv = gradient.new_empty(len(gradient), 3 * gradient.shape[1])
    for number, bucket in enumerate(settings.packing.buckets):
        matrices, weights, factors, used = saved[4 * number : 4 * number + 4]
        query, key, value = matrices
        (of_mixed,) = bucket.split(gradient, 1).mul_(bucket.is_token)
        of_used = of_mixed @ value.mT
        of_weights = of_used if factors is None else of_used.mul_(factors)
        of_scores = torch._softmax_backward_data(of_weights, weights, -1, weights.dtype).mul_(settings.scaling)
        of_matrices = torch.empty_like(matrices)
        torch.bmm(of_scores, key, out=of_matrices[0])
        torch.bmm(of_scores.mT, query, out=of_matrices[1])
        torch.bmm(used.mT, of_mixed, out=of_matrices[2])
        bucket.join(of_matrices, of_qkv)
    return of_qkv
