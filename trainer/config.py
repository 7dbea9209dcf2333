"""One run as data: every option with its default and its meaning, the presets, and how flags override them.

A `Config` is frozen, printed as JSON when a run starts, and saved beside what the run makes. Where EASE's paper and
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

from trainer.encoder import POOLERS
from trainer.errors import UsageError
from trainer.losses import PROJECTIONS
from trainer.presets import PRESETS

OBJECTIVES = ("ease", "simcse")


def _option(default: Any, meaning: str, choices: Sequence[str] = ()) -> Any:
    return field(default=default, metadata={"help": meaning, "choices": tuple(choices)})


@dataclass(frozen=True)
class Config:
    """A training run. Lengths count tokens, sizes count sentences, steps count updates of the weights."""

    objective: str = _option("ease", "what is learnt", OBJECTIVES)
    preset: str = _option("", "where the other options start from")

    # What goes in, and where it comes out
    data: str = _option("", "directory of a `pairs` dataset, local or gs://")
    model: str = _option("", "the backbone: a directory or a name on the Hub")
    output: str = _option("", "directory of model/, run.json and log.jsonl; AIP_MODEL_DIR")
    checkpoints: str = _option("", "directory of checkpoints, OUTPUT/checkpoints; AIP_CHECKPOINT_DIR")
    tensorboard: str = _option("", "directory of TensorBoard's files, none; AIP_TENSORBOARD_LOG_DIR")
    cache: str = _option("", "directory of tokenised datasets, ~/.cache/wikianchor")
    resume: bool = _option(True, "go on from the last checkpoint where there is one")

    # The encoder
    pooler: str = _option("", "how tokens become one vector; as the model says, else avg", ("", *POOLERS))
    mlp: bool = _option(False, "linear and tanh over the pooled vector")
    mlp_only_train: bool = _option(True, "leave the MLP out of the trained model")
    dropout: float = _option(-1.0, "dropout of the backbone; -1 for its own")
    max_length: int = _option(32, "tokens kept of a sentence")

    # The losses: the paper's symbols in brackets
    sentence_weight: float = _option(1.0, "weight of SimCSE's loss")
    sentence_temperature: float = _option(0.05, "divides SimCSE's cosines")
    entity_weight: float = _option(0.01, "weight of the entity loss [lambda]")
    entity_temperature: float = _option(10.0, "divides the cosines with entities [tau]")
    negatives: int = _option(1, "hard negatives of a row [k]; 0 for none")
    hard_negative_weight: float = _option(0.0, "added to the logit of a row's own hard negatives")
    resample_negatives: bool = _option(True, "take the row's next hard negatives in each epoch")
    projection: str = _option("tanh", "from entity vectors to the sentences' space [W]", PROJECTIONS)
    both_views: bool = _option(False, "the entity loss for both views, not for the first alone")
    entity_to_sentence: bool = _option(False, "add the loss that tells an entity's sentence from the others")
    mask_duplicates: bool = _option(True, "equal sentences and equal entities in a batch are no negatives")

    # The entity table
    entity_dim: int = _option(0, "width of the entity vectors; 0 for that of the vectors given, else the encoder's")
    entity_vectors: str = _option("", "initial vectors, made by `python -m trainer.entities`; else random")
    entity_optimizer: str = _option("sparse", "sparse: rows of the batch alone move", ("sparse", "adamw"))
    entity_device: str = _option("", "where the table lies, if not where the encoder is: cpu")
    entity_learning_rate: float = _option(0.0, "0 for that of the encoder")

    # The rows
    quota: str = _option("", "rows of each wiki in an epoch: 50000, or dewiki=50000,jawiki=20000")
    language_temperature: float = _option(1.0, "a wiki of n rows is drawn in proportion to n to this power")
    stream_above: int = _option(50_000_000, "rows above which only windows of the data are shuffled")
    held_out: int = _option(0, "rows kept from training; their loss is the dev score where `dev` is not given")

    # The optimiser
    epochs: int = _option(1, "times through the rows")
    max_steps: int = _option(0, "stop after so many steps; 0 for all of the epochs")
    softmax_size: int = _option(64, "sentences told apart in one softmax [N]")
    step_size: int = _option(0, "sentences in one step of the optimiser; 0 for one softmax")
    learning_rate: float = _option(3e-5, "at its highest; falls to zero in a line")
    warmup_steps: int = _option(0, "steps in which the learning rate rises")
    weight_decay: float = _option(0.0, "of the encoder")
    clip_norm: float = _option(1.0, "largest norm of the encoder's gradient; 0 for no limit")
    seed: int = _option(42, "of the order, of dropout and of all that begins at random")

    # The machine
    device: str = _option("", "cuda where there is one, else cpu")
    precision: str = _option("", "of the encoder: bf16 on cuda, else fp32", ("", "bf16", "fp32"))
    compile: bool = _option(False, "torch.compile the backbone, one graph for each length")
    lengths: str = _option("8,16,24,32,48,64,96,128,192,256,384,512", "lengths that batches are padded to")
    length_groups: int = _option(
        0, "a batch is sorted and encoded in so many parts, each padded for itself; 0: as many as pay"
    )
    gradient_checkpointing: bool = _option(False, "less memory, a third more time")

    # Watching
    dev: str = _option("", "directory of evaluation data for the dev score: Spearman on the dev parts of dev_tasks")
    dev_tasks: str = _option("STSBenchmark", "sets of `dev`, with commas; the score is their mean")
    eval_steps: int = _option(0, "steps between two dev scores; 0 for one at the end")
    keep: str = _option("best", "which weights become the model: best by dev score, or last", ("best", "last"))
    checkpoint_steps: int = _option(1000, "steps between two checkpoints")
    log_steps: int = _option(50, "steps between two lines of the log")

    def micro_batches(self) -> int:
        """Softmaxes in one step of the optimiser."""
        return max(1, self.step_size // self.softmax_size)

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), indent=2, sort_keys=True)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a parser one flag for each option; what is not typed is not set."""
    kinds = get_type_hints(Config)
    for option in fields(Config):
        if option.name == "objective":
            continue
        kind, meaning, choices = kinds[option.name], option.metadata["help"], option.metadata["choices"]
        shown = f"{meaning} ({option.default})" if option.default not in ("", 0, 0.0) else meaning
        if kind is bool:
            action: Any = argparse.BooleanOptionalAction
            parser.add_argument(f"--{option.name}", action=action, default=argparse.SUPPRESS, help=shown)
        elif option.name == "preset":
            parser.add_argument("--preset", choices=PRESETS, default=argparse.SUPPRESS, help=meaning)
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
    config = Config(**{**preset, **places, **flags, "objective": objective})
    config = dataclasses.replace(
        config,
        step_size=config.step_size or config.softmax_size,
        checkpoints=config.checkpoints or f"{config.output}/checkpoints",
        cache=config.cache or os.path.expanduser("~/.cache/wikianchor"),
    )
    check(config)
    return config


def check(config: Config) -> None:
    """Raise UsageError for options that contradict each other or themselves."""
    for name in ("data", "model", "output"):
        if not getattr(config, name):
            raise UsageError(f"--{name} is missing")
    for name in ("softmax_size", "max_length", "epochs", "log_steps", "checkpoint_steps"):
        if getattr(config, name) < 1:
            raise UsageError(f"--{name}={getattr(config, name)}: must be 1 or more")
    for name in ("sentence_temperature", "entity_temperature", "learning_rate"):
        if not getattr(config, name) > 0:
            raise UsageError(f"--{name}={getattr(config, name)}: must be above 0")
    if config.softmax_size < 2:
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


def parse_lengths(text: str, longest: int) -> tuple[int, ...]:
    """Return the lengths to pad to, ascending, the longest of them `longest`."""
    try:
        stated = {int(part) for part in text.split(",") if part}
    except ValueError as error:
        raise UsageError(f"--lengths={text}: must be numbers with commas between") from error
    return (*sorted(length for length in stated if 0 < length < longest), longest)
