"""The options of `wikianchor train`, a dataclass for each objective, composed of groups.

A config is frozen, and saved in `run.json` beside the model. Where EASE's paper and its released code differ, there
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
from typing import TYPE_CHECKING, Any, ClassVar

from wikianchor.io.cache import cache_directory
from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import DryRun, Seed
from wikianchor.io.options import above, at_least, between, fraction, option, read_options
from wikianchor.trainer.choices import POOLERS, PROJECTIONS
from wikianchor.trainer.option_groups import Cache, EntityVectors, Machine, Prompt, Run, Updates
from wikianchor.trainer.presets import NEW_SIZES, PRESETS

if TYPE_CHECKING:
    from typing_extensions import Self

# Of `new`: an encoder without layers.
STATIC = "static"
# Vertex AI's environment variables of options.
VERTEX = {
    "output": "AIP_MODEL_DIR",
    "checkpoints": "AIP_CHECKPOINT_DIR",
    "tensorboard": "AIP_TENSORBOARD_LOG_DIR",
}


def presets_of(objective: str) -> dict[str, dict[str, Any]]:
    """Return the presets of an objective."""
    return {name: preset for name, preset in PRESETS.items() if preset["objective"] == objective}


@dataclass(frozen=True, kw_only=True)
class Optimiser(Updates, Seed):
    """The steps of the training loop."""

    TITLE: ClassVar[str] = "the optimiser"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "seed": {"help": "seed of the order, of dropout and of all initial values"}
    }

    dropout: float | None = option(None, help="dropout of the backbone", unset="its own", check=between(0, 1))
    schedule: str = option(
        "linear",
        help="whether the learning rate falls linearly to zero, or is constant",
        choices=("linear", "constant"),
    )
    max_steps: int | None = option(
        None, help="stop after so many steps", unset="those of the epochs", check=at_least(1)
    )
    encode_size: int | None = option(
        None,
        help="texts encoded at once, for memory; the loss stays the same",
        unset="as many of a step as memory allows",
        check=at_least(1),
        may_change=True,
    )
    gradient_checkpointing: bool = option(default=False, help="use less memory and a third more time", may_change=True)


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """What is kept of a run."""

    TITLE: ClassVar[str] = "checkpoints"

    checkpoints: str = option(
        "",
        metavar="DIR",
        help="directory of checkpoints",
        unset="$AIP_CHECKPOINT_DIR, else OUTPUT/checkpoints",
        may_change=True,
    )
    checkpoint_steps: int = option(1000, help="steps between two checkpoints", check=at_least(1), may_change=True)
    resume: bool = option(default=True, help="continue from the last checkpoint where there is one", may_change=True)
    keep: str = option(
        "best",
        help="which weights become the model: best by dev score, or last",
        choices=("best", "last"),
        may_change=True,
    )


@dataclass(frozen=True, kw_only=True)
class Dev:
    """The dev score by evaluation sets."""

    TITLE: ClassVar[str] = "watching"

    dev: str = option(
        "",
        metavar="DIR",
        help="directory of evaluation data for the dev score: Spearman on the dev parts of dev_tasks",
        may_change=True,
    )
    dev_tasks: tuple[str, ...] = option(
        ("STSBenchmark",), help="sets of `dev`, with commas; the score is their mean", may_change=True
    )


@dataclass(frozen=True, kw_only=True)
class Config(Checkpoints, Machine, Optimiser, Run):
    """Options of a training run. Lengths count tokens, sizes count sentences, steps count updates of the weights."""

    TITLE: ClassVar[str] = "watching"

    held_out: int = option(
        0, help="rows kept from training; their loss is the dev score where there is no other", check=at_least(0)
    )
    eval_steps: int = option(
        0, help="steps between two dev scores; 0: one at the end", check=at_least(0), may_change=True
    )
    log_steps: int = option(50, help="steps between two lines of the log", check=at_least(1), may_change=True)
    tensorboard: str = option(
        "",
        metavar="DIR",
        help="directory of TensorBoard's files",
        unset="$AIP_TENSORBOARD_LOG_DIR, else none",
        may_change=True,
    )
    wandb: str = option("", help="project of Weights & Biases: PROJECT or ENTITY/PROJECT", unset="none")

    objective: ClassVar[str]
    # The option that says how many texts are encoded together.
    together: ClassVar[str] = "softmax_size"

    @property
    def begun(self) -> str:
        """What training begins with, in words; "" if it is not given."""
        return self.model

    @property
    def softmax_size(self) -> int:
        """Texts that have to be encoded together."""
        return 1

    @property
    def has_dev_score(self) -> bool:
        """Whether there is a dev score."""
        return self.held_out > 0

    def total_steps(self, steps: int) -> int:
        """Return the steps of the run, given those of an epoch."""
        return min(self.epochs * steps, self.max_steps or self.epochs * steps)

    def record(self) -> dict[str, Any]:
        """Return the objective and the options as values of JSON."""
        return json.loads(json.dumps({"objective": self.objective, **dataclasses.asdict(self)}))

    def to_json(self) -> str:
        """Return the objective and the options as JSON."""
        return json.dumps(self.record(), indent=2, sort_keys=True)

    def completed(self) -> Self:
        """Return the options with those that follow from others.

        Raises:
            UsageError: the options do not go together.
        """
        for name, value in (("data", self.data), ("model", self.begun), ("output", self.output)):
            if not value:
                raise UsageError(f"--{name} is missing")
        if self.output.rstrip("/") == self.data.rstrip("/"):
            raise UsageError(f"--output={self.output}: holds the rows of --data: give another directory")
        if self.patience and not (self.eval_steps and self.has_dev_score):
            raise UsageError("--patience needs dev scores: give --eval_steps and --held_out")
        step_size, size = self.step_size or self.softmax_size, self.softmax_size
        if step_size % size:
            raise UsageError(f"--step_size={step_size}: must be a multiple of --{self.together}={size}")
        checkpoints = self.checkpoints or f"{self.output}/checkpoints"
        return dataclasses.replace(self, step_size=step_size, checkpoints=checkpoints)


@dataclass(frozen=True, kw_only=True)
class FromScratch(Config):
    """A training that can begin with random weights."""

    TITLE: ClassVar[str] = "the encoder"

    new: str | None = option(
        None,
        help="instead of `model`: start with random weights, in this size, and a vocabulary of the texts",
        choices=NEW_SIZES,
        unset="none",
    )
    vocabulary_size: int = option(8000, help="pieces of a new vocabulary", check=at_least(1))

    @property
    def begun(self) -> str:
        """What training begins with, in words; "" if it is not given."""
        return self.model or (f"a new {self.new} model" if self.new else "")

    def completed(self) -> Self:
        """Return the options with those that follow from others; raises as that of `Config`."""
        if self.model and self.new:
            raise UsageError(f"--new={self.new} and --model={self.model}: give one")
        return super().completed()


@dataclass(frozen=True, kw_only=True)
class Pooling(Prompt):
    """How an encoder makes a vector of a sentence."""

    TITLE: ClassVar[str] = "the encoder"

    pooler: str | None = option(
        None,
        help="how token vectors become the vector of a sentence",
        choices=POOLERS,
        unset="as the model says, else avg",
    )
    mlp: bool = option(default=False, help="add a linear layer and tanh over the pooled vector")
    mlp_only_train: bool = option(default=True, help="leave the MLP out of the trained model")


@dataclass(frozen=True, kw_only=True)
class Softmax:
    """The losses over sentences; here and below, the paper's symbols are in brackets."""

    TITLE: ClassVar[str] = "the losses"

    softmax_size: int = option(64, help="sentences told apart in one softmax [N]", check=at_least(2))
    sentence_temperature: float = option(0.05, help="divides SimCSE's cosines", check=above(0))
    mask_duplicates: bool = option(
        default=True, help="do not count equal sentences and equal entities in a batch as negatives"
    )


