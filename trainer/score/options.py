"""`wikianchor score`: cosines of a dataset `export`; rows that agree with a model; mined hard negatives.

    wikianchor score --data=out/train --model=MODEL --output=out/scored
    wikianchor score --data=out/train --model=MODEL --output=out/kept --keep
    wikianchor score --data=out/train --model=MODEL --output=out/mined --keep --mine=4

The output is a dataset `export` with the column `scores`: the cosines of the anchor with the positive and with each
negative. `--keep` leaves out rows whose positive is not among the nearest of a sample (consistency) or is far from the
anchor, and negatives that are about as near as the positive (positive-aware, NV-Retriever, arXiv:2407.15831). `--mine`
finds the nearest texts of other entities of the type that the anchor's page does not link to, by an exact search. The
ledger counts what was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Device, Output
from wikianchor.io.options import at_least, between, option, program, read_options
from wikianchor.trainer.option_groups import Dataset, Model, Prompt

_OF_KEEP = ("consistency", "positive_cosine", "negative_share", "negatives", "rows_kept")


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(Prompt, Device, Output, Model, Dataset):
    """Options of the command."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "data": {"help": "dataset of `wikianchor export`, as Parquet", "recorded": False}
    }

    keep: bool = option(default=False, help="leave out rows and negatives that the model contradicts")
    mine: int = option(
        0,
        metavar="K",
        help="replace the negatives by the K nearest texts of entities of the same type; 0: leave them",
        check=at_least(0),
    )
    pairs: str = option(
        "",
        metavar="DIR",
        help="dataset of `wikianchor pairs` that the rows are from, for types and links of --mine",
        unset="pairs, beside --data",
        recorded=False,
    )
    consistency: int = option(
        20,
        metavar="K",
        help="--keep: at most K of 1,000 positives of other entities are nearer to the anchor than its own",
        check=at_least(0),
    )
    positive_cosine: float = option(0.3, help="--keep: smallest cosine of a positive", check=between(0, 1))
    negative_share: float = option(
        0.9,
        help="--keep: cosines of negatives are below this share of the positive's, and 0.05 less",
        check=between(0, 1),
    )
    negatives: int | None = option(
        None,
        metavar="K",
        help="--keep: negatives of each row; rows with fewer are left out",
        unset="as many as leave --rows_kept of the rows, one at least",
        check=between(0, 1000),
    )
    rows_kept: float = option(
        0.5,
        help="--keep: smallest share of rows that stay: where too few pass, those of the nearest positives",
        check=between(0, 1),
    )

    def completed(self) -> ScoreOptions:
        """Return the options; raises UsageError if the output is the input, or one has no effect."""
        for name in () if self.keep else _OF_KEEP:
            if getattr(self, name) != getattr(ScoreOptions, name):
                raise UsageError(f"--{name} has no effect without --keep")
        if self.data.rstrip("/") == self.output:
            raise UsageError(f"--output={self.output} is --data: name another directory")
        return self


def parse(argv: Sequence[str]) -> ScoreOptions:
    """Return the options of a command line."""
    return read_options(ScoreOptions, program("wikianchor score", __doc__ or "", ScoreOptions).parse_args(argv))
