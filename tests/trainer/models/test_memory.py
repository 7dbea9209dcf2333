"""How many sentences are encoded at once, by the memory of a card."""

from typing import Any

import pytest
import torch

from tests.trainer.loop.test_train import ready
from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import make
from wikianchor.trainer.models.memory import CPU_SENTENCES, fitting, sentences_at_once
from wikianchor.trainer.task import no_graphs


def test_more_memory_more_sentences_and_fewer_in_float32(options: dict[str, Any]) -> None:
    run = ready(options)
    config, encoder = run.config, run.model.encoder
    sizes = [fitting(encoder, config, 2, memory) for memory in (1e5, 1e7, 1e9)]  # type: ignore[arg-type]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[2]
    assert all(size & (size - 1) == 0 for size in sizes)
    assert fitting(encoder, config, 1, 1e9) == 2 * sizes[2]  # type: ignore[arg-type]
    assert sentences_at_once(encoder, config, 2, torch.device("cpu")) == CPU_SENTENCES  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, ""),
        ({"encode_size": 16}, "in passes of 16"),
        ({"gradient_checkpointing": True}, "gradient_checkpointing"),
        ({"entity_device": "cpu", "entity_optimizer": "adamw"}, "entity_optimizer=adamw"),
    ],
)
def test_steps_that_cannot_be_captured_say_why(options: dict[str, Any], more: dict[str, Any], why: str) -> None:
    config = make("ease", options | {"step_size": 32, "encode_size": 64} | more, {})
    actual = no_graphs(config, torch.device("cuda"))
    assert (why in actual) if why else not actual
    assert no_graphs(config, torch.device("cpu")) == "the device is cpu"


def test_a_size_below_zero_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="encode_size=-1: must be 1 or more"):
        make("ease", options | {"encode_size": -1}, {})
