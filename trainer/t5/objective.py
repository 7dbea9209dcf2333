"""`wikianchor train t5`: a T5 that learns to fill the spans of a corpus, which `wikianchor negatives` then asks
for other nouns.

It goes through the same loop as the encoders. The spans of a row are drawn anew in each epoch, from seed, epoch and row
alone, so a run that goes on draws what it would have drawn.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import AutoConfig, T5Config, T5ForConditionalGeneration

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import fetch, is_local, publish
from wikianchor.schemas.sentinels import EOS, MODEL_FILE, PAD, SETTINGS_FILE, Vocabulary
from wikianchor.trainer.card import table_of, versions
from wikianchor.trainer.config import Config
from wikianchor.trainer.data.feed import ahead
from wikianchor.trainer.data.order import held_out_rows, shuffled
from wikianchor.trainer.data.texts import Texts, read_rows
from wikianchor.trainer.distributed import mean_scalar, rank, world
from wikianchor.trainer.introduction import introduction, names
from wikianchor.trainer.loop import checkpoint
from wikianchor.trainer.loop.checkpoint import State
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.optimizers import Optimizers
from wikianchor.trainer.loop.train import Run
from wikianchor.trainer.models.hub import check_model, no_model
from wikianchor.trainer.models.model import Trainable
from wikianchor.trainer.presets import NEW_SIZES
from wikianchor.trainer.t5.corruption import corrupt, draw_spans

IGNORED = -100
# Texts that a new vocabulary is learnt from; more change little.
VOCABULARY_TEXTS = 1_000_000


class Filler(nn.Module):
    """A T5 with its vocabulary."""

    def __init__(self, backbone: Any, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.backbone = backbone
        self.vocabulary = vocabulary


@dataclass(frozen=True)
class FillBatch:
    """Texts with holes and what was in them.

    source, mask: (n, length) int64 and bool; target: (n, other length) int64, IGNORED past the end.
    """

    source: Tensor
    mask: Tensor
    target: Tensor
    tokens: int

    def to(self, device: torch.device) -> FillBatch:
        moved = [tensor.to(device, non_blocking=True) for tensor in (self.source, self.mask, self.target)]
        return FillBatch(moved[0], moved[1], moved[2], self.tokens)


class FillModel(Trainable):
    """Cross-entropy of the target, mean over its pieces."""

    encoder: Filler

    def __init__(self, filler: Filler, precision: str) -> None:
        super().__init__()
        self.encoder = filler
        self.autocast = precision == "bf16"

    def forward(self, batch: FillBatch) -> dict[str, Tensor]:
        """Return `loss`."""
        with torch.autocast(batch.source.device.type, torch.bfloat16, enabled=self.autocast):
            logits = self.encoder.backbone(
                input_ids=batch.source, attention_mask=batch.mask, labels=batch.target
            ).logits
        return {"loss": nn.functional.cross_entropy(logits.float().flatten(0, 1), batch.target.flatten())}


class FillFeed:
    """Batches of corrupted texts. All pieces of the corpus are held, two bytes each where that is enough."""

    def __init__(self, rows: Sequence[Sequence[int]], vocabulary: Vocabulary, config: Config, device: torch.device):
        self.vocabulary, self.config, self.device = vocabulary, config, device
        self.starts = np.concatenate(([0], np.cumsum([len(row) for row in rows], dtype=np.int64)))
        width = np.uint16 if vocabulary.size <= 1 << 16 else np.uint32
        self.pieces = np.fromiter(chain.from_iterable(rows), width, int(self.starts[-1]))
        self.excluded = held_out_rows(len(rows), config.held_out, config.seed)
        allowed = np.ones(len(rows), bool)
        allowed[self.excluded] = False
        self.rows = np.flatnonzero(allowed)
        self.steps = len(self.rows) // config.step_size
        if self.steps == 0:
            raise UsageError(f"{len(self.rows)} rows are less than one step: --step_size={config.step_size} or fewer")
        if config.softmax_size % world():
            raise UsageError(f"--softmax_size={config.softmax_size}: cannot be spread over {world()} processes evenly")

    def batches(self, first: int, last: int) -> Iterator[FillBatch]:
        """Yield the batches of steps first to last, `softmax_size` texts each."""
        yield from ahead(self._make(first, last), self.device)

    def _make(self, first: int, last: int) -> Iterator[FillBatch]:
        config, size = self.config, self.config.softmax_size
        epoch, order = -1, self.rows
        for step in range(first, last):
            if step // self.steps != epoch:
                epoch = step // self.steps
                order = shuffled(self.rows, config.seed, epoch, config.stream_above)
            begin = step % self.steps * config.step_size
            # Texts of like length go together within a step, which changes nothing but the padding.
            rows = order[begin : begin + config.step_size]
            rows = rows[np.argsort(self.starts[rows + 1] - self.starts[rows], kind="stable")]
            for start in range(0, len(rows), size):
                part = rows[start : start + size]
                yield self.batch(part[rank() * len(part) // world() : (rank() + 1) * len(part) // world()], epoch)

    def held_out(self) -> Iterator[FillBatch]:
        """Yield the held-out rows, always with the same holes."""
        for start in range(0, len(self.excluded), self.config.softmax_size):
            yield self.batch(self.excluded[start : start + self.config.softmax_size], 0).to(self.device)

    def batch(self, rows: NDArray[np.int64], epoch: int) -> FillBatch:
        """Return rows with the holes that they have in an epoch."""
        config = self.config
        sources, targets = [], []
        for row in rows.tolist():
            pieces = self.pieces[self.starts[row] : self.starts[row + 1]].tolist()
            random = np.random.default_rng([config.seed, epoch, row])
            most = self.vocabulary.extra - 1
            spans = draw_spans(len(pieces), config.corruption_rate, config.span_length, most, random)
            source, target = corrupt(pieces, spans, self.vocabulary)
            sources.append(source)
            targets.append(target)
        source, target = _padded(sources, PAD), _padded(targets, IGNORED)
        return FillBatch(source, source != PAD, target, sum(map(len, sources)) + sum(map(len, targets)))


def _padded(rows: Sequence[Sequence[int]], padding: int) -> Tensor:
    longest = max(map(len, rows), default=0)
    found = torch.full((len(rows), longest), padding, dtype=torch.int64)
    for number, row in enumerate(rows):
        found[number, : len(row)] = torch.tensor(row, dtype=torch.int64)
    return found


@dataclass
class ValidationLoss:
    """The loss of held-out texts, negative, without dropout."""

    config: Config
    feed: FillFeed

    @property
    def active(self) -> bool:
        return self.config.held_out > 0

    @property
    def name(self) -> str:
        return f"loss of {self.config.held_out} held-out texts, negative"

    @torch.no_grad()
    def score(self, model: Any) -> tuple[float, Mapping[str, float]]:
        """Return the negative mean over the pieces, and the perplexity."""
        model.eval()
        total, pieces = 0.0, 0
        for batch in self.feed.held_out():
            count = int((batch.target != IGNORED).sum())
            total += float(model(batch)["loss"]) * count
            pieces += count
        loss = float(mean_scalar(torch.tensor(total / max(1, pieces))))
        return -loss, {"loss": loss, "perplexity": float(np.exp(min(loss, 50.0)))}


def prepare(config: Config, texts: Texts, device: torch.device, log: Log) -> Run:
    """Make all that a run needs; the same seed makes the same weights and the same vocabulary."""
    torch.manual_seed(config.seed)
    rows = [row.text for row in read_rows(texts)]
    filler = new_filler(config, rows) if config.new else read_filler(config.model)
    pieces = [found for text in rows if len(found := filler.vocabulary.encode(text)[: config.max_length]) > 1]
    if config.dropout >= 0:
        set_dropout(filler.backbone, config.dropout)
    if config.gradient_checkpointing:
        filler.backbone.gradient_checkpointing_enable()
    feed = FillFeed(pieces, filler.vocabulary, config, device)
    model = FillModel(filler.to(device), config.precision)
    total = config.epochs * feed.steps
    total = min(total, config.max_steps) if config.max_steps else total
    mean = sum(map(len, pieces)) / max(1, len(pieces))
    data = f"{len(pieces):,} texts of {mean:.1f} pieces on average in {names(texts.paths)}"
    log.say(introduction(config, filler.backbone, data, total, device))
    dev = ValidationLoss(config, feed)
    return Run(config, model, Optimizers(model, config, total), feed, dev, log, texts.fingerprint, total, device)


def set_dropout(backbone: nn.Module, rate: float) -> None:
    """Give every dropout of a model this probability."""
    for module in backbone.modules():
        if isinstance(module, nn.Dropout):
            module.p = rate


def new_filler(config: Config, texts: Sequence[str]) -> Filler:
    """Return a T5 that has learnt nothing, with a vocabulary of the texts."""
    vocabulary = Vocabulary(learn_vocabulary(texts[:VOCABULARY_TEXTS], config.vocabulary_size))
    # The number of ids is a multiple of 128, which matrices like.
    size = -(-vocabulary.size // 128) * 128
    shape = NEW_SIZES[config.new]
    backbone = T5ForConditionalGeneration(
        T5Config(
            vocab_size=size,
            feed_forward_proj="gated-gelu",
            tie_word_embeddings=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=PAD,
            **shape,
        )
    )
    return Filler(backbone, vocabulary)


def learn_vocabulary(texts: Sequence[str], size: int) -> bytes:
    """Return a sentencepiece model of `size` pieces that knows every text: what has no piece is spelt in bytes.

    Raises:
        UsageError: the texts are too few for so many pieces.
    """
    import sentencepiece

    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            vocab_size=size,
            model_type="unigram",
            character_coverage=0.9995,
            byte_fallback=True,
            add_dummy_prefix=False,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            pad_id=PAD,
            eos_id=EOS,
            unk_id=2,
            bos_id=-1,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        reason = " ".join(str(error).split())[-160:]
        raise UsageError(f"--vocabulary_size={size}: the texts do not give so many pieces ({reason})") from error
    return model.getvalue()


def read_filler(path: str) -> Filler:
    """Read a T5 by the name of a directory or of a model on the Hub.

    Raises:
        InputError: there is none, or it is no T5 with a sentencepiece vocabulary.
    """
    with tempfile.TemporaryDirectory() as scratch:
        local = fetch(path, os.path.join(scratch, "model")) if not is_local(path) else path
        check_model(local)
        try:
            config = AutoConfig.from_pretrained(local, trust_remote_code=False)
            directory = local if os.path.isdir(local) else _downloaded(local)
            vocabulary = Vocabulary.read(directory)
            backbone = T5ForConditionalGeneration.from_pretrained(local, config=config, dtype=torch.float32)
        except Exception as error:
            # transformers and sentencepiece raise many kinds here; each means that the model cannot be had.
            raise no_model(path, error, "T5") from error
    if vocabulary.size > int(backbone.config.vocab_size):
        raise InputError(f"{path}: {vocabulary.size} pieces and sentinels, and {backbone.config.vocab_size} vectors")
    return Filler(backbone, vocabulary)


def _downloaded(name: str) -> str:
    from huggingface_hub import hf_hub_download

    with suppress(OSError):
        hf_hub_download(name, SETTINGS_FILE)
    return os.path.dirname(hf_hub_download(name, MODEL_FILE))


def finish(run: Run, texts: Texts, state: State) -> str:
    """Write the trained T5, its vocabulary, card and record; return its directory."""
    config, filler = run.config, run.model.encoder
    assert isinstance(filler, Filler)
    kept = f"the last, of step {state.step}"
    if config.keep == "best" and state.best is not None:
        checkpoint.load_best(filler, config.checkpoints)
        kept = f"the best by dev score, of step {state.best_step}"
    target = f"{config.output}/model"
    parent = os.path.dirname(os.path.abspath(target)) if is_local(target) else None
    if parent:
        os.makedirs(parent, exist_ok=True)
    local = tempfile.mkdtemp(prefix=".unfinished-", dir=parent)
    os.chmod(local, 0o755)
    filler.backbone.save_pretrained(local)
    record = {
        "config": dataclasses.asdict(config),
        "state": dataclasses.asdict(state),
        "dev": run.dev.name if run.dev.active else None,
        "weights": kept,
        "data": {"fingerprint": texts.fingerprint, **texts.manifest},
        "versions": versions(),
    }
    files = {
        SETTINGS_FILE: json.dumps(filler.vocabulary.settings(), indent=2) + "\n",
        "README.md": _card(run, texts, state, kept),
        "run.json": json.dumps(record, indent=2) + "\n",
    }
    with open(os.path.join(local, MODEL_FILE), "wb") as stream:
        stream.write(filler.vocabulary.model)
    for name, text in files.items():
        with open(os.path.join(local, name), "w", encoding="utf-8") as out:
            out.write(text)
    publish(local, target)
    run.log.say(f"{target}: {kept}; seed {config.seed}")
    return target


def _card(run: Run, texts: Texts, state: State, kept: str) -> str:
    config = run.config
    facts = {
        "objective": "span corruption (https://arxiv.org/abs/1910.10683)",
        "begun from": config.model or f"nothing, size {config.new}",
        "weights": kept,
        "steps": f"{state.step} of {config.step_size} texts",
        "dev score": "none" if state.best is None else f"{state.best:.4f} at step {state.best_step} ({run.dev.name})",
        "data": f"{', '.join(texts.paths)}, fingerprint {texts.fingerprint[:16]}",
        "seed": config.seed,
    }
    head = "---\nlibrary_name: transformers\ntags: [t5]\n---\n\n# T5 that fills spans\n\nTrained with wikianchor.\n\n"
    return head + table_of(facts) + f"\n\n```json\n{config.to_json()}\n```\n\n" + table_of(versions()) + "\n"
