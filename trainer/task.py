"""`wikianchor train ease|simcse|sdjc|t5 --data=... --model=... --output=...`: train a model on a dataset.

It runs on a CPU or a GPU, and under torchrun (`torchrun -m wikianchor train ...`) on several of either. The same
command, run again after an interruption, resumes from the last checkpoint. `wikianchor train mboe` trains a document
classifier.
"""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import filesystem, writing
from wikianchor.trainer import distributed
from wikianchor.trainer.card import model_card, run_record, versions
from wikianchor.trainer.command import run_command
from wikianchor.trainer.config import Config, EaseConfig, EncoderConfig, PairsConfig, SdjcConfig
from wikianchor.trainer.data.batch import PairBatch
from wikianchor.trainer.data.feed import PairFeed
from wikianchor.trainer.data.own_rows import NO_LANGUAGE, open_rows
from wikianchor.trainer.data.shards import PairDataset, read_entities
from wikianchor.trainer.data.texts import Texts, open_texts
from wikianchor.trainer.data.tokens import open_tokens
from wikianchor.trainer.dev_score import make_dev_score
from wikianchor.trainer.dry_run import describe, sample_rows
from wikianchor.trainer.introduction import introduction, names
from wikianchor.trainer.loop.checkpoint import State, load_kept
from wikianchor.trainer.loop.log import Log, Tracker, add_trackers
from wikianchor.trainer.loop.train import TrainingRun, make_run, train
from wikianchor.trainer.mboe import task as mboe
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import EntityTable, random_vectors, read_vectors
from wikianchor.trainer.models.export import export
from wikianchor.trainer.models.gpu import can_pack, default_precision, training_precision
from wikianchor.trainer.models.hub import check_model
from wikianchor.trainer.models.lora import add_lora
from wikianchor.trainer.models.losses import projection
from wikianchor.trainer.models.memory import keep_fewer_activations, sentences_at_once
from wikianchor.trainer.models.model import EaseModel, check_views
from wikianchor.trainer.models.modules import Head
from wikianchor.trainer.models.new_encoder import new_encoder
from wikianchor.trainer.options import parse
from wikianchor.trainer.sdjc.objective import SdjcModel, TripletFeed, parts, read_triplets
from wikianchor.trainer.t5 import objective as t5


