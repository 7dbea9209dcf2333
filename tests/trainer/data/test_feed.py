"""Batches that a thread prepares ahead of a GPU: their order, errors, and a loop that stops early."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import torch

from wikianchor.trainer.data.batch import TensorBatch
from wikianchor.trainer.data.feed import AHEAD, prefetch

# No tensor is moved to it here.
GPU = torch.device("cuda")


@dataclass(frozen=True)
class Numbered(TensorBatch):
    number: int


def numbered(count: int, made: list[int]) -> Iterator[Numbered]:
    for number in range(count):
        made.append(number)
        yield Numbered(number)


@pytest.mark.parametrize("count", [0, 1, AHEAD, 3 * AHEAD])
def test_all_batches_come_in_their_order(count: int) -> None:
    assert [batch.number for batch in prefetch(numbered(count, []), GPU)] == list(range(count))


def test_an_error_is_raised_after_the_batches_before_it() -> None:
    def broken() -> Iterator[Numbered]:
        yield Numbered(0)
        raise OSError("a page is gone")

    batches = prefetch(broken(), GPU)
    assert next(batches).number == 0
    with pytest.raises(OSError, match="a page is gone"):
        next(batches)


def test_a_loop_that_stops_leaves_the_rest_unmade() -> None:
    made: list[int] = []
    batches = prefetch(numbered(1000, made), GPU)
    assert next(batches).number == 0
    batches.close()
    assert made == list(range(AHEAD + 1))
