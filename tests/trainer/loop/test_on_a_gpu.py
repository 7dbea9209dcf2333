"""What only a GPU shows: captured and compiled steps against steps that are launched one by one, packed batches against
padded ones, a capture that fails, a step that waits for the GPU, and vectors against those of a CPU."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.trainer.models.test_gpu import PACKED, slow_attention_within
from tests.trainer.models.test_published import FAMILIES, OTHERS, TEXTS, backbone
from tests.trainer.pairs import pair_rows, write_pairs
from wikianchor.trainer import task
from wikianchor.trainer.config import make
from wikianchor.trainer.data.shards import open_pairs
from wikianchor.trainer.loop import train
from wikianchor.trainer.loop.graphs import CudaRecorder
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import TrainingRun
from wikianchor.trainer.models import gpu
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.model import EaseModel

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
STEPS = 40


def ready(options: dict[str, Any], objective: str = "ease", **more: Any) -> TrainingRun:
    chosen = options | {"device": "cuda", "max_steps": STEPS, "epochs": 4} | more
    config = make(objective, chosen, {})
    config = dataclasses.replace(config, precision=chosen.get("precision", "fp32"))
    return task.prepare(config, open_pairs(config.data), torch.device("cuda"), Log("", False))


def losses_of(run: TrainingRun, steps: int = STEPS) -> list[float]:
    """Do steps; return the loss of each. Batches are padded as for graphs, since dropout draws a number for each token
    of padding too."""
    run.feed.config = dataclasses.replace(run.feed.config, graphs=True)
    run.model.train()
    batches = run.feed.batches(0, steps)
    losses = [train.train_step(run, batches, step)[0]["loss"].clone() for step in range(steps)]
    return torch.stack(losses).tolist()


@contextmanager
def waiting_raises() -> Iterator[None]:
    torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize(
    ("objective", "more"),
    [
        ("simcse", {}),
        ("ease", {}),
        ("ease", {"entity_device": "cpu"}),
        ("ease", {"entity_optimizer": "adamw", "step_size": 32, "both_views": True, "entity_to_sentence": True}),
        ("ease", {"length_groups": 2, "pooler": "cls", "mlp": True, "negatives": 3, "hard_negative_weight": 1.0}),
    ],
)
def test_captured_steps_are_those_that_are_launched(
    options: dict[str, Any], objective: str, more: dict[str, Any], precision: str
) -> None:
    more = more | {"precision": precision}
    plain = losses_of(ready(options, objective, graphs=False, **more))
    run = ready(options, objective, **more)
    assert run.feed.packs
    captured = losses_of(run)
    assert run.graphs is not None
    assert run.graphs.works
    assert run.graphs.captured
    assert captured == pytest.approx(plain, rel=1e-4 if precision == "fp32" else 2e-2)


def test_compiled_steps_are_those_that_are_launched(options: dict[str, Any]) -> None:
    # Without dropout, whose numbers are drawn in another order.
    options |= {"dropout": 0.0, "sentence_weight": 0.0}
    plain = losses_of(ready(options, graphs=False))
    for graphs in (False, True):
        assert losses_of(ready(options, graphs=graphs, compile=True)) == pytest.approx(plain, rel=2e-2)


@pytest.mark.parametrize("heads", [4, 2])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_attention_within_sentences(heads: int, causal: bool, dtype: torch.dtype) -> None:
    """That of a graph too, when it is replayed with sentences of other lengths."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(64, 4, 16), (64, heads, 16), (64, heads, 16), (64, 4, 16)]
    query, key, value, gradient = (torch.randn(*shape, generator=generator).to(dtype) for shape in shapes)
    starts = torch.tensor([0, 17, 18, 18, 50, 64], dtype=torch.int32)
    other = torch.tensor([0, 1, 30, 33, 33, 64], dtype=torch.int32)
    on_gpu = [tensor.cuda().requires_grad_() for tensor in (query, key, value)]
    given, buffer = gradient.cuda(), starts.cuda()

    def work() -> tuple[dict[str, Tensor], None]:
        attended = gpu.attention_within(*on_gpu, buffer, longest=32, causal=causal)
        gradients = zip(("query", "key", "value"), torch.autograd.grad(attended, on_gpu, given), strict=True)
        return {"attended": attended, **dict(gradients)}, None

    def check(actual: dict[str, Tensor], lengths: Tensor) -> None:
        leaves = [tensor.float().requires_grad_() for tensor in (query, key, value)]
        attended = slow_attention_within(*leaves, lengths, longest=32, causal=causal)
        expected = [attended, *torch.autograd.grad(attended, leaves, gradient.float())]
        for first, second in zip(actual.values(), expected, strict=True):
            assert torch.allclose(first.float().cpu(), second, atol=3e-2, rtol=3e-2)

    check(work()[0], starts)
    recorder = CudaRecorder(torch.device("cuda"))
    recorder.run(work)
    replay, (actual, _) = recorder.record(work)
    for lengths in (starts, other):
        buffer.copy_(lengths)
        replay()
        check(actual, lengths)


