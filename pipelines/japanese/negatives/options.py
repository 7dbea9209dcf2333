"""The command line of `wikianchor negatives`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.japanese.choices import SPAN_RULES


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    corpus: str
    model: str
    output: str
    spans: str = "chunks"
    share: float = 1.0
    fill: str = "all"
    negatives: int = 4
    beams: int = 20
    first_rank: int = 1
    near: float = 0.95
    longest: int = 200
    hole_tokens: int = 15
    seed: int = 42
    device: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    add = parser.add_argument
    add("--corpus", required=True, metavar="DIRS", help="one or more `corpus` datasets")
    add("--model", required=True, metavar="DIR", help="a T5, as `wikianchor train t5` makes them")
    add("--output", required=True, metavar="DIR", help="directory of the dataset")
    add(
        "--spans",
        choices=SPAN_RULES,
        default="chunks",
        help="which spans are filled: nouns, nouns_names (runs of these), chunks (noun phrases, objects too; default), "
        "bunsetu (head nouns), released (as the released code: no objects, first place of the words)",
    )
    add(
        "--share", type=float, default=1.0, help="share of a sentence's spans that is filled, one at least (default: 1)"
    )
    add(
        "--fill",
        choices=("all", "each"),
        default="all",
        help="all spans in one decode (default), or each after the other in what came out, as the released code does",
    )
    add("--negatives", type=int, default=4, metavar="K", help="negatives of a sentence at most (default: 4)")
    add(
        "--beams", type=int, default=20, help="width of the beam search; all ranks are judged (default: 20; paper: 200)"
    )
    add("--first_rank", type=int, default=1, help="leave the likelier ranks out (default: 1)")
    add(
        "--near",
        type=float,
        default=0.95,
        help="overlap of trigrams from which a candidate is too near (default: 0.95)",
    )
    add("--longest", type=int, default=200, help="sentences of more characters are left out (default: 200)")
    add("--hole_tokens", type=int, default=15, help="pieces of a fill at most (default: 15, as in the released code)")
    add("--seed", type=int, default=42, help="of the share (default: 42)")
    add("--device", default="", help="default: cuda where there is one, else cpu")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: numbers that do not go together.
    """
    config = Config(**{name: getattr(arguments, name) for name in Config.__dataclass_fields__})
    if not 0 < config.share <= 1:
        raise UsageError(f"--share={config.share}: must lie above 0 and be 1 at most")
    if not 0 < config.near <= 1:
        raise UsageError(f"--near={config.near}: must lie above 0 and be 1 at most")
    for name in ("negatives", "beams", "first_rank", "longest", "hole_tokens"):
        if getattr(config, name) < 1:
            raise UsageError(f"--{name}={getattr(config, name)}: must be 1 or more")
    if config.first_rank + config.negatives - 1 > config.beams:
        raise UsageError(f"--beams={config.beams}: too few for {config.negatives} from rank {config.first_rank} on")
    return config
