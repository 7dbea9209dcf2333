"""Model FLOPs utilisation (MFU): the FLOPs of a training step over the peak of the card.

On a CPU, and on cards that are not in the table, there is no MFU: a peak that is measured instead depends on the size
of the matrices and on what else the machine does, and steps came out above 100 %.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

# Dense TFLOP/s of tensor cores by precision, as NVIDIA's data sheets state them (half of the figure with sparsity).
# "fp32" is that of the FP32 cores: torch uses TF32 for float32 only where it is told to.
# A name is the beginning of what torch.cuda.get_device_name says, after "NVIDIA ". The first match counts.
PEAK_TFLOPS: dict[str, dict[str, float]] = {
    # https://www.nvidia.com/en-us/data-center/dgx-b200/ (eight GPUs: 36 PFLOPS bf16 with sparsity)
    "B200": {"bf16": 2250, "tf32": 1125, "fp32": 75},
    # https://www.nvidia.com/en-us/data-center/h200/
    "H200 NVL": {"bf16": 835.5, "tf32": 417.5, "fp32": 60},
    "H200": {"bf16": 989.5, "tf32": 494.5, "fp32": 67},
    "GH200": {"bf16": 989.5, "tf32": 494.5, "fp32": 67},
    # https://www.nvidia.com/en-us/data-center/h100/
    "H100 NVL": {"bf16": 835.5, "tf32": 417.5, "fp32": 60},
    "H100 PCIe": {"bf16": 756.5, "tf32": 378, "fp32": 51},
    "H100": {"bf16": 989.5, "tf32": 494.5, "fp32": 67},
    # https://www.nvidia.com/en-us/data-center/a100/
    "A100": {"bf16": 312, "tf32": 156, "fp32": 19.5},
    # https://www.nvidia.com/en-us/data-center/products/a10-gpu/
    "A10": {"bf16": 125, "tf32": 62.5, "fp32": 31.2},
    # https://www.nvidia.com/en-us/data-center/a40/
    "A40": {"bf16": 149.7, "tf32": 74.8, "fp32": 37.4},
    # https://www.nvidia.com/en-us/data-center/l4/ and /l40s/
    "L40S": {"bf16": 362, "tf32": 183, "fp32": 91.6},
    "L40": {"bf16": 181, "tf32": 90.5, "fp32": 90.5},
    "L4": {"bf16": 121, "tf32": 60, "fp32": 30.3},
    # https://images.nvidia.com/aem-dam/Solutions/geforce/ada/nvidia-ada-gpu-architecture.pdf
    "GeForce RTX 4090": {"bf16": 165.2, "tf32": 82.6, "fp32": 82.6},
    # https://www.nvidia.com/content/PDF/nvidia-ampere-ga-102-gpu-architecture-whitepaper-v2.pdf
    "GeForce RTX 3090": {"bf16": 71, "tf32": 35.6, "fp32": 35.6},
    # https://www.nvidia.com/en-us/data-center/tesla-t4/; without bf16
    "T4": {"fp32": 8.1},
    "Tesla T4": {"fp32": 8.1},
}


def flops_per_token(encoder: nn.Module, length: float) -> float:
    """Return the FLOPs of forward and backward pass for one token.

    6 per weight outside the embeddings, and 12 * layers * width * length for attention
    (https://arxiv.org/abs/2204.02311, appendix B).

    Args:
        encoder: has a `backbone` of transformers.
        length: mean number of tokens of a sentence.
    """
    backbone: Any = encoder.backbone
    # The names of embeddings in BERT and in T5. BERT's pooling layer is not used.
    weights = sum(
        weight.numel()
        for name, weight in backbone.named_parameters()
        if "embeddings." not in name and "shared." not in name and not name.startswith("pooler.")
    )
    layers, width = getattr(backbone.config, "num_hidden_layers", 0), backbone.config.hidden_size
    return 6.0 * weights + 12.0 * layers * width * length


def peak_flops(device: torch.device, precision: str) -> float | None:
    """Return the peak FLOPs per second of a device, None where it is not known.

    Args:
        device: the run's device.
        precision: bf16, tf32 or fp32.
    """
    return named_peak(torch.cuda.get_device_name(device), precision) if device.type == "cuda" else None


def named_peak(name: str, precision: str) -> float | None:
    """Return the peak FLOPs per second of a card by its name, None where it is not known.

    >>> named_peak("NVIDIA H200", "bf16"), named_peak("NVIDIA A100-SXM4-80GB", "tf32")
    (989500000000000.0, 156000000000000.0)
    >>> named_peak("NVIDIA A10G", "bf16")
    """
    name = name.removeprefix("NVIDIA ")
    for card, peaks in PEAK_TFLOPS.items():
        # The next character must not go on with the name: an A10G is no A10.
        if name.startswith(card) and not name[len(card) : len(card) + 1].isalnum():
            return peaks[precision] * 1e12 if precision in peaks else None
    return None
