"""`wikianchor train t5`: train a T5 to fill spans, for `wikianchor negatives`, which lets it fill in other nouns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from wikianchor.io.hub import card_head
from wikianchor.schemas.sentinels import MODEL_FILE, SETTINGS_FILE
from wikianchor.trainer.card import (
    base_model,
    best_score,
    facts_table,
    languages,
    run_record,
    versions,
    without_directories,
)
from wikianchor.trainer.config import SpanConfig
from wikianchor.trainer.data.texts import Texts, read_rows
from wikianchor.trainer.distributed import mean_scalar
from wikianchor.trainer.introduction import introduction, names
from wikianchor.trainer.loop.checkpoint import State, load_kept
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.loop.train import DevScore, TrainingRun, make_run
from wikianchor.trainer.models.export import publish_model
from wikianchor.trainer.models.memory import keep_fewer_activations
from wikianchor.trainer.models.model import Trainable
from wikianchor.trainer.t5.feed import IGNORED, SpanBatch, SpanFeed
from wikianchor.trainer.t5.model import T5Filler, new_filler, read_filler


class SpanModel(Trainable):
    """A T5 with the cross-entropy of the target, mean over its tokens, times the batch's weight."""

    encoder: T5Filler

    def __init__(self, filler: T5Filler, precision: str) -> None:
        super().__init__()
        self.encoder = filler
        self.autocast = precision == "bf16"

    def forward(self, batch: SpanBatch) -> dict[str, Tensor]:
        """Return `loss`, ()."""
        with torch.autocast(batch.source.device.type, torch.bfloat16, enabled=self.autocast):
            logits = self.encoder.backbone(
                input_ids=batch.source, attention_mask=batch.mask, labels=batch.target
            ).logits
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), batch.target.flatten())
        return {"loss": loss * batch.weight}


@torch.no_grad()
def validation_score(model: SpanModel, feed: SpanFeed) -> tuple[float, Mapping[str, float]]:
    """Return the negative mean loss per token of held-out texts, without dropout; and the loss with the perplexity."""
    model.eval()
    total, tokens = 0.0, 0
    for batch in feed.held_out():
        count = int((batch.target != IGNORED).sum())
        total += float(model(batch)["loss"]) * count
        tokens += count
    loss = float(mean_scalar(torch.tensor(total / max(1, tokens))))
    return -loss, {"loss": loss, "perplexity": float(np.exp(min(loss, 50.0)))}


def prepare(config: SpanConfig, texts: Texts, device: torch.device, log: Log) -> TrainingRun:
    """Make everything that a run needs. The same seed gives the same weights and the same vocabulary."""
    torch.manual_seed(config.seed)
    rows = [row.text for row in read_rows(texts)]
    filler = new_filler(config, rows) if config.new else read_filler(config.model)
    tokens = [filler.vocabulary.encode(text)[: config.max_length] for text in rows]
    # A text of one token has no span that leaves a token.
    tokens = [row for row in tokens if len(row) > 1]
    if config.dropout is not None:
        for module in filler.backbone.modules():
            if isinstance(module, nn.Dropout):
                module.p = config.dropout
    keep_fewer_activations(filler.backbone, config)
    feed = SpanFeed(tokens, filler.vocabulary, config, device)
    model = SpanModel(filler.to(device), config.precision)
    name = f"loss of {config.held_out} held-out texts, negative"
    dev = DevScore(name, partial(validation_score, feed=feed)) if config.held_out else None
    run = make_run(config, model, feed, dev=dev, log=log, data=texts.fingerprint)
    mean = sum(map(len, tokens)) / max(1, len(tokens))
    data = f"{len(tokens):,} texts of {mean:.1f} pieces on average in {names(texts.paths)}"
    log.say(introduction(config, filler.backbone, data, run.total, device))
    return run


def finish(run: TrainingRun, texts: Texts, state: State) -> str:
    """Write the trained T5, its vocabulary, card and record; return its directory."""
    config, filler = run.config, run.model.encoder
    assert isinstance(filler, T5Filler)
    weights = load_kept(filler, config, state)
    data = {"fingerprint": texts.fingerprint, **texts.manifest}
    target = f"{config.output}/model"
    files: dict[str, str | bytes] = {
        MODEL_FILE: filler.vocabulary.model,
        SETTINGS_FILE: json.dumps(filler.vocabulary.settings(), indent=2) + "\n",
        "README.md": _card(run, texts, state, weights),
        "run.json": run_record(config, state, run.dev, weights, data),
    }
    publish_model(target, filler.backbone.save_pretrained, files)
    run.log.say(f"{target}: {weights}; seed {config.seed}")
    return target


def _card(run: TrainingRun, texts: Texts, state: State, weights: str) -> str:
    config = run.config
    facts = {
        "objective": "span corruption (https://arxiv.org/abs/1910.10683)",
        "begun from": config.begun,
        "weights": weights,
        "steps": f"{state.step} of {config.step_size} texts",
        "dev score": best_score(state, run.dev),
        "data": f"{', '.join(texts.paths)}, fingerprint {texts.fingerprint[:16]}",
        "seed": config.seed,
    }
    values = {
        "library_name": "transformers",
        "pipeline_tag": "text2text-generation",
        "license": "other",
        "language": languages(texts),
        "base_model": base_model(config.model),
        "tags": ["t5", "wikianchor"],
    }
    head = f"{card_head(values)}\n# T5 that fills spans\n\nTrained with wikianchor.\n\n"
    return (
        head
        + facts_table(facts)
        + f"\n\n```json\n{without_directories(config.to_json())}\n```\n\n"
        + facts_table(versions())
        + "\n"
    )
