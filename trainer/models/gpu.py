"""Attention for training on a GPU: of packed batches by a kernel for sequences of different lengths, of padded ones by
torch's SDPA with a mask; and precisions of inference.

transformers leaves the mask out of batches without padding, and of decoders' where only causality hides something. To
test for padding it synchronises with the GPU in each step, and the GPU then waits for the next kernel launches.

A third of a batch of random sentences is padding. So the tokens of all sentences go through the layers as one row, and
attention alone sees sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION = "wikianchor-gpu"
# For architectures with attention of their own, such as MPNet: their mask alone is ours.
OWN_ATTENTION = "wikianchor-gpu-own"
_NO_TEST = {"allow_is_bidirectional_skip": False, "allow_is_causal_skip": False}
# Models that take the positions of tokens and pass the ends of sentences on to their attention. The number is added to
# positions: RoBERTa numbers them from its padding id + 1 on.
FIRST_POSITION: dict[str, Callable[[Any], int]] = dict.fromkeys(
    ("bert", "distilbert", "eurobert", "llama", "nomic_bert", "qwen3"), lambda config: 0
)
FIRST_POSITION |= dict.fromkeys(("roberta", "xlm-roberta"), lambda config: int(config.pad_token_id) + 1)


def mask(**arguments: Any) -> Tensor | None:
    """Return the mask of `sdpa`; the arguments are those of mask functions in transformers."""
    return sdpa_mask(**{**arguments, **_NO_TEST})


def own_mask(*, dtype: torch.dtype, **arguments: Any) -> Tensor:
    """Return the mask of `eager`, 0 and the least number; arguments as for `mask`.

    That of transformers 5.17 copies a number from the CPU, for which it synchronises.
    """
    kept = sdpa_mask(**{**arguments, **_NO_TEST})
    hidden = torch.zeros(kept.shape, dtype=dtype, device=kept.device)
    return hidden.masked_fill_(~kept, torch.finfo(dtype).min)


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **more: Any,
) -> tuple[Tensor, None]:
    """Return attention by the interface of transformers: within sentences where `cu_seq_lens_q` has their ends.

    Args:
        module: the attention layer; its `is_causal` is read, and that of its `config`.
        query, key, value: (batch, heads, length, width); packed (1, heads, total, width).
        attention_mask: of a padded batch.
        dropout: probability.
        scaling: factor of the scores, 1 / sqrt(width) by default.
        more: `cu_seq_lens_q` and `max_length_q` are read, as for Flash Attention in transformers.

    Returns:
        (batch, length, heads, width), and no weights.
    """
    starts = more.get("cu_seq_lens_q")
    if starts is None:
        more |= {"dropout": dropout, "scaling": scaling}
        return sdpa_attention_forward(module, query, key, value, attention_mask, **more)
    # Rotary embeddings return float32, which autocast does not change here.
    kind = query.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else value.dtype
    query, key, value = (tensor[0].transpose(0, 1).to(dtype) for tensor in (query, key, value))
    # Layers of decoders are causal also where their configuration says that the model is not.
    causal = bool(getattr(module, "is_causal", False)) and getattr(module.config, "is_causal", True)
    limits: dict[str, Any] = {"longest": more["max_length_q"], "causal": causal}
    return attention_within(query, key, value, starts, dropout=dropout, scaling=scaling, **limits)[None], None


def attention_within(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    starts: Tensor,
    *,
    longest: int,
    dropout: float = 0.0,
    causal: bool = False,
    scaling: float | None = None,
) -> Tensor:
    """Return attention of each sentence to itself, (total, heads, width), on a GPU.

    The operator is one that torch's SDPA calls for nested tensors, which themselves have no empty sentences. The one of
    Flash Attention has tiles of 128 tokens, of which a sentence fills a sixth.

    Args:
        query: (total, heads, width).
        key, value: the same, of as many heads or fewer.
        starts: (sentences + 1,) int32, the first 0 and the last `total`.
        longest: no sentence has more tokens.
        dropout: probability.
        causal: whether a token sees those before it alone.
        scaling: factor of the scores.
    """
    groups = query.shape[1] // key.shape[1]
    rows = [query, *(tensor.repeat_interleave(groups, 1) if groups > 1 else tensor for tensor in (key, value))]
    attended: Tensor = torch.ops.aten._efficient_attention_forward(
        *(tensor[None] for tensor in rows),
        None,
        starts,
        starts,
        longest,
        longest,
        dropout,
        int(causal),
        torch.is_grad_enabled(),
        scale=scaling,
    )[0]
    return attended[0]


def can_pack(backbone: PreTrainedModel, device: torch.device, dtype: torch.dtype) -> bool:
    """Whether a model can be trained on packed batches on a device: a trial of its attention decides.

    Args:
        backbone: the model; one with sliding windows is padded.
        device: the device.
        dtype: of the matrix products.
    """
    config: Any = backbone.config
    if config.model_type not in FIRST_POSITION or config._attn_implementation not in ("sdpa", ATTENTION):
        return False
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        return False
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    row = torch.zeros(8, 2, width, dtype=dtype, device=device, requires_grad=True)
    starts = torch.tensor([0, 3, 8], dtype=torch.int32, device=device)
    try:
        attention_within(row, row, row, starts, longest=8, dropout=0.1).sum().backward()
    except (RuntimeError, TypeError, AttributeError):
        # A CPU, an older card, or a torch without this operator.
        return False
    return True


class Packing:
    """A padded batch whose tokens go through a model as one row.

    Args:
        shape: rows and length of the batch.
        places: (total,) int64, places of tokens in the flattened batch, row by row; then some of padding.
        ends: (sentences,) int32, where the sentences end among the places; those of padding are sentences too.
    """

    def __init__(self, shape: torch.Size, places: Tensor, ends: Tensor) -> None:
        self.shape, self.places, self.ends = shape, places, ends

    def inputs(self, config: Any, ids: Tensor) -> dict[str, Any]:
        """Return the arguments of a model's forward for token ids, (rows, length)."""
        length = self.shape[1]
        return {
            "input_ids": ids.flatten().index_select(0, self.places)[None],
            "position_ids": (self.places % length + FIRST_POSITION[config.model_type](config))[None],
            # transformers makes no mask where one of four dimensions is given; `attention` does not read it.
            "attention_mask": torch.ones(1, 1, 1, 1, dtype=torch.bool, device=ids.device),
            "cu_seq_lens_q": nn.functional.pad(self.ends, (1, 0)),
            "max_length_q": length,
        }

    def unpack(self, hidden: Tensor) -> Tensor:
        """Return hidden states (1, total, width) as (rows, length, width), with zeros or what padding has."""
        padded = hidden.new_zeros(self.shape.numel(), hidden.shape[-1])
        return padded.index_copy(0, self.places, hidden[0]).view(*self.shape, -1)


