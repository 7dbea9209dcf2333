"""One seed of a run: batches, epochs until the dev score stops rising, and predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from wikianchor.io.errors import InputError
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.row_adam import RowAdam
from wikianchor.trainer.mboe.bags import Bags
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.documents import Document
from wikianchor.trainer.mboe.model import DocumentBatch, Mboe, loss_of
from wikianchor.trainer.mboe.scores import accuracy, macro_f1
from wikianchor.trainer.models.encoder import Encoder, pad

# Batches are padded to a multiple of this.
STEP_OF_LENGTH = 8


@dataclass(frozen=True)
class Part:
    """Documents of one split and language, ready to be put in batches.

    Attributes:
        documents: as they were read.
        tokens: token ids of each.
        bags: their items; `rows` has the place of each in the entity table.
        rows: of the entity table.
        gold: (documents, labels) bool.
    """

    documents: Sequence[Document]
    tokens: Sequence[Sequence[int]]
    bags: Bags
    rows: NDArray[np.int64]
    gold: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.documents)

    def batch(self, chosen: Sequence[int], padding: int, multi_label: bool) -> DocumentBatch:
        """Return some documents as a batch on the CPU."""
        longest = max(len(self.tokens[row]) for row in chosen)
        length = -(-longest // STEP_OF_LENGTH) * STEP_OF_LENGTH
        ids, mask = pad([self.tokens[row] for row in chosen], padding)
        ids = nn.functional.pad(ids, (0, length - longest), value=padding)
        mask = nn.functional.pad(mask, (0, length - longest))
        rows = np.asarray(chosen)
        first, last = self.bags.starts[rows], self.bags.starts[rows + 1]
        most = max(1, int((last - first).max()))
        present = np.arange(most) < (last - first)[:, None]
        at = np.where(present, first[:, None] + np.arange(most), 0)
        if not len(self.rows):
            entities, commonness = np.zeros(at.shape, np.int64), np.zeros(at.shape, np.float32)
        else:
            entities = np.where(present, self.rows[at], 0)
            commonness = np.where(present, self.bags.commonness[at], 0).astype(np.float32)
        gold = self.gold[rows]
        labels = torch.from_numpy(gold.astype(np.float32) if multi_label else gold.argmax(1))
        return DocumentBatch(
            ids, mask, torch.from_numpy(entities), torch.from_numpy(commonness), torch.from_numpy(present), labels
        )


def batches(part: Part, order: Sequence[int], size: int, padding: int, multi_label: bool) -> Iterator[DocumentBatch]:
    """Yield documents in an order, so many at a time."""
    for start in range(0, len(order), size):
        yield part.batch(order[start : start + size], padding, multi_label)


class Optimizer:
    """AdamW for encoder, attention and classifier; for the entity vectors RowAdam, which moves what a batch has."""

    def __init__(self, model: Mboe, config: MboeConfig) -> None:
        self.config, self.done = config, 0
        tables = [model.table.weight] if model.table is not None and config.train_entities else []
        frozen = {id(weight) for weight in model.encoder.parameters()} if config.freeze_encoder else set()
        held = frozen | ({id(model.table.weight)} if model.table is not None else set())
        self.dense = [weight for weight in model.parameters() if id(weight) not in held]
        self.parts: list[torch.optim.Optimizer] = [
            torch.optim.AdamW(self.dense, lr=config.learning_rate, weight_decay=config.weight_decay)
        ]
        if tables:
            rate = config.entity_learning_rate or config.learning_rate
            self.parts.append(RowAdam(tables, rate))
        self.rates = [group["lr"] for part in self.parts for group in part.param_groups]

    def step(self) -> None:
        """Move the weights by their gradients and clear these."""
        self.done += 1
        factor = min(1.0, self.done / self.config.warmup_steps) if self.config.warmup_steps else 1.0
        # torch cannot take the norm of a sparse gradient.
        nn.utils.clip_grad_norm_(self.dense, self.config.clip_norm)
        for part, rate in zip(self.parts, self.rates, strict=True):
            for group in part.param_groups:
                group["lr"] = rate * factor
            part.step()
            part.zero_grad(set_to_none=True)


def train_step(model: Mboe, optimizer: Optimizer, batch: DocumentBatch) -> Tensor:
    """Move the weights by one batch and return its loss, detached."""
    logits, _ = model(batch)
    loss = loss_of(logits, batch.labels)
    loss.backward()
    optimizer.step()
    return loss.detach()


def train(model: Mboe, config: MboeConfig, train_part: Part, dev: Part, multi_label: bool, seed: int, log: Log) -> int:
    """Train until the dev score stops rising, put the best weights in place, and return the epoch that they are of.

    Raises:
        InputError: a loss is not a number.
    """
    device = next(model.parameters()).device
    padding = model.encoder.tokenizer.pad_token_id or 0
    optimizer = Optimizer(model, config)
    best, best_epoch, kept = -1.0, 0, _copy(model)
    for epoch in range(1, config.epochs + 1):
        model.train()
        if config.freeze_encoder:
            model.encoder.eval()
        # Of the seed and the epoch alone; dropout too.
        torch.manual_seed(seed * 1_000_003 + epoch)
        order = torch.randperm(len(train_part)).tolist()
        total = torch.zeros((), device=device)
        steps = 0
        for batch in batches(train_part, order, config.batch_size, padding, multi_label):
            total += train_step(model, optimizer, batch.to(device))
            steps += 1
        loss = float(total) / steps
        if not np.isfinite(loss):
            raise InputError(
                f"the loss of epoch {epoch} is not a number: lower --learning_rate, or look at the documents"
            )
        score = score_of(dev, predict(model, config, dev, multi_label)[0], config, multi_label)
        log.values("epoch", epoch, {"seed": seed, "loss": loss, "dev": score})
        log.say(f"seed {seed} | epoch {epoch} | loss {loss:.4f} | dev {score:.4f}")
        if score > best:
            best, best_epoch, kept = score, epoch, _copy(model)
        if epoch - best_epoch >= config.patience:
            break
    model.load_state_dict(kept)
    return best_epoch


def _copy(model: nn.Module) -> dict[str, Any]:
    return {name: weight.detach().to("cpu", copy=True) for name, weight in model.state_dict().items()}


@torch.no_grad()
def predict(
    model: Mboe, config: MboeConfig, part: Part, multi_label: bool
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Return the probabilities of the labels (documents, labels), and the weight of each item of each document."""
    model.eval()
    device = next(model.parameters()).device
    padding = model.encoder.tokenizer.pad_token_id or 0
    order = sorted(range(len(part)), key=lambda row: (-len(part.tokens[row]), row))
    sizes = part.bags.sizes()
    found = np.zeros(part.gold.shape, np.float32)
    weights: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(part)
    for start in range(0, len(order), config.batch_size):
        rows = order[start : start + config.batch_size]
        logits, weighed = model(part.batch(rows, padding, multi_label).to(device))
        found[rows] = (torch.sigmoid(logits) if multi_label else torch.softmax(logits, 1)).cpu().numpy()
        for row, line in zip(rows, weighed.cpu().numpy(), strict=True):
            weights[row] = line[: sizes[row]]
    return found, weights


