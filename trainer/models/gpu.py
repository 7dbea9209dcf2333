"""Attention for training on a GPU: torch's own, with a mask that is made without a look at it.

transformers leaves the mask out where no token is padding. To know that it waits for the GPU, in each step, until all
that was asked of it is done, and the next kernels are asked for too late.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION = "wikianchor-gpu"


def mask(**given: Any) -> Tensor | None:
    """Return the mask of `sdpa`; the arguments are those that transformers calls such a function with."""
    return sdpa_mask(**{**given, "allow_is_bidirectional_skip": False})


AttentionInterface.register(ATTENTION, sdpa_attention_forward)
AttentionMaskInterface.register(ATTENTION, mask)
