"""The options of `wikianchor train mboe`. The help of an option says where the thesis does not state its value."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikianchor.io.cache import cache_directory
from wikianchor.io.config_file import add_config, with_settings
from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.options import above, add_options, at_least, between, option, read_options
from wikianchor.trainer.presets import MBOE_PRESETS

KINDS = ("json", "mldoc", "ted", "shinra")
ENTITIES = ("detected", "linker", "oracle", "none")
ATTENTIONS = ("both", "cosine", "commonness", "none")
COMBINATIONS = ("sum", "concatenation")


ABOUT = "classify documents with the entities in them"


def _shares(values: tuple[float, ...]) -> str:
    return next(filter(None, map(between(0, 1), values)), "")


@dataclass(frozen=True)
class MboeConfig:
    """Options of a run. Lengths count tokens, sizes count documents."""

    preset: str = option(
        "",
        help="a training of the thesis, which the defaults of the other options come from; --preset=NAME --help shows "
        "them",
        presets=MBOE_PRESETS,
    )

    # What goes in, and where it comes out
    data: str = option("", help="documents with labels: a directory or a file")
    kind: str = option("json", help="layout of the documents: see trainer/mboe/documents.py", choices=KINDS)
    language: str = option("en", help="language of the training documents; all others are read in the test part alone")
    train_size: str = option("1000", help="size of MLDoc's training file", choices=("1000", "2000", "5000", "10000"))
    test_documents: int = option(
        0,
        help="documents of each of SHINRA's test languages, at random; 0: all, which take tens of GB",
        check=at_least(0),
    )
    model: str = option("", help="the text encoder: a directory or a name on the Hub")
    output: str = option("", help="directory of the models, the tables and the reports")
    cache: str = option("", help="directory of dictionaries", unset="$WIKIANCHOR_CACHE, else ~/.cache/wikianchor")

    # The entities of a document
    entities: str = option(
        "detected",
        help="source of the entities: names found by the dictionary, an entity linker's file, what the documents say "
        "themselves, or none: the plain classifier",
        choices=ENTITIES,
    )
    mentions: str = option("", help="directory of a `mentions` dataset, for detected")
    link_probability: float = option(
        0.01, help="smallest share of a name's occurrences that are links", check=between(0, 1)
    )
    commonness: float = option(0.05, help="smallest share of a name's links that lead to the item", check=between(0, 1))
    all_spans: bool = option(
        False, help="use names inside and across others too: the thesis' all words and phrases; else the longest alone"
    )
    links: str = option("", help='for linker: lines of {"id", "entities": [item, ...]}')
    max_entities: int = option(
        512, help="largest number of items of a document, the most frequent first; not stated", check=at_least(1)
    )
    detection_rate: float = option(
        1.0, help="share of the items of each document that are kept, at random", check=between(0, 1)
    )
    detection_rates: tuple[float, ...] = option(
        (), help="train anew at each of these rates, such as 0,0.25,0.5,0.75,1 (figure 3.3)", check=_shares
    )

    # The entity vectors
    entity_vectors: str = option(
        "", help="a file of vectors by item or title (wikianchor.trainer.models.vector_files)", unset="random"
    )
    titles: str = option(
        "",
        help="directory of an `interlanguage` dataset: which item a title is, for vectors by title, for SHINRA's "
        "oracle, and for names in the report",
    )
    titles_wiki: str = option("enwiki", help="the wiki of these titles")
    entity_dim: int = option(0, help="width of random vectors; 0: that of the encoder")
    unknown: str = option(
        "random", help="items without a vector: start at random, or are left out", choices=("random", "drop")
    )
    train_entities: bool = option(True, help="train the vectors; not stated")
    entity_learning_rate: float = option(0.0, help="learning rate of the entity vectors; 0: that of the encoder")

    # The model
    attention: str = option(
        "both", help="weights of the items: by cosine and commonness, by one of them, or none", choices=ATTENTIONS
    )
    bias: bool = option(False, help="bias of the attention; not stated, NABoE has one, which changes no weight")
    combine: str = option("sum", help="how text and entities are combined", choices=COMBINATIONS)
    dropout: float = option(0.0, help="dropout before the classifier; not stated")
    freeze_encoder: bool = option(False, help="train only the classifier and the entities")
    max_length: int = option(512, help="tokens kept of a document; not stated", check=at_least(1))

    # Training
    seeds: int = option(1, help="number of runs, with consecutive seeds; the thesis has 10", check=at_least(1))
    seed: int = option(42, help="seed of the first run")
    epochs: int = option(50, help="largest number of epochs", check=at_least(1))
    patience: int = option(
        5, help="stop after so many epochs without a better dev score; not stated, NABoE has 10", check=at_least(1)
    )
    batch_size: int = option(
        32,
        help="documents in a step; the thesis: MLDoc 32, TED-CLDC 16, SHINRA 128 for mBERT, 64 for XLM-R",
        check=at_least(1),
    )
    learning_rate: float = option(
        2e-5,
        help="constant after the warm-up; the thesis: 2e-5, but 5e-5 for XLM-R on TED-CLDC and mBERT on SHINRA",
        check=above(0),
    )
    warmup_steps: int = option(0, help="steps in which the learning rate rises; not stated")
    weight_decay: float = option(0.01, help="weight decay of the encoder and the classifier; not stated")
    clip_norm: float = option(1.0, help="largest norm of the gradient")
    threshold: float = option(
        0.5, help="a multi-label document gets the labels of at least this probability", check=between(0, 1)
    )

    # The machine, and the report
    device: str = option("", help="device of the training", unset="cuda where there is one, else cpu")
    precision: str = option(
        "", help="precision of the encoder", choices=("", "bf16", "fp32"), unset="bf16 on GPUs that have it, else fp32"
    )
    compare: str = option("", help="output of another run: the paired t-test against it, seed by seed")
    explain: int = option(3, help="documents of each language in the report of what the attention chose")
    top: int = option(3, help="items shown of each document", check=at_least(1))

    def completed(self) -> MboeConfig:
        """Return the options with those that follow from others.

        Raises:
            UsageError: the options do not go together.
        """
        for name in ("data", "model", "output"):
            if not getattr(self, name):
                raise UsageError(f"--{name} is missing")
        if self.entities == "detected" and not self.mentions:
            raise UsageError("--mentions is missing: --entities=detected needs a dictionary")
        if self.entities == "oracle" and self.kind in ("mldoc", "ted"):
            raise UsageError(f"--entities=oracle: the documents of --kind={self.kind} have no links")
        if self.entities == "oracle" and self.kind == "shinra" and not self.titles:
            raise UsageError("--titles is missing: --entities=oracle needs the items that SHINRA's pages link to")
        if self.entities == "linker" and not self.links:
            raise UsageError("--links is missing: --entities=linker needs the linker's file")
        cache = self.cache or cache_directory()
        return dataclasses.replace(self, cache=cache, output=self.output.rstrip("/"))


def mboe_parser() -> FlagParser:
    """Return the command line of `wikianchor train mboe`."""
    parser = FlagParser(prog="wikianchor train mboe", description=ABOUT)
    add_options(parser, MboeConfig)
    return add_config(parser, "train.mboe")


def parse_flags(argv: Sequence[str]) -> dict[str, Any]:
    """Return the options that a command line gives.

    Raises:
        InputError: the file of --config is missing or no TOML.
        UsageError: a flag, or something in that file, is wrong.
    """
    parser = mboe_parser()
    return vars(parser.parse_args(with_settings("train.mboe", argv, parser)))


def make(flags: Mapping[str, Any]) -> MboeConfig:
    """Return the config of a run.

    Raises:
        UsageError: the options do not go together.
    """
    return read_options(MboeConfig, argparse.Namespace(**flags))


def rates(config: MboeConfig) -> tuple[float, ...]:
    """Return the detection rates to train at."""
    return config.detection_rates or (config.detection_rate,)
