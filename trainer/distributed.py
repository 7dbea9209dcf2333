"""Several processes as one: what torchrun started, tensors gathered with their gradients, gradients averaged.

A softmax of N sentences is spread over W processes, N / W each. Every process tells its rows from the columns of all,
so the mean of the processes' losses is the loss of one process on the whole batch, and so are the gradients. Without
torchrun each function returns what it was given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn

from wikianchor.io.errors import UsageError

# Processes wait for the first one while it tokenises a dataset or writes a checkpoint; nccl's own limit is ten minutes.
PATIENCE = timedelta(hours=6)


def start(device: torch.device) -> None:
    """Join the processes that torchrun started, by nccl on GPUs and gloo elsewhere."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not dist.is_initialized():
        gpu = device if device.type == "cuda" else None
        # gloo beside nccl is for an entity table that lies in the memory of the CPU.
        dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo", timeout=PATIENCE, device_id=gpu)


def stop() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


def world() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def barrier() -> None:
    if dist.is_initialized():
        dist.barrier()


def choose_device(name: str) -> torch.device:
    """Return the device asked for, or the GPU of this process, or the CPU."""
    try:
        device = torch.device(name or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type == "cuda":
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", device.index or 0)))
            torch.cuda.set_device(device)
    except (RuntimeError, AssertionError, ValueError) as error:
        raise UsageError(f"--device={name}: cannot be used ({' '.join(str(error).split())[:200]})") from error
    return device


class _Gather(torch.autograd.Function):
    """All processes' rows, in the order of their ranks; the gradient of a row is the sum over the processes."""

    @staticmethod
    def forward(context: object, local: Tensor) -> Tensor:
        local = local.contiguous()
        parts = [torch.empty_like(local) for _ in range(world())]
        dist.all_gather(parts, local)
        return torch.cat(parts)

    @staticmethod
    def backward(context: object, gradient: Tensor) -> Tensor:
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(world())[rank()]


def gather(local: Tensor) -> Tensor:
    """local: (n, ...), of the same shape in each process; returns (n * processes, ...)."""
    if world() == 1:
        return local
    found: Tensor = _Gather.apply(local)
    return found


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by the mean over the processes; sparse ones by their rows from everywhere."""
    if world() == 1:
        return
    dense: dict[torch.device, list[Tensor]] = {}
    for parameter in parameters:
        gradient = parameter.grad
        if gradient is not None and gradient.is_sparse:
            parameter.grad = _average_sparse(gradient)
        elif gradient is not None:
            dense.setdefault(gradient.device, []).append(gradient)
    for gradients in dense.values():
        # One message: two hundred small ones take longer than what is in them.
        together = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(together)
        parts = (together / world()).split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def _average_sparse(gradient: Tensor) -> Tensor:
    """Each process has looked up as many rows as any other, some of them several times, and sends them as they are."""
    indices, values = gather(gradient._indices()[0]), gather(gradient._values()) / world()
    return torch.sparse_coo_tensor(indices[None], values, gradient.shape, check_invariants=False)


def mean_scalar(value: Tensor) -> Tensor:
    """Return the mean over the processes of a number."""
    if world() == 1:
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value / world()


def largest(value: Tensor) -> Tensor:
    """Return the largest over the processes of a number."""
    if world() > 1:
        value = value.clone()
        dist.all_reduce(value, dist.ReduceOp.MAX)
    return value
