"""Initial entity vectors: read from a file by item or by title, or random."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.trainer.data.named_vectors import fill, rows_by_name
from wikianchor.trainer.models.entities import random_vectors
from wikianchor.trainer.models.vector_files import BrokenLines, read_named_vectors


def select_titles(titles: pa.Table | None, qids: NDArray[np.int64]) -> list[tuple[str, int]]:
    """Return the known titles of items, as (title, item)."""
    if titles is None:
        return []
    selected = titles.filter(pc.is_in(titles["qid"], pa.array(qids)))
    return list(zip(selected["title"].to_pylist(), selected["qid"].to_pylist(), strict=True))


def initial_vectors(
    path: str, qids: NDArray[np.int64], titles: pa.Table | None, dim: int, seed: int
) -> tuple[Tensor, NDArray[np.bool_]]:
    """Return the vectors of items, (items, width) float32, and which of them are from the file; the others are random.

    Args:
        path: file of the vectors, or "" for random ones.
        qids: the items, ascending.
        titles: `qid` and `title`, for a file with titles.
        dim: width of random vectors, if there is no file.
        seed: seed of random vectors.

    Raises:
        InputError: the file cannot be read, or has none of the items.
    """
    if not path:
        return random_vectors(len(qids), dim, seed), np.zeros(len(qids), np.bool_)
    # Of two titles of an item the first one counts.
    rows_of = rows_by_name(qids.tolist(), select_titles(titles, qids))
    vectors, known = fill(read_named_vectors(path, BrokenLines()), rows_of, len(qids), "float32")
    table = random_vectors(len(qids), vectors.shape[1], seed)
    table[known] = torch.from_numpy(vectors[known])
    return table, known