def set_training_attention(backbone: PreTrainedModel, attention: str) -> None:
    """Let a backbone train on a GPU without a synchronisation in each step.

    Args:
        backbone: the model.
        attention: the implementation that it was loaded with.
    """
    if attention == "sdpa":
        backbone.set_attn_implementation(ATTENTION)
    elif attention == "eager" and not backbone._supports_attention_backend:
        backbone.config._attn_implementation = OWN_ATTENTION


def training_precision(device: torch.device) -> str:
    """Return the precision of training on a device: bf16 on GPUs that have it; older ones only imitate it, slowly."""
    cuda = device.type == "cuda"
    return "bf16" if cuda and torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"


def default_precision(device: torch.device) -> str:
    """Return the precision of inference on a device: STS scores in tf32 differ from those in fp32 by less than 0.01
    points."""
    return "tf32" if device.type == "cuda" else "fp32"


@contextmanager
def matrix_precision(name: str, device: torch.device) -> Iterator[None]:
    """Compute matrix products in a precision within this context.

    Args:
        name: fp32; tf32, which rounds the factors to 10 bits on a GPU and is fp32 on a CPU; or bf16, 7 bits.
        device: where they are computed.
    """
    if name == "bf16":
        with torch.autocast(device.type, torch.bfloat16):
            yield
    elif name == "tf32" and device.type == "cuda":
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(before)
    else:
        yield


AttentionInterface.register(ATTENTION, attention)
AttentionMaskInterface.register(ATTENTION, mask)
AttentionMaskInterface.register(OWN_ATTENTION, own_mask)
