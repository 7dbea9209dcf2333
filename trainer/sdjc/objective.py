"""`wikianchor train sdjc`: adapt an encoder to a domain with its sentences and their hard negatives.

The loop, the encoder and the loss are EASE's, with sentences in place of entities. Without hard negatives
(`--negatives=0`) the objective is SimCSE's, with `--mixed_negatives` MixCSE's, and on rows with a positive (sent1) that
of supervised SimCSE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.batch import TensorBatch
from wikianchor.trainer.data.feed import Feed, group_by_length
from wikianchor.trainer.data.order import pick_negatives
from wikianchor.trainer.data.texts import Texts, read_rows
from wikianchor.trainer.data.tokens import PackedTokens, pack
from wikianchor.trainer.distributed import gather, rank
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.losses import mixed_negatives, same_ids, sdjc_loss
from wikianchor.trainer.models.model import MIN_VIEW_DIFFERENCE, Trainable, view_difference

# The number in place of a missing hard negative.
MISSING = -1


@dataclass(frozen=True)
class Triplets(PackedTokens):
    """Tokenised rows of an anchor, a positive and hard negatives. Equal sentences are stored once.

    Attributes:
        tokens, starts, padding: token ids of all sentences.
        anchors, positives: (rows,) int64, numbers of sentences. A positive that dropout makes is the anchor itself.
        negatives: (rows, k) int32, numbers of sentences, MISSING where a row has fewer than k.
    """

    tokens: NDArray[Any]
    starts: NDArray[np.int64]
    anchors: NDArray[np.int64]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int32]
    padding: int

    def __len__(self) -> int:
        return len(self.anchors)


def read_triplets(texts: Texts, encoder: Encoder, max_length: int, most_rows: int = 0) -> Triplets:
    """Read and tokenise the rows of all sources.

    Args:
        texts: the sources.
        encoder: has the tokenizer.
        max_length: tokens kept of a sentence.
        most_rows: make a row of each hard negative of a sentence, of at most so many; a sentence without any stays one
            row. 0: one row with all of them.
    """
    numbers: dict[str, int] = {}
    anchors, positives, negatives = [], [], []
    for row in read_rows(texts):
        anchor = numbers.setdefault(row.text, len(numbers))
        positive = numbers.setdefault(row.positive, len(numbers)) if row.positive else anchor
        listed = [numbers.setdefault(text, len(numbers)) for text in row.negatives[: most_rows or None]]
        parts = [[number] for number in listed] if most_rows and listed else [listed]
        anchors += [anchor] * len(parts)
        positives += [positive] * len(parts)
        negatives += parts
    table = np.full((len(anchors), max(map(len, negatives), default=0)), MISSING, np.int32)
    for row_number, listed in enumerate(negatives):
        table[row_number, : len(listed)] = listed
    tokens, starts = pack(encoder.tokenize(list(numbers), max_length), len(encoder.tokenizer))
    padding = encoder.tokenizer.pad_token_id or 0
    return Triplets(tokens, starts, np.array(anchors, np.int64), np.array(positives, np.int64), table, padding)


@dataclass(frozen=True)
class TripletBatch(TensorBatch):
    """The n rows of one softmax, or this process's share of them, with the list of their sentences: n anchors, n
    positives, n * k negatives. In place of a missing negative the list has the row's anchor, which the loss masks.

    Attributes:
        groups: token ids and mask, (rows, length) each, of groups of the list of similar length.
        restore: (n + n + n * k,) int64, the position of each sentence of the list in the concatenated groups.
        anchors, positives: (n,) int64, numbers of sentences.
        negatives: (n, k) int64, numbers of sentences, MISSING where a row has fewer than k.
        tokens: number of tokens without padding.
    """

    groups: list[tuple[Tensor, Tensor]]
    restore: Tensor
    anchors: Tensor
    positives: Tensor
    negatives: Tensor
    tokens: int


class TripletFeed(Feed[TripletBatch]):
    """Batches of sentences with their hard negatives."""

    def __init__(self, triplets: Triplets, config: Config, device: torch.device) -> None:
        super().__init__(len(triplets), config, device)
        self.triplets = triplets

    def make_batch(self, rows: NDArray[np.int64], epoch: int) -> TripletBatch:
        """Return the batch of these rows."""
        config, data = self.config, self.triplets
        anchors, positives = data.anchors[rows], data.positives[rows]
        k = min(config.negatives, data.negatives.shape[1])
        negatives = pick_negatives(data.negatives[rows], k, epoch if config.resample_negatives else 0)
        filled = np.where(negatives == MISSING, anchors[:, None], negatives).astype(np.int64)
        sentences = np.concatenate((anchors, positives, filled.ravel()))
        lengths = data.lengths(sentences)
        groups, restore = group_by_length(lengths, self.group_count(len(sentences)))
        return TripletBatch(
            self.padded_groups(data, sentences, groups),
            self.tensor(restore),
            self.tensor(anchors),
            self.tensor(positives),
            self.tensor(negatives.astype(np.int64)),
            int(lengths.sum()),
        )


class SdjcModel(Trainable):
    """An encoder with the loss of SDJC's equation 1."""

    encoder: Encoder

    def __init__(self, encoder: Encoder, config: Config) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = config
        self.autocast = config.precision == "bf16"

    def encode(self, batch: TripletBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return anchors (n, dim), positives (n, dim) and hard negatives (n, k, dim), float32."""
        with torch.autocast(batch.restore.device.type, torch.bfloat16, enabled=self.autocast):
            vectors = torch.cat([self.encoder(ids, mask).float() for ids, mask in batch.groups])[batch.restore]
        n, k = batch.negatives.shape
        return vectors[:n], vectors[n : 2 * n], vectors[2 * n :].view(n, k, vectors.shape[1])

    def forward(self, batch: TripletBatch) -> dict[str, Tensor]:
        """Return `loss`, ()."""
        config = self.config
        anchor, positive, hard = self.encode(batch)
        labels = torch.arange(len(anchor), device=anchor.device) + rank() * len(anchor)
        negative_ids = gather(batch.negatives)
        no_negative = (negative_ids < 0).expand(len(anchor), -1, -1)
        same = None
        if config.mask_duplicates:
            positives = gather(batch.positives)
            same = same_ids(batch.anchors, positives) | same_ids(batch.anchors, gather(batch.anchors))
            same = same | same_ids(batch.positives, positives)
            no_negative = no_negative | same_ids(batch.anchors, negative_ids) | same_ids(batch.positives, negative_ids)
        mixed = None
        if config.mixed_negatives:
            # Batches are shuffled, so the neighbour is a random other sentence.
            mixed = mixed_negatives(positive, positive.roll(1, 0), config.mixed_negatives)
        loss = sdjc_loss(
            anchor,
            gather(positive),
            gather(hard) if hard.shape[1] else None,
            config.sentence_temperature,
            config.hard_negative_weight,
            labels,
            same,
            no_negative,
            mixed,
        )
        return {"loss": loss}


@torch.no_grad()
def check_dropout(model: SdjcModel, batch: TripletBatch) -> None:
    """Check that two dropout views of a sentence differ.

    Raises:
        UsageError: they are equal, so anchors equal the positives that dropout should make.
    """
    model.train()
    anchor, positive, _ = model.encode(batch)
    difference = view_difference(anchor, positive)[batch.anchors == batch.positives]
    if len(difference) and float(difference.max()) < MIN_VIEW_DIFFERENCE:
        raise UsageError("two dropout views of a sentence are equal: give the backbone dropout with --dropout=0.1")
