"""Attention for training on a GPU, torch's SDPA with a mask in every batch; and precisions of inference.

transformers leaves the mask out of batches without padding, and of decoders' where only causality hides something. To
test for padding it synchronises with the GPU in each step, and the GPU then waits for the next kernel launches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION = "wikianchor-gpu"
# For architectures with attention of their own, such as MPNet: their mask alone is ours.
OWN_ATTENTION = "wikianchor-gpu-own"
_NO_TEST = {"allow_is_bidirectional_skip": False, "allow_is_causal_skip": False}


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


AttentionInterface.register(ATTENTION, sdpa_attention_forward)
AttentionMaskInterface.register(ATTENTION, mask)
AttentionMaskInterface.register(OWN_ATTENTION, own_mask)
