"""Training steps as CUDA graphs: a step of a thousand kernels is launched at once.

A small step is shorter than the time in which a CPU launches its kernels one by one, so the GPU would wait. A graph has
the forward and backward pass, clipping and the update of the encoder, for one shape of a batch. The rows of a sparse
entity table are looked up before it and updated after it.

Dropout in a replayed graph draws from the seed of the step, as in a step that is launched kernel by kernel: a run that
is resumed captures its graphs at other steps, and repeats the other run all the same.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from wikianchor.trainer.data.batch import PairBatch
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.models.losses import Losses
from wikianchor.trainer.models.model import EaseModel

# Steps of a shape before it is captured, in which libraries are loaded, kernels compiled and moments allocated.
WARM_UP = 3
# Graphs share their memory, but each takes a few MB for its kernels' arguments.
MOST_GRAPHS = 64

Work = Callable[[], tuple[Losses, Tensor | None]]


class CudaRecorder:
    """Records work on a device, so that it can be repeated: CUDA graphs, captured on a stream of its own, as torch asks
    for; all of them in one memory pool."""

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device)
        self.pool: Any = None

    def run(self, work: Work, may_wait: bool = True) -> tuple[Losses, Tensor | None]:
        """Do the work once, where it would be recorded.

        Args:
            work: what is done.
            may_wait: False for a RuntimeError where an operation waits for the GPU.
        """
        self.stream.wait_stream(torch.cuda.current_stream())
        before = torch.cuda.get_sync_debug_mode()
        # torch says of itself that it does not find every such operation.
        warnings.filterwarnings("ignore", "Synchronization debug mode is a prototype")
        try:
            with torch.cuda.stream(self.stream):
                torch.cuda.set_sync_debug_mode(before if may_wait else "error")
                results = work()
        finally:
            torch.cuda.set_sync_debug_mode(before)
            torch.cuda.current_stream().wait_stream(self.stream)
        return results

    def record(self, work: Work) -> tuple[Callable[[], None], tuple[Losses, Tensor | None]]:
        """Return a function that does the work, which is not done yet, and the tensors that hold its results then."""
        graph = torch.cuda.CUDAGraph()
        # The thread that prepares batches pins memory meanwhile, which only this mode allows.
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream, capture_error_mode="thread_local"):
            results = work()
        self.pool = graph.pool()
        return graph.replay, results


@dataclass(frozen=True)
class Captured:
    """A captured step.

    Attributes:
        replay: does it.
        batch: its input, which is overwritten before.
        vectors: the vectors of the batch's entities, also overwritten before; None without a sparse table.
        losses, gradient: its results; the gradient is that of `vectors`.
    """

    replay: Callable[[], None]
    batch: PairBatch
    vectors: Tensor | None
    losses: Losses
    gradient: Tensor | None


class StepGraphs:
    """Does training steps, from the fourth of each shape on by its graph.

    Args:
        model: the model, in training mode.
        optimizers: made with `captured`.
        recorder: recorder of the model's device.
        say: prints a line, if a step cannot be captured; steps are then launched kernel by kernel.
    """

    def __init__(
        self, model: EaseModel, optimizers: Optimizers, recorder: CudaRecorder, say: Callable[[str], None]
    ) -> None:
        self.model, self.optimizers, self.recorder, self.say = model, optimizers, recorder, say
        self.captured: dict[Hashable, Captured] = {}
        self.seen: Counter[Hashable] = Counter()
        self.works = True

    def step(self, batch: PairBatch, step: int, seed: Callable[[], None]) -> Losses:
        """Do a step of the optimiser, and return its losses, detached.

        Args:
            batch: the whole step's batch, on the device.
            step: counts from 0.
            seed: seeds dropout for the step.
        """
        self.optimizers.set_rates(step)
        table = self.model.table
        sparse = table is not None and table.sparse and table.weight.requires_grad
        ids = self.model.entity_ids(batch) if sparse else None
        vectors = None
        if table is not None and ids is not None:
            with torch.no_grad():
                vectors = table(ids)
        captured = self._graph(batch, vectors)
        seed()
        if captured is None:
            leaf = None if vectors is None else vectors.requires_grad_()
            losses, gradient = self._launch(batch, leaf, seed)
        else:
            for mine, theirs in zip(tensors(captured.batch), tensors(batch), strict=True):
                mine.copy_(theirs)
            if captured.vectors is not None and vectors is not None:
                captured.vectors.detach().copy_(vectors)
            captured.replay()
            gradient = captured.gradient
            # The next replay overwrites its results.
            losses = {name: value.clone() for name, value in captured.losses.items()}
        if table is not None and ids is not None and gradient is not None:
            rows = ids.flatten()[None].to(table.weight.device)
            values = gradient.flatten(0, -2).to(table.weight.device)
            table.weight.grad = torch.sparse_coo_tensor(rows, values, table.weight.shape, check_invariants=False)
            self.optimizers.update("entities")
        return losses

    def _graph(self, batch: PairBatch, vectors: Tensor | None) -> Captured | None:
        """Return the graph for a batch; None while its shape warms up, and where graphs do not work."""
        key = _shape(batch)
        if key in self.captured or not self.works:
            return self.captured.get(key)
        self.seen[key] += 1
        if self.seen[key] <= WARM_UP or len(self.captured) >= MOST_GRAPHS:
            return None
        static = batch.map(Tensor.clone)
        leaf = None if vectors is None else vectors.clone().requires_grad_()
        try:
            replay, (losses, gradient) = self.recorder.record(partial(self._work, static, leaf))
        except Exception as error:
            # CUDA, torch and inductor raise exceptions of many types for work that cannot be captured.
            self._give_up(error)
            return None
        self.captured[key] = Captured(replay, static, leaf, losses, gradient)
        return self.captured[key]

    def _launch(
        self, batch: PairBatch, vectors: Tensor | None, seed: Callable[[], None]
    ) -> tuple[Losses, Tensor | None]:
        """Do a step kernel by kernel.

        In the last step before a capture nothing may wait for the GPU: that is an error in a capture too, but one after
        which torch can draw no random numbers.
        """
        work = partial(self._work, batch, vectors)
        if self.works and self.seen[_shape(batch)] == WARM_UP:
            try:
                return self.recorder.run(work, may_wait=False)
            except Exception as error:
                self._give_up(error)
                if vectors is not None:
                    vectors.grad = None
                seed()
        return self.recorder.run(work)

    def _give_up(self, error: Exception) -> None:
        """Launch all further steps kernel by kernel, and say why."""
        self.works = False
        for weight in self.optimizers.all:
            weight.grad = None
        reason = " ".join(str(error).split())[:200]
        self.say(f"no CUDA graphs, so small steps are slower: {type(error).__name__}: {reason}")

    def _work(self, batch: PairBatch, vectors: Tensor | None) -> tuple[Losses, Tensor | None]:
        """Compute losses and gradients, and update the encoder; return the losses and the gradient of `vectors`."""
        table = self.model.table
        if table is not None:
            table.given = vectors
        try:
            losses = self.model(batch)
            losses["loss"].backward()
        finally:
            if table is not None:
                table.given = None
        self.optimizers.update("encoder")
        gradient = None if vectors is None else vectors.grad
        return {name: value.detach() for name, value in losses.items()}, gradient


def _shape(batch: PairBatch) -> Hashable:
    """Return what decides the graph of a batch."""
    return (batch.softmaxes, *(tuple(tensor.shape) for tensor in tensors(batch)))


def tensors(batch: PairBatch) -> list[Tensor]:
    """Return the tensors of a batch in a fixed order."""
    listed: list[Tensor] = []

    def append(tensor: Tensor) -> Tensor:
        listed.append(tensor)
        return tensor

    batch.map(append)
    return listed
