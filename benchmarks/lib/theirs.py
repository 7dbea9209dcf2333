"""EASE with the trainer of sentence-transformers: what it is given, and a loss in its form."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import torch
from torch import Tensor, nn


def sample(data: Path) -> dict[str, list[Any]]:
    """Return the texts of a `pairs` dataset, and (entity, hard negative) of each, -1 for none."""
    columns = pq.read_table(data / "data" / "pairs", columns=["text", "entity_id", "hard_negative_ids"])
    negatives = [ids[0] if ids else -1 for ids in columns.column("hard_negative_ids").to_pylist()]
    entities = columns.column("entity_id").to_pylist()
    labels = [[entity, negative] for entity, negative in zip(entities, negatives, strict=True)]
    return {"text": columns.column("text").to_pylist(), "label": labels}


class EaseLoss(nn.Module):
    """EASE's loss in the form of sentence-transformers: SimCSE's, and entities with one hard negative each."""

    def __init__(self, model: Any, simcse: Any, entities: int) -> None:
        super().__init__()
        self.model, self.simcse = model, simcse
        width = model.get_embedding_dimension()
        self.table = nn.Embedding(entities, width)
        self.projection = nn.Linear(width, width)

    def forward(self, features: Iterable[dict[str, Tensor]], labels: Tensor) -> Tensor:
        """features: two views of (n,) sentences; labels: (n, 2) int64, entity and hard negative, -1 for none."""
        one, two = (self.model(view)["sentence_embedding"] for view in features)
        simcse: Tensor = self.simcse.compute_loss_from_embeddings([one, two], None)
        vectors = nn.functional.normalize(torch.tanh(self.projection(self.table(labels.clamp(min=0)))), dim=-1)
        cosines = nn.functional.normalize(one, dim=-1) @ vectors.transpose(0, 1).flatten(0, 1).T / 10
        missing = labels.T.reshape(-1) < 0
        right = torch.arange(len(one), device=one.device)
        return simcse + 0.01 * nn.functional.cross_entropy(cosines.masked_fill(missing, -torch.inf), right)
