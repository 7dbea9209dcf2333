"""Faster training on a CPU: dropout and attention, and the layers of BERT and RoBERTa without padding.

torch draws one random number for each element, which takes up to a quarter of a small model's step; here one random
number of 64 bits is used for four elements. torch has no CPU kernel for attention with dropout, so attention is written
out here, with this dropout, and with a mask that broadcasts.

Up to a third of a batch of random sentences is padding, and most of a step is matrix products. So the tokens of all
sentences go through the layers as one row, and only attention sees sentences, in buckets of similar length. Queries,
keys and values are one product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PretrainedConfig, PreTrainedModel
from transformers.masking_utils import bidirectional_mask_function, eager_mask

from wikianchor.trainer.distributed import world

ATTENTION = "wikianchor-cpu"
# Models with plain attention, softmax(q k / sqrt(width) + mask) v. Other models use their implementation "eager".
PLAIN = ("bert", "roberta", "xlm-roberta")
LEVELS = 1 << 16
# Attention pads the tokens of a sentence to a multiple of `STEP`, and to `SHORTEST` at least: softmax is slow for rows
# that are shorter than a vector of the processor.
STEP, SHORTEST = 8, 16
# Narrower models are padded: calls cost more there than arithmetic.
WIDE = 256


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


def can_pack(config: PretrainedConfig) -> bool:
    """Whether the layers of a model are those of this module, and wide enough to gain."""
    return config.model_type in PLAIN and not config.is_decoder and config.hidden_size >= WIDE


class Bucket(NamedTuple):
    """n sentences that attention pads to one length; their tokens are neighbours in the packed batch.

    Attributes:
        length: tokens of a padded sentence.
        source: numbers of the tokens in the packed batch, (n * length,); padding takes the first token of its sentence.
        is_token: whether a place holds a token, (n, length).
    """

    length: int
    source: Tensor
    is_token: Tensor


class Packing:
    """Where the tokens of a batch are that is padded on the right.

    The tokens of a sentence are neighbours; sentences are sorted by their bucket.

    Args:
        mask: (n, length), of a batch on a CPU; each sentence has a token at least.

    Attributes:
        shape: n and length.
        index: (tokens,) int64, places in the flattened batch.
        positions: (1, tokens) int64, the number of each token in its sentence.
        first: (n,) int64, the place of the first token of each sentence in the packed batch, in the batch's order.
        buckets: sentences of similar length.
    """

    def __init__(self, mask: Tensor) -> None:
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
        self.buckets = []
        for length in padded.unique().tolist():
            of_bucket = padded[order] == length
            offsets = torch.arange(length)
            is_token = offsets < lengths[of_bucket, None]
            source = starts[of_bucket, None] + torch.where(is_token, offsets, 0)
            self.buckets.append(Bucket(length, source.flatten(), is_token))

    def pack(self, padded: Tensor) -> Tensor:
        """Return the tokens of (n, length, ...) as (1, tokens, ...)."""
        return padded.flatten(0, 1).index_select(0, self.index)[None]

    def unpack(self, packed: Tensor) -> Tensor:
        """Return (tokens, width) as (n, length, width), with zeros for padding."""
        n, length = self.shape
        padded = packed.new_zeros(n * length, packed.shape[-1])
        return padded.index_copy(0, self.index, packed).view(n, length, -1)

    def attention(self, qkv: Tensor, heads: int, scaling: float, p: float) -> Tensor:
        """Return softmax(q k * scaling) v of each sentence, (tokens, width).

        Args:
            qkv: queries, keys and values, (tokens, 3 * width).
            heads: number of heads.
            scaling: factor of the scores.
            p: dropout of the attention weights.
        """
        mixed = []
        for bucket in self.buckets:
            padded = qkv.index_select(0, bucket.source).view(-1, bucket.length, 3, heads, qkv.shape[1] // heads // 3)
            query, key, value = padded.permute(2, 0, 3, 1, 4)
            scores = (query * scaling) @ key.mT
            padding = ~bucket.is_token[:, None, None]
            weights = drop(scores.masked_fill(padding, torch.finfo(scores.dtype).min).softmax(-1), p)
            joined = (weights @ value).transpose(1, 2).flatten(2).flatten(0, 1)
            mixed.append(joined.index_select(0, bucket.is_token.flatten().nonzero()[:, 0]))
        return torch.cat(mixed)


def encode(backbone: PreTrainedModel, ids: Tensor, mask: Tensor, first_only: bool) -> tuple[Packing, list[Tensor]]:
    """Return the hidden states of the embeddings and of each layer, (tokens, width) each, packed.

    Args:
        backbone: a model that `can_pack`, in training mode.
        ids, mask: (batch, length).
        first_only: whether the last layer computes the first token of each sentence alone, (batch, width).
    """
    config = backbone.config
    packing = Packing(mask)
    positions = packing.positions
    if config.model_type != "bert":
        # RoBERTa and XLM-R number positions from here on.
        positions = positions + config.pad_token_id + 1
    embeddings = backbone.embeddings
    # Of all words a batch has few. Between processes gradients are dense: sparse ones need equal numbers of rows.
    words = nn.functional.embedding(packing.pack(ids), embeddings.word_embeddings.weight, sparse=world() == 1)
    hidden = embeddings(inputs_embeds=words, position_ids=positions, token_type_ids=torch.zeros_like(positions))[0]
    layers = [hidden]
    for number, layer in enumerate(backbone.encoder.layer, 1):
        first = packing.first if first_only and number == len(backbone.encoder.layer) else None
        layers.append(_layer(layer, layers[-1], packing, first))
    return packing, layers


def _layer(layer: Any, x: Tensor, packing: Packing, first: Tensor | None) -> Tensor:
    """Return the output of a layer of BERT, (tokens, width), or that of the tokens `first` alone."""
    attention = layer.attention.self
    parts = (attention.query, attention.key, attention.value)
    weight, bias = torch.cat([part.weight for part in parts]), torch.cat([part.bias for part in parts])
    qkv = nn.functional.linear(x, weight, bias)
    mixed = packing.attention(qkv, attention.num_attention_heads, attention.scaling, attention.dropout.p)
    if first is not None:
        mixed, x = mixed.index_select(0, first), x.index_select(0, first)
    middle = layer.attention.output(mixed, x)
    return layer.output(layer.intermediate(middle), middle)
