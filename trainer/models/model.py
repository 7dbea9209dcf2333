"""Models with their losses: SimCSE and EASE (https://aclanthology.org/2022.naacl-main.284/, equation 4)."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

import torch
from torch import Tensor, nn

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.batch import PairBatch
from wikianchor.trainer.distributed import gather, rank
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable
from wikianchor.trainer.models.losses import entity_loss, entity_to_sentence_loss, same_ids, simcse_loss
from wikianchor.trainer.models.matryoshka import mean_over_widths, parse_widths

# The smallest difference of two dropout views, relative to the largest number of a vector: rounding gives less, dropout
# about 0.1.
MIN_VIEW_DIFFERENCE = 1e-3


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


class EaseModel(Trainable):
    """SimCSE, and with a table and a projection EASE.

    Args:
        encoder: of the sentences.
        config: weights and temperatures of the losses.
        table: entity vectors, None for SimCSE.
        w: the projection W of entity vectors, None for SimCSE.
    """

    encoder: Encoder

    def __init__(
        self, encoder: Encoder, config: Config, table: EntityTable | None = None, w: nn.Module | None = None
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.table = table
        self.w = w
        self.config = config
        self.autocast = config.precision == "bf16"
        self.widths = parse_widths(config.matryoshka, encoder.dim)

    @property
    def views(self) -> int:
        """Encodings of a sentence in a step: 1 where no loss compares two views, else 2."""
        return 2 if self.config.sentence_weight or self.config.both_views else 1

    def encode(self, batch: PairBatch) -> Tensor:
        """Return the dropout views of the sentences, (views, n, dim) float32. All views of a group are one batch."""
        encoded = []
        # Entering an autocast without effect takes a hundredth of a tiny model's step.
        with torch.autocast(batch.restore.device.type, torch.bfloat16) if self.autocast else nullcontext():
            for ids, mask in batch.groups:
                vectors = self.encoder(ids.repeat(self.views, 1), mask.repeat(self.views, 1))
                encoded.append(vectors.float().view(self.views, len(ids), -1))
        return torch.cat(encoded, 1)[:, batch.restore] if len(encoded) > 1 else encoded[0]

    def forward(self, batch: PairBatch) -> dict[str, Tensor]:
        """Return `loss`, and its terms before they are weighted: `simcse` (equation 3) and `entity` (equation 2)."""
        return mean_over_widths(partial(self._losses, batch), self.encode(batch), self.widths)

    def _losses(self, batch: PairBatch, views: Tensor) -> dict[str, Tensor]:
        """Return the losses of the views, (views, n, dim), which may be cut to fewer dimensions than the encoder's."""
        config = self.config
        labels = torch.arange(len(views[0]), device=views.device) + rank() * len(views[0])
        sentences = same_ids(batch.sentences, gather(batch.sentences)) if config.mask_duplicates else None
        terms: dict[str, Tensor] = {}
        total = views.new_zeros(())
        if config.sentence_weight:
            terms["simcse"] = simcse_loss(views[0], gather(views[1]), config.sentence_temperature, labels, sentences)
            total = total + config.sentence_weight * terms["simcse"]
        if self.table is not None:
            terms["entity"] = self._entity_loss(batch, views, labels, sentences)
            total = total + config.entity_weight * terms["entity"]
        return {"loss": total, **terms}

    def _entity_loss(self, batch: PairBatch, views: Tensor, labels: Tensor, sentences: Tensor | None) -> Tensor:
        config, tau = self.config, self.config.entity_temperature
        assert self.table is not None
        assert self.w is not None
        # In place of a missing negative the row's entity is looked up, which costs nothing more; the loss masks it.
        ids = torch.cat((batch.entities[:, None], batch.negatives), 1)
        vectors = self.w(self.table(torch.where(ids < 0, ids[:, :1], ids)))[..., : views.shape[-1]]
        e, negative = gather(vectors[:, 0]), gather(vectors[:, 1:])
        negative_ids = gather(batch.negatives)
        no_negative = (negative_ids < 0).expand(len(batch.entities), -1, -1)
        same = None
        if sentences is not None:
            # The entity of another link of the same sentence is not a negative either.
            same = sentences | same_ids(batch.entities, gather(batch.entities))
            no_negative = no_negative | same_ids(batch.entities, negative_ids)
        weight = config.hard_negative_weight
        loss = entity_loss(views[0], e, negative, tau, weight, labels, same, no_negative)
        if config.both_views:
            # Half of each, and the second without hard negatives, as `use_equal_loss` of the released code.
            loss = 0.5 * loss + 0.5 * entity_loss(views[1], e, None, tau, 0.0, labels, same)
        if config.entity_to_sentence:
            loss = loss + entity_to_sentence_loss(vectors[:, 0], gather(views[0]), tau, labels, same)
        return loss


@torch.no_grad()
def check_views(model: EaseModel, batch: PairBatch) -> None:
    """Check that two dropout views of a sentence differ; if not, SimCSE's loss has no gradient.

    Raises:
        UsageError: they are equal.
    """
    if model.views == 1:
        return
    model.train()
    if float(view_difference(*model.encode(batch)).max()) < MIN_VIEW_DIFFERENCE:
        raise UsageError(
            "two dropout views of a sentence are equal, so there is nothing to learn from them: "
            "the backbone has no dropout: give it some with --dropout=0.1"
        )


def view_difference(first: Tensor, second: Tensor) -> Tensor:
    """Return the largest difference of each two vectors, relative to the largest number of the first.

    Args:
        first, second: (n, dim).

    Returns:
        (n,).
    """
    return (first - second).abs().amax(-1) / first.abs().amax(-1).clamp(min=1e-12)
