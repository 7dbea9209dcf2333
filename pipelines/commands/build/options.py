"""The options of `wikianchor build`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from wikianchor.io.option_groups import DryRun, KeepOlder, Output
from wikianchor.io.options import at_least, option, option_group
from wikianchor.pipelines.pairs.options import PairChoices
from wikianchor.pipelines.wikimedia.options import Documents, DumpPaths, EntityTexts, Reading, Wikis


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Documents, Reading, KeepOlder, DryRun, EntityTexts, Output, Wikis, DumpPaths):
    """Options of the command `build`."""

    FIRST: ClassVar[tuple[str, ...]] = ("dumps", "wikis", "output", "sample", "documents", "dry_run")

    # Every wiki that has a dump there, unless some are named.
    wikis: tuple[str, ...] = ()
    # English, then the languages of the wikis.
    labels: tuple[str, ...] = ()
    price_per_vcpu_hour: float = option(
        0.0,
        metavar="PRICE",
        help="price of a vCPU with its memory for an hour, in any currency: the plan shows the cost; 0: it shows none",
        check=at_least(0),
    )
    choices: PairChoices = option_group(PairChoices, "which pairs come out")
