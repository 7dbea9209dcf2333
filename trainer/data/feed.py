"""Batches for the loop: rows of the order, gathered, sorted into groups of like length, ahead of need."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config, parse_lengths
from wikianchor.trainer.data.batch import Batch
from wikianchor.trainer.data.order import Mix, Rows, held_out_rows, parse_quota, pick_negatives, select_rows, shuffled
from wikianchor.trainer.data.tokens import Tokens
from wikianchor.trainer.distributed import rank, world

# Batches that wait: enough to hide a page fault of the mapped arrays.
AHEAD = 4
MOST_GROUPS = 4
# Sentences of a group below which a launch costs more than padding: kernels on a GPU, Python on a CPU.
LEAST_GROUP = {"cuda": 256, "cpu": 64}


@dataclass
class Feed:
    """The batches of a run; which rows a batch has depends on seed and step alone."""

    tokens: Tokens
    config: Config
    device: torch.device
    _epoch: int = -1
    _order: Rows = field(default_factory=lambda: np.empty(0, np.int64))

    def __post_init__(self) -> None:
        config = self.config
        self.mix = Mix(parse_quota(config.quota, self.tokens.names), config.language_temperature)
        self.excluded = held_out_rows(len(self.tokens), config.held_out, config.seed)
        self.lengths = parse_lengths(config.lengths, config.max_length) if config.compile else ()
        if config.softmax_size % world():
            raise UsageError(f"--softmax_size={config.softmax_size}: cannot be spread over {world()} processes evenly")
        self.rows = len(self._select(0))
        self.steps = self.rows // config.step_size
        if self.steps == 0:
            raise UsageError(f"{self.rows} rows are less than one step: --step_size={config.step_size} or fewer rows")

    def _select(self, epoch: int) -> Rows:
        tokens = self.tokens
        return select_rows(tokens.wikis, tokens.names, self.mix, self.excluded, self.config.seed, epoch)

    def order(self, epoch: int) -> Rows:
        """Return the rows of an epoch in their order; the last one asked for is kept."""
        if epoch != self._epoch:
            self._order = shuffled(self._select(epoch), self.config.seed, epoch, self.config.stream_above)
            self._epoch = epoch
        return self._order

    def batches(self, first: int, last: int) -> Iterator[Batch]:
        """Yield the batches of steps first to last, one for each softmax, on the device."""
        yield from ahead(self._make(first, last), self.device)

    def _make(self, first: int, last: int) -> Iterator[Batch]:
        size = self.config.softmax_size
        for step in range(first, last):
            epoch, within = divmod(step, self.steps)
            for start in range(within * self.config.step_size, (within + 1) * self.config.step_size, size):
                yield self.batch(self.order(epoch)[start : start + size], epoch)

    def held_out(self) -> Iterator[Batch]:
        """Yield the held-out rows, those that fill a softmax, in the order of the dataset."""
        size = self.config.softmax_size
        for start in range(0, len(self.excluded) - size + 1, size):
            yield self.batch(self.excluded[start : start + size], 0).to(self.device)

    def batch(self, rows: Rows, epoch: int) -> Batch:
        """Return the batch of rows, or this process's part of it."""
        own = rows[rank() * len(rows) // world() : (rank() + 1) * len(rows) // world()]
        counts = self.tokens.lengths(own)
        parts = self._groups(len(own))
        restore = np.arange(len(own))
        groups = [restore]
        if parts > 1:
            by_length = np.argsort(counts, kind="stable")
            groups = np.array_split(by_length, parts)
            restore = np.argsort(by_length)
        padded = [self.tokens.gather(own[group], self._length(int(counts[group].max()))) for group in groups]
        config = self.config
        k = config.negatives if config.objective == "ease" else 0
        negatives = pick_negatives(self.tokens.negatives[own], k, epoch if config.resample_negatives else 0)
        return Batch(
            [(self._tensor(ids), self._tensor(mask)) for ids, mask in padded],
            self._tensor(restore),
            self._tensor(self.tokens.entities[own].astype(np.int64)),
            self._tensor(negatives.astype(np.int64)),
            self._tensor(self.tokens.sentences[own]),
            int(counts.sum()),
        )

    def _groups(self, rows: int) -> int:
        wanted = self.config.length_groups or min(MOST_GROUPS, rows // LEAST_GROUP.get(self.device.type, 64))
        parts = max(1, min(wanted, rows))
        # A graph is for one number of rows too, so groups that are compiled are of one size.
        while self.config.compile and rows % parts:
            parts -= 1
        return parts

    def _length(self, longest: int) -> int:
        return next((length for length in self.lengths if length >= longest), longest)

    def _tensor(self, array: NDArray[np.generic]) -> Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(array))
        return tensor.pin_memory() if self.device.type == "cuda" else tensor


class Movable(Protocol):
    """A batch that can go to a device."""

    def to(self, device: torch.device) -> Any: ...


def ahead(batches: Iterator[Movable], device: torch.device) -> Iterator[Any]:
    """Yield what `batches` yields, on a device. For a GPU a thread makes them, a few batches ahead, and its errors are
    raised here; on a CPU it would only take turns with the step."""
    if device.type == "cpu":
        yield from batches
        return
    waiting: queue.Queue[Movable | BaseException | None] = queue.Queue(AHEAD)
    stopped = threading.Event()

    def put(item: Movable | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for batch in batches:
                if not put(batch):
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=work, daemon=True, name="feed").start()
    try:
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item.to(device)
    finally:
        stopped.set()
