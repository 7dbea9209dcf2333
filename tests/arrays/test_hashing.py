"""Keyed hashes: the same on every machine and in any order, even, different for every key and id."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.arrays.hashing import below, hash_string, hash_strings, mix, mix_hashes

IDS = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20)
MASK = 2**64 - 1


def finish(state: int) -> int:
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK
    return state ^ state >> 31


def mixed(seed: int, *ids: int) -> int:
    """`mix` of one row, in plain integers."""
    step = 0x9E3779B97F4A7C15
    state = finish((seed + step) & MASK)
    for number in ids:
        state = finish(((state ^ number & MASK) * step + step) & MASK)
    return state


@given(st.integers(0, MASK), IDS, st.integers(-(2**63), MASK))
def test_the_arrays_give_what_plain_integers_give(seed: int, ids: list[int], other: int) -> None:
    hashes_of = mix(seed, np.array(ids), other)
    assert hashes_of.tolist() == [mixed(seed, number, other) for number in ids]


@given(IDS, st.integers(0, MASK))
def test_one_more_id_is_one_more_round(ids: list[int], other: int) -> None:
    assert mix_hashes(mix(1, np.array(ids)), other).tolist() == mix(1, np.array(ids), other).tolist()


@given(IDS)
def test_rows_do_not_depend_on_each_other(ids: list[int]) -> None:
    whole = mix(42, np.array(ids))
    assert [int(mix(42, np.array([number]))[0]) for number in ids] == whole.tolist()


def test_known_values_stay() -> None:
    # Datasets come out the same from every version: these numbers change with a major version only.
    assert mix(42, np.array([1, -1]), 3).tolist() == [0xDFA2AFA5AE052481, 0x370CE8184B419CF5]
    assert hash_string("Київ") == 0x30A79F8A13EC04AD


def test_string_hashes_do_not_depend_on_pythons_hash_seed() -> None:
    code = "from wikianchor.pipelines.arrays.hashing import hash_string; print(hash_string('Київ'))"
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "random")
    }
    assert outputs == {f"{hash_string('Київ')}\n"}


def test_a_sliced_column_is_hashed_from_its_slice() -> None:
    column = pa.array(["a", "b", "c", "b"]).slice(1)
    assert hash_strings(column).tolist() == [hash_string(text) for text in "bcb"]


@given(IDS, st.integers(1, 50))
def test_an_index_is_below_its_size(ids: list[int], size: int) -> None:
    positions = below(mix(1, np.array(ids)), np.full(len(ids), size))
    assert ((positions >= 0) & (positions < size)).all()


@pytest.mark.parametrize("size", [2, 7, 100])
def test_indices_are_even(size: int) -> None:
    draws = 200_000
    counts = np.bincount(below(mix(42, np.arange(draws)), np.full(draws, size)), minlength=size)
    expected = draws / size
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < size - 1 + 5 * (2 * (size - 1)) ** 0.5


def test_seeds_and_ids_change_every_hash() -> None:
    ids = np.arange(10_000)
    hashes = np.concatenate([mix(seed, ids, other) for seed in (0, 1) for other in (0, 1)])
    assert len(np.unique(hashes)) == len(hashes)
    # Half of the bits differ between neighbours.
    flipped = np.bitwise_count(mix(0, ids) ^ mix(0, ids + 1)) if hasattr(np, "bitwise_count") else np.array([32])
    assert abs(flipped.mean() - 32) < 0.5
