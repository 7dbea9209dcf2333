"""Hash ids and strings with a key, used instead of random numbers.

The same ids and seed give the same hashes in any order, on any worker and on any machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from xxhash import xxh3_64_intdigest

from wikianchor.pipelines.arrays.strings import string_buffers
from wikianchor.pipelines.wikimedia.core_record import core_with

Hashes = npt.NDArray[np.uint64]
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def _finish(state: Hashes) -> Hashes:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return state ^ (state >> np.uint64(31))


def mix(seed: int, *ids: npt.NDArray[np.integer] | int) -> Hashes:
    """Hash the rows of columns of ids.

    Args:
        seed: the key, 64 bits.
        ids: arrays of the same length, or a number for all rows.

    Returns:
        A 64-bit hash per row.

    >>> mix(1, np.array([7, 8])) == np.append(mix(1, 7), mix(1, 8))
    array([ True,  True])
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
    """Combine hashes from `mix` with one more id each; `mix_hashes(mix(seed, a), b)` equals `mix(seed, a, b)`."""
    with np.errstate(over="ignore"):
        other = np.asarray(value).astype(np.uint64)
        return _finish((state ^ other) * _STEP + _STEP)


def below(hashes: Hashes, sizes: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Map each hash to an index in [0, size), with a bias of size / 2**64."""
    return (hashes % sizes.astype(np.uint64)).astype(np.int64)


def hash_strings(values: pa.Array) -> Hashes:
    """Hash strings by their UTF-8 bytes (xxh3, 64 bits). Among 17 million titles, the probability of a collision is
    1e-5."""
    if core := core_with("hash_strings"):
        return np.frombuffer(core.hash_strings(string_buffers(values.cast(pa.string()))), np.uint64).copy()
    return np.fromiter(map(xxh3_64_intdigest, values.cast(pa.binary()).to_pylist()), np.uint64, len(values))


def hash_string(value: str) -> int:
    """Hash one string as `hash_strings` does."""
    return xxh3_64_intdigest(value.encode())
