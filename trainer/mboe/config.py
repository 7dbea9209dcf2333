"""A run of M-BoE as data: every option with its default and its meaning. What the thesis does not state says so."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.trainer.config import _option

KINDS = ("json", "mldoc", "ted", "shinra")
ENTITIES = ("detected", "linker", "oracle", "none")
ATTENTIONS = ("both", "cosine", "commonness", "none")
COMBINATIONS = ("sum", "concatenation")


ABOUT = "classify documents with the entities in them"


@dataclass(frozen=True)
class MboeConfig:
    """A run. Lengths count tokens, sizes count documents."""

    # What goes in, and where it comes out
    data: str = _option("", "documents with labels: a directory or a file")
    kind: str = _option("json", "how the documents are laid out: see trainer/mboe/documents.py", KINDS)
    language: str = _option("en", "of the training documents; all others are read in the test part alone")
    train_size: str = _option("1000", "of MLDoc's training file", ("1000", "2000", "5000", "10000"))
    test_documents: int = _option(0, "of each of SHINRA's test languages, by lot; 0 for all, which take tens of GB")
    model: str = _option("", "the text encoder: a directory or a name on the Hub")
    output: str = _option("", "directory of the models, the tables and the reports")
    cache: str = _option("", "directory of dictionaries, ~/.cache/wikianchor")

    # The entities of a document
    entities: str = _option(
        "detected",
        "whence: names found by the dictionary, an entity linker's file, what the documents say themselves, or none: "
        "the plain classifier",
        ENTITIES,
    )
    mentions: str = _option("", "directory of a `mentions` dataset, for detected")
    link_probability: float = _option(0.01, "names that are links at least so often")
    commonness: float = _option(0.05, "items that such a link leads to at least so often")
    all_spans: bool = _option(False, "names inside and across others too; not stated")
    links: str = _option("", 'for linker: lines of {"id", "entities": [item, ...]}')
    max_entities: int = _option(512, "items kept of a document, those found most often first; not stated")
    detection_rate: float = _option(1.0, "keep so many of the items of each document, by lot")
    detection_rates: str = _option("", "train anew at each of these rates, such as 0,0.25,0.5,0.75,1 (figure 3.3)")

    # The entity vectors
    entity_vectors: str = _option(
        "", "a file of vectors by item or title (wikianchor.trainer.models.vector_files); else random"
    )
    titles: str = _option(
        "", "directory of an `interlanguage` dataset: which item a title is, and names for the report"
    )
    titles_wiki: str = _option("enwiki", "the wiki whose titles they are")
    entity_dim: int = _option(0, "width of random vectors; 0 for the encoder's")
    unknown: str = _option("random", "items without a vector: begin at random, or are left out", ("random", "drop"))
    train_entities: bool = _option(True, "vectors are trained; not stated")
    entity_learning_rate: float = _option(0.0, "0 for that of the encoder")

    # The model
    attention: str = _option("both", "what weighs the items: cosine and commonness, one, or none", ATTENTIONS)
    bias: bool = _option(False, "of the attention; not stated, NABoE has one, which changes no weight")
    combine: str = _option("sum", "of text and entities", COMBINATIONS)
    dropout: float = _option(0.0, "before the classifier; not stated")
    freeze_encoder: bool = _option(False, "train the classifier and the entities alone")
    max_length: int = _option(512, "tokens kept of a document; not stated")

    # Training
    seeds: int = _option(1, "runs, with seeds that follow each other; the thesis has 10")
    seed: int = _option(42, "the first")
    epochs: int = _option(50, "at most")
    patience: int = _option(5, "stop after so many epochs without a better dev score; not stated, NABoE has 10")
    batch_size: int = _option(
        32, "documents in a step; the thesis: MLDoc 32, TED-CLDC 16, SHINRA 128 for mBERT, 64 for XLM-R"
    )
    learning_rate: float = _option(
        2e-5, "constant after the warm-up; the thesis: 2e-5, but 5e-5 for XLM-R on TED-CLDC and mBERT on SHINRA"
    )
    warmup_steps: int = _option(0, "steps in which the learning rate rises; not stated")
    weight_decay: float = _option(0.01, "of the encoder and the classifier; not stated")
    clip_norm: float = _option(1.0, "largest norm of the gradient")
    threshold: float = _option(0.5, "a multi-label document has the labels that are at least so probable")

    # The machine, and what is told
    device: str = _option("", "cuda where there is one, else cpu")
    precision: str = _option("", "of the encoder: bf16 on cuda, else fp32", ("", "bf16", "fp32"))
    compare: str = _option("", "output of another run: the paired t-test against it, seed by seed")
    explain: int = _option(3, "documents of each language in the report of what the attention chose")
    top: int = _option(3, "items shown of each")


def mboe_parser() -> FlagParser:
    """Return the command line of `wikianchor train mboe`."""
    parser = FlagParser(prog="wikianchor train mboe", description=ABOUT)
    add_flags(parser)
    return parser


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Give a parser one flag for each option."""
    kinds = get_type_hints(MboeConfig)
    for option in fields(MboeConfig):
        kind, meaning = kinds[option.name], option.metadata["help"].replace("%", "%%")
        shown = f"{meaning} ({option.default})" if option.default not in ("", 0, 0.0) else meaning
        if kind is bool:
            parser.add_argument(
                f"--{option.name}", action=argparse.BooleanOptionalAction, default=option.default, help=shown
            )
        else:
            choices = option.metadata["choices"] or None
            parser.add_argument(f"--{option.name}", type=kind, choices=choices, default=option.default, help=shown)


def make(flags: Mapping[str, Any]) -> MboeConfig:
    """Return the config of a run.

    Raises:
        UsageError: the options do not go together.
    """
    config = MboeConfig(**flags)
    for name in ("data", "model", "output"):
        if not getattr(config, name):
            raise UsageError(f"--{name} is missing")
    if config.entities == "detected" and not config.mentions:
        raise UsageError("--mentions is missing: --entities=detected needs a dictionary")
    if config.entities == "linker" and not config.links:
        raise UsageError("--links is missing: --entities=linker needs the linker's file")
    for name in ("max_entities", "max_length", "seeds", "epochs", "patience", "batch_size", "top"):
        if getattr(config, name) < 1:
            raise UsageError(f"--{name}={getattr(config, name)}: must be 1 or more")
    if config.test_documents < 0:
        raise UsageError(f"--test_documents={config.test_documents}: must be 0 or more")
    if not config.learning_rate > 0:
        raise UsageError(f"--learning_rate={config.learning_rate}: must be above 0")
    for name in ("detection_rate", "link_probability", "commonness", "threshold"):
        if not 0 <= getattr(config, name) <= 1:
            raise UsageError(f"--{name}={getattr(config, name)}: must be between 0 and 1")
    rates(config)
    cache = config.cache or os.path.expanduser("~/.cache/wikianchor")
    return dataclasses.replace(config, cache=cache, output=config.output.rstrip("/"))


def rates(config: MboeConfig) -> tuple[float, ...]:
    """Return the detection rates to train at.

    Raises:
        UsageError: one is no share.
    """
    try:
        found = tuple(float(part) for part in config.detection_rates.split(",") if part)
    except ValueError as error:
        raise UsageError(f"--detection_rates={config.detection_rates}: must be numbers with commas between") from error
    if not all(0 <= rate <= 1 for rate in found):
        raise UsageError(f"--detection_rates={config.detection_rates}: must be between 0 and 1")
    return found or (config.detection_rate,)
