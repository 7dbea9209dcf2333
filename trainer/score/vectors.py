"""Unit vectors of distinct texts, in one memory-mapped array: memory does not grow with their number."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from wikianchor.trainer.models.encoder import Encoder

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
# Texts that are tokenised together, which bounds memory; those of them that are encoded at once, for which a GPU goes
# by `Encoder.cuda_tokens`; and rows whose vectors are in memory together.
CHUNK, BATCH, ROWS = 8_192, 32, 2_048


class Vectors:
    """An array (texts, dim) of float16, which changes a cosine by less than 0.001; a text is named by its row.

    Args:
        path: the file, made if it is not there.
        texts: their number.
        dim: the width of the vectors.
    """

    def __init__(self, path: str, texts: int, dim: int) -> None:
        if not os.path.exists(path):
            np.lib.format.open_memmap(f"{path}.new", "w+", np.float16, (texts, dim))
            os.replace(f"{path}.new", path)
        self._array = np.lib.format.open_memmap(path, "r+")

    def encode(self, encoder: Encoder, texts: Sequence[str], rows: Ints) -> Iterator[int]:
        """Encode texts and store them in these rows, the shortest first; yield the number of each chunk."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            vectors = encoder.encode([texts[number] for number in part], BATCH)
            self._array[rows[part]] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-9)
            yield len(part)
        self._array.flush()

    def of(self, rows: Ints) -> Floats:
        """Return the vectors of rows, of the shape of `rows` and dim."""
        return np.asarray(self._array[rows], np.float32)

    def cosines(self, rows: Ints) -> Floats:
        """Return the cosines (n, others) of the first text of each row with its others, given (n, 1 + others) rows."""
        blocks = (self.of(rows[start : start + ROWS]) for start in range(0, len(rows), ROWS))
        return np.concatenate([np.einsum("rd,rod->ro", block[:, 0], block[:, 1:]) for block in blocks])
