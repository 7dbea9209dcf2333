"""The entity table: one trained vector for each entity of the dataset, and its initial values.

By default gradients are sparse: a step updates the rows of its batch alone, and costs the same for a thousand entities
as for five million. Dense AdamW, as in the paper, reads and writes table, gradient and two moments in each step: 28
bytes for each number, which for a million rows takes longer than BERT-base.

`wikianchor vectors` writes files of initial vectors.
"""

from __future__ import annotations

import tempfile

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import unreadable
from wikianchor.io.storage import fetch_file

# Random initial values are uniform between -SPREAD and SPREAD, as in EASE's code.
SPREAD = 0.05
ROWS_AT_ONCE = 65_536
# torch 2.11 prints a warning where nobody has said whether the indices of sparse gradients are checked.
torch.sparse.check_sparse_tensor_invariants.disable()


class EntityTable(nn.Module):
    """An embedding of entities, which may be on another device than the encoder.

    Args:
        weight: (entities, dim) float32.
        sparse: whether gradients are sparse.

    Attributes:
        given: the vectors of the batch, which `forward` returns instead, or None. A captured step reads them from here.
    """

    def __init__(self, weight: Tensor, sparse: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.sparse = sparse
        self.given: Tensor | None = None

    def forward(self, ids: Tensor) -> Tensor:
        """Return the vectors of entities, (..., dim), on the device of `ids`, (...) int64."""
        if self.given is not None:
            return self.given
        # A blocking copy: after an asynchronous copy from a GPU, the CPU could read ids that have not arrived.
        local = ids.to(self.weight.device)
        return nn.functional.embedding(local, self.weight, sparse=self.sparse).to(ids.device)


def random_vectors(rows: int, dim: int, seed: int) -> Tensor:
    """Return random vectors, (rows, dim) float32, uniform between -SPREAD and SPREAD; equal for equal seeds."""
    generator = torch.Generator().manual_seed(seed)
    return torch.empty(rows, dim).uniform_(-SPREAD, SPREAD, generator=generator)


def read_vectors(path: str, rows: int, dim: int, qids: NDArray[np.int64], seed: int) -> tuple[Tensor, int]:
    """Read initial vectors from a file of `wikianchor vectors`.

    Args:
        path: path of the file, local or a URI.
        rows: number of entities of the dataset.
        dim: expected width, 0 for any.
        qids: items of the entities; those of the file must be the same, in the same order.
        seed: seed of the vectors that the file does not have.

    Returns:
        the vectors, (rows, dim) float32, and how many of them are from the file.

    Raises:
        InputError: the file cannot be read, or has other entities or another width.
    """
    with (
        unreadable(f"{path}: not a file of `wikianchor vectors`"),
        tempfile.TemporaryDirectory() as scratch,
        safe_open(fetch_file(path, scratch), "pt") as stream,
    ):
        vectors, is_known = stream.get_slice("vectors"), stream.get_slice("known")
        shape = tuple(vectors.get_shape())
        if shape[0] != rows or not np.array_equal(stream.get_tensor("qids").numpy(), qids):
            raise InputError(f"{path}: vectors of {shape[0]} entities that are not those of the data: make it again")
        if dim and shape[1] != dim:
            raise InputError(f"{path}: vectors of width {shape[1]}, and --entity_dim={dim}")
        table = random_vectors(rows, shape[1], seed)
        known = 0
        for start in range(0, rows, ROWS_AT_ONCE):
            mask = is_known[start : start + ROWS_AT_ONCE].bool()
            part = vectors[start : start + ROWS_AT_ONCE].float()
            table[start : start + len(mask)] = torch.where(mask[:, None], part, table[start : start + len(mask)])
            known += int(mask.sum())
    return table, known
