"""What is trained: the encoder, the entity table and the projection, and the loss of a batch (EASE, equation 4)."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.batch import Batch
from wikianchor.trainer.distributed import gather, rank
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable
from wikianchor.trainer.models.losses import entity_loss, entity_to_sentence_loss, same_ids, simcse_loss

# Relative to the largest number of a vector: rounding makes less of a difference between views, dropout tenths.
LEAST_DIFFERENCE = 1e-3


class Trainable(nn.Module):
    """What the loop trains: called with a batch, it returns the losses, `loss` in total and each term.

    Attributes:
        encoder: what becomes of the run.
        table, w: what else is trained, where there is any.
        views: how often a token of a batch is encoded.
    """

    encoder: nn.Module
    table: EntityTable | None
    w: nn.Module | None

    def __init__(self) -> None:
        super().__init__()
        # Not in the class: there they would hide the modules of these names.
        self.table = None
        self.w = None

    @property
    def views(self) -> int:
        return 1


class Model(Trainable):
    """Encoder, and for `ease` the table and the projection W."""

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

    @property
    def views(self) -> int:
        """How often a sentence is encoded: once where nothing compares two views."""
        return 2 if self.config.sentence_weight or self.config.both_views else 1

    def encode(self, batch: Batch) -> Tensor:
        """Return the views, (views, n, dim) float32. All views of a group go through the encoder as one batch, and
        dropout differs between its rows."""
        found = []
        # Entering an autocast that does nothing takes a hundredth of a tiny model's step.
        with torch.autocast(batch.restore.device.type, torch.bfloat16) if self.autocast else nullcontext():
            for ids, mask in batch.groups:
                vectors = self.encoder(ids.repeat(self.views, 1), mask.repeat(self.views, 1))
                found.append(vectors.float().view(self.views, len(ids), -1))
        return torch.cat(found, 1)[:, batch.restore] if len(found) > 1 else found[0]

    def forward(self, batch: Batch) -> dict[str, Tensor]:
        """Return the losses of a batch: `loss` in total, and each term before its weight."""
        config = self.config
        views = self.encode(batch)
        labels = torch.arange(len(views[0]), device=views.device) + rank() * len(views[0])
        sentences = same_ids(batch.sentences, gather(batch.sentences)) if config.mask_duplicates else None
        terms: dict[str, Tensor] = {}
        total = views.new_zeros(())
        if config.sentence_weight:
            terms["simcse"] = simcse_loss(views[0], gather(views[1]), config.sentence_temperature, labels, sentences)
            total = total + config.sentence_weight * terms["simcse"]
        if self.table is not None:
            terms["entity"] = self._entity_term(batch, views, labels, sentences)
            total = total + config.entity_weight * terms["entity"]
        return {"loss": total, **terms}

    def _entity_term(self, batch: Batch, views: Tensor, labels: Tensor, sentences: Tensor | None) -> Tensor:
        config, tau = self.config, self.config.entity_temperature
        assert self.table is not None
        assert self.w is not None
        # Where there is no negative, the row's own entity stands in, which is in the batch anyway; it is masked.
        ids = torch.cat((batch.entities[:, None], batch.negatives), 1)
        vectors = self.w(self.table(torch.where(ids < 0, ids[:, :1], ids)))
        e, negative = gather(vectors[:, 0]), gather(vectors[:, 1:])
        negative_ids = gather(batch.negatives)
        no_negative = (negative_ids < 0).expand(len(batch.entities), -1, -1)
        same = None
        if sentences is not None:
            # Another link of the same sentence is no negative of it either.
            same = sentences | same_ids(batch.entities, gather(batch.entities))
            no_negative = no_negative | same_ids(batch.entities, negative_ids)
        weight = config.hard_negative_weight
        loss = entity_loss(views[0], e, negative, tau, weight, labels, same, no_negative)
        if config.both_views:
            # As in the released code: without hard negatives.
            loss = loss + entity_loss(views[1], e, None, tau, 0.0, labels, same)
        if config.entity_to_sentence:
            loss = loss + entity_to_sentence_loss(vectors[:, 0], gather(views[0]), tau, labels, same)
        return loss


@torch.no_grad()
def check_views(model: Model, batch: Batch) -> None:
    """Refuse a model whose two views of a sentence are the same vector: SimCSE's loss would be zero for nothing learnt.

    Raises:
        UsageError: naming the option that helps.
    """
    if model.views == 1:
        return
    model.train()
    first, second = model.encode(batch)
    difference = (first - second).abs().amax(-1) / first.abs().amax(-1).clamp(min=1e-12)
    if float(difference.max()) < LEAST_DIFFERENCE:
        raise UsageError(
            "two dropout views of a sentence are equal, so there is nothing to learn from them: "
            "the backbone has no dropout: give it some with --dropout=0.1"
        )