@dataclass(frozen=True, kw_only=True)
class HardNegatives:
    """The hard negatives of a row."""

    TITLE: ClassVar[str] = "the losses"

    negatives: int = option(1, help="hard negatives of a row [k]; 0: none", check=at_least(0))
    hard_negative_weight: float = option(0.0, help="added to the logit of a row's own hard negatives [log alpha]")
    resample_negatives: bool = option(default=True, help="take the row's next hard negatives in each epoch")


@dataclass(frozen=True, kw_only=True)
class EncoderConfig(Dev, Softmax, Pooling, Config):
    """Options of an encoder's training."""

    TITLE: ClassVar[str] = "the machine"

    lora: int = option(
        0,
        metavar="RANK",
        help="train updates of this rank of the linear layers, by the package peft; 0: all weights",
        check=at_least(0),
    )
    length_groups: int | None = option(
        None,
        help="groups into which a batch is sorted by length, each padded and encoded by itself",
        unset="as many as pay off",
        check=at_least(1),
    )

    @property
    def has_dev_score(self) -> bool:
        """Whether there is a dev score."""
        return bool(self.dev or self.held_out)

    def completed(self) -> Self:
        """Return the options with those that follow from others; raises as that of `Config`."""
        if 0 < self.held_out < self.softmax_size:
            raise UsageError(f"--held_out={self.held_out}: must fill a softmax of {self.softmax_size} sentences")
        return super().completed()


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of an epoch."""

    TITLE: ClassVar[str] = "the rows"

    quota: str = option("", help="rows of each wiki in an epoch: 50000, or dewiki=50000,jawiki=20000", unset="all")
    language_temperature: float = option(
        1.0, help="a wiki of n rows is drawn in proportion to n to this power", check=between(0, 1)
    )
    same_language: bool = option(default=False, help="tell apart sentences of one wiki only in a softmax")


@dataclass(frozen=True, kw_only=True)
class PairLosses:
    """The losses over rows of `pairs`."""

    TITLE: ClassVar[str] = "the losses"

    sentence_weight: float = option(1.0, help="weight of SimCSE's loss", check=at_least(0))
    matryoshka: tuple[int, ...] = option(
        (),
        help="widths with commas, such as 64,128,256: the loss is the mean of those of the vectors' first dimensions",
        unset="the whole vector",
    )


@dataclass(frozen=True, kw_only=True)
class PairsConfig(DryRun, Cache, Rows, PairLosses, EncoderConfig, FromScratch):
    """Options of a training on `pairs`."""

    TITLE: ClassVar[str] = "the machine"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {
            "help": "directory of a dataset `pairs`, local, gs://, s3:// or hf://; or your own .csv, .tsv or .jsonl "
            "with text, entity, negatives"
        },
        "new": {
            "choices": (*NEW_SIZES, STATIC),
            "help": "instead of `model`: start with random weights, in this size, and a vocabulary of the texts; "
            "static: a vector for each word piece, and their mean",
        },
        "dry_run": {"help": "say what the run would take, from a few steps, and write nothing"},
    }

    compile: bool = option(
        False,
        help="torch.compile the backbone, one graph for each length; then padding is computed too",
        may_change=True,
    )
    graphs: bool | None = option(
        None,
        help="capture steps as CUDA graphs, one for each shape of a batch",
        unset="on a GPU, where one process encodes a step at once",
        may_change=True,
    )

    def completed(self) -> Self:
        """Return the options with those that follow from others; raises as that of `Config`."""
        if self.quota and self.language_temperature != 1:
            raise UsageError("--quota and --language_temperature both choose the rows of a wiki: give one")
        return dataclasses.replace(super().completed(), cache=self.cache or cache_directory())


@dataclass(frozen=True, kw_only=True)
class SimcseConfig(PairsConfig):
    """Options of `wikianchor train simcse`."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"preset": {"presets": presets_of("simcse")}}
    objective: ClassVar[str] = "simcse"