def prepare(config: PairsConfig, pairs: PairDataset, device: torch.device, log: Log) -> TrainingRun:
    """Make everything that a run of EASE or SimCSE needs. The same seed gives the same weights."""
    torch.manual_seed(config.seed)
    encoder = make_encoder(config, device, pairs)
    # The first process tokenises, and the others read what it wrote.
    for turn in (0, 1):
        if (distributed.rank() > 0) == bool(turn):
            tokens = open_tokens(pairs, encoder, config.max_length, config.cache)
        distributed.barrier()
    model = make_model(config, encoder, pairs, device, log)
    config = settle(config, model, device, log)
    feed = PairFeed(tokens, config, device)
    feed.packs = packs(config, encoder, device)
    first = feed.batch(feed.order(0)[: config.step_size // feed.passes], 0).to(device)
    if model.views > 1:
        with torch.no_grad():
            check_views(*model.train().encode(probe(first)))
    if config.compile:
        compile_lengths(encoder.backbone, len(feed.lengths))
        try_compiled(model, first, log)
    run = make_run(config, model, feed, dev=make_dev_score(config, feed), log=log, data=pairs.fingerprint)
    linked = f" with {pairs.entities:,} entities" if model.table is not None else ""
    of = "" if tokens.names == (NO_LANGUAGE,) else f" of {names(sorted(tokens.names))}"
    data = f"{feed.rows:,} {'rows' if pairs.is_own else 'pairs'}{of}{linked} in {pairs.source}"
    log.say(introduction(config, encoder, data, run.total, device))
    return run


def settle(config: PairsConfig, model: EaseModel, device: torch.device, log: Log) -> PairsConfig:
    """Return the options with those that depend on the machine: `encode_size`, `compile` and `graphs`."""
    table = model.table.weight.nbytes if model.table is not None and model.table.weight.device == device else 0
    encode_size = config.encode_size or sentences_at_once(model.encoder, config, model.views, device, table)
    config = dataclasses.replace(config, encode_size=encode_size)
    compile = config.compile
    if compile and config.softmax_size // distributed.world() > encode_size:
        # Both graphs of a softmax that is encoded twice would have to draw the same random numbers.
        log.say(f"the model is not compiled: a softmax is encoded in groups of {encode_size:,}")
        compile = False
    reason = no_graphs(config, device)
    if config.graphs and reason:
        log.say(f"no CUDA graphs: {reason}")
    graphs = config.graphs is not False and not reason
    return dataclasses.replace(config, compile=compile, graphs=graphs)


def packs(config: EncoderConfig, encoder: Encoder, device: torch.device) -> bool:
    """Whether a model is trained without padding: on a GPU, where it is not compiled."""
    dtype = torch.bfloat16 if config.precision == "bf16" else torch.float32
    return not getattr(config, "compile", False) and can_pack(encoder.backbone, device, dtype)


def no_graphs(config: PairsConfig, device: torch.device) -> str:
    """Return why steps cannot be captured as CUDA graphs, "" if they can."""
    encode_size = config.encode_size or config.step_size
    dense_elsewhere = isinstance(config, EaseConfig) and config.entity_device and config.entity_optimizer == "adamw"
    reasons = {
        f"the device is {device.type}": device.type != "cuda",
        "several processes train": distributed.world() > 1,
        f"a step of {config.step_size:,} sentences is encoded in passes of {encode_size:,}": config.step_size
        > encode_size,
        "--gradient_checkpointing": config.gradient_checkpointing,
        "--entity_device with --entity_optimizer=adamw": dense_elsewhere,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def probe(batch: PairBatch, rows: int = 16) -> PairBatch:
    """Return a batch of the first rows of the first group of another."""
    ids, mask = batch.groups[0][:2]
    return dataclasses.replace(
        batch, groups=[(ids[:rows], mask[:rows])], restore=torch.arange(min(rows, len(ids)), device=ids.device)
    )


def try_compiled(model: EaseModel, batch: PairBatch, log: Log) -> None:
    """Compile the graph of the first shape; go on without compiled graphs, after a line, if this machine has no
    compiler that works."""
    model.train()
    try:
        model.encode_group(*batch.groups[0]).sum().backward()
    except Exception as error:
        # Dynamo, inductor, triton and the C compiler raise exceptions of many types.
        model.encoder.backbone._compiled_call_impl = None
        reason = " ".join(str(error).split())[:200]
        log.say(f"the model is not compiled, so steps are slower: {type(error).__name__}: {reason}")
    for weight in model.parameters():
        weight.grad = None


def compile_lengths(backbone: nn.Module, lengths: int) -> None:
    """Compile the backbone, one graph for each padded length when it first occurs.

    The limit of recompilations, 8 by default, is raised, because torch would run further lengths without a graph.
    """
    # Deferred: this import takes a second or two.
    from torch._dynamo import config

    config.recompile_limit = max(config.recompile_limit, lengths)
    backbone.compile(dynamic=False)


def prepare_sdjc(config: SdjcConfig, texts: Texts, device: torch.device, log: Log) -> TrainingRun:
    """Make everything that a run of SDJC needs. The same seed gives the same weights."""
    torch.manual_seed(config.seed)
    encoder = make_encoder(config, device)
    most_rows = config.negatives if config.row_per_negative else 0
    triplets = read_triplets(texts, encoder, config.max_length, most_rows)
    if not config.encode_size:
        config = dataclasses.replace(config, encode_size=sentences_at_once(encoder, config, 1, device))
    feed = TripletFeed(triplets, config, device)
    feed.packs = packs(config, encoder, device)
    model = SdjcModel(encoder, config)
    first = feed.batch(feed.order(0)[: min(16, config.softmax_size)], 0).to(device)
    with torch.no_grad():
        anchors, positives, _ = parts(model.train().encode(first), first)
    same = first.anchors == first.positives
    check_views(anchors[same], positives[same])
    run = make_run(config, model, feed, dev=make_dev_score(config, feed), log=log, data=texts.fingerprint)
    data = f"{len(triplets):,} rows of {len(triplets.starts) - 1:,} sentences in {names(texts.paths)}"
    log.say(introduction(config, encoder, data, run.total, device))
    return run


def make_encoder(config: EncoderConfig, device: torch.device, pairs: PairDataset | None = None) -> Encoder:
    """Return the encoder to train, on the device.

    Args:
        config: `model` or `new`, `pooler`, `mlp`, `dropout` and `max_length` are used.
        device: where the encoder goes.
        pairs: dataset that a new encoder's vocabulary is learnt from.

    Raises:
        UsageError: the model takes fewer tokens than `--max_length`.
    """
    # The pooler cls has a new MLP here, so the backbone needs no pooling layer.
    pooler = "cls_before_pooler" if config.pooler == "cls" else config.pooler or None
    if pairs is not None and isinstance(config, PairsConfig) and config.new:
        encoder = new_encoder(pairs, config, pooler or "avg")
        encoder.prompt = config.prompt or ""
    else:
        encoder = Encoder.load(config.model, pooler, "cpu", config.dropout, config.prompt)
    if config.pooler == "cls":
        encoder.pooler = "cls"
    if config.mlp:
        width = encoder.backbone.config.hidden_size
        encoder.head, encoder.head_only_train = Head(width, width), config.mlp_only_train
    if config.lora:
        add_lora(encoder, config.lora)
    keep_fewer_activations(encoder.backbone, config)
    if config.max_length > encoder.max_length:
        raise UsageError(f"--max_length={config.max_length}: {config.begun} takes {encoder.max_length} tokens")
    encoder.precision = default_precision(device)
    return encoder.to(device)


def make_model(config: PairsConfig, encoder: Encoder, pairs: PairDataset, device: torch.device, log: Log) -> EaseModel:
    """Return the model with its entity table and projection, on their devices.

    Raises:
        UsageError: `--projection=none`, and entity vectors are not as wide as sentence vectors.
    """
    if not isinstance(config, EaseConfig):
        return EaseModel(encoder, config)
    # The width of the vectors depends on the mode where the head is used in training alone.
    encoder.train()
    dim = encoder.dim
    if config.entity_vectors:
        qids = read_entities(pairs)["qid"].to_numpy()
        weight, known = read_vectors(config.entity_vectors, pairs.entities, config.entity_dim or 0, qids, config.seed)
        log.say(f"entity vectors: {known:,} of {pairs.entities:,} are known")
    else:
        weight = random_vectors(pairs.entities, config.entity_dim or dim, config.seed)
    if config.projection == "none" and weight.shape[1] != dim:
        raise UsageError(f"--projection=none: entity vectors are {weight.shape[1]} wide, and sentences' {dim}")
    w = projection(config.projection, weight.shape[1], dim).to(device)
    # Between processes the rows of the batches alone are sent; alone, AdamW takes the gradient as it is.
    sparse = config.entity_optimizer == "sparse" or distributed.world() > 1
    table = EntityTable(weight.to(config.entity_device or device), sparse)
    return EaseModel(encoder, config, table, w)


def finish(run: TrainingRun, dataset: PairDataset | Texts, state: State) -> str:
    """Write the trained encoder, its card and the run's record; return the model's directory."""
    config, encoder = run.config, run.model.encoder
    assert isinstance(encoder, Encoder)
    assert isinstance(config, EncoderConfig)
    weights = load_kept(encoder, config, state)
    if encoder.merge is not None:
        encoder.merge()
    if isinstance(config, SdjcConfig) and config.export_pooler:
        encoder.pooler, encoder.head = config.export_pooler, None
    target = f"{config.output}/model"
    data = {"fingerprint": dataset.fingerprint, "rows": dataset.rows, "entities": dataset.entities}
    files = {
        "run.json": run_record(config, state, run.dev, weights, data),
        "data_manifest.json": json.dumps(dataset.manifest, indent=2) + "\n",
    }
    card = model_card(encoder, config, dataset, state, dev=run.dev, weights=weights, target=target)
    export(encoder, target, card, files)
    packages = ", ".join(f"{name} {version}" for name, version in versions().items())
    run.log.say(f"{target}: {weights}; pooler {encoder.pooler}, seed {config.seed}, {packages}")
    return target


def _save_config(config: Config) -> None:
    files, inner = filesystem(config.output)
    with writing(config.output):
        files.create_dir(inner, recursive=True)
        with files.open_output_stream(f"{inner}/run.json") as stream:
            stream.write(config.to_json().encode() + b"\n")


def open_pairs_or_rows(config: PairsConfig) -> PairDataset:
    """Open a dataset of pairs, or rows of one's own as one."""
    return open_rows(config.data, config.cache, needs_entities=isinstance(config, EaseConfig))


def dry_run(config: PairsConfig) -> str:
    """Return what a run of EASE or SimCSE would take."""
    device = distributed.choose_device(config.device)
    config = dataclasses.replace(config, precision=config.precision or training_precision(device))
    if config.model:
        check_model(config.model)
    with tempfile.TemporaryDirectory() as scratch:
        # Rows of one's own are not kept either.
        trial = dataclasses.replace(
            config, held_out=0, quota="", language_temperature=1.0, dev="", tensorboard="", wandb="", cache=scratch
        )
        pairs = open_pairs_or_rows(trial)
        sample, rows = sample_rows(pairs, config, scratch)
        return describe(config, pairs, rows, prepare(trial, sample, device, Log(scratch, active=False)))


def run(config: Config, trackers: Sequence[Tracker] = ()) -> str:
    """Train, and return the directory of the model, in the first process; "" in the others.

    Args:
        config: options of the run.
        trackers: functions that get its records, besides those that the options ask for.
    """
    if isinstance(config, PairsConfig) and config.dry_run:
        return dry_run(config)
    device = distributed.choose_device(config.device)
    precision = config.precision or training_precision(device)
    config = dataclasses.replace(config, precision=precision)
    data: Any = open_pairs_or_rows(config) if isinstance(config, PairsConfig) else open_texts(config.data)
    if config.model:
        check_model(config.model)
    distributed.start(device)
    log = Log(config.output, active=distributed.rank() == 0, trackers=trackers)
    try:
        if log.active:
            add_trackers(log, config)
            _save_config(config)
        objectives: dict[str, tuple[Any, Any]] = {"t5": (t5.prepare, t5.finish), "sdjc": (prepare_sdjc, finish)}
        prepare_run, finish_run = objectives.get(config.objective, (prepare, finish))
        training_run = prepare_run(config, data, device, log)
        state = train(training_run)
        target = finish_run(training_run, data, state) if log.active else ""
        distributed.barrier()
        return target
    finally:
        log.close()
        distributed.stop()


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""

    def work() -> str:
        config = parse(argv)
        return mboe.run(config) if isinstance(config, MboeConfig) else run(config)

    return run_command("trainer", work)
