"""Groups of options that several trainings and programs of the trainer share, each option declared once.

`wikianchor.io.options` says how a dataclass inherits from them. An option whose default follows from others is None
until `completed`, or the run, has set it; its annotation is what it is after that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.option_groups import Device, Output
from wikianchor.io.options import above, at_least, option


@dataclass(frozen=True, kw_only=True)
class Run(Output):
    """What every training is given first."""

    TITLE: ClassVar[str] = "the encoder"
    FIRST: ClassVar[tuple[str, ...]] = ("data", "model", "output", "preset", "epochs")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "output": {
            "help": "directory of model/, run.json and log.jsonl",
            "unset": "$AIP_MODEL_DIR",
            "may_change": True,
        }
    }

    data: str = option("", metavar="DIR", help="what is trained on", may_change=True)
    model: str = option("", help="the backbone: a directory or a name on the Hub", may_change=True)
    output: str = ""
    preset: str = option(
        "",
        help="training that the defaults of the other options come from; --preset=NAME --help shows them",
        presets={},
        may_change=True,
    )
    epochs: int = option(1, help="times through the rows", check=at_least(1))
    max_length: int = option(32, help="tokens kept of a text", check=at_least(1))


@dataclass(frozen=True, kw_only=True)
class Updates:
    """How the weights are updated."""

    TITLE: ClassVar[str] = "the optimiser"

    learning_rate: float = option(3e-5, help="highest learning rate", check=above(0))
    warmup_steps: int = option(0, help="steps in which the learning rate rises", check=at_least(0))
    weight_decay: float = option(0.0, help="weight decay of the encoder", check=at_least(0))
    clip_norm: float = option(1.0, help="largest norm of the gradient; 0: no limit", check=at_least(0))
    step_size: int = option(
        None, help="texts in one step of the optimiser", unset="those of one softmax", check=at_least(1)
    )
    patience: int | None = option(
        None,
        help="stop after so many dev scores without a better one",
        unset="never",
        check=at_least(1),
        may_change=True,
    )


@dataclass(frozen=True, kw_only=True)
class EntityVectors:
    """The table of entities."""

    TITLE: ClassVar[str] = "the entity vectors"

    entity_vectors: str = option("", metavar="FILE", help="initial vectors", unset="random")
    entity_dim: int | None = option(
        None,
        help="width of the entity vectors",
        unset="that of the vectors given, else the encoder's",
        check=at_least(1),
    )
    entity_learning_rate: float | None = option(
        None,
        help="learning rate of the entity vectors; 0: they stay as they are",
        unset="that of the encoder",
        check=at_least(0),
    )


@dataclass(frozen=True, kw_only=True)
class Titles:
    """Which item a title is."""

    TITLE: ClassVar[str] = "the titles"

    titles: str = option(
        "", metavar="DIR", help="directory of an `interlanguage` or `entities` dataset: which item a title is"
    )
    titles_wiki: str = option("enwiki", metavar="WIKI", help="the wiki of these titles")


@dataclass(frozen=True, kw_only=True)
class Cache:
    """Where files are kept that later runs use again."""

    TITLE: ClassVar[str] = "the machine"

    cache: str = option(
        "",
        metavar="DIR",
        help="directory of tokenised datasets and dictionaries, local or in a bucket",
        unset="$WIKIANCHOR_CACHE, else ~/.cache/wikianchor",
        may_change=True,
    )


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """What an encoder reads before each text."""

    prompt: str | None = option(
        None,
        metavar="TEXT",
        help="put before each text; or the name of a prompt of the model; empty: nothing",
        unset="as the model says",
    )


@dataclass(frozen=True, kw_only=True)
class Machine(Device):
    """What the training runs on."""

    TITLE: ClassVar[str] = "the machine"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"device": {"may_change": True}}

    precision: str = option(
        None,
        help="precision of the encoder",
        choices=("bf16", "fp32"),
        unset="bf16 on GPUs that have it, else fp32",
    )


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """How often something is trained."""

    seeds: tuple[int, ...] = option((42,), help="seeds with commas, one training for each")


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """What is read."""

    data: str = option(metavar="DIR", help="directory of a `pairs` dataset")


@dataclass(frozen=True, kw_only=True)
class Model:
    """The encoder that is read."""

    model: str = option(metavar="MODEL", help="a directory or a name on the Hub")


@dataclass(frozen=True, kw_only=True)
class EvaluationData:
    """What is scored."""

    data: str = option(
        "", metavar="DIR", help="directory with evaluation sets somewhere under it; of mteb a dataset `mewsc16`"
    )
    languages: tuple[str, ...] = option((), help="languages to score, with commas", unset="all")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(Device):
    """Which models are run, and how."""

    model: tuple[str, ...] = option((), repeat=True, help="a directory or a name on the Hub; repeatable")
    batch_size: int = option(128, help="texts encoded at once", check=at_least(1))
