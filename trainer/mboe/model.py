"""The model of M-BoE: text and a bag of entities, weighed by attention, and a classifier over their sum.

    h = encoder(text)[CLS]                                         (batch, dim)
    phi(e, d) = [cos(h, v_e); commonness]                          (3.1)
    a = softmax(W_a phi) over the entities of the document         (3.2)
    z = sum of a_e v_e                                             (3.3)
    p = classifier(h + z)                                          (3.4)

A document without entities has z = 0: what is left is the plain classifier.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable


class DocumentBatch(NamedTuple):
    """Documents on the model's device.

    Attributes:
        ids: (batch, length) int64, tokens.
        mask: (batch, length) int64, 1 where there is a token.
        entities: (batch, most) int64, rows of the entity table.
        commonness: (batch, most) float32.
        present: (batch, most) bool, where there is an entity.
        labels: (batch,) int64, or (batch, labels) float32 where there may be several.
    """

    ids: Tensor
    mask: Tensor
    entities: Tensor
    commonness: Tensor
    present: Tensor
    labels: Tensor

    def to(self, device: torch.device) -> DocumentBatch:
        return DocumentBatch(*(part.to(device, non_blocking=True) for part in self))


class Attention(nn.Module):
    """Weighs the entities of a document by what `features` names: both, cosine, commonness, or none for equal
    weights."""

    def __init__(self, features: str, bias: bool) -> None:
        super().__init__()
        self.features = features
        count = {"both": 2, "none": 0}.get(features, 1)
        self.weight = nn.Linear(count, 1, bias=bias) if count else None

    def forward(self, h: Tensor, vectors: Tensor, commonness: Tensor, present: Tensor) -> Tensor:
        """h: (batch, dim); vectors: (batch, most, dim); commonness, present: (batch, most); returns (batch, most),
        which sums to one, or to nothing where there is no entity."""
        if self.weight is None:
            return present / present.sum(1, keepdim=True).clamp(min=1)
        found = []
        if self.features != "commonness":
            products = torch.bmm(vectors, h.unsqueeze(2)).squeeze(2)
            norms = vectors.norm(dim=2) * h.norm(dim=1, keepdim=True)
            found.append(products / norms.clamp(min=1e-8))
        if self.features != "cosine":
            found.append(commonness)
        scores = self.weight(torch.stack(found, 2)).squeeze(2)
        # A number and not infinity, so that a row without entities has a gradient.
        weights = torch.softmax(scores.masked_fill(~present, torch.finfo(scores.dtype).min), 1)
        return weights * present


class Mboe(nn.Module):
    """Encoder, entity table, attention, classifier.

    Args:
        encoder: gives (batch, dim).
        config: of the run.
        labels: how many there are.
        vectors: (items, width) where the entities begin, or None for the plain classifier.
    """

    def __init__(self, encoder: Encoder, config: MboeConfig, labels: int, vectors: Tensor | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.autocast = config.precision == "bf16"
        self.frozen = config.freeze_encoder
        self.combine = config.combine
        dim = encoder.dim
        self.table = self.attention = self.projection = None
        if vectors is not None:
            self.table = EntityTable(vectors.clone(), sparse=config.train_entities)
            self.table.weight.requires_grad_(config.train_entities)
            self.attention = Attention(config.attention, config.bias)
            if vectors.shape[1] != dim:
                # The thesis has vectors as wide as the encoder.
                self.projection = nn.Linear(vectors.shape[1], dim, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        width = 2 * dim if self.combine == "concatenation" and self.table is not None else dim
        self.classifier = nn.Linear(width, labels)

    def text(self, batch: DocumentBatch) -> Tensor:
        """Return h, (batch, dim) float32."""
        with (
            torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen),
            torch.autocast(batch.ids.device.type, torch.bfloat16, enabled=self.autocast),
        ):
            found: Tensor = self.encoder(batch.ids, batch.mask)
        return found.float()

    def forward(self, batch: DocumentBatch) -> tuple[Tensor, Tensor]:
        """Return logits (batch, labels) and the weights of the entities (batch, most)."""
        h = self.text(batch)
        if self.table is None or self.attention is None:
            return self.classifier(self.dropout(h)), torch.zeros_like(batch.commonness)
        vectors = self.table(batch.entities)
        if self.projection is not None:
            vectors = self.projection(vectors)
        weights = self.attention(h, vectors, batch.commonness, batch.present)
        z = torch.bmm(weights.unsqueeze(1), vectors).squeeze(1)
        joined = torch.cat((h, z), 1) if self.combine == "concatenation" else h + z
        return self.classifier(self.dropout(joined)), weights


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Softmax and cross entropy for one label, (batch,); sigmoid and binary cross entropy for several, (batch, n)."""
    if labels.dim() == 1:
        return nn.functional.cross_entropy(logits, labels)
    return nn.functional.binary_cross_entropy_with_logits(logits, labels)
