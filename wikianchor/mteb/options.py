"""`wikianchor mteb --data=DIR --output=DIR`: MewsC-16 by mteb's protocol.

    wikianchor mteb --data=out/mewsc16 --model=models/ease/model --output=out/mteb

Writes descriptive statistics of the tasks and mteb's results of the models, in the layout of mteb's own repositories,
and prints a table. Without --model it writes the statistics alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from wikianchor.io.options import at_least, option, program, read_options
from wikianchor.trainer.command import check_flags


@dataclass(frozen=True, kw_only=True)
class MtebOptions:
    """Options of the command `mteb`."""

    data: str = option(metavar="DIR", help="a dataset that `wikianchor mewsc16` made")
    output: str = option(
        metavar="DIR", help="directory for descriptive_stats/Clustering/TASK.json and results/MODEL/REVISION/TASK.json"
    )
    model: tuple[str, ...] = option(
        (), repeat=True, help="a directory, or a name on the Hub that mteb knows; repeatable"
    )
    tasks: tuple[str, ...] = option((), help="names of tasks, with commas", unset="all")
    languages: tuple[str, ...] = option((), help="languages, with commas", unset="all sixteen")
    batch_size: int = option(128, help="texts encoded at once", check=at_least(1))
    device: str = option("", help="device of the models", unset="cuda where there is one, else cpu")


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    return program("wikianchor mteb", __doc__ or "", MtebOptions)


def parse(argv: Sequence[str] | None) -> MtebOptions:
    """Return the options of a command line."""
    return read_options(MtebOptions, parser().parse_args(argv))


def answer(argv: Sequence[str]) -> None:
    """Print the help that a command line asks for, or what is wrong with its flags, and exit; else do nothing."""
    check_flags("mteb", lambda: parse(argv))
