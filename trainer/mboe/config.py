"""The options of `wikianchor train mboe`. The help of an option says where the thesis does not state its value."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.cache import cache_directory
from wikianchor.io.errors import UsageError
from wikianchor.io.options import at_least, between, option, read_options
from wikianchor.trainer.config import presets_of
from wikianchor.trainer.option_groups import (
    Cache,
    EntityVectors,
    Machine,
    Run,
    Seeds,
    Titles,
    Updates,
)


def _shares(values: tuple[float, ...]) -> str:
    return next(filter(None, map(between(0, 1), values)), "")


@dataclass(frozen=True, kw_only=True)
class Detection(Cache):
    """How names are found in documents."""

    TITLE: ClassVar[str] = "the names"

    mentions: str = option("", metavar="DIR", help="directory of a `mentions` dataset")
    language: str = option("en", help="language of the documents that do not name another")
    link_probability: float = option(
        0.01, help="smallest share of a name's occurrences that are links", check=between(0, 1)
    )
    commonness: float = option(0.05, help="smallest share of a name's links that lead to the item", check=between(0, 1))
    all_spans: bool = option(
        default=False,
        help="use names inside and across others too: the thesis' all words and phrases; else the longest alone",
    )


@dataclass(frozen=True, kw_only=True)
class Documents:
    """The documents."""

    TITLE: ClassVar[str] = "the documents"

    kind: str = option(
        "json",
        help="layout of the documents: see trainer/mboe/documents.py",
        choices=("json", "mldoc", "ted", "shinra"),
    )
    train_size: str = option("1000", help="size of MLDoc's training file", choices=("1000", "2000", "5000", "10000"))
    test_documents: int = option(
        0,
        help="documents of each of SHINRA's test languages, at random; 0: all, which take tens of GB",
        check=at_least(0),
    )


@dataclass(frozen=True, kw_only=True)
class Bagging:
    """The entities of a document."""

    TITLE: ClassVar[str] = "the entities of a document"

    entities: str = option(
        "detected",
        help="source of the entities: names found by the dictionary, an entity linker's file, what the documents say "
        "themselves, or none: the plain classifier",
        choices=("detected", "linker", "oracle", "none"),
    )
    links: str = option("", metavar="FILE", help='for linker: lines of {"id", "entities": [item, ...]}')
    max_entities: int = option(
        512, help="largest number of items of a document, the most frequent first; not stated", check=at_least(1)
    )
    detection_rate: tuple[float, ...] = option(
        (1.0,),
        help="share of the items of each document that are kept, at random; of several, such as 0,0.25,0.5,0.75,1, "
        "each is trained (figure 3.3)",
        check=_shares,
    )


@dataclass(frozen=True, kw_only=True)
class Classifier:
    """The model."""

    TITLE: ClassVar[str] = "the model"

    attention: str = option(
        "both",
        help="weights of the items: by cosine and commonness, by one of them, or none",
        choices=("both", "cosine", "commonness", "none"),
    )
    combine: str = option("sum", help="how text and entities are combined", choices=("sum", "concatenation"))
    freeze_encoder: bool = option(default=False, help="train only the classifier and the entities")


@dataclass(frozen=True, kw_only=True)
class Report(Seeds):
    """What is reported."""

    TITLE: ClassVar[str] = "the report"

    threshold: float = option(
        0.5, help="a multi-label document gets the labels of at least this probability", check=between(0, 1)
    )
    compare: str = option("", metavar="DIR", help="output of another run: the paired t-test against it, seed by seed")
    explain: int = option(
        3, help="documents of each language in the report of what the attention chose", check=at_least(0)
    )


@dataclass(frozen=True, kw_only=True)
class MboeConfig(Report, Machine, Updates, Classifier, Titles, EntityVectors, Bagging, Detection, Documents, Run):
    """Options of a run. Lengths count tokens, sizes count documents."""

    TITLE: ClassVar[str] = "the entity vectors"
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {"help": "documents with labels: a directory or a file"},
        "output": {"help": "directory of the models, the tables and the reports", "unset": ""},
        "preset": {"presets": presets_of("mboe")},
        "epochs": {"help": "largest number of epochs"},
        "language": {"help": "language of the training documents; all others are read in the test part alone"},
        "max_length": {"help": "tokens kept of a text; not stated"},
        "titles": {
            "help": "directory of an `interlanguage` or `entities` dataset: which item a title is, for vectors by "
            "title, for SHINRA's oracle, and for names in the report"
        },
        "entity_vectors": {"help": "a file of vectors by item or title, as `wikianchor vectors` takes or makes"},
        "step_size": {"help": "documents in one step; the thesis: MLDoc 32, TED-CLDC 16, SHINRA 128, for XLM-R 64"},
        "learning_rate": {
            "help": "constant after the warm-up; the thesis: 2e-5, but 5e-5 for XLM-R on TED-CLDC and mBERT on SHINRA"
        },
        "weight_decay": {"help": "weight decay of the encoder and the classifier; not stated"},
        "patience": {"help": "stop after so many epochs without a better dev score; not stated, NABoE has 10"},
    }

    epochs: int = 50
    max_length: int = 512
    step_size: int = 32
    learning_rate: float = 2e-5
    weight_decay: float = 0.01
    patience: int = 5
    unknown: str = option(
        "random", help="items without a vector: start at random, or are left out", choices=("random", "drop")
    )

    def completed(self) -> MboeConfig:
        """Return the options with those that follow from others.

        Raises:
            UsageError: the options do not go together.
        """
        for name in ("data", "model", "output"):
            if not getattr(self, name):
                raise UsageError(f"--{name} is missing")
        faults = {
            "--mentions is missing: --entities=detected needs a dictionary": (
                self.entities == "detected" and not self.mentions
            ),
            f"--entities=oracle: the documents of --kind={self.kind} have no links": (
                self.entities == "oracle" and self.kind in ("mldoc", "ted")
            ),
            "--titles is missing: --entities=oracle needs the items that SHINRA's pages link to": (
                self.entities == "oracle" and self.kind == "shinra" and not self.titles
            ),
            "--links is missing: --entities=linker needs the linker's file": (
                self.entities == "linker" and not self.links
            ),
        }
        for fault, is_there in faults.items():
            if is_there:
                raise UsageError(fault)
        return dataclasses.replace(self, cache=self.cache or cache_directory())


def make(flags: Mapping[str, Any]) -> MboeConfig:
    """Return the config of a run.

    Raises:
        UsageError: the options do not go together.
    """
    return read_options(MboeConfig, argparse.Namespace(**flags))
