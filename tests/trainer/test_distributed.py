"""Two processes with half a batch each are one process with all of it: losses, gradients, and the table."""

import multiprocessing
import os
import socket
from pathlib import Path
from typing import Any

import torch
import torch.multiprocessing
from torch import Tensor, nn

from tests.trainer.loop.test_train import ready
from tests.trainer.pairs import pair_rows, write_pairs
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


OPTIMIZERS = ("sparse", "adamw")


class Network:
    """Counts the numbers that a process sends, as tensors of each shape."""

    def __init__(self) -> None:
        self.sent: list[int] = []
        self.waiting: list[bool] = []
        self.all_gather, self.all_reduce = torch.distributed.all_gather, torch.distributed.all_reduce

    def gathered(self, parts: list[Tensor], local: Tensor) -> None:
        self.sent.append(local.numel())
        self.all_gather(parts, local)

    def reduced(self, tensor: Tensor, *arguments: Any, **options: Any) -> Any:
        self.sent.append(tensor.numel())
        self.waiting.append(not options.get("async_op"))
        return self.all_reduce(tensor, *arguments, **options)


def three_steps(options: dict[str, Any]) -> tuple[list[float], dict[str, Tensor]]:
    """Return the losses of three steps without dropout, and the weights after them."""
    run: TrainingRun = ready(options)
    run.averages.bucket_bytes = 20_000
    run.model.encoder.eval()
    run.model.encoder = Unmoved(run.model.encoder)  # type: ignore[assignment]
    losses = []
    for step in range(3):
        results, _ = train_step(run, run.feed.step_batches(run.feed.order(0)[step * 32 : step * 32 + 32], 0), step)
        losses.append(float(distributed.mean_scalar(results["loss"])))
    return losses, {name: tensor.clone() for name, tensor in run.model.state_dict().items()}


def worker(rank: int, port: int, options: dict[str, Any], directory: str) -> None:
    os.environ |= {
        "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)
    }  # fmt: skip
    torch.set_num_threads(1)
    distributed.start(torch.device("cpu"))
    network = Network()
    distributed.dist.all_gather, distributed.dist.all_reduce = network.gathered, network.reduced
    try:
        for optimizer in OPTIMIZERS:
            network.sent, network.waiting = [], []
            losses, weights = three_steps({**options, "entity_optimizer": optimizer})
            torch.save((losses, weights, network.sent, network.waiting), f"{directory}/{optimizer}{rank}.pt")
    finally:
        distributed.stop()


def test_two_processes_are_one(options: dict[str, Any], tmp_path: Path) -> None:
    """Whichever the table's optimiser; and the table itself never crosses the network."""
    entities = 3000
    rows = pair_rows(400, entities=entities)
    options |= {"data": str(write_pairs(tmp_path / "data", rows, entities)), "encode_size": 8}
    options |= {"step_size": 32, "negatives": 2, "hard_negative_weight": 1.0, "entity_to_sentence": True}
    options |= {"dropout": 0.1, "entity_weight": 1.0, "entity_temperature": 0.5}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # Both are copies of one process that has loaded torch.
    multiprocessing.set_forkserver_preload([__name__])
    torch.multiprocessing.start_processes(worker, (port, options, str(tmp_path)), nprocs=2, start_method="forkserver")
    for optimizer in OPTIMIZERS:
        losses, weights = three_steps({**options, "entity_optimizer": optimizer})
        assert weights["table.weight"].shape == (entities, 32)
        both = [torch.load(tmp_path / f"{optimizer}{rank}.pt") for rank in (0, 1)]
        for results, theirs, sent, waiting in both:
            assert torch.allclose(torch.tensor(results), torch.tensor(losses), rtol=1e-5)
            for name, tensor in weights.items():
                assert torch.allclose(theirs[name], tensor, atol=2e-5), name
            # The largest message is a weight of the encoder or a bucket, not the table of 96,000 numbers.
            assert max(sent) < 6_000
            # Buckets of gradients are sent while others are computed.
            assert waiting.count(False) > 9
        assert torch.equal(both[0][1]["table.weight"], both[1][1]["table.weight"])