def labels_of(probabilities: NDArray[np.float32], config: MboeConfig, multi_label: bool) -> NDArray[np.bool_]:
    """Return which labels are predicted, (documents, labels)."""
    if multi_label:
        chosen: NDArray[np.bool_] = probabilities >= config.threshold
        return chosen
    return np.eye(probabilities.shape[1], dtype=bool)[probabilities.argmax(1)]


def score_of(part: Part, probabilities: NDArray[np.float32], config: MboeConfig, multi_label: bool) -> float:
    """Return accuracy where documents have one label, macro-F1 where they may have several."""
    predicted = labels_of(probabilities, config, multi_label)
    return macro_f1(part.gold, predicted) if multi_label else accuracy(part.gold, predicted)


def make_part(
    documents: Sequence[Document],
    encoder: Encoder,
    bags: Bags,
    qids: NDArray[np.int64],
    labels: Sequence[str],
    limit: int,
) -> Part:
    """Tokenise documents and place their items in the table; items that it has not are left out.

    Args:
        documents: of one split and language.
        encoder: whose tokenizer it is.
        bags: of these documents.
        qids: items of the entity table, ascending.
        labels: of the training documents, sorted.
        limit: tokens kept of a document.
    """
    number = {label: place for place, label in enumerate(labels)}
    gold = np.zeros((len(documents), len(labels)), np.bool_)
    for row, document in enumerate(documents):
        gold[row, [number[label] for label in document.labels if label in number]] = True
    at = np.minimum(np.searchsorted(qids, bags.qids), max(0, len(qids) - 1))
    there = (qids[at] == bags.qids) if len(qids) else np.zeros(len(bags.qids), np.bool_)
    kept = bags.where(there)
    # A lone surrogate is no text that a tokenizer takes.
    texts = [document.text.encode("utf-8", "replace").decode() for document in documents]
    return Part(documents, encoder.tokenize(texts, limit), kept, at[there], gold)
