"""Data parallelism under torchrun: tensors gathered with their gradients, and gradients averaged.

A softmax of N sentences is divided among W processes, N / W each. Each process compares its rows with the columns of
all processes, so the mean of the processes' losses equals the loss of one process on the whole batch, and so do the
gradients. Without torchrun every function returns its argument.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import timedelta

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
    """Return the rows of all processes; gradients flow back to the process of each row.

    Args:
        local: (n, ...), of the same shape in each process.

    Returns:
        (n * processes, ...).
    """
    if world() == 1:
        return local
    gathered: Tensor = _Gather.apply(local)
    return gathered


def average_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Replace each gradient by the mean over the processes. Sparse gradients are concatenated, not summed."""
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
        # One message for all gradients: the latency of two hundred messages is longer than the transfer.
        message = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(message)
        parts = (message / world()).split([gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def _average_sparse(gradient: Tensor) -> Tensor:
    """Concatenate the rows of all processes, of which each has the same number; rows may be equal."""
    indices, values = gather(gradient._indices()[0]), gather(gradient._values()) / world()
    return torch.sparse_coo_tensor(indices[None], values, gradient.shape, check_invariants=False)


def mean_scalar(value: Tensor) -> Tensor:
    """Return the mean of a number, (), over the processes."""
    if world() == 1:
        return value
    value = value.clone()
    dist.all_reduce(value)
    return value / world()


def largest(value: Tensor) -> Tensor:
    """Return the largest of a number, (), over the processes."""
    if world() > 1:
        value = value.clone()
        dist.all_reduce(value, dist.ReduceOp.MAX)
    return value
