"""Data parallelism under torchrun: tensors gathered with their gradients, and gradients averaged.

A softmax of N sentences is divided among W processes, N / W each. Each process compares its rows with the columns of
all processes, so the mean of the processes' losses equals the loss of one process on the whole batch, and so do the
gradients. Without torchrun every function returns its argument.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from wikianchor.io.errors import UsageError

# The other processes wait while the first one tokenises a dataset or writes a checkpoint. The default is ten minutes.
TIMEOUT = timedelta(hours=6)


def start(device: torch.device) -> None:
    """Join the process group of torchrun: nccl on GPUs, gloo elsewhere."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        gpu = device if device.type == "cuda" else None
        # gloo beside nccl is for an entity table in host memory.
        dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=TIMEOUT, device_id=gpu)


def stop() -> None:
    """Leave the process group."""
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    """Return the number of this process, 0 without torchrun."""
    return dist.get_rank() if dist.is_initialized() else 0


def world() -> int:
    """Return the number of processes, 1 without torchrun."""
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    """Wait until all processes are here."""
    if dist.is_initialized():
        dist.barrier()


def choose_device(name: str) -> torch.device:
    """Return the named device; for "" the GPU of this process, or the CPU where there is no GPU.

    Raises:
        UsageError: the device cannot be used.
    """
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", device.index or 0)))
            torch.cuda.set_device(device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise UsageError(f"--device={name}: cannot be used ({' '.join(str(error).split())[:200]})") from error
    return device


class _Gather(torch.autograd.Function):
    """All processes' rows in the order of ranks; the gradient of a row is the sum of its gradients in all processes."""

    @staticmethod
    def forward(context: Any, local: Tensor, dim: int) -> Tensor:
        context.dim = dim
        local = local.contiguous()
        parts = [torch.empty_like(local) for _ in range(world())]
        dist.all_gather(parts, local)
        return torch.cat(parts, dim)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor, None]:
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(world(), context.dim)[rank()], None


def gather(local: Tensor, dim: int = 0) -> Tensor:
    """Return the rows of all processes; gradients flow back to the process of each row.

    Args:
        local: (..., n, ...), of the same shape in each process.
        dim: the dimension of the rows.

    Returns:
        (..., n * processes, ...).
    """
    return local if world() == 1 else _Gather.apply(local, dim)


class GradientAverages:
    """Replaces gradients by their means over the processes.

    Dense gradients are sent in buckets, each as soon as the backward pass has computed its gradients, while it computes
    the next. Of sparse gradients, those of the entity table, only the rows of the batches are sent.

    Args:
        parameters: all parameters with gradients.
        bucket: bytes of a bucket. In smaller ones latency would count, and larger ones overlap less.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], bucket: int = 25_000_000) -> None:
        self.parameters, self.bucket_bytes = list(parameters), bucket
        self._buckets: list[list[nn.Parameter]] = []
        self._bucketed: set[nn.Parameter] = set()
        self._hooked: set[nn.Parameter] = set()
        self._running = False
        if world() > 1:
            for parameter in self.parameters:
                parameter.register_post_accumulate_grad_hook(self._ready)

    def start(self) -> None:
        """Send gradients from now on when they are ready: the next backward pass of the encoder is the step's last."""
        self._running = world() > 1
        self._missing = set(self._bucketed)
        self._sent: list[tuple[list[Tensor], Tensor, Any]] = []

    def _ready(self, parameter: nn.Parameter) -> None:
        if not self._running:
            return
        self._hooked.add(parameter)
        self._missing.discard(parameter)
        # In the same order in all processes, whatever the order of the backward pass.
        for bucket in self._buckets[len(self._sent) :]:
            if not self._missing.isdisjoint(bucket):
                break
            self._send(bucket)

    def _send(self, parameters: list[nn.Parameter]) -> None:
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        message = torch.cat([gradient.flatten() for gradient in gradients])
        self._sent.append((gradients, message, dist.all_reduce(message, async_op=True)))

    def finish(self) -> None:
        """Send what is left, and wait until all gradients are the means."""
        if world() == 1:
            return
        self._running = False
        for bucket in self._buckets[len(self._sent) :]:
            self._send(bucket)
        left = [parameter for parameter in self.parameters if parameter not in self._bucketed]
        for bucket in self._cut([parameter for parameter in left if _has_dense_gradient(parameter)]):
            self._send(bucket)
        for gradients, message, work in self._sent:
            work.wait()
            means = (message / world()).split([gradient.numel() for gradient in gradients])
            for gradient, mean in zip(gradients, means, strict=True):
                gradient.copy_(mean.view_as(gradient))
        for parameter in left:
            if parameter.grad is not None and parameter.grad.is_sparse:
                parameter.grad = _average_sparse(parameter.grad)
        if not self._buckets:
            # Weights without a gradient, such as those of BERT's pooling layer, would keep a bucket waiting, so the
            # buckets have those for which the first step has called a hook.
            self._buckets = self._cut(
                [parameter for parameter in left if parameter in self._hooked and _has_dense_gradient(parameter)]
            )
            self._bucketed = {parameter for bucket in self._buckets for parameter in bucket}

    def _cut(self, parameters: Sequence[nn.Parameter]) -> list[list[nn.Parameter]]:
        """Return buckets of parameters of one device, in the order in which a backward pass comes to them."""
        buckets: list[list[nn.Parameter]] = []
        size = 0
        for parameter in reversed(parameters):
            if not buckets or size + parameter.nbytes > self.bucket_bytes or buckets[-1][0].device != parameter.device:
                buckets.append([])
                size = 0
            buckets[-1].append(parameter)
            size += parameter.nbytes
        return buckets


def _has_dense_gradient(parameter: nn.Parameter) -> bool:
    return parameter.grad is not None and not parameter.grad.is_sparse


def _average_sparse(gradient: Tensor) -> Tensor:
    """Concatenate the rows of all processes, of which each has the same number; rows may be equal."""
    indices, values = gather(gradient._indices()[0]), gather(gradient._values()) / world()
    return torch.sparse_coo_tensor(indices[None], values, gradient.shape, check_invariants=False)


def mean_scalar(value: Tensor) -> Tensor:
    """Return the mean of a number, (), over the processes."""
    return _reduced(value, dist.ReduceOp.SUM) / world()


def largest(value: Tensor) -> Tensor:
    """Return the largest of a number, (), over the processes."""
    return _reduced(value, dist.ReduceOp.MAX)


def _reduced(value: Tensor, operation: Any) -> Tensor:
    if world() > 1:
        value = value.clone()
        dist.all_reduce(value, operation)
    return value
