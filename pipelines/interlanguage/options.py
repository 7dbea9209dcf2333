"""The command line of `wikianchor interlanguage`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """What the user asked for. Attributes: see the flags of the same names."""

    entities: str
    output: str
    sentences: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    add = parser.add_argument
    add("--entities", required=True, metavar="DIR", help="dataset of `wikianchor entities`")
    add(
        "--sentences",
        default="",
        metavar="DIRS",
        help="datasets of `wikianchor sentences`, whose titles tell page ids and redirects (default: none)",
    )
    add("--output", required=True, metavar="DIR", help="directory of the dataset")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags."""
    return Config(arguments.entities, arguments.output, arguments.sentences)
