"""Batches of corrupted texts for the T5."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.schemas.sentinels import PAD, Vocabulary
from wikianchor.trainer.config import SpanConfig
from wikianchor.trainer.data.batch import TensorBatch
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.data.tokens import pack
from wikianchor.trainer.t5.corruption import corrupt, draw_spans

# The label that cross-entropy ignores.
IGNORED = -100


@dataclass(frozen=True)
class SpanBatch(TensorBatch):
    """n corrupted texts.

    Attributes:
        source: (n, length) int64, token ids with sentinels in place of spans.
        mask: (n, length) bool.
        target: (n, target length) int64, sentinels and spans, IGNORED as padding.
        weight: share of the target's tokens in those of the step, times the passes of the step: factor of the loss.
        tokens: number of tokens of sources and targets without padding.
    """

    source: Tensor
    mask: Tensor
    target: Tensor
    weight: float
    tokens: int


class SpanFeed(Feed[SpanBatch]):
    """Batches of texts whose spans are drawn anew in each epoch, from the seed, the epoch and the row alone.

    The token ids of the whole corpus are held in memory.
    """

    config: SpanConfig

    def __init__(
        self, rows: Sequence[Sequence[int]], vocabulary: Vocabulary, config: SpanConfig, device: torch.device
    ) -> None:
        super().__init__(len(rows), config, device)
        self.vocabulary = vocabulary
        self.tokens, self.starts = pack(rows, vocabulary.size)

    def held_out(self) -> Iterator[SpanBatch]:
        """Yield all held-out rows, corrupted in the same way in every call."""
        for start in range(0, len(self.excluded), self.config.softmax_size):
            yield self.make_batch(self.excluded[start : start + self.config.softmax_size], 0).to(self.device)

    def step_batches(self, rows: NDArray[np.int64], epoch: int) -> Iterator[SpanBatch]:
        """Yield the batches of the rows of a step, weighted so that the step's loss is the mean over its tokens.

        The rows are sorted by length: the gradient of the step is the same with less padding.
        """
        by_length = np.argsort(self.starts[rows + 1] - self.starts[rows], kind="stable")
        batches = list(super().step_batches(rows[by_length], epoch))
        targets = [int((batch.target != IGNORED).sum()) for batch in batches]
        for batch, count in zip(batches, targets, strict=True):
            yield dataclasses.replace(batch, weight=count * len(batches) / sum(targets))

    def make_batch(self, rows: NDArray[np.int64], epoch: int) -> SpanBatch:
        """Return the batch of these rows."""
        config = self.config
        sources, targets = [], []
        for row in rows.tolist():
            tokens = self.tokens[self.starts[row] : self.starts[row + 1]].tolist()
            random = np.random.default_rng([config.seed, epoch, row])
            most = self.vocabulary.extra - 1
            spans = draw_spans(len(tokens), config.corruption_rate, config.span_length, most, random)
            source, target = corrupt(tokens, spans, self.vocabulary)
            sources.append(torch.tensor(source))
            targets.append(torch.tensor(target))
        source, target = (
            torch.nn.utils.rnn.pad_sequence(texts, batch_first=True, padding_value=padding)
            for texts, padding in ((sources, PAD), (targets, IGNORED))
        )
        return SpanBatch(source, source != PAD, target, 1.0, sum(map(len, [*sources, *targets])))
