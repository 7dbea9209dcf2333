"""Model FLOPs utilisation (MFU): the FLOPs of a training step over what a matrix product reaches on this device."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import nn

SIZES = {"cuda": 8192, "cpu": 512}
REPEATS = 5


def flops_per_token(encoder: nn.Module, length: int) -> float:
    """Return the FLOPs of forward and backward pass for one token.

    6 per weight outside the embeddings, and 12 * layers * width * length for attention
    (https://arxiv.org/abs/2204.02311, appendix B).

    Args:
        encoder: with a `backbone` of transformers.
        length: mean number of tokens of a sentence.
    """
    backbone: Any = encoder.backbone
    # The names of embeddings in BERT and in T5.
    weights = sum(
        weight.numel()
        for name, weight in backbone.named_parameters()
        if "embeddings." not in name and "shared." not in name
    )
    layers, width = getattr(backbone.config, "num_hidden_layers", 0), backbone.config.hidden_size
    return 6.0 * weights + 12.0 * layers * width * length


def peak_flops(device: torch.device, precision: str) -> float:
    """Measure the FLOPs per second of a product of large square matrices on this device.

    A measurement, unlike a data sheet, is right for any machine and for a shared one.
    """
    size = SIZES.get(device.type, 512)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    matrix = torch.ones(size, size, device=device, dtype=dtype)
    best = float("inf")
    with torch.no_grad():
        for _ in range(REPEATS):
            _synchronize(device)
            start = time.perf_counter()
            matrix @ matrix
            _synchronize(device)
            best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
