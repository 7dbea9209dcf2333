"""The model of M-BoE: a document's text and its bag of entities, combined by attention, and a classifier.

    h = encoder(text)[CLS]                                         (batch, dim)
    phi(e, d) = [cos(h, v_e); commonness]                          (3.3)
    a = softmax(W_a phi) over the entities of the document         (3.2)
    z = sum of a_e v_e                                             (3.1)
    p = classifier(h + z)                                          (3.4)

Equations of the thesis. A document without entities has z = 0 and is classified by its text alone.

On disk the encoder is as transformers writes it, the rest is in `mboe.safetensors` and `mboe.json`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import unreadable
from wikianchor.trainer.data.batch import TensorBatch
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable
from wikianchor.trainer.models.export import publish_model


@dataclass(frozen=True)
class DocumentBatch(TensorBatch):
    """Documents with their entities.

    Attributes:
        ids: (batch, length) int64, token ids.
        mask: (batch, length) int64, 1 for tokens and 0 for padding.
        entities: (batch, most) int64, rows of the entity table.
        commonness: (batch, most) float32.
        present: (batch, most) bool, False for padding.
        labels: (batch,) int64, or (batch, labels) float32 for multi-label documents.
    """

    ids: Tensor
    mask: Tensor
    entities: Tensor
    commonness: Tensor
    present: Tensor
    labels: Tensor


class Attention(nn.Module):
    """Attention over the entities of a document (3.2). A bias, which NABoE has, would change no weight.

    Args:
        features: `both`, `cosine`, `commonness`, or `none` for equal weights.
    """

    def __init__(self, features: str) -> None:
        super().__init__()
        self.features = features
        count = {"both": 2, "none": 0}.get(features, 1)
        self.weight = nn.Linear(count, 1, bias=False) if count else None

    def forward(self, h: Tensor, vectors: Tensor, commonness: Tensor, present: Tensor) -> Tensor:
        """Return the weights of the entities.

        Args:
            h: (batch, dim).
            vectors: (batch, most, dim).
            commonness, present: (batch, most).

        Returns:
            (batch, most), with the sum 1 in each row, or 0 in a row without entities.
        """
        if self.weight is None:
            return present / present.sum(1, keepdim=True).clamp(min=1)
        features = []
        if self.features != "commonness":
            products = torch.bmm(vectors, h.unsqueeze(2)).squeeze(2)
            norms = vectors.norm(dim=2) * h.norm(dim=1, keepdim=True)
            features.append(products / norms.clamp(min=1e-8))
        if self.features != "cosine":
            features.append(commonness)
        scores = self.weight(torch.stack(features, 2)).squeeze(2)
        # The lowest finite number, since with -inf a row without entities would have a gradient of NaN.
        weights = torch.softmax(scores.masked_fill(~present, torch.finfo(scores.dtype).min), 1)
        return weights * present


class Mboe(nn.Module):
    """Encoder, entity table, attention and classifier.

    Args:
        encoder: makes (batch, dim) of token ids.
        config: options of the run.
        labels: number of labels.
        vectors: (items, width) initial entity vectors, or None for a classifier of the text alone.
    """

    def __init__(self, encoder: Encoder, config: MboeConfig, labels: int, vectors: Tensor | None) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(not config.freeze_encoder)
        self.autocast = config.precision == "bf16"
        self.combine = config.combine
        dim = encoder.dim
        self.table: EntityTable | None = None
        self.attention: Attention | None = None
        self.projection: nn.Module = nn.Identity()
        if vectors is not None:
            is_trained = config.entity_learning_rate != 0
            self.table = EntityTable(vectors.clone(), sparse=is_trained)
            self.table.weight.requires_grad_(is_trained)
            self.attention = Attention(config.attention)
            if vectors.shape[1] != dim:
                # Not in the thesis, whose entity vectors are as wide as the encoder's.
                self.projection = nn.Linear(vectors.shape[1], dim, bias=False)
        width = 2 * dim if self.combine == "concatenation" and self.table is not None else dim
        self.classifier = nn.Linear(width, labels)

    def forward(self, batch: DocumentBatch) -> tuple[Tensor, Tensor]:
        """Return logits (batch, labels) and the attention weights of the entities (batch, most)."""
        with torch.autocast(batch.ids.device.type, torch.bfloat16, enabled=self.autocast):
            h = self.encoder(batch.ids, batch.mask)
        h = h.float()
        if self.table is None or self.attention is None:
            return self.classifier(h), torch.zeros_like(batch.commonness)
        vectors = self.projection(self.table(batch.entities))
        weights = self.attention(h, vectors, batch.commonness, batch.present)
        z = torch.bmm(weights.unsqueeze(1), vectors).squeeze(1)
        joined = torch.cat((h, z), 1) if self.combine == "concatenation" else h + z
        return self.classifier(joined), weights


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """Return cross-entropy for labels (batch,), or binary cross-entropy for labels (batch, labels); (), mean.

    >>> loss_of(torch.zeros(2, 4), torch.tensor([1, 3])).item() == torch.tensor(4.0).log().item()
    True
    """
    return (
        nn.functional.cross_entropy(logits, labels)
        if labels.dim() == 1
        else nn.functional.binary_cross_entropy_with_logits(logits, labels)
    )


class TrainedMboe(NamedTuple):
    """A model with its labels, and the items of its entity table."""

    model: Mboe
    labels: tuple[str, ...]
    qids: NDArray[np.int64]
    multi_label: bool
    config: MboeConfig


def export(
    model: Mboe, labels: Sequence[str], qids: NDArray[np.int64], *, multi_label: bool, config: MboeConfig, target: str
) -> None:
    """Write a model to a directory, which is replaced if it exists."""

    def save(local: str) -> None:
        model.encoder.save(local)
        weights = {
            name: weight.detach().cpu().contiguous()
            for name, weight in model.state_dict().items()
            if not name.startswith("encoder.")
        }
        save_file({**weights, "qids": torch.from_numpy(qids)}, f"{local}/mboe.safetensors")

    settings = {"labels": list(labels), "multi_label": multi_label, "config": dataclasses.asdict(config)}
    publish_model(target, save, {"mboe.json": json.dumps(settings, indent=2)})


def load(path: str, device: str = "cpu") -> TrainedMboe:
    """Read what `export` wrote, in eval mode.

    Raises:
        InputError: the directory holds no such model, or a damaged one.
    """
    with unreadable(f"{path}: not a model of `wikianchor train mboe`"):
        with open(f"{path}/mboe.json", encoding="utf-8") as stream:
            settings = json.load(stream)
        weights = load_file(f"{path}/mboe.safetensors")
        config = MboeConfig(**settings["config"])
        labels = tuple(settings["labels"])
        encoder = Encoder.load(path, "cls_before_pooler", prompt="")
        model = Mboe(encoder, config, len(labels), weights.get("table.weight"))
        qids = weights.pop("qids").numpy()
        missing, unexpected = model.load_state_dict(weights, strict=False)
        # Encoder.load has read the encoder's weights.
        if wrong := [*unexpected, *(name for name in missing if not name.startswith("encoder."))]:
            raise InputError(f"{path}: mboe.safetensors does not go with mboe.json: {', '.join(wrong)}")
    return TrainedMboe(model.to(device).eval(), labels, qids, bool(settings["multi_label"]), config)
