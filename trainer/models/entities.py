"""The entity table: one trained vector for each entity of the dataset, and where the vectors begin.

Sparse is the default: a step moves the rows of its batch alone, so it costs the same for a thousand entities as for
five million. Dense AdamW, which the paper used, reads and writes table, gradient and two moments in each step: 28
bytes for each number, which at a million rows takes longer than BERT-base itself.

`python -m wikianchor.trainer.entity_vectors` makes the file of initial vectors that training reads.
"""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.io.storage import fetch_file

# As in EASE's code: entities without a vector begin uniformly between these.
SPREAD = 0.05
ROWS_AT_ONCE = 65_536


class EntityTable(nn.Module):
    """Vectors of entities, (rows, dim) float32.

    The table may lie on another device than the encoder: then the rows of a batch travel there and their gradients
    back, and the optimiser's states lie with the table.
    """

    def __init__(self, weight: Tensor, sparse: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.sparse = sparse

    def forward(self, ids: Tensor) -> Tensor:
        """ids: (...) int64 on the table's device or another; returns (..., dim) on the device of `ids`."""
        # Waiting for the copy: from a GPU, another would be read before it is there.
        local = ids.to(self.weight.device)
        return nn.functional.embedding(local, self.weight, sparse=self.sparse).to(ids.device)


def random_vectors(rows: int, dim: int, seed: int) -> Tensor:
    """Return (rows, dim) float32 between -SPREAD and SPREAD, the same for the same seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(rows, dim).uniform_(-SPREAD, SPREAD, generator=generator)


def read_vectors(path: str, rows: int, dim: int, qids: NDArray[np.int64], seed: int) -> tuple[Tensor, int]:
    """Read the initial table from a file of `python -m wikianchor.trainer.entity_vectors`.

    Returns the table, and how many of its rows were known there.

    Args:
        rows: the entities of the dataset; the file must be of the same ones, in the same order.
        dim: the width asked for, or 0 for that of the file.

    Raises:
        InputError: the file cannot be read, or has another number of rows, other entities or another width.
    """
    try:
        with tempfile.TemporaryDirectory() as scratch, safe_open(fetch_file(path, scratch), "pt") as stream:
            found = {name: stream.get_slice(name) for name in ("vectors", "known")}
            stated = stream.get_tensor("qids").numpy()
            shape = tuple(found["vectors"].get_shape())
            if shape[0] != rows or not np.array_equal(stated, qids):
                raise InputError(
                    f"{path}: vectors of {shape[0]} entities that are not those of the data: make it again"
                )
            if dim and shape[1] != dim:
                raise InputError(f"{path}: vectors of width {shape[1]}, and --entity_dim={dim}")
            table = random_vectors(rows, shape[1], seed)
            known = 0
            for start in range(0, rows, ROWS_AT_ONCE):
                mask = found["known"][start : start + ROWS_AT_ONCE].bool()
                part = found["vectors"][start : start + ROWS_AT_ONCE].float()
                table[start : start + len(mask)] = torch.where(mask[:, None], part, table[start : start + len(mask)])
                known += int(mask.sum())
    except InputError:
        raise
    except Exception as error:
        # safetensors has errors of its own, and those of files.
        line = " ".join(str(error).split())
        raise InputError(f"{path}: not a file of `python -m wikianchor.trainer.entity_vectors` ({line})") from error
    return table, known
