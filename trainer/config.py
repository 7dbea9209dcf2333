"""One run as data: every option with its default and its meaning, the presets, and how flags override them.

A `Config` is frozen, and saved beside what the run makes, in `run.json`. Where EASE's paper and
its released code differ there are two presets. The code's own numbers are those of its training scripts; it computes
each softmax over 8 sentences and steps every 16 or 32 of them, so `softmax_size` and `step_size` are two options.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from wikianchor.io.errors import UsageError
from wikianchor.trainer.choices import POOLERS, PROJECTIONS
from wikianchor.trainer.presets import NEW_SIZES, PRESETS

OBJECTIVES = ("ease", "simcse", "sdjc", "t5")
# What an objective begins with where that is not the option's own default.
DEFAULTS: dict[str, dict[str, Any]] = {
    # SDJC's paper, sections 3.2 and 5.3; the validation set is ours.
    "t5": {
        **{"optimizer": "adafactor", "learning_rate": 1e-3, "schedule": "constant", "step_size": 96, "softmax_size": 8},
        **{"max_length": 256, "epochs": 2, "held_out": 200},
    },
    # SDJC's paper, section 5.3.2, for BERT-base; tau and alpha as its release says for the clinic corpus.
    "sdjc": {
        **{"sentence_temperature": 0.06, "hard_negative_weight": 0.1, "softmax_size": 512, "learning_rate": 5e-5},
        **{"pooler": "avg"},
    },
}


def _option(default: Any, meaning: str, choices: Sequence[str] = (), only: Sequence[str] = OBJECTIVES) -> Any:
    """A field with its meaning, and the objectives that have it."""
    return field(default=default, metadata={"help": meaning, "choices": tuple(choices), "objectives": tuple(only)})


# Objectives that read pairs; that train an encoder; that know hard negatives; two with options of their own; those that
# can begin from nothing.
_PAIRS, _ENCODER, _NEGATIVES, _SDJC, _T5, _NEW = (
    *(("ease", "simcse"), ("ease", "simcse", "sdjc"), ("ease", "simcse", "sdjc")),
    *(("sdjc",), ("t5",), ("ease", "simcse", "t5")),
)


@dataclass(frozen=True)
class Config:
    """A training run. Lengths count tokens, sizes count sentences, steps count updates of the weights."""

    objective: str = _option("ease", "what is learnt", OBJECTIVES)
    preset: str = _option("", "where the other options start from")

    # What goes in, and where it comes out
    data: str = _option("", "directory of a dataset, local or gs://: `pairs`; for sdjc `negatives`, for t5 `corpus`")
    model: str = _option("", "the backbone: a directory or a name on the Hub")
    new: str = _option(
        "",
        "instead of `model`: begin with random weights, in this size, and a vocabulary of the texts",
        ("", *NEW_SIZES),
        only=_NEW,
    )
    vocabulary_size: int = _option(8000, "pieces of a new vocabulary", only=_NEW)
    output: str = _option("", "directory of model/, run.json and log.jsonl; AIP_MODEL_DIR")
    checkpoints: str = _option("", "directory of checkpoints, OUTPUT/checkpoints; AIP_CHECKPOINT_DIR")
    tensorboard: str = _option("", "directory of TensorBoard's files, none; AIP_TENSORBOARD_LOG_DIR")
    cache: str = _option("", "directory of tokenised datasets, ~/.cache/wikianchor", only=_PAIRS)
    resume: bool = _option(True, "go on from the last checkpoint where there is one")

    # The encoder
    pooler: str = _option(
        "", "how tokens become one vector; as the model says, else avg", ("", *POOLERS), only=_ENCODER
    )
    mlp: bool = _option(False, "linear and tanh over the pooled vector", only=_ENCODER)
    mlp_only_train: bool = _option(True, "leave the MLP out of the trained model", only=_ENCODER)
    dropout: float = _option(-1.0, "dropout of the backbone; -1 for its own")
    max_length: int = _option(32, "tokens kept of a sentence")

    export_pooler: str = _option("", "pooler of the finished model, where it is another", ("", *POOLERS), only=_SDJC)

    # The losses: the paper's symbols in brackets
    sentence_weight: float = _option(1.0, "weight of SimCSE's loss", only=_PAIRS)
    sentence_temperature: float = _option(0.05, "divides SimCSE's cosines", only=_ENCODER)
    entity_weight: float = _option(0.01, "weight of the entity loss [lambda]", only=_PAIRS)
    entity_temperature: float = _option(10.0, "divides the cosines with entities [tau]", only=_PAIRS)
    negatives: int = _option(1, "hard negatives of a row [k]; 0 for none", only=_NEGATIVES)
    hard_negative_weight: float = _option(
        0.0, "added to the logit of a row's own hard negatives [log alpha]", only=_NEGATIVES
    )
    resample_negatives: bool = _option(True, "take the row's next hard negatives in each epoch", only=_NEGATIVES)
    projection: str = _option("tanh", "from entity vectors to the sentences' space [W]", PROJECTIONS, only=_PAIRS)
    both_views: bool = _option(False, "the entity loss for both views, not for the first alone", only=_PAIRS)
    entity_to_sentence: bool = _option(
        False, "add the loss that tells an entity's sentence from the others", only=_PAIRS
    )
    mask_duplicates: bool = _option(
        True, "equal sentences and equal entities in a batch are no negatives", only=_ENCODER
    )

    mixed_negatives: float = _option(
        0.0, "MixCSE: share of the positive in one more negative, mixed with another sentence; 0 for none", only=_SDJC
    )

    # Two stages
    then: str = _option(
        "", "train on after that, on these rows: a dataset or a file of sent0, sent1, hard_neg", only=_SDJC
    )
    then_options: str = _option("", "flags of the second stage where they are others, in one string", only=_SDJC)

    # What T5 learns: to fill the spans that are gone
    corruption_rate: float = _option(0.15, "share of a text's pieces that go", only=_T5)
    span_length: float = _option(3.0, "mean length of the spans", only=_T5)
    patience: int = _option(0, "stop after so many dev scores without a better one; 0 for never", only=_T5)

    # The entity table
    entity_dim: int = _option(
        0, "width of the entity vectors; 0 for that of the vectors given, else the encoder's", only=_PAIRS
    )
    entity_vectors: str = _option(
        "", "initial vectors, made by `python -m wikianchor.trainer.entity_vectors`; else random", only=_PAIRS
    )
    entity_optimizer: str = _option("sparse", "sparse: rows of the batch alone move", ("sparse", "adamw"), only=_PAIRS)
    entity_device: str = _option("", "where the table lies, if not where the encoder is: cpu", only=_PAIRS)
    entity_learning_rate: float = _option(0.0, "0 for that of the encoder", only=_PAIRS)

    # The rows
    quota: str = _option("", "rows of each wiki in an epoch: 50000, or dewiki=50000,jawiki=20000", only=_PAIRS)
    language_temperature: float = _option(
        1.0, "a wiki of n rows is drawn in proportion to n to this power", only=_PAIRS
    )
    stream_above: int = _option(50_000_000, "rows above which only windows of the data are shuffled", only=_PAIRS)
    held_out: int = _option(0, "rows kept from training; their loss is the dev score where `dev` is not given")

    # The optimiser
    epochs: int = _option(1, "times through the rows")
    max_steps: int = _option(0, "stop after so many steps; 0 for all of the epochs")
    softmax_size: int = _option(64, "sentences told apart in one softmax [N]")
    step_size: int = _option(0, "sentences in one step of the optimiser; 0 for one softmax")
    optimizer: str = _option("adamw", "how weights move", ("adamw", "adafactor"), only=_T5)
    learning_rate: float = _option(3e-5, "at its highest")
    schedule: str = _option("linear", "the learning rate falls to zero in a line, or stays", ("linear", "constant"))
    warmup_steps: int = _option(0, "steps in which the learning rate rises")
    weight_decay: float = _option(0.0, "of the encoder")
    clip_norm: float = _option(1.0, "largest norm of the encoder's gradient; 0 for no limit")
    seed: int = _option(42, "of the order, of dropout and of all that begins at random")

    # The machine
    device: str = _option("", "cuda where there is one, else cpu")
    precision: str = _option("", "of the encoder: bf16 on cuda, else fp32", ("", "bf16", "fp32"))
    compile: bool = _option(False, "torch.compile the backbone, one graph for each length", only=_PAIRS)
    lengths: str = _option("8,16,24,32,48,64,96,128,192,256,384,512", "lengths that batches are padded to", only=_PAIRS)
    length_groups: int = _option(
        0, "a batch is sorted and encoded in so many parts, each padded for itself; 0: as many as pay", only=_PAIRS
    )
    gradient_checkpointing: bool = _option(False, "less memory, a third more time")

    # Watching
    dev: str = _option(
        "", "directory of evaluation data for the dev score: Spearman on the dev parts of dev_tasks", only=_ENCODER
    )
    dev_tasks: str = _option("STSBenchmark", "sets of `dev`, with commas; the score is their mean", only=_ENCODER)
    eval_steps: int = _option(0, "steps between two dev scores; 0 for one at the end")
    keep: str = _option("best", "which weights become the model: best by dev score, or last", ("best", "last"))
    checkpoint_steps: int = _option(1000, "steps between two checkpoints")
    log_steps: int = _option(50, "steps between two lines of the log")

    def micro_batches(self) -> int:
        """Softmaxes in one step of the optimiser."""
        return max(1, self.step_size // self.softmax_size)

    def to_json(self) -> str:
        """The options of the objective; those of others are not looked at."""
        own = [option.name for option in fields(self) if self.objective in option.metadata["objectives"]]
        return json.dumps({name: getattr(self, name) for name in own}, indent=2, sort_keys=True)


def add_flags(parser: argparse.ArgumentParser, objective: str) -> None:
    """Give a parser one flag for each option of an objective; what is not typed is not set."""
    kinds = get_type_hints(Config)
    for option in fields(Config):
        if option.name == "objective" or objective not in option.metadata["objectives"]:
            continue
        kind, meaning, choices = kinds[option.name], option.metadata["help"], option.metadata["choices"]
        shown = f"{meaning} ({option.default})" if option.default not in ("", 0, 0.0) else meaning
        if kind is bool:
            action: Any = argparse.BooleanOptionalAction
            parser.add_argument(f"--{option.name}", action=action, default=argparse.SUPPRESS, help=shown)
        elif option.name == "preset":
            own = [name for name, preset in PRESETS.items() if preset["objective"] == objective]
            parser.add_argument("--preset", choices=own, default=argparse.SUPPRESS, help=meaning)
        else:
            allowed = choices or None
            parser.add_argument(
                f"--{option.name}", type=kind, choices=allowed, default=argparse.SUPPRESS, help=shown.replace("%", "%%")
            )


def make(objective: str, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Config:
    """Return the config of a run: defaults, then the preset, then Vertex AI's environment, then flags.

    Raises:
        UsageError: the options do not go together.
    """
    preset = PRESETS.get(str(flags.get("preset", "")), {})
    if preset and preset["objective"] != objective:
        raise UsageError(f"--preset={flags['preset']} is for {preset['objective']}, not for {objective}")
    places = {
        name: environment[variable].rstrip("/")
        for name, variable in (
            ("output", "AIP_MODEL_DIR"),
            ("checkpoints", "AIP_CHECKPOINT_DIR"),
            ("tensorboard", "AIP_TENSORBOARD_LOG_DIR"),
        )
        if environment.get(variable)
    }
    if flags.get("new") and "model" not in flags:
        preset = {**preset, "model": ""}
    config = Config(**{**DEFAULTS.get(objective, {}), **preset, **places, **flags, "objective": objective})
    config = dataclasses.replace(
        config,
        step_size=config.step_size or config.softmax_size,
        checkpoints=config.checkpoints or f"{config.output}/checkpoints",
        cache=config.cache or (os.path.expanduser("~/.cache/wikianchor") if objective in _PAIRS else ""),
    )
    check(config)
    return config


def check(config: Config) -> None:
    """Raise UsageError for options that contradict each other or themselves."""
    for name in ("data", "model", "output"):
        if not getattr(config, name) and not (name == "model" and config.new):
            raise UsageError(f"--{name} is missing")
    if config.new and config.model:
        raise UsageError(f"--new={config.new} and --model={config.model}: give one")
    for name in ("softmax_size", "max_length", "epochs", "log_steps", "checkpoint_steps"):
        if getattr(config, name) < 1:
            raise UsageError(f"--{name}={getattr(config, name)}: must be 1 or more")
    for name in ("sentence_temperature", "entity_temperature", "learning_rate"):
        if not getattr(config, name) > 0:
            raise UsageError(f"--{name}={getattr(config, name)}: must be above 0")
    if config.objective == "t5":
        _check_t5(config)
    elif config.softmax_size < 2:
        raise UsageError("--softmax_size=1: there is nothing to tell a sentence from")
    if config.step_size % config.softmax_size:
        raise UsageError(f"--step_size={config.step_size}: must be a multiple of --softmax_size={config.softmax_size}")
    if config.held_out and config.held_out < config.softmax_size:
        raise UsageError(f"--held_out={config.held_out}: must fill a softmax of {config.softmax_size} sentences")
    if config.both_views and config.objective == "simcse":
        raise UsageError("--both_views is an option of the entity loss: use the command ease")
    if not 0 <= config.language_temperature <= 1:
        raise UsageError(f"--language_temperature={config.language_temperature}: must lie between 0 and 1")
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