@dataclass(frozen=True, kw_only=True)
class EntityTableOptions(EntityVectors):
    """The table of entities, beside what M-BoE has too."""

    TITLE: ClassVar[str] = "the entity vectors"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "entity_vectors": {"help": "initial vectors, made by `wikianchor vectors`"}
    }

    projection: str = option(
        "tanh", help="projection from entity vectors to the sentences' space [W]", choices=PROJECTIONS
    )
    entity_optimizer: str = option(
        "sparse",
        help="optimiser of the entity vectors; sparse: only the rows of the batch change",
        choices=("sparse", "adamw"),
    )
    entity_device: str = option(
        "", help="device of the entity table, such as cpu", unset="that of the encoder", may_change=True
    )


@dataclass(frozen=True, kw_only=True)
class EaseConfig(EntityTableOptions, HardNegatives, PairsConfig):
    """Options of `wikianchor train ease`."""

    TITLE: ClassVar[str] = "the losses"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"preset": {"presets": presets_of("ease")}}
    objective: ClassVar[str] = "ease"

    entity_weight: float = option(0.01, help="weight of the entity loss [lambda]", check=at_least(0))
    entity_temperature: float = option(10.0, help="divides the cosines with entities [tau]", check=above(0))
    both_views: bool = option(
        default=False,
        help="take the mean of both views' entity losses, not the first view's; hard negatives for that alone",
    )
    entity_to_sentence: bool = option(
        default=False, help="add the loss that tells an entity's sentence from the others"
    )


