"""One training of M-BoE: batches of documents, epochs with early stopping, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from wikianchor.io.errors import InputError
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detector import Bag
from wikianchor.trainer.mboe.documents import Document
from wikianchor.trainer.mboe.model import DocumentBatch, Mboe, loss_of
from wikianchor.trainer.mboe.report import accuracy, macro_f1
from wikianchor.trainer.models.encoder import Encoder, pad

# Batches are padded to a multiple of this many tokens.
LENGTH_MULTIPLE = 8


@dataclass(frozen=True)
class EncodedDocuments:
    """Tokenised documents of one split and language.

    Attributes:
        tokens: token ids of each document.
        bags: their items.
        rows: row of each item of each bag in the entity table, (items,) int64 each.
        gold: (documents, labels) bool.
        padding: token id of padding.
        multi_label: whether a document may have several labels.
    """

    tokens: Sequence[Sequence[int]]
    bags: Sequence[Bag]
    rows: Sequence[NDArray[np.int64]]
    gold: NDArray[np.bool_]
    padding: int
    multi_label: bool

    def __len__(self) -> int:
        return len(self.tokens)

    def batch(self, chosen: Sequence[int]) -> DocumentBatch:
        """Return some documents as a batch on the CPU."""
        ids, mask = pad([self.tokens[row] for row in chosen], self.padding)
        missing = -ids.shape[1] % LENGTH_MULTIPLE
        ids, mask = nn.functional.pad(ids, (0, missing), value=self.padding), nn.functional.pad(mask, (0, missing))
        sizes = np.array([len(self.rows[row]) for row in chosen])
        present = np.arange(max(1, sizes.max())) < sizes[:, None]
        entities, commonness = np.zeros(present.shape, np.int64), np.zeros(present.shape, np.float32)
        entities[present] = np.concatenate([self.rows[row] for row in chosen])
        commonness[present] = np.concatenate([self.bags[row].commonness for row in chosen])
        gold = self.gold[list(chosen)]
        labels = gold.astype(np.float32) if self.multi_label else gold.argmax(1)
        return DocumentBatch(ids, mask, *map(torch.from_numpy, (entities, commonness, present, labels)))


def encode_documents(
    documents: Sequence[Document],
    encoder: Encoder,
    bags: Sequence[Bag],
    *,
    qids: NDArray[np.int64],
    labels: Sequence[str],
    max_length: int,
    multi_label: bool,
) -> EncodedDocuments:
    """Tokenise documents and look up their items in the entity table; items that it lacks are left out.

    Args:
        documents: documents of one split and language.
        encoder: has the tokenizer.
        bags: items of these documents.
        qids: items of the entity table, ascending.
        labels: labels of the training documents, sorted.
        max_length: tokens kept of a document.
        multi_label: whether a document may have several labels.
    """
    number = {label: column for column, label in enumerate(labels)}
    gold = np.zeros((len(documents), len(labels)), np.bool_)
    for row, document in enumerate(documents):
        gold[row, [number[label] for label in document.labels if label in number]] = True
    known = [bag.take(np.isin(bag.qids, qids)) for bag in bags]
    # Tokenizers refuse lone surrogates.
    texts = [document.text.encode("utf-8", "replace").decode() for document in documents]
    return EncodedDocuments(
        tokens=encoder.tokenize(texts, max_length),
        bags=known,
        rows=[np.searchsorted(qids, bag.qids) for bag in known],
        gold=gold,
        padding=encoder.tokenizer.pad_token_id or 0,
        multi_label=multi_label,
    )


def train(
    model: Mboe, config: MboeConfig, training: EncodedDocuments, dev: EncodedDocuments, *, seed: int, log: Log
) -> int:
    """Train until the dev score has not risen for `patience` epochs; load the best weights, and return their epoch.

    Raises:
        InputError: a loss is not finite.
    """
    device = next(model.parameters()).device
    # RowAdam for the entity vectors, AdamW for all else; the learning rate is constant after the warm-up.
    optimizers = Optimizers(model, config, config.epochs)
    best, best_epoch, best_weights, step = -1.0, 0, _copy(model), 0
    for epoch in range(1, config.epochs + 1):
        model.train()
        if config.freeze_encoder:
            model.encoder.eval()
        # The order and dropout depend on the seed and the epoch alone.
        torch.manual_seed(seed * 1_000_003 + epoch)
        steps = torch.randperm(len(training)).split(config.step_size)
        total = torch.zeros((), device=device)
        for rows in steps:
            step += 1
            batch = training.batch(rows.tolist()).to(device)
            loss = loss_of(model(batch)[0], batch.labels)
            loss.backward()
            optimizers.step(step)
            total += loss.detach()
        mean_loss = float(total) / len(steps)
        if not np.isfinite(mean_loss):
            raise InputError(
                f"the loss of epoch {epoch} is not a number: lower --learning_rate, or look at the documents"
            )
        score = score_of(dev, predict(model, config, dev)[0], config)
        log.values("epoch", epoch, {"seed": seed, "loss": mean_loss, "dev": score})
        log.say(f"seed {seed} | epoch {epoch} | loss {mean_loss:.4f} | dev {score:.4f}")
        if score > best:
            best, best_epoch, best_weights = score, epoch, _copy(model)
        if epoch - best_epoch >= config.patience:
            break
    model.load_state_dict(best_weights)
    return best_epoch


def _copy(model: nn.Module) -> dict[str, Any]:
    return {name: weight.detach().to("cpu", copy=True) for name, weight in model.state_dict().items()}


@torch.no_grad()
def predict(
    model: Mboe, config: MboeConfig, documents: EncodedDocuments
) -> tuple[NDArray[np.float32], list[NDArray[np.float32]]]:
    """Return the probabilities of the labels (documents, labels), and each document's attention weights, (items,)."""
    model.eval()
    device = next(model.parameters()).device
    order = sorted(range(len(documents)), key=lambda row: (-len(documents.tokens[row]), row))
    probabilities = np.zeros(documents.gold.shape, np.float32)
    weights: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(documents)
    for start in range(0, len(order), config.step_size):
        rows = order[start : start + config.step_size]
        logits, attention = model(documents.batch(rows).to(device))
        predicted = torch.sigmoid(logits) if documents.multi_label else torch.softmax(logits, 1)
        probabilities[rows] = predicted.cpu().numpy()
        for row, line in zip(rows, attention.cpu().numpy(), strict=True):
            weights[row] = line[: len(documents.rows[row])]
    return probabilities, weights


def labels_of(probabilities: NDArray[np.float32], config: MboeConfig, multi_label: bool) -> NDArray[np.bool_]:
    """Return the predicted labels, (documents, labels): the most probable, or all at or above the threshold."""
    if multi_label:
        return probabilities >= config.threshold
    return np.eye(probabilities.shape[1], dtype=bool)[probabilities.argmax(1)]


def score_of(documents: EncodedDocuments, probabilities: NDArray[np.float32], config: MboeConfig) -> float:
    """Return accuracy where documents have one label, macro-F1 where they may have several."""
    predicted = labels_of(probabilities, config, documents.multi_label)
    return (macro_f1 if documents.multi_label else accuracy)(documents.gold, predicted)
