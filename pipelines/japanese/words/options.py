"""The command line of `wikianchor words`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    corpus: str
    output: str
    pos: tuple[str, ...] = ("NOUN", "PROPN")
    most: int = 150


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument("--corpus", required=True, metavar="DIRS", help="one or more `corpus` datasets")
    parser.add_argument("--output", required=True, metavar="FILE", help="an .svg file")
    parser.add_argument("--pos", default="NOUN,PROPN", help="parts of speech to show (default: NOUN,PROPN)")
    parser.add_argument("--most", type=int, default=150, help="words at most (default: 150)")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: the output is no .svg file, or no word is to be shown.
    """
    if not arguments.output.endswith(".svg"):
        raise UsageError(f"--output={arguments.output}: the picture is an .svg file")
    if arguments.most < 1:
        raise UsageError(f"--most={arguments.most}: must be 1 or more")
    pos = tuple(part.strip() for part in arguments.pos.split(",") if part.strip())
    return Config(arguments.corpus, arguments.output, pos, arguments.most)
