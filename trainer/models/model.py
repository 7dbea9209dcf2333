"""Models with their losses: SimCSE and EASE (https://aclanthology.org/2022.naacl-main.284/, equation 4).

`encode` turns the sentences of a batch into vectors, and `losses` turns the vectors into losses: two functions, so that
a batch that does not fit in memory is encoded group by group (`wikianchor.trainer.loop.gradient_cache`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import EaseConfig, EncoderConfig, PairsConfig
from wikianchor.trainer.data.batch import PairBatch, SentenceBatch
from wikianchor.trainer.distributed import gather, rank, world
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable
from wikianchor.trainer.models.losses import (
    Losses,
    all_widths,
    at_least_float32,
    entity_loss,
    mean_over_widths,
    same_ids,
    simcse_loss,
)

# The smallest difference of two dropout views, relative to the largest number of a vector: rounding gives less, dropout
# about 0.1.
MIN_VIEW_DIFFERENCE = 1e-3
# Logits computed at once, 0.5 GB in float32. A softmax of 65,536 sentences has 4.3 billion for each of its losses.
MOST_LOGITS = 1 << 27


class Trainable(nn.Module):
    """Base class of models for the training loop: `forward` takes a batch and returns losses, () each, by name. `loss`
    is their sum, which is minimised.

    Attributes:
        encoder: what is exported.
        table, w: entity table and projection, or None.
        views: how often a token of a batch is encoded.
    """

    encoder: nn.Module
    table: EntityTable | None
    w: nn.Module | None

    def __init__(self) -> None:
        super().__init__()
        # Class attributes would hide modules of these names.
        self.table = None
        self.w = None

    @property
    def views(self) -> int:
        """Encodings of a sentence in a step."""
        return 1


class SentenceModel(Trainable, ABC):
    """Base class of encoders with losses of the vectors of a batch.

    Args:
        encoder: what encodes the sentences.
        config: its precision is used here.
    """

    encoder: Encoder

    def __init__(self, encoder: Encoder, config: EncoderConfig) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = config
        self.autocast = config.precision == "bf16"

    def encode_group(
        self, ids: Tensor, mask: Tensor, places: Tensor | None = None, ends: Tensor | None = None
    ) -> Tensor:
        """Return the dropout views of the sentences of a group, (views, rows, dim) float32, from one call.

        Args:
            ids, mask: (rows, length).
            places, ends: of a packed group, else None.
        """
        views = range(self.views)
        packing: tuple[Tensor, ...] = ()
        if places is not None and ends is not None:
            all_places = torch.cat([places + view * ids.numel() for view in views])
            packing = (all_places, torch.cat([ends + view * len(places) for view in views]))
        with self._casts(ids.device):
            vectors = self.encoder(ids.repeat(self.views, 1), mask.repeat(self.views, 1), *packing)
        return at_least_float32(vectors).view(self.views, len(ids), -1)

    def encode(self, batch: SentenceBatch) -> Tensor:
        """Return the dropout views of the sentences, (views, sentences, dim) float32."""
        # Within one context the weights are cast once for all groups.
        with self._casts(batch.restore.device):
            return in_order([self.encode_group(*group) for group in batch.groups], batch)

    def _casts(self, device: torch.device) -> AbstractContextManager[object]:
        # Entering an autocast without effect takes a hundredth of a tiny model's step.
        return torch.autocast(device.type, torch.bfloat16) if self.autocast else nullcontext()

    @abstractmethod
    def losses(self, batch: SentenceBatch, vectors: Tensor) -> Losses:
        """Return `loss`, (), which is minimised, and its terms, from what `encode` returned."""

    def forward(self, batch: SentenceBatch) -> Losses:
        """Return the losses of a batch."""
        return self.losses(batch, self.encode(batch))


def in_order(groups: Sequence[Tensor], batch: SentenceBatch) -> Tensor:
    """Return the vectors of groups, (views, rows, dim) each, in the order of the batch's sentences.

    One group has the order of the batch.
    """
    return torch.cat(list(groups), 1)[:, batch.restore] if len(groups) > 1 else groups[0]


def columns(rows: Tensor, batch: SentenceBatch) -> Tensor:
    """Return the columns of each softmax, ([softmaxes,] m, ...): the rows, (n, ...), of all processes."""
    return gather(batch.split(rows), dim=int(batch.softmaxes > 1))


def in_blocks(losses_of: Callable[[slice], Losses], rows: int, logits: int) -> Losses:
    """Return the mean losses over blocks of rows that need at most `MOST_LOGITS` logits.

    The logits of a block are computed again in the backward pass, so only one block's are in memory at a time.

    Args:
        losses_of: returns the mean losses of some rows of each softmax.
        rows: number of rows of each softmax.
        logits: number of logits for one row of each softmax.
    """
    size = max(1, MOST_LOGITS // logits)
    if size >= rows:
        return losses_of(slice(0, rows))
    total: Losses = {}
    for start in range(0, rows, size):
        block = slice(start, min(start + size, rows))
        means = checkpoint(losses_of, block, use_reentrant=False, preserve_rng_state=False)
        for name, mean in means.items():
            share = mean * ((block.stop - start) / rows)
            total[name] = total[name] + share if name in total else share
    return total


class EaseModel(SentenceModel):
    """SimCSE, and with a table and a projection EASE.

    Args:
        encoder: what encodes the sentences.
        config: weights and temperatures of the losses.
        table: entity vectors, None for SimCSE.
        w: the projection W of entity vectors, None for SimCSE.
    """

    config: PairsConfig

    def __init__(
        self, encoder: Encoder, config: PairsConfig, table: EntityTable | None = None, w: nn.Module | None = None
    ) -> None:
        super().__init__(encoder, config)
        self.table = table
        self.w = w
        self.widths = all_widths(config.matryoshka, encoder.dim)

    @property
    def views(self) -> int:
        """Encodings of a sentence in a step: 1 where no loss compares two views, else 2."""
        config = self.config
        return 2 if config.sentence_weight or (isinstance(config, EaseConfig) and config.both_views) else 1

    def losses(self, batch: SentenceBatch, vectors: Tensor) -> Losses:
        """Return `loss`, and its terms before they are weighted: `simcse` (equation 3) and `entity` (equation 2).

        Args:
            batch: its ids.
            vectors: (views, n, dim), the dropout views of its sentences.
        """
        assert isinstance(batch, PairBatch)
        return mean_over_widths(partial(self._losses, batch), vectors, self.widths)

    def _losses(self, batch: PairBatch, vectors: Tensor) -> Losses:
        """Return the losses of vectors that may be cut to fewer dimensions than the encoder's."""
        config = self.config
        views = [batch.split(view) for view in vectors]
        n = views[0].shape[-2]
        columns_of_rows = torch.arange(n, device=vectors.device) + rank() * n
        sentence_columns = columns(batch.sentences, batch) if config.mask_duplicates else None
        other_views = columns(vectors[1], batch) if config.sentence_weight else None
        entities = self._entities(batch, vectors) if self.table is not None else None

        def losses_of(rows: slice) -> Losses:
            labels, same = columns_of_rows[rows], None
            if sentence_columns is not None:
                same = same_ids(batch.split(batch.sentences)[..., rows], sentence_columns)
            terms: Losses = {}
            total = vectors.new_zeros(())
            if other_views is not None:
                first = views[0][..., rows, :]
                terms["simcse"] = simcse_loss(first, other_views, config.sentence_temperature, labels, same)
                total = total + config.sentence_weight * terms["simcse"]
            if isinstance(config, EaseConfig) and entities is not None:
                terms["entity"] = self._entity_loss(entities, views, rows, labels, same)
                total = total + config.entity_weight * terms["entity"]
            return {"loss": total, **terms}

        hard = entities.hard.shape[-2] if entities is not None else 0
        return in_blocks(losses_of, n, len(vectors[0]) * world() * (1 + hard))

    def entity_ids(self, batch: PairBatch) -> Tensor:
        """Return the ids whose vectors a batch needs, (n, 1 + k): of each row its entity, then its hard negatives.

        In place of a missing negative the row's entity is looked up, which costs nothing more; the loss masks it.
        """
        ids = torch.cat((batch.entities[:, None], batch.negatives), 1)
        return torch.where(ids < 0, ids[:, :1], ids)

    def _entities(self, batch: PairBatch, vectors: Tensor) -> Entities:
        assert self.table is not None and self.w is not None and isinstance(self.config, EaseConfig)  # noqa: PT018
        projected = self.w(self.table(self.entity_ids(batch)))[..., : vectors.shape[-1]]
        return Entities(
            rows=batch.split(projected[:, 0]),
            columns=columns(projected[:, 0], batch),
            hard=columns(projected[:, 1:], batch),
            ids=batch.split(batch.entities),
            column_ids=columns(batch.entities, batch),
            hard_ids=columns(batch.negatives, batch),
            sentences=columns(vectors[0], batch) if self.config.entity_to_sentence else None,
        )

    def _entity_loss(
        self, entities: Entities, views: Sequence[Tensor], rows: slice, labels: Tensor, same: Tensor | None
    ) -> Tensor:
        config = self.config
        assert isinstance(config, EaseConfig)
        tau = config.entity_temperature
        no_negative = (entities.hard_ids < 0).unsqueeze(-3)
        if same is not None:
            # The entity of another link of the same sentence is not a negative either.
            ids = entities.ids[..., rows]
            same = same | same_ids(ids, entities.column_ids)
            no_negative = no_negative | same_ids(ids, entities.hard_ids)
        weight, first = config.hard_negative_weight, views[0][..., rows, :]
        loss = entity_loss(
            first, entities.columns, entities.hard, tau, weight, labels=labels, same=same, no_negative=no_negative
        )
        if config.both_views:
            # Half of each, and the second without hard negatives, as `use_equal_loss` of the released code.
            second = entity_loss(views[1][..., rows, :], entities.columns, None, tau, labels=labels, same=same)
            loss = 0.5 * loss + 0.5 * second
        if entities.sentences is not None:
            # Equation 2 with the roles of sentences and entities exchanged, and without hard negatives.
            loss = loss + simcse_loss(entities.rows[..., rows, :], entities.sentences, tau, labels, same)
        return loss


