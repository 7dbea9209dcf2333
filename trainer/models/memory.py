"""How many sentences are encoded at once, by the memory of the machine."""

from __future__ import annotations

from typing import Any

import torch

from wikianchor.trainer.config import EncoderConfig, Optimiser
from wikianchor.trainer.models.encoder import CUDA_TOKENS, Encoder

# Share of a card's memory for activations; weights, moments, the entity table, logits and fragments need the rest.
SHARE = 0.5
# Larger passes are not faster on a CPU, whose caches they leave.
CPU_SENTENCES = 256


def sentences_at_once(
    encoder: Encoder, config: EncoderConfig, views: int, device: torch.device, table_bytes: int = 0
) -> int:
    """Return the number of sentences to encode at once, a power of two.

    It depends on the machine and the options alone, so that a resumed run encodes in the same passes.

    Args:
        encoder: the model.
        config: the run's options.
        views: encodings of a sentence.
        device: the encoder's device.
        table_bytes: bytes of the entity table on the device.
    """
    if device.type != "cuda":
        return CPU_SENTENCES
    memory = torch.cuda.get_device_properties(device).total_memory
    # Weights, gradients and two moments; a dense table has the same.
    fixed = 4 * (4 * sum(weight.numel() for weight in encoder.parameters()) + table_bytes)
    free = SHARE * min(memory, max(0.0, memory - fixed))
    return fitting(encoder, config, views, free)


def keep_fewer_activations(backbone: Any, config: Optimiser) -> None:
    """With --gradient_checkpointing, let a model compute activations again in the backward pass."""
    if config.gradient_checkpointing:
        # Version 6 of transformers removes the older name.
        getattr(backbone, "activation_checkpointing_enable", backbone.gradient_checkpointing_enable)()


def fitting(encoder: Encoder, config: EncoderConfig, views: int, memory: float) -> int:
    """Return the largest power of two of sentences whose activations take at most `memory` bytes.

    A layer keeps 18 numbers of the model's width and 4 of the inner width for each token
    (https://arxiv.org/abs/2205.05198, section 4.1, bytes of 16-bit activations with attention that keeps no scores); in
    autocast some are in float32, hence half as many again.
    """
    shape: Any = encoder.backbone.config
    layers, width = getattr(shape, "num_hidden_layers", 12), shape.hidden_size
    bytes_of_token = layers * (18 * width + 4 * getattr(shape, "intermediate_size", 4 * width)) * 1.5
    if config.gradient_checkpointing:
        bytes_of_token = 4 * layers * width + bytes_of_token / layers
    if config.precision != "bf16":
        bytes_of_token *= 2
    sentences = memory / (bytes_of_token * config.max_length * views)
    return 1 << max(3, int(sentences).bit_length() - 1)


def tokens_at_once(encoder: Encoder, memory: int) -> int:
    """Return the number of tokens to encode at once on a GPU without gradients: `CUDA_TOKENS`, fewer on small cards.

    Of a token one layer at a time is in memory: about 12 numbers of the model's width and 2 of the inner width.

    Args:
        encoder: the model.
        memory: bytes of the card.
    """
    shape: Any = encoder.backbone.config
    width = shape.hidden_size
    bytes_of_token = 4 * (12 * width + 2 * getattr(shape, "intermediate_size", 4 * width))
    free = SHARE * (memory - 4 * sum(weight.numel() for weight in encoder.parameters()))
    return max(1, min(CUDA_TOKENS, int(free / bytes_of_token)))
