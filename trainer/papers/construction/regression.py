"""Comparison of versions of a translated set (SDJC, table 2): a BERT with a linear layer is trained on the scores of a
version, and tested on pairs written and scored by people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from wikianchor.trainer.evaluate.pairs import ScoredPairs
from wikianchor.trainer.models.hub import check_model, no_model
from wikianchor.trainer.papers.construction.options import CompareOptions


class Regressor(nn.Module):
    """Predicts the score of two sentences from the vector of the first token."""

    def __init__(self, backbone: Any) -> None:
        super().__init__()
        self.backbone = backbone
        self.linear = nn.Linear(int(backbone.config.hidden_size), 1)

    def forward(self, inputs: dict[str, Tensor]) -> Tensor:
        """Return scores, (n,), of the tokenizer's output, (n, length) each."""
        scores: Tensor = self.linear(self.backbone(**inputs).last_hidden_state[:, 0])
        return scores[:, 0]


def load(path: str) -> tuple[Any, Any]:
    """Return tokenizer and backbone of a model.

    Raises:
        InputError: there is no such model.
    """
    check_model(path)
    try:
        return AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path, dtype=torch.float32)
    except Exception as error:
        # transformers raises exceptions of many types for a model that cannot be read.
        raise no_model(path, error) from error


def learn(pairs: ScoredPairs, settings: CompareOptions, device: torch.device) -> tuple[Regressor, Any]:
    """Train a regression on the scores of pairs; return it with its tokenizer. Equal seeds give equal weights."""
    torch.manual_seed(settings.seed)
    tokenizer, backbone = load(settings.model)
    model = Regressor(backbone).to(device).train()
    optimizer = torch.optim.AdamW(model.parameters(), settings.learning_rate)
    gold = torch.tensor(pairs.gold, dtype=torch.float32)
    total = settings.epochs * -(-len(pairs) // settings.batch_size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / max(1, total)))
    for epoch in range(settings.epochs):
        order = np.random.default_rng([settings.seed, epoch]).permutation(len(pairs))
        for rows in _cut(order, settings.batch_size):
            scores = model(_inputs(tokenizer, pairs, rows, settings.max_length, device))
            loss = nn.functional.mse_loss(scores, gold[rows].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model, tokenizer


@torch.no_grad()
def predict(
    model: Regressor, tokenizer: Any, pairs: ScoredPairs, settings: CompareOptions, device: torch.device
) -> NDArray[np.float64]:
    """Return the predicted scores, (pairs,)."""
    model.eval()
    rows = np.arange(len(pairs))
    scores = [
        model(_inputs(tokenizer, pairs, part, settings.max_length, device)).cpu()
        for part in _cut(rows, 4 * settings.batch_size)
    ]
    return torch.cat(scores).numpy().astype(np.float64)


def _cut(rows: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def _inputs(
    tokenizer: Any, pairs: ScoredPairs, rows: Sequence[int] | NDArray[np.int64], max_length: int, device: torch.device
) -> dict[str, Tensor]:
    first, second = ([texts[row] for row in rows] for texts in (pairs.first, pairs.second))
    encoded = tokenizer(first, second, padding=True, truncation=True, max_length=max_length, return_tensors="pt")
    return {name: value.to(device) for name, value in encoded.items()}


def errors(gold: NDArray[np.float64], predicted: NDArray[np.float64]) -> dict[str, float]:
    """Return mean absolute error, mean squared error, and R2 = 1 - MSE / variance of gold; R2 is NaN for variance 0.

    Args:
        gold, predicted: (pairs,).

    >>> errors(np.array([0.0, 2.0]), np.array([0.0, 1.0]))
    {'MAE': 0.5, 'MSE': 0.5, 'R2': 0.5}
    """
    differences = predicted - gold
    mse, variance = float((differences**2).mean()), float(gold.var())
    r2 = 1 - mse / variance if variance else float("nan")
    return {"MAE": float(np.abs(differences).mean()), "MSE": mse, "R2": r2}
