"""Keyed hashes of stable ids, whole arrays at a time: what stands where other programs draw random numbers.

The same ids and seed give the same choice in any order, on any worker, on any machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh3_64_intdigest

Hashes = npt.NDArray[np.uint64]
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _finish(state: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


def mix(seed: int, *ids: npt.NDArray[np.integer] | int) -> Hashes:
    """Hash columns of ids, row by row.

    Args:
        seed: the key.
        ids: arrays of one length, or single numbers for all rows.

    Returns:
        One 64-bit hash a row.
    """
    with np.errstate(over="ignore"):
        state = _finish(np.atleast_1d(np.uint64(seed & 0xFFFFFFFFFFFFFFFF)) + _STEP)
        for column in ids:
            value = (
                np.asarray(column).astype(np.int64, copy=False).view(np.uint64)
                if np.ndim(column)
                else np.uint64(int(column) % 2**64)
            )
            state = _finish((state ^ value) * _STEP + _STEP)
    return state


def mix_hashes(state: Hashes, value: npt.NDArray[np.integer] | int) -> Hashes:
    """Hash hashes with one more id each."""
    with np.errstate(over="ignore"):
        other = np.asarray(value).astype(np.uint64)
        return _finish((state ^ other) * _STEP + _STEP)


def below(hashes: Hashes, sizes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Map each hash to an index in [0, size). The bias is size / 2**64."""
    return (hashes % sizes.astype(np.uint64)).astype(np.int64)


def hash_strings(values: pa.Array) -> Hashes:
    """Hash strings by their UTF-8 bytes (xxh3, 64 bits). Two of 17 million titles collide with a probability of
    1e-5."""
    return np.fromiter(map(xxh3_64_intdigest, values.cast(pa.binary()).to_pylist()), np.uint64, len(values))


def hash_string(value: str) -> int:
    """Hash one string."""
    return xxh3_64_intdigest(value.encode())
