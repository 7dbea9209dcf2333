"""`wikianchor train sdjc`: an encoder adapted to a domain by its sentences and their hard negatives.

The same loop, encoder and loss as EASE's, with sentences in the place of entities. Without hard negatives
(`--negatives=0`) it is SimCSE, with `--mixed_negatives` MixCSE, on rows with a positive of their own supervised SimCSE.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import UsageError
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.feed import LEAST_GROUP, MOST_GROUPS, ahead
from wikianchor.trainer.data.order import held_out_rows, pick_negatives, shuffled
from wikianchor.trainer.data.texts import Texts, read_rows
from wikianchor.trainer.distributed import gather, rank, world
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.losses import mixed_negatives, same_ids, sdjc_loss
from wikianchor.trainer.models.model import LEAST_DIFFERENCE, Trainable

NONE = -1


@dataclass(frozen=True)
class Triplets:
    """Tokenised rows; equal sentences are held once.

    tokens, starts: token ids of all sentences end to end, and where each begins, (sentences + 1,).
    anchors, positives: (rows,) int64, numbers of sentences; a positive is the anchor itself where dropout makes it.
    negatives: (rows, k) int32, NONE where a row has fewer.
    """

    tokens: NDArray[Any]
    starts: NDArray[np.int64]
    anchors: NDArray[np.int64]
    positives: NDArray[np.int64]
    negatives: NDArray[np.int32]
    padding: int

    def __len__(self) -> int:
        return len(self.anchors)


def read_triplets(texts: Texts, encoder: Encoder, max_length: int) -> Triplets:
    """Read and tokenise the rows of all sources."""
    numbers: dict[str, int] = {}
    anchors, positives, negatives = [], [], []
    for row in read_rows(texts):
        anchor = numbers.setdefault(row.text, len(numbers))
        anchors.append(anchor)
        positives.append(numbers.setdefault(row.positive, len(numbers)) if row.positive else anchor)
        negatives.append([numbers.setdefault(text, len(numbers)) for text in row.negatives])
    rows = encoder.tokenize(list(numbers), max_length)
    width = np.uint16 if len(encoder.tokenizer) <= 1 << 16 else np.uint32
    starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
    most = max(map(len, negatives), default=0)
    table = np.full((len(anchors), most), NONE, np.int32)
    for number, listed in enumerate(negatives):
        table[number, : len(listed)] = listed
    return Triplets(
        np.fromiter(chain.from_iterable(rows), width, int(starts[-1])),
        starts,
        np.array(anchors, np.int64),
        np.array(positives, np.int64),
        table,
        encoder.tokenizer.pad_token_id or 0,
    )


@dataclass(frozen=True)
class TripletBatch:
    """The rows of one softmax, or those of this process: anchors, positives and negatives as one list of sentences.

    groups: token ids and mask of parts of that list, of like length; restore: the place of each of it among them.
    anchors, positives: (n,) int64, which sentence; negatives: (n, k) int64, NONE where there is none; the list holds
    the anchor's own sentence there, which is masked.
    """

    groups: list[tuple[Tensor, Tensor]]
    restore: Tensor
    anchors: Tensor
    positives: Tensor
    negatives: Tensor
    tokens: int

    def to(self, device: torch.device) -> TripletBatch:
        def moved(tensor: Tensor) -> Tensor:
            return tensor.to(device, non_blocking=True)

        groups = [(moved(ids), moved(mask)) for ids, mask in self.groups]
        ids = (moved(self.anchors), moved(self.positives), moved(self.negatives))
        return TripletBatch(groups, moved(self.restore), *ids, self.tokens)


class TripletFeed:
    """The batches of a run; which rows a batch has depends on seed and step alone."""

    def __init__(self, rows: Triplets, config: Config, device: torch.device) -> None:
        self.triplets, self.config, self.device = rows, config, device
        if config.softmax_size % world():
            raise UsageError(f"--softmax_size={config.softmax_size}: cannot be spread over {world()} processes evenly")
        self.excluded = held_out_rows(len(rows), config.held_out, config.seed)
        allowed = np.ones(len(rows), bool)
        allowed[self.excluded] = False
        self.rows = np.flatnonzero(allowed)
        self.steps = len(self.rows) // config.step_size
        if self.steps == 0:
            raise UsageError(f"{len(self.rows)} rows are less than one step: --step_size={config.step_size} or fewer")

    def order(self, epoch: int) -> NDArray[np.int64]:
        """Return the rows of an epoch in their order."""
        return shuffled(self.rows, self.config.seed, epoch, self.config.stream_above)

    def batches(self, first: int, last: int) -> Iterator[TripletBatch]:
        """Yield the batches of steps first to last, one for each softmax, on the device, made by a thread."""
        yield from ahead(self._make(first, last), self.device)

    def _make(self, first: int, last: int) -> Iterator[TripletBatch]:
        size, epoch, order = self.config.softmax_size, -1, self.rows
        for step in range(first, last):
            if step // self.steps != epoch:
                epoch = step // self.steps
                order = self.order(epoch)
            begin = step % self.steps * self.config.step_size
            for start in range(begin, begin + self.config.step_size, size):
                yield self.batch(order[start : start + size], epoch)

    def held_out(self) -> Iterator[TripletBatch]:
        """Yield the held-out rows, those that fill a softmax."""
        size = self.config.softmax_size
        for start in range(0, len(self.excluded) - size + 1, size):
            yield self.batch(self.excluded[start : start + size], 0).to(self.device)

    def batch(self, rows: NDArray[np.int64], epoch: int) -> TripletBatch:
        """Return the batch of rows, or this process's part of it."""
        config, data = self.config, self.triplets
        own = rows[rank() * len(rows) // world() : (rank() + 1) * len(rows) // world()]
        anchors, positives = data.anchors[own], data.positives[own]
        negatives = pick_negatives(data.negatives[own], config.negatives, epoch if config.resample_negatives else 0)
        if config.negatives and not data.negatives.shape[1]:
            negatives = negatives[:, :0]
        filled = np.where(negatives < 0, anchors[:, None], negatives).astype(np.int64)
        listed = np.concatenate((anchors, positives, filled.ravel()))
        counts = data.starts[listed + 1] - data.starts[listed]
        order = np.argsort(counts, kind="stable")
        restore = np.empty(len(listed), np.int64)
        restore[order] = np.arange(len(listed))
        wanted = config.length_groups or min(MOST_GROUPS, len(listed) // LEAST_GROUP.get(self.device.type, 16))
        groups = [self._gather(listed[part], counts[part]) for part in np.array_split(order, max(1, wanted))]
        return TripletBatch(
            groups,
            torch.from_numpy(restore),
            torch.from_numpy(anchors),
            torch.from_numpy(positives),
            torch.from_numpy(negatives.astype(np.int64)),
            int(counts.sum()),
        )

    def _gather(self, sentences: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        data = self.triplets
        places = np.arange(int(counts.max(initial=0)))
        mask = places < counts[:, None]
        index = np.minimum(data.starts[sentences][:, None] + places, len(data.tokens) - 1)
        ids = np.where(mask, data.tokens[index], data.padding).astype(np.int32)
        return torch.from_numpy(ids), torch.from_numpy(mask)


class SdjcModel(Trainable):
    """The encoder, and equation 1 over a batch."""

    encoder: Encoder

    def __init__(self, encoder: Encoder, config: Config) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = config
        self.autocast = config.precision == "bf16"

    def encode(self, batch: TripletBatch) -> tuple[Tensor, Tensor, Tensor]:
        """Return anchors (n, dim), positives (n, dim) and hard negatives (n, k, dim), float32."""
        with torch.autocast(batch.restore.device.type, torch.bfloat16, enabled=self.autocast):
            found = torch.cat([self.encoder(ids, mask).float() for ids, mask in batch.groups])[batch.restore]
        n, k = batch.negatives.shape
        return found[:n], found[n : 2 * n], found[2 * n :].view(n, k, found.shape[1])

    def forward(self, batch: TripletBatch) -> dict[str, Tensor]:
        """Return `loss`."""
        config = self.config
        v, positive, hard = self.encode(batch)
        labels = torch.arange(len(v), device=v.device) + rank() * len(v)
        negative_ids = gather(batch.negatives)
        no_negative = (negative_ids < 0).expand(len(v), -1, -1)
        same = None
        if config.mask_duplicates:
            positives = gather(batch.positives)
            same = same_ids(batch.anchors, positives) | same_ids(batch.anchors, gather(batch.anchors))
            same = same | same_ids(batch.positives, positives)
            no_negative = no_negative | same_ids(batch.anchors, negative_ids) | same_ids(batch.positives, negative_ids)
        mixed = None
        if config.mixed_negatives:
            # The neighbour in a shuffled batch is a random other sentence.
            mixed = mixed_negatives(positive, positive.roll(1, 0), config.mixed_negatives)
        loss = sdjc_loss(
            v,
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
    """Refuse a model whose anchors equal the positives that dropout should make.

    Raises:
        UsageError: naming the option that helps.
    """
    model.train()
    v, positive, _ = model.encode(batch)
    own = batch.anchors == batch.positives
    difference = (v - positive).abs().amax(-1) / v.abs().amax(-1).clamp(min=1e-12)
    if bool(own.any()) and float(difference[own].max()) < LEAST_DIFFERENCE:
        raise UsageError("two dropout views of a sentence are equal: give the backbone dropout with --dropout=0.1")
