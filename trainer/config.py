"""The options of `wikianchor train`, their defaults by objective, and the presets of published trainings.

A `Config` is frozen, and saved in `run.json` beside the model. Where EASE's paper and its released code differ, there
are two presets. The numbers of the code are those of its training scripts: it computes each softmax over 8 sentences
and updates the weights every 16 or 32 of them, so `softmax_size` and `step_size` are two options. How many sentences
are encoded at once is a third, `encode_size`, which changes time and memory alone.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from wikianchor.io.cache import cache_directory
from wikianchor.io.errors import UsageError
from wikianchor.io.options import above, add_options, at_least, between, option, options_for, read_options
from wikianchor.trainer.choices import POOLERS, PROJECTIONS
from wikianchor.trainer.presets import NEW_SIZES, PRESETS

OBJECTIVES = ("ease", "simcse", "sdjc", "t5")
# Vertex AI's environment variables of options.
VERTEX = {
    "output": "AIP_MODEL_DIR",
    "checkpoints": "AIP_CHECKPOINT_DIR",
    "tensorboard": "AIP_TENSORBOARD_LOG_DIR",
}
# Defaults of an objective where they are not those of the options.
DEFAULTS: dict[str, dict[str, Any]] = {
    # SDJC's paper, sections 3.2 and 5.3; the validation set is ours.
    "t5": {
        **{"optimizer": "adafactor", "learning_rate": 1e-3, "schedule": "constant", "step_size": 96, "encode_size": 8},
        **{"max_length": 256, "epochs": 2, "held_out": 200},
    },
    # SDJC's paper, section 5.3.2, for BERT-base; tau and alpha as its release says for the clinic corpus.
    "sdjc": {
        **{"sentence_temperature": 0.06, "hard_negative_weight": 0.1, "softmax_size": 512, "learning_rate": 5e-5},
        **{"pooler": "avg"},
    },
}


# Objectives by what they have in common: they read pairs; train an encoder; can start from random weights.
_PAIRS, _ENCODER, _NEW = ("ease", "simcse"), ("ease", "simcse", "sdjc"), ("ease", "simcse", "t5")
_SDJC, _T5 = ("sdjc",), ("t5",)


@dataclass(frozen=True)
class Config:
    """Options of a training run. Lengths count tokens, sizes count sentences, steps count updates of the weights."""

    objective: str = "ease"
    preset: str = option(
        "",
        help="training that the defaults of the other options come from; --preset=NAME --help shows them",
        presets=PRESETS,
    )

    # What goes in, and where it comes out
    data: str = option(
        "",
        help="directory of a dataset, local, gs://, s3:// or hf://: `pairs`; for sdjc `negatives`, for t5 `corpus`; or "
        "your own .csv, .tsv or .jsonl with text, entity, negatives (for sdjc sent0, sent1, hard_neg)",
    )
    model: str = option("", help="the backbone: a directory or a name on the Hub")
    new: str = option(
        "",
        help="instead of `model`: start with random weights, in this size, and a vocabulary of the texts",
        choices=("", *NEW_SIZES),
        only=_NEW,
        unset="none",
    )
    vocabulary_size: int = option(8000, help="pieces of a new vocabulary", only=_NEW)
    output: str = option("", help="directory of model/, run.json and log.jsonl", unset="$AIP_MODEL_DIR")
    checkpoints: str = option("", help="directory of checkpoints", unset="$AIP_CHECKPOINT_DIR, else OUTPUT/checkpoints")
    tensorboard: str = option("", help="directory of TensorBoard's files", unset="$AIP_TENSORBOARD_LOG_DIR, else none")
    wandb: str = option("", help="project of Weights & Biases: PROJECT or ENTITY/PROJECT", unset="none")
    cache: str = option(
        "",
        help="directory of tokenised datasets, local or in a bucket",
        only=_PAIRS,
        unset="$WIKIANCHOR_CACHE, else ~/.cache/wikianchor",
    )
    resume: bool = option(True, help="continue from the last checkpoint where there is one")

    # The encoder
    pooler: str = option(
        "",
        help="how token vectors become the vector of a sentence",
        choices=("", *POOLERS),
        only=_ENCODER,
        unset="as the model says, else avg",
    )
    mlp: bool = option(False, help="add a linear layer and tanh over the pooled vector", only=_ENCODER)
    mlp_only_train: bool = option(True, help="leave the MLP out of the trained model", only=_ENCODER)
    dropout: float = option(-1.0, help="dropout of the backbone; -1: its default")
    max_length: int = option(32, help="tokens kept of a sentence", check=at_least(1))

    export_pooler: str = option(
        "", help="pooler of the finished model", choices=("", *POOLERS), only=_SDJC, unset="that of the training"
    )

    # The losses: the paper's symbols in brackets
    sentence_weight: float = option(1.0, help="weight of SimCSE's loss", only=_PAIRS)
    sentence_temperature: float = option(0.05, help="divides SimCSE's cosines", only=_ENCODER, check=above(0))
    entity_weight: float = option(0.01, help="weight of the entity loss [lambda]", only=_PAIRS)
    entity_temperature: float = option(
        10.0, help="divides the cosines with entities [tau]", only=_PAIRS, check=above(0)
    )
    negatives: int = option(1, help="hard negatives of a row [k]; 0: none", only=_ENCODER)
    hard_negative_weight: float = option(
        0.0, help="added to the logit of a row's own hard negatives [log alpha]", only=_ENCODER
    )
    resample_negatives: bool = option(True, help="take the row's next hard negatives in each epoch", only=_ENCODER)
    row_per_negative: bool = option(
        False, help="make a row of each of a sentence's first `negatives` hard negatives, as SDJC's release", only=_SDJC
    )
    projection: str = option(
        "tanh", help="projection from entity vectors to the sentences' space [W]", choices=PROJECTIONS, only=_PAIRS
    )
    both_views: bool = option(
        False,
        help="take the mean of both views' entity losses, not the first view's; hard negatives for that alone",
        only=_PAIRS,
    )
    entity_to_sentence: bool = option(
        False, help="add the loss that tells an entity's sentence from the others", only=_PAIRS
    )
    matryoshka: str = option(
        "",
        help="widths with commas, such as 64,128,256: the loss is the mean of those of the vectors' first dimensions",
        only=_PAIRS,
        unset="the whole vector",
    )
    mask_duplicates: bool = option(
        True, help="do not count equal sentences and equal entities in a batch as negatives", only=_ENCODER
    )

    mixed_negatives: float = option(
        0.0, help="MixCSE: share of the positive in one more negative, mixed with another sentence; 0: none", only=_SDJC
    )

    # Two stages
    then: str = option(
        "",
        help="train on after that, on these rows: a dataset or a file of sent0, sent1, hard_neg; one epoch after a "
        "preset's",
        only=_SDJC,
    )
    then_options: str = option("", help="options of the second stage where they differ, in one string", only=_SDJC)

    # What T5 learns: to fill the spans that are gone
    corruption_rate: float = option(0.15, help="share of the pieces of a text that are masked", only=_T5)
    span_length: float = option(3.0, help="mean length of the masked spans", only=_T5)
    patience: int = option(0, help="stop after so many dev scores without an improvement; 0: never", only=_T5)

    # The entity table
    entity_dim: int = option(
        0, help="width of the entity vectors; 0: that of the vectors given, else the encoder's", only=_PAIRS
    )
    entity_vectors: str = option(
        "", help="initial vectors, made by `python -m wikianchor.trainer.entity_vectors`", only=_PAIRS, unset="random"
    )
    entity_optimizer: str = option(
        "sparse",
        help="optimiser of the entity vectors; sparse: only the rows of the batch change",
        choices=("sparse", "adamw"),
        only=_PAIRS,
    )
    entity_device: str = option(
        "", help="device of the entity table, such as cpu", only=_PAIRS, unset="that of the encoder"
    )
    entity_learning_rate: float = option(
        0.0, help="learning rate of the entity vectors; 0: that of the encoder", only=_PAIRS
    )

    # The rows
    quota: str = option(
        "", help="rows of each wiki in an epoch: 50000, or dewiki=50000,jawiki=20000", only=_PAIRS, unset="all"
    )
    language_temperature: float = option(
        1.0, help="a wiki of n rows is drawn in proportion to n to this power", only=_PAIRS, check=between(0, 1)
    )
    stream_above: int = option(50_000_000, help="rows above which only windows of the data are shuffled", only=_PAIRS)
    held_out: int = option(0, help="rows kept from training; their loss is the dev score where `dev` is not given")

    # The optimiser
    epochs: int = option(1, help="times through the rows", check=at_least(1))
    max_steps: int = option(0, help="stop after so many steps; 0: after the epochs")
    softmax_size: int = option(64, help="sentences told apart in one softmax [N]", only=_ENCODER, check=at_least(1))
    step_size: int = option(0, help="sentences in one step of the optimiser; 0: those of one softmax")
    encode_size: int = option(
        0,
        help="sentences encoded at once, for memory; the loss stays the same; 0: as many of a step as memory allows",
        check=at_least(0),
    )
    optimizer: str = option("adamw", help="optimiser of the weights", choices=("adamw", "adafactor"), only=_T5)
    learning_rate: float = option(3e-5, help="highest learning rate", check=above(0))
    schedule: str = option(
        "linear",
        help="whether the learning rate falls linearly to zero, or is constant",
        choices=("linear", "constant"),
    )
    warmup_steps: int = option(0, help="steps in which the learning rate rises")
    weight_decay: float = option(0.0, help="weight decay of the encoder")
    clip_norm: float = option(1.0, help="largest norm of the encoder's gradient; 0: no limit")
    seed: int = option(42, help="seed of the order, of dropout and of all initial values")

    dry_run: bool = option(False, help="say what the run would take, from a few steps, and write nothing", only=_PAIRS)

    # The machine
    device: str = option("", help="device of the training", unset="cuda where there is one, else cpu")
    precision: str = option(
        "", help="precision of the encoder", choices=("", "bf16", "fp32"), unset="bf16 on GPUs that have it, else fp32"
    )
    compile: bool | None = option(
        None,
        help="torch.compile the backbone, one graph for each length",
        only=_PAIRS,
        unset="on a GPU, for runs of 2,000 steps or more",
    )
    graphs: bool | None = option(
        None,
        help="capture steps as CUDA graphs, one for each shape of a batch",
        only=_PAIRS,
        unset="on a GPU, where one process encodes a step at once",
    )
    lengths: str = option(
        "8,16,24,32,48,64,96,128,192,256,384,512", help="lengths that batches are padded to", only=_PAIRS
    )
    length_groups: int = option(
        0,
        help="groups into which a batch is sorted by length, each padded and encoded by itself; 0: as many as pay off",
        only=_PAIRS,
    )
    gradient_checkpointing: bool = option(False, help="use less memory and a third more time")

    # Watching
    dev: str = option(
        "", help="directory of evaluation data for the dev score: Spearman on the dev parts of dev_tasks", only=_ENCODER
    )
    dev_tasks: str = option("STSBenchmark", help="sets of `dev`, with commas; the score is their mean", only=_ENCODER)
    eval_steps: int = option(0, help="steps between two dev scores; 0: one at the end")
    keep: str = option(
        "best", help="which weights become the model: best by dev score, or last", choices=("best", "last")
    )
    checkpoint_steps: int = option(1000, help="steps between two checkpoints", check=at_least(1))
    log_steps: int = option(50, help="steps between two lines of the log", check=at_least(1))

    def to_json(self) -> str:
        """Return the options of the objective as JSON."""
        names = ["objective", *(option.name for option in options_for(Config, self.objective))]
        return json.dumps({name: getattr(self, name) for name in names}, indent=2, sort_keys=True)

    def completed(self) -> Config:
        """Return the options with those that follow from others.

        Raises:
            UsageError: the options do not go together.
        """
        # T5 compares no rows, so what is encoded at once is all that a step is cut into.
        softmax_size = self.encode_size or self.step_size or 1 if self.objective == "t5" else self.softmax_size
        completed = dataclasses.replace(
            self,
            softmax_size=softmax_size,
            step_size=self.step_size or softmax_size,
            checkpoints=self.checkpoints or f"{self.output}/checkpoints",
            cache=self.cache or (cache_directory() if self.objective in _PAIRS else ""),
        )
        check(completed)
        return completed


def add_flags(parser: argparse.ArgumentParser, objective: str) -> None:
    """Add the flags of an objective to a parser."""
    add_options(parser, Config, DEFAULTS.get(objective), objective, presets_of(objective))


def presets_of(objective: str) -> dict[str, dict[str, Any]]:
    """Return the presets of an objective."""
    return {name: preset for name, preset in PRESETS.items() if preset["objective"] == objective}


def make(objective: str, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Config:
    """Return the config of a run: defaults, then the preset, then Vertex AI's environment, then flags.

    Raises:
        UsageError: the options do not go together.
    """
    preset = PRESETS.get(str(flags.get("preset", "")), {})
    if preset and preset["objective"] != objective:
        raise UsageError(f"--preset={flags['preset']} is for {preset['objective']}, not for {objective}")
    given: dict[str, Any] = {
        name: environment[variable].rstrip("/") for name, variable in VERTEX.items() if environment.get(variable)
    }
    if flags.get("new"):
        # The preset's backbone is not used.
        given["model"] = ""
    defaults = {**DEFAULTS.get(objective, {}), "objective": objective}
    return read_options(Config, argparse.Namespace(**{**given, **flags}), defaults)


def check(config: Config) -> None:
    """Raise UsageError for options that contradict each other or themselves."""
    for name in ("data", "model", "output"):
        if not getattr(config, name) and not (name == "model" and config.new):
            raise UsageError(f"--{name} is missing")
    if config.new and config.model:
        raise UsageError(f"--new={config.new} and --model={config.model}: give one")
    if config.objective == "t5":
        _check_t5(config)
    elif config.softmax_size < 2:
        raise UsageError("--softmax_size=1: there is nothing to tell a sentence from")
    if config.step_size % config.softmax_size:
        size = "encode_size" if config.objective == "t5" else "softmax_size"
        raise UsageError(f"--step_size={config.step_size}: must be a multiple of --{size}={config.softmax_size}")
    if config.held_out and config.held_out < config.softmax_size and config.objective != "t5":
        raise UsageError(f"--held_out={config.held_out}: must fill a softmax of {config.softmax_size} sentences")
    if config.both_views and config.objective == "simcse":
        raise UsageError("--both_views is an option of the entity loss: use the command ease")
    if config.quota and config.language_temperature != 1:
        raise UsageError("--quota and --language_temperature both choose the rows of a wiki: give one")


def _check_t5(config: Config) -> None:
    if not 0 < config.corruption_rate < 1 or config.span_length < 1:
        raise UsageError("--corruption_rate must lie between 0 and 1, and --span_length be 1 or more")
    if config.patience and not (config.eval_steps and config.held_out):
        raise UsageError("--patience needs dev scores: give --eval_steps and --held_out")


def parse_lengths(text: str, longest: int) -> tuple[int, ...]:
    """Return the lengths to pad to, ascending, the longest of them `longest`."""
    try:
        stated = {int(part) for part in text.split(",") if part}
    except ValueError as error:
        raise UsageError(f"--lengths={text}: must be numbers with commas between") from error
    return (*sorted(length for length in stated if 0 < length < longest), longest)