@dataclass(frozen=True, kw_only=True)
class SdjcConfig(HardNegatives, EncoderConfig):
    """Options of `wikianchor train sdjc`. Defaults: SDJC's paper, section 5.3.2, for BERT-base; tau and alpha as its
    release says for the clinic corpus."""

    TITLE: ClassVar[str] = "the losses"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {"help": "datasets `negatives`, `corpus`, `sentences`, or files of sent0, sent1, hard_neg"},
        "preset": {"presets": presets_of("sdjc")},
    }
    objective: ClassVar[str] = "sdjc"

    sentence_temperature: float = 0.06
    hard_negative_weight: float = 0.1
    softmax_size: int = 512
    learning_rate: float = 5e-5
    pooler: str | None = "avg"
    row_per_negative: bool = option(
        default=False, help="make a row of each of a sentence's first `negatives` hard negatives, as SDJC's release"
    )
    mixed_negatives: float = option(
        0.0,
        help="MixCSE: share of the positive in one more negative, mixed with another sentence; 0: none",
        check=between(0, 1),
    )
    export_pooler: str | None = option(
        None, help="pooler of the finished model", choices=POOLERS, unset="that of the training", may_change=True
    )


@dataclass(frozen=True, kw_only=True)
class SpanConfig(FromScratch):
    """Options of `wikianchor train t5`. Defaults: SDJC's paper, sections 3.2 and 5.3; the validation set is ours."""

    TITLE: ClassVar[str] = "the spans"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {"help": "datasets `corpus` or `sentences`, or files with a column sent0"}
    }
    objective: ClassVar[str] = "t5"
    together: ClassVar[str] = "encode_size"

    learning_rate: float = 1e-3
    schedule: str = "constant"
    step_size: int = 96
    encode_size: int = 8
    max_length: int = 256
    epochs: int = 2
    held_out: int = 200
    corruption_rate: float = option(0.15, help="share of the pieces of a text that are masked", check=fraction)
    span_length: float = option(3.0, help="mean length of the masked spans", check=at_least(1))
    optimizer: str = option("adafactor", help="optimiser of the weights", choices=("adafactor", "adamw"))

    @property
    def softmax_size(self) -> int:
        """Texts that are encoded at once: no texts are compared, so a step is cut into these."""
        return self.encode_size


CONFIGS: dict[str, type[Config]] = {
    config.objective: config for config in (EaseConfig, SimcseConfig, SdjcConfig, SpanConfig)
}


def make(objective: str, flags: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Any:
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
    return read_options(CONFIGS[objective], argparse.Namespace(**{**given, **flags}))
