"""How much of the machine a run uses: FLOPs of a model, what a large matrix product reaches here, and their ratio."""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn

SIZES = {"cuda": 8192, "cpu": 512}
REPEATS = 5


def flops_per_token(encoder: nn.Module, length: int) -> float:
    """Return the FLOPs of forward and backward for one token of one view: 6 for each weight of the layers, and the
    products of attention, which grow with the length."""
    backbone: Any = encoder.backbone
    # BERT's "embeddings.", T5's "shared.".
    tables = ("embeddings.", "shared.")
    embeddings = sum(
        weight.numel() for name, weight in backbone.named_parameters() if any(table in name for table in tables)
    )
    weights = sum(weight.numel() for weight in backbone.parameters()) - embeddings
    layers, width = getattr(backbone.config, "num_hidden_layers", 0), backbone.config.hidden_size
    return 6.0 * weights + 12.0 * layers * width * length


def peak_flops(device: torch.device, precision: str) -> float:
    """Return the FLOPs per second that a product of large square matrices reaches on this device: the ceiling that
    MFU is measured against. No table of data sheets, so it holds for any machine, and for a shared one."""
    size = SIZES.get(device.type, 512)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    one = torch.ones(size, size, device=device, dtype=kind)
    best = float("inf")
    with torch.no_grad():
        for _ in range(REPEATS):
            best = min(best, _seconds(one, device))
    return 2.0 * size**3 / best


def _seconds(one: Tensor, device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    one @ one
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start
