"""Batches for the training loop: rows in the order of an epoch, cut into steps, prepared ahead of the GPU.

A step has `step_size` rows in softmaxes of `softmax_size`, and is encoded in as few passes as `encode_size` allows. A
pass has whole softmaxes. If one softmax is larger than `encode_size`, the pass is encoded in groups, and the gradients
of its vectors are kept (`wikianchor.trainer.loop.gradient_cache`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config, EaseConfig, EncoderConfig, PairsConfig
from wikianchor.trainer.data.batch import BatchT, PairBatch
from wikianchor.trainer.data.order import (
    Mix,
    Rows,
    by_wiki,
    held_out_rows,
    parse_quota,
    pick_negatives,
    select_rows,
    shuffled,
)
from wikianchor.trainer.data.tokens import PackedTokens, Tokens, places_of_tokens
from wikianchor.trainer.distributed import rank, world

# Batches prepared ahead: enough to hide a page fault of the memory-mapped arrays.
AHEAD = 4
# Lengths that batches are padded to where each length needs a graph.
LENGTHS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
MAX_GROUPS = 4
# In smaller groups the overhead of one more call costs more than padding: kernel launches on a GPU, Python on a CPU.
MIN_GROUP_SIZE = {"cuda": 256, "cpu": 64}


class Feed(ABC, Generic[BatchT]):
    """The batches of a run. Which rows a batch has depends on the seed and the step alone.

    Args:
        size: rows of the dataset.
        config: options of the run.
        device: where the batches go.

    Attributes:
        excluded: the held-out rows, ascending.
        rows: number of rows in an epoch.
        steps: steps of the optimiser in an epoch; rows that do not fill the last step are left out.
        passes: batches in a step, of equal size.

    Raises:
        UsageError: the rows are fewer than one step, or a softmax cannot be divided among the processes.
    """

    def __init__(self, size: int, config: Config, device: torch.device) -> None:
        if config.softmax_size % world():
            raise UsageError(
                f"--{config.together}={config.softmax_size}: must be a multiple of the number of processes, {world()}"
            )
        self.size, self.config, self.device = size, config, device
        self.passes = count_passes(config, self.sentences_per_row)
        self.excluded = held_out_rows(size, config.held_out, config.seed)
        self._epoch, self._order = -1, self.select(0)
        self.rows = len(self._order)
        self.steps = self.rows // config.step_size
        if self.steps == 0:
            raise UsageError(f"{self.rows} rows are less than one step: --step_size={config.step_size} or fewer rows")

    @property
    def sentences_per_row(self) -> int:
        """Sentences that are encoded for a row, without their dropout views."""
        return 1

    def select(self, epoch: int) -> Rows:
        """Return the rows of an epoch, ascending."""
        return np.delete(np.arange(self.size), self.excluded)

    @abstractmethod
    def make_batch(self, rows: Rows, epoch: int) -> BatchT:
        """Return the batch of these rows, in host memory."""

    def order(self, epoch: int) -> Rows:
        """Return the rows of an epoch in their order; the most recent result is cached."""
        if epoch != self._epoch:
            self._order, self._epoch = self.ordered(epoch), epoch
        return self._order

    def ordered(self, epoch: int) -> Rows:
        """Return the rows of an epoch in their order."""
        return shuffled(self.select(epoch), self.config.seed, epoch)

    def batch(self, rows: Rows, epoch: int) -> BatchT:
        """Return this process's share of the batch of these rows: of each softmax an equal part."""
        shares = rows.reshape(self.softmaxes(len(rows)), world(), -1)
        return self.make_batch(shares[:, rank()].ravel(), epoch)

    def softmaxes(self, rows: int) -> int:
        """Return the number of softmaxes in a batch of all processes."""
        return 1 if rows % self.config.softmax_size else rows // self.config.softmax_size

    def batches(self, first: int, last: int) -> Iterator[BatchT]:
        """Yield the batches of steps `first` to `last` (exclusive), one for each pass, on the device."""
        yield from prefetch(self._batches(first, last), self.device)

    def _batches(self, first: int, last: int) -> Iterator[BatchT]:
        step_size = self.config.step_size
        for step in range(first, last):
            epoch, step_of_epoch = divmod(step, self.steps)
            first_row = step_of_epoch * step_size
            yield from self.step_batches(self.order(epoch)[first_row : first_row + step_size], epoch)

    def step_batches(self, rows: Rows, epoch: int) -> Iterator[BatchT]:
        """Yield the batches of the rows of a step."""
        for part in np.split(rows, self.passes):
            yield self.batch(part, epoch)

    def held_out(self) -> Iterator[BatchT]:
        """Yield the held-out rows in the order of the dataset; rows that do not fill the last softmax are left out."""
        size = self.config.softmax_size
        for start in range(0, len(self.excluded) - size + 1, size):
            yield self.batch(self.excluded[start : start + size], 0).to(self.device)

    def tensor(self, array: NDArray[np.generic]) -> Tensor:
        """Return an array as a tensor, in pinned memory where the device is a GPU."""
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.pin_memory() if self.device.type == "cuda" else tensor