@pytest.mark.parametrize("family", [None, *PACKED])
def test_packed_batches_have_the_losses_and_gradients_of_padded_ones(
    options: dict[str, Any], family: str | None, tmp_path: Path
) -> None:
    if family:
        options["model"] = backbone(family, tmp_path / "backbone")
    options |= {"dropout": 0.0, "sentence_weight": 0.0, "graphs": False}
    # With these a loss depends on the vectors.
    options |= {"entity_weight": 1.0, "entity_temperature": 0.1}
    losses, gradients = [], []
    for packs in (False, True):
        run = ready(options, precision="fp32")
        assert run.feed.packs
        run.feed.packs = packs
        run.model.train()
        run.model(next(run.feed.batches(0, 1)))["loss"].backward()
        weights = [weight.grad for weight in run.model.encoder.parameters() if weight.grad is not None]
        gradients.append(torch.cat([weight.flatten() for weight in weights]))
        run.model.zero_grad()
        losses.append(losses_of(run))
    assert losses[1] == pytest.approx(losses[0], rel=1e-3)
    assert float((gradients[1] - gradients[0]).norm()) < 1e-3 * float(gradients[0].norm())


@pytest.mark.parametrize("kind", ["waits", "raises"])
def test_a_capture_that_fails_costs_nothing(
    options: dict[str, Any], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = losses_of(ready(options, graphs=False))
    losses = EaseModel.losses

    def spoilt(model: EaseModel, batch: Any, vectors: Tensor) -> dict[str, Tensor]:
        measured = losses(model, batch, vectors)
        if kind == "waits":
            measured["loss"].item()
        elif torch.cuda.is_current_stream_capturing():
            raise RuntimeError("not here")
        return measured

    monkeypatch.setattr(EaseModel, "losses", spoilt)
    run = ready(options)
    assert losses_of(run) == pytest.approx(plain, rel=1e-4)
    assert run.graphs is not None
    assert not run.graphs.works
    torch.cuda.empty_cache()
    assert torch.ones(3, device="cuda").sum().item() == 3


# MPNet of transformers copies relative positions from the CPU in each step.
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("family", [None, *FAMILIES, *(name for name in OTHERS if name != "MPNet")])
def test_no_step_waits_for_the_gpu(options: dict[str, Any], family: str | None, precision: str, tmp_path: Path) -> None:
    if family:
        options["model"] = backbone(family, tmp_path / "backbone")
        # Some have no dropout, so two views would be equal.
        options |= {"pooler": "last", "sentence_weight": 0.0}
    run = ready(options, graphs=False, precision=precision)
    run.model.train()
    batches = run.feed.batches(0, 12)
    for step in range(6):
        train.train_step(run, batches, step)
    with waiting_raises():
        for step in range(6, 12):
            train.train_step(run, batches, step)


def test_a_resumed_run_repeats_the_other(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It captures its graphs at other steps."""
    options |= {"checkpoint_steps": 10, "held_out": 16, "eval_steps": 20}
    whole = ready(options | {"output": options["output"] + "/whole"})
    train.train(whole)
    step = train.train_step

    def dies(run: TrainingRun, batches: Iterator[Any], number: int) -> tuple[dict[str, Tensor], int]:
        if number == 25:
            raise KeyboardInterrupt
        return step(run, batches, number)

    monkeypatch.setattr(train, "train_step", dies)
    with pytest.raises(KeyboardInterrupt):
        train.train(ready(options))
    monkeypatch.setattr(train, "train_step", step)
    again = ready(options)
    assert train.train(again).step == STEPS
    other = again.model.state_dict()
    for name, weight in whole.model.state_dict().items():
        assert torch.allclose(weight, other[name], atol=1e-5), name


@pytest.mark.parametrize("family", [*FAMILIES, *OTHERS])
def test_vectors_are_those_of_a_cpu(family: str, tmp_path: Path) -> None:
    folder = backbone(family, tmp_path)
    expected = Encoder.load(folder, "avg").encode(TEXTS)
    encoder = Encoder.load(folder, "avg", "cuda")
    assert abs(encoder.encode(TEXTS) - expected).max() < 2e-5
    encoder.precision = "tf32"
    assert abs(encoder.encode(TEXTS) - expected).max() < 2e-2


def test_a_large_softmax_is_encoded_group_by_group(options: dict[str, Any], tmp_path: Path) -> None:
    pairs = write_pairs(tmp_path / "pairs", pair_rows(4_096))
    options |= {"data": str(pairs), "softmax_size": 2_048, "max_steps": 4}
    whole = losses_of(ready(options, graphs=False), 4)
    grouped = losses_of(ready(options, graphs=False, encode_size=256), 4)
    # Dropout draws other numbers for other groups.
    assert grouped == pytest.approx(whole, rel=5e-2)
