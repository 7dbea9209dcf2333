"""Span corruption as defined for T5 (https://arxiv.org/abs/1910.10683, section 3.1.4), and batches of corrupted texts.

In the source each span is replaced by a sentinel. The target lists each sentinel followed by its span, and ends with
one more sentinel. Spans may lie anywhere, at the first and at the last token too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.schemas.sentinels import EOS, PAD, Vocabulary
from wikianchor.trainer.config import SpanConfig
from wikianchor.trainer.data.batch import TensorBatch
from wikianchor.trainer.data.feed import Feed
from wikianchor.trainer.data.tokens import pack

# The label that cross-entropy ignores.
IGNORED = -100


def span_lengths(length: int, rate: float, mean: float, most: int) -> tuple[int, int]:
    """Return the number of tokens to remove, and the number of spans.

    At least one token stays, and one between every two spans.

    Args:
        length: tokens of the text, 2 or more.
        rate: share of the tokens to remove.
        mean: mean length of a span, in tokens.
        most: the most spans.

    >>> span_lengths(100, 0.15, 3.0, 99)
    (15, 5)
    """
    removed = min(max(round(length * rate), 1), length - 1)
    spans = min(max(round(removed / mean), 1), removed, length - removed + 1, most)
    return removed, spans


def draw_spans(length: int, rate: float, mean: float, most: int, random: np.random.Generator) -> list[tuple[int, int]]:
    """Draw spans (start, end) uniformly from all choices of separate spans; arguments as for `span_lengths`.

    Returns:
        the spans in order; none for a text of fewer than two tokens.
    """
    if length < 2:
        return []
    removed, count = span_lengths(length, rate, mean, most)
    lengths = _composition(removed, count, random)
    # Gaps between spans have one token or more; the first and the last gap may be empty.
    gaps = _composition(length - removed + 2, count + 1, random)[:-1]
    gaps[0] -= 1
    ends = np.cumsum(gaps + lengths)
    return list(zip((ends - lengths).tolist(), ends.tolist(), strict=True))


def _composition(total: int, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Draw `count` positive numbers with the sum `total`, uniformly."""
    cuts = np.sort(random.choice(total - 1, count - 1, replace=False)) + 1
    return np.diff(np.concatenate(([0], cuts, [total]))).astype(np.int64)


def corrupt(
    tokens: Sequence[int], spans: Sequence[tuple[int, int]], vocabulary: Vocabulary
) -> tuple[list[int], list[int]]:
    """Return source and target of a text from which these spans are removed; each ends with </s>."""
    source: list[int] = []
    target: list[int] = []
    position = 0
    for number, (start, end) in enumerate(spans):
        sentinel = vocabulary.sentinel(number)
        source += [*tokens[position:start], sentinel]
        target += [sentinel, *tokens[start:end]]
        position = end
    if len(spans) < vocabulary.extra:
        target.append(vocabulary.sentinel(len(spans)))
    return [*source, *tokens[position:], EOS], [*target, EOS]


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
