"""`wikianchor evaluate --model=... --data=... --tasks=...`: the scores of models, as tables and as JSON.

    wikianchor evaluate --model=models/ease/model --model=bert-base-uncased --data=eval/ --tasks=sts

A model is a directory of transformers or of sentence-transformers, ours included, or a name on the Hub. The sets are
found by their released file names anywhere under --data; what is not there is named, with where to get it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.config_file import add_config, with_settings
from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.option_groups import Json
from wikianchor.io.options import at_least, directory, option, program, read_options
from wikianchor.trainer.choices import POOLERS, PRECISIONS
from wikianchor.trainer.models.hub import check_model
from wikianchor.trainer.option_groups import EvaluationData, ModelOptions, Prompt


@dataclass(frozen=True, kw_only=True)
class SetOptions(EvaluationData):
    """Which sets are scored, and where the results are written."""

    output: str = option("", metavar="DIR", help="directory of the results", parse=directory)
    tasks: tuple[str, ...] = option(("all",), help="tasks or groups of them, with commas")

    def need(self, *names: str) -> None:
        """Raise UsageError for an option that has to be given and is not."""
        for name in names:
            if not getattr(self, name):
                raise UsageError(f"--{name} is missing: see --help")


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(Json, Prompt, SetOptions, ModelOptions):
    """Options of the command `evaluate`."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"json": {"help": "print the results as JSON, not as tables"}}

    max_length: int | None = option(
        None, help="tokens kept of a text", unset="as many as the model takes", check=at_least(1)
    )
    pooler: str | None = option(
        None,
        choices=POOLERS,
        help="how token vectors become the vector of a text",
        unset="as the model says, else avg",
    )
    sts: tuple[str, ...] = option((), repeat=True, metavar="FILE", help="one more file of scored pairs; repeatable")
    split: str = option("test", choices=("test", "dev"), help="the part to score, where there are two")
    precision: str = option(
        "", choices=("", *PRECISIONS), help="precision of matrix products", unset="tf32 on cuda, else fp32"
    )
    seeds: int = option(10, help="runs of what starts at random, from seed 0 on", check=at_least(1))
    normalize: bool = option(default=False, help="cluster and classify vectors of unit length")
    whiten: int = option(
        0, metavar="DIM", help="BERT-whitening of each set, DIM directions kept; 0: none", check=at_least(0)
    )
    resume: bool = option(default=False, help="skip tasks whose results are in --output")

    def decisive(self) -> dict[str, Any]:
        """Return the options that the scores depend on, apart from the model and the files."""
        return {name: getattr(self, name) for name in ("split", "languages", "seeds", "normalize", "whiten")}

    def completed(self) -> EvaluateOptions:
        """Return the options; raises UsageError without a model or a set."""
        self.need("model")
        if not self.data and not self.sts:
            raise UsageError("--data is missing: the directory with evaluation sets; or --sts, a file")
        if self.resume:
            self.need("output")
        return self


def parser() -> FlagParser:
    """Return the command line."""
    return add_config(program("wikianchor evaluate", __doc__ or "", EvaluateOptions), "evaluate")


def parse(argv: Sequence[str]) -> EvaluateOptions:
    """Return the options of a command line."""
    flags = parser()
    return read_options(EvaluateOptions, flags.parse_args(with_settings("evaluate", argv, flags)))


def check_inputs(argv: Sequence[str]) -> None:
    """Look for the models that a command line names, which takes no torch; raise InputError where one is missing."""
    for path in parse(argv).model:
        check_model(path)
