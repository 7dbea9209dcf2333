"""Attention for training on a GPU: torch's SDPA with a mask in every batch.

transformers leaves the mask out of batches without padding. To test for padding it synchronises with the GPU in each
step, and the GPU then waits for the next kernel launches.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

ATTENTION = "wikianchor-gpu"


def mask(**arguments: Any) -> Tensor | None:
    """Return the mask of `sdpa`; the arguments are those of mask functions in transformers."""
    return sdpa_mask(**{**arguments, "allow_is_bidirectional_skip": False})


AttentionInterface.register(ATTENTION, sdpa_attention_forward)
AttentionMaskInterface.register(ATTENTION, mask)
