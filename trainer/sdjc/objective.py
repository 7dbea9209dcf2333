"""`wikianchor train sdjc`: adapt an encoder to a domain with its sentences and their hard negatives.

The loop, the encoder and the loss are EASE's, with sentences in place of entities. Without hard negatives
(`--negatives=0`) the objective is SimCSE's, with `--mixed_negatives` MixCSE's, and on rows with a positive (sent1) that
of supervised SimCSE.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.trainer.config import SdjcConfig
from wikianchor.trainer.data.batch import SentenceBatch
from wikianchor.trainer.data.feed import SentenceFeed, group_by_length
from wikianchor.trainer.data.order import pick_negatives
from wikianchor.trainer.data.texts import Texts, read_rows
from wikianchor.trainer.data.tokens import PackedTokens, pack
from wikianchor.trainer.distributed import rank, world
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.losses import Losses, entity_loss, mixed_negatives, same_ids
from wikianchor.trainer.models.model import SentenceModel, columns, in_blocks

# The number in place of a missing hard negative.
MISSING = -1


@dataclass(frozen=True, kw_only=True)
class Triplets(PackedTokens):
    """Tokenised rows of an anchor, a positive and hard negatives. Equal sentences are stored once.

    Attributes:
        anchors, positives: (rows,) int64, numbers of sentences. A positive that dropout makes is the anchor itself.
        negatives: (rows, k) int32, numbers of sentences, MISSING where a row has fewer than k.
    """

    anchors: NDArray[np.int64]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int32]

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
    return Triplets(
        tokens=tokens,
        starts=starts,
        anchors=np.array(anchors, np.int64),
        positives=np.array(positives, np.int64),
        negatives=table,
        padding=encoder.tokenizer.pad_token_id or 0,
    )


@dataclass(frozen=True)
class TripletBatch(SentenceBatch):
    """n rows, with the list of their sentences: n anchors, n positives, n * k negatives. In place of a missing negative
    the list has the row's anchor, which the loss masks.

    Attributes:
        anchors, positives: (n,) int64, numbers of sentences.
        negatives: (n, k) int64, numbers of sentences, MISSING where a row has fewer than k.
    """

    anchors: Tensor
    positives: Tensor
    negatives: Tensor


class TripletFeed(SentenceFeed[TripletBatch]):
    """Batches of sentences with their hard negatives."""

    config: SdjcConfig

    def __init__(self, triplets: Triplets, config: SdjcConfig, device: torch.device) -> None:
        self.triplets = triplets
        super().__init__(len(triplets), config, device)

    @property
    def negatives_per_row(self) -> int:
        """Hard negatives that are encoded for a row."""
        return min(self.config.negatives, self.triplets.negatives.shape[1])

    @property
    def sentences_per_row(self) -> int:
        """An anchor, a positive, and hard negatives."""
        return 2 + self.negatives_per_row

    def make_batch(self, rows: NDArray[np.int64], epoch: int) -> TripletBatch:
        """Return the batch of these rows."""
        config, data = self.config, self.triplets
        anchors, positives = data.anchors[rows], data.positives[rows]
        negatives = pick_negatives(
            data.negatives[rows], self.negatives_per_row, epoch if config.resample_negatives else 0
        )
        filled = np.where(negatives == MISSING, anchors[:, None], negatives).astype(np.int64)
        sentences = np.concatenate((anchors, positives, filled.ravel()))
        lengths = data.lengths(sentences)
        groups, restore = group_by_length(lengths, self.group_count(len(sentences)))
        return TripletBatch(
            groups=self.padded_groups(data, sentences, groups),
            restore=self.tensor(restore),
            softmaxes=self.softmaxes(len(rows) * world()),
            cached=self.is_cached(len(sentences)),
            tokens=int(lengths.sum()),
            anchors=self.tensor(anchors),
            positives=self.tensor(positives),
            negatives=self.tensor(negatives.astype(np.int64)),
        )


class SdjcModel(SentenceModel):
    """An encoder with the loss of SDJC's equation 1."""

    config: SdjcConfig

    def losses(self, batch: SentenceBatch, vectors: Tensor) -> Losses:
        """Return `loss`, ().

        Args:
            batch: its ids.
            vectors: (1, sentences, dim): anchors, positives, hard negatives.
        """
        assert isinstance(batch, TripletBatch)
        config = self.config
        anchor, positive, hard = parts(vectors, batch)
        anchors, positives = batch.split(batch.anchors), batch.split(batch.positives)
        all_anchors, all_positives = columns(batch.anchors, batch), columns(batch.positives, batch)
        hard_ids, positive_columns = columns(batch.negatives, batch), columns(positive, batch)
        hard_columns = columns(hard, batch) if hard.shape[1] else None
        anchor, positive = batch.split(anchor), batch.split(positive)
        n = anchor.shape[-2]
        column_of_row = torch.arange(n, device=vectors.device) + rank() * n
        mixed = None
        if config.mixed_negatives:
            # Batches are shuffled, so the neighbour is a random other sentence.
            mixed = mixed_negatives(positive, positive.roll(1, -2), config.mixed_negatives)

        def losses_of(rows: slice) -> Losses:
            no_negative, same = (hard_ids < 0).unsqueeze(-3), None
            if config.mask_duplicates:
                row_anchors, row_positives = anchors[..., rows], positives[..., rows]
                same = same_ids(row_anchors, all_positives) | same_ids(row_anchors, all_anchors)
                same = same | same_ids(row_positives, all_positives)
                no_negative = no_negative | same_ids(row_anchors, hard_ids) | same_ids(row_positives, hard_ids)
            loss = entity_loss(
                anchor[..., rows, :],
                positive_columns,
                hard_columns,
                temperature=config.sentence_temperature,
                weight=config.hard_negative_weight,
                labels=column_of_row[rows],
                same=same,
                no_negative=no_negative,
                mixed=None if mixed is None else mixed[..., rows, :],
            )
            return {"loss": loss}

        return in_blocks(losses_of, n, len(batch.anchors) * world() * (1 + hard.shape[1]))


def parts(vectors: Tensor, batch: TripletBatch) -> tuple[Tensor, Tensor, Tensor]:
    """Return anchors (n, dim), positives (n, dim) and hard negatives (n, k, dim) of a batch's vectors."""
    n, k = batch.negatives.shape
    listed = vectors[0]
    return listed[:n], listed[n : 2 * n], listed[2 * n :].view(n, k, listed.shape[1])
