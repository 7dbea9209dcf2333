"""Captured steps, on a CPU: a stand-in for CUDA graphs that does the work again on the tensors that it was given."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.trainer.loop.test_train import ready, weights
from wikianchor.trainer.data import feed
from wikianchor.trainer.loop import graphs, train
from wikianchor.trainer.loop.graphs import StepGraphs
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.loop.train import TrainingRun
from wikianchor.trainer.models.model import EaseModel


class Repeater:
    """Repeats work; the results are always in the same tensors, as those of a graph are.

    It `fails` when it "records", or before, where work "waits" for the GPU.
    """

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.recorded = self.replays = 0

    def run(self, work: partial[Any], may_wait: bool = True) -> Any:
        if self.fails == "waits" and not may_wait:
            # After the backward pass, so that there are gradients to be forgotten.
            with patch.object(Optimizers, "update", side_effect=RuntimeError("called a synchronizing CUDA operation")):
                return work()
        return work()

    def record(self, work: partial[Any]) -> tuple[Callable[[], None], Any]:
        if self.fails == "records":
            raise RuntimeError("operation not permitted\nwhen stream is capturing")
        self.recorded += 1
        _, vectors = work.args
        # Nothing is computed while work is recorded: what its results hold until then is any number.
        losses = {name: torch.full((), torch.nan) for name in ("loss", "simcse", "entity")}
        gradient = None if vectors is None else torch.full_like(vectors, torch.nan)

        def replay() -> None:
            self.replays += 1
            if vectors is not None:
                vectors.grad = None
            new_losses, new_gradient = work()
            for name, value in new_losses.items():
                losses[name].copy_(value)
            if gradient is not None:
                gradient.copy_(new_gradient)

        return replay, (losses, gradient)


@pytest.fixture(autouse=True)
def one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """All batches are padded to the same length."""
    monkeypatch.setattr(feed, "LENGTHS", ())


def with_graphs(options: dict[str, Any], recorder: Any) -> tuple[TrainingRun, list[str]]:
    run, lines = ready(options), []
    # As on a GPU: batches are padded to fixed lengths.
    run.feed.config = dataclasses.replace(run.config, graphs=True)
    assert isinstance(run.model, EaseModel)
    optimizers = Optimizers(run.model, run.config, run.total, captured=True)
    return dataclasses.replace(
        run, optimizers=optimizers, graphs=StepGraphs(run.model, optimizers, recorder, lines.append)
    ), lines


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"entity_optimizer": "adamw", "step_size": 32, "both_views": True},
        {"negatives": 2, "entity_learning_rate": 0.1, "warmup_steps": 3, "entity_device": "cpu"},
    ],
)
def test_captured_steps_are_the_steps(options: dict[str, Any], more: dict[str, Any]) -> None:
    """To the bit those that are launched one by one; up to the rounding of learning rates those of a plain run."""
    options |= {"max_steps": 10, **more}
    plain = ready(options)
    plain.feed.config = dataclasses.replace(plain.config, graphs=True)
    train.train(plain)
    results = []
    said = []
    for number, fails in enumerate(("", "records", "waits")):
        repeater = Repeater(fails)
        run, lines = with_graphs(options | {"output": f"{options['output']}/{number}"}, repeater)
        train.train(run)
        results.append(weights(run))
        assert repeater.recorded == (0 if fails else 1)
        assert repeater.replays == (0 if fails else 10 - graphs.WARM_UP)
        said += lines
    no_graphs = "no CUDA graphs, so small steps are slower: RuntimeError: "
    assert said == [
        f"{no_graphs}operation not permitted when stream is capturing",
        f"{no_graphs}called a synchronizing CUDA operation",
    ]
    for name, tensor in weights(plain).items():
        assert torch.equal(results[0][name], results[1][name]), name
        assert torch.equal(results[0][name], results[2][name]), name
        assert torch.allclose(tensor, results[0][name], atol=1e-4), name


def test_a_resumed_run_captures_at_other_steps_and_is_the_same(options: dict[str, Any]) -> None:
    options |= {"max_steps": 9, "checkpoint_steps": 4}
    whole, _ = with_graphs(options, Repeater())
    end = train.train(whole)
    options |= {"output": options["output"] + "2"}
    step = train.train_step

    def dies(run: TrainingRun, batches: Any, number: int) -> Any:
        if number == 5:
            raise KeyboardInterrupt
        return step(run, batches, number)

    stopped, _ = with_graphs(options, Repeater())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "train_step", dies)
        with pytest.raises(KeyboardInterrupt):
            train.train(stopped)
    again, _ = with_graphs(options, Repeater())
    assert train.train(again) == end
    assert all(torch.equal(tensor, weights(again)[name]) for name, tensor in weights(whole).items())


def test_a_run_without_graphs_goes_on_with_them(options: dict[str, Any]) -> None:
    options |= {"checkpoint_steps": 4, "max_steps": 4, "schedule": "constant"}
    train.train(ready(options))
    run, _ = with_graphs(options, Repeater())
    assert train.train(run).step == 4
    groups = run.optimizers.parts["encoder"].param_groups
    assert all(isinstance(group["lr"], Tensor) for group in groups)


class Copies(TorchDispatchMode):
    """Notes copies between devices, which a graph cannot hold, and numbers that the CPU would wait for."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        devices = {value.device.type for value in (*args, result) if isinstance(value, Tensor) and value.dim()}
        if len(devices) > 1 or func is torch.ops.aten._local_scalar_dense.default:
            self.found.append(str(func))
        return result


@pytest.mark.parametrize("more", [{}, {"entity_optimizer": "adamw", "step_size": 32, "clip_norm": 1.0}])
def test_the_work_of_a_graph_copies_nothing_from_the_cpu(options: dict[str, Any], more: dict[str, Any]) -> None:
    run, _ = with_graphs(options | {"max_steps": 2} | more, Repeater())
    assert run.graphs is not None
    run.model.train()
    batch = next(run.feed.step_batches(run.feed.order(0)[: run.config.step_size], 0))
    table = run.model.table
    assert table is not None
    vectors = table(run.model.entity_ids(batch)).detach().requires_grad_() if table.sparse else None  # type: ignore[operator]
    meta = torch.device("meta")
    run.model.to(meta)
    with Copies() as copies, pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "is_autocast_enabled", lambda kind: False)
        patch.setattr(run.optimizers, "update", lambda name: None)
        run.graphs._work(batch.to(meta), None if vectors is None else vectors.detach().to(meta).requires_grad_())
    # Copies of the inputs, before the work.
    assert {name for name in copies.found if "_to_copy" not in name} == set()
