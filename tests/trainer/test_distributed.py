"""Two processes with half a batch each are one process with all of it: losses, gradients, and the table."""

import os
import socket
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing
from torch import Tensor, nn

from tests.trainer.loop.test_train import ready
from wikianchor.trainer import distributed
from wikianchor.trainer.loop.train import TrainingRun, train_step


class Unmoved(nn.Module):
    """Views that are the same in any process, unlike dropout's: the second is noise that follows from the first."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder
        self.pooler = "avg"

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        vectors = self.encoder(input_ids, attention_mask)
        half = len(vectors) // 2
        return torch.cat((vectors[:half], vectors[half:] + 0.3 * torch.sin(50 * vectors[half:].detach())))


def two_steps(options: dict[str, Any]) -> tuple[list[float], dict[str, Tensor]]:
    """Return the losses of two steps without dropout, and the weights after them."""
    run: TrainingRun = ready(options)
    run.model.encoder.eval()
    run.model.encoder = Unmoved(run.model.encoder)  # type: ignore[assignment]
    losses = []
    for step in range(2):
        start = step * 32
        parts = [run.feed.batch(run.feed.order(0)[start + half : start + half + 16], 0) for half in (0, 16)]
        found, _ = train_step(run, iter(parts), step)
        losses.append(float(distributed.mean_scalar(found["loss"])))
    return losses, {name: tensor.clone() for name, tensor in run.model.state_dict().items()}


def worker(rank: int, port: int, options: dict[str, Any], place: str) -> None:
    os.environ |= {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)
    }  # fmt: skip
    torch.set_num_threads(1)
    distributed.start(torch.device("cpu"))
    try:
        torch.save(two_steps(options), f"{place}/{rank}.pt")
    finally:
        distributed.stop()


def test_two_processes_are_one(options: dict[str, Any], tmp_path: Path) -> None:
    options |= {"step_size": 32, "negatives": 2, "hard_negative_weight": 1.0, "entity_to_sentence": True}
    options |= {"dropout": 0.1, "entity_weight": 1.0, "entity_temperature": 0.5}
    losses, weights = two_steps(options)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(worker, (port, options, str(tmp_path)), nprocs=2)
    for rank in (0, 1):
        found, theirs = torch.load(tmp_path / f"{rank}.pt")
        assert torch.allclose(torch.tensor(found), torch.tensor(losses), rtol=1e-5)
        for name, tensor in weights.items():
            assert torch.allclose(theirs[name], tensor, atol=2e-5), name
    one, other = (torch.load(tmp_path / f"{rank}.pt")[1]["table.weight"] for rank in (0, 1))
    assert torch.equal(one, other)