def count_passes(config: Config, sentences_per_row: int = 1) -> int:
    """Return the number of passes of a step: equal numbers of whole softmaxes, as large as `encode_size` allows.

    >>> [count_passes(EaseConfig(softmax_size=8, step_size=128, encode_size=size)) for size in (None, 128, 100, 8, 4)]
    [1, 1, 2, 16, 16]
    """
    softmaxes = max(1, config.step_size // config.softmax_size)
    sentences = config.softmax_size // world() * sentences_per_row
    fitting = softmaxes if not config.encode_size else max(1, config.encode_size // sentences)
    return next(softmaxes // each for each in range(min(fitting, softmaxes), 0, -1) if softmaxes % each == 0)


def group_by_length(lengths: NDArray[np.int64], count: int) -> tuple[list[Rows], Rows]:
    """Sort rows by length and cut them into groups.

    Args:
        lengths: (rows,) tokens of each row.
        count: number of groups.

    Returns:
        the rows of each group, and (rows,) the position of each row in the concatenated groups.

    One group keeps the order of the rows.

    >>> groups, restore = group_by_length(np.array([5, 2, 9, 3]), 2)
    >>> [group.tolist() for group in groups], restore.tolist()
    ([[1, 3], [0, 2]], [2, 0, 3, 1])
    """
    if count == 1:
        return [np.arange(len(lengths))], np.arange(len(lengths))
    order = np.argsort(lengths, kind="stable")
    return np.array_split(order, count), np.argsort(order)


class SentenceFeed(Feed[BatchT]):
    """Batches of sentences, sorted by length into groups.

    Attributes:
        packs: whether the model is trained without padding.
    """

    config: EncoderConfig
    packs = False

    @property
    def fixed_shapes(self) -> bool:
        """Whether batches have few different shapes, since each needs a graph."""
        return False

    def padded_groups(self, packed: PackedTokens, rows: Rows, groups: Sequence[Rows]) -> list[list[Tensor]]:
        """Return token ids and mask of each group of `rows`, padded to the longest row of the group; with `packs` the
        places of its tokens too."""
        lengths = packed.lengths(rows)
        padded = (packed.gather(rows[group], self.padded_length(int(lengths[group].max()))) for group in groups)
        return [
            [self.tensor(array) for array in (ids, mask, *(places_of_tokens(mask) if self.packs else ()))]
            for ids, mask in padded
        ]

    def padded_length(self, longest: int) -> int:
        """Return the length to pad a group to."""
        return longest

    def group_count(self, rows: int) -> int:
        """Return the number of groups by length for a batch of this number of sentences."""
        if self.config.encode_size and self.is_cached(rows):
            return -(-rows // self.config.encode_size)
        by_size = 1 if self.packs else min(MAX_GROUPS, rows // MIN_GROUP_SIZE.get(self.device.type, 64))
        count = max(1, min(self.config.length_groups or by_size, rows))
        # A compiled graph has a fixed number of rows, so all groups must be of one size.
        while self.fixed_shapes and rows % count:
            count -= 1
        return count

    def is_cached(self, sentences: int) -> bool:
        """Return whether a batch of this number of sentences is encoded group by group."""
        return sentences > (self.config.encode_size or sentences)


class PairFeed(SentenceFeed[PairBatch]):
    """Batches of sentences with their entities."""

    config: PairsConfig

    def __init__(self, tokens: Tokens, config: PairsConfig, device: torch.device) -> None:
        self.tokens = tokens
        self.mix = Mix(parse_quota(config.quota, tokens.names), config.language_temperature)
        super().__init__(len(tokens), config, device)
        self.lengths = (*(length for length in LENGTHS if length < config.max_length), config.max_length)

    @property
    def fixed_shapes(self) -> bool:
        """Whether steps are compiled or captured."""
        return bool(self.config.compile or self.config.graphs)

    def select(self, epoch: int) -> Rows:
        """Return the rows of an epoch, ascending, by the quota or the temperature of each wiki."""
        tokens = self.tokens
        return select_rows(tokens.wikis, tokens.names, self.mix, self.excluded, seed=self.config.seed, epoch=epoch)

    def ordered(self, epoch: int) -> Rows:
        """Return the rows of an epoch in their order: with --same_language, each softmax has rows of one wiki."""
        rows, config = super().ordered(epoch), self.config
        return (
            by_wiki(rows, self.tokens.wikis, config.softmax_size, config.seed, epoch) if config.same_language else rows
        )

    def make_batch(self, rows: Rows, epoch: int) -> PairBatch:
        """Return the batch of these rows."""
        lengths, config = self.tokens.lengths(rows), self.config
        groups, restore = group_by_length(lengths, self.group_count(len(rows)))
        k, turn = 0, 0
        if isinstance(config, EaseConfig):
            k, turn = config.negatives, epoch if config.resample_negatives else 0
        negatives = pick_negatives(self.tokens.negatives[rows], k, turn)
        return PairBatch(
            groups=self.padded_groups(self.tokens, rows, groups),
            restore=self.tensor(restore),
            softmaxes=self.softmaxes(len(rows) * world()),
            cached=self.is_cached(len(rows)),
            tokens=int(lengths.sum()),
            entities=self.tensor(self.tokens.entities[rows].astype(np.int64)),
            negatives=self.tensor(negatives.astype(np.int64)),
            sentences=self.tensor(self.tokens.sentences[rows]),
        )

    def padded_length(self, longest: int) -> int:
        """Return the next of the lengths where each length needs a graph."""
        return next(length for length in self.lengths if length >= longest) if self.fixed_shapes else longest


def prefetch(batches: Iterator[BatchT], device: torch.device) -> Generator[BatchT]:
    """Yield batches on a device.

    For a GPU a thread prepares a few batches ahead, and its exceptions are raised here. On a CPU a thread would only
    compete with the training step.
    """
    if device.type == "cpu":
        yield from batches
        return
    with ThreadPoolExecutor(1, "feed") as thread:
        waiting = deque(thread.submit(next, batches, None) for _ in range(AHEAD))
        while (batch := waiting.popleft().result()) is not None:
            waiting.append(thread.submit(next, batches, None))
            yield batch.to(device)