@dataclass(frozen=True)
class Entities:
    """The entities of a batch, projected; each may have the dimension of softmaxes in front.

    Attributes:
        rows: (n, dim), of this process's rows.
        columns: (m, dim), of all processes.
        hard: (m, k, dim), hard negatives of all processes.
        ids: (n,) int64, of `rows`.
        column_ids: (m,) int64.
        hard_ids: (m, k) int64, -1 where a row has fewer than k.
        sentences: (m, dim), first views of all sentences, for `entity_to_sentence`; else None.
    """

    rows: Tensor
    columns: Tensor
    hard: Tensor
    ids: Tensor
    column_ids: Tensor
    hard_ids: Tensor
    sentences: Tensor | None


def check_views(first: Tensor, second: Tensor) -> None:
    """Check that two dropout views of sentences, (n, dim) each, differ; if not, there is no gradient.

    Raises:
        UsageError: they are equal.
    """
    # Relative to the largest number of a vector.
    difference = (first - second).abs().amax(-1) / first.abs().amax(-1).clamp(min=1e-12)
    if len(difference) and float(difference.max()) < MIN_VIEW_DIFFERENCE:
        raise UsageError(
            "two dropout views of a sentence are equal, so there is nothing to learn from them: "
            "the backbone has no dropout: give it some with --dropout=0.1"
        )
