"""LoRA (https://arxiv.org/abs/2106.09685) by the package peft: low-rank updates are trained, not the weights."""

from __future__ import annotations

from wikianchor.io.errors import UsageError
from wikianchor.trainer.models.encoder import Encoder


def add_lora(encoder: Encoder, rank: int) -> None:
    """Train updates of the linear layers of a backbone in place of its weights; `encoder.merge` adds them up.

    Args:
        encoder: the encoder.
        rank: rank of the updates, which are scaled by two.

    Raises:
        UsageError: peft is not installed, or the backbone has no linear layers.
    """
    try:
        from peft import LoraConfig, LoraModel
    except ImportError as error:
        raise UsageError(f"--lora={rank}: needs the package peft: pip install 'wikianchor[lora]'") from error
    settings = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear")
    try:
        tuner = LoraModel(encoder.backbone, settings, "default")
    except ValueError as error:
        raise UsageError(f"--lora={rank}: not for this backbone ({error}): leave it out") from error
    encoder.merge = tuner.merge_and_unload
