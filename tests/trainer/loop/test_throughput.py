"""MFU is over the peak that a data sheet states, or there is none."""

import pytest
import torch

from wikianchor.trainer.loop.throughput import PEAK_TFLOPS, named_peak, peak_flops


@pytest.mark.parametrize(
    ("name", "precision", "tflops"),
    [
        ("NVIDIA H200", "bf16", 989.5),
        ("NVIDIA H200 NVL", "bf16", 835.5),
        ("NVIDIA H100 80GB HBM3", "bf16", 989.5),
        ("NVIDIA H100 PCIe", "tf32", 378),
        ("NVIDIA A100-SXM4-40GB", "fp32", 19.5),
        ("NVIDIA L40S", "bf16", 362),
        ("Tesla T4", "bf16", None),
        ("NVIDIA A10G", "bf16", None),
        ("NVIDIA Z9", "bf16", None),
    ],
)
def test_the_peak_of_a_card_is_that_of_its_name(name: str, precision: str, tflops: float | None) -> None:
    assert named_peak(name, precision) == (None if tflops is None else tflops * 1e12)


def test_a_cpu_has_no_peak() -> None:
    assert peak_flops(torch.device("cpu"), "fp32") is None


def test_bf16_is_the_fastest_of_each_card() -> None:
    for card, peaks in PEAK_TFLOPS.items():
        assert peaks.get("bf16", 1e9) >= peaks.get("tf32", 0) >= 0, card
        assert peaks["fp32"] > 0
