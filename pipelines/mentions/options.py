"""The command line of `wikianchor mentions`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError


@dataclass(frozen=True)
class Config:
    """What the user asked for. Attributes: see the flags of the same names."""

    sentences: str
    entities: str
    output: str
    link_probability: float = 0.01
    commonness: float = 0.05
    max_length: int = 50
    section_links: bool = False
    rows_per_shard: int = 500_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    add = parser.add_argument
    add(
        "--sentences",
        required=True,
        metavar="DIRS",
        help="datasets of `wikianchor sentences`: directories, globs, or the directory that holds them",
    )
    add("--entities", required=True, metavar="DIR", help="dataset of `wikianchor entities`")
    add("--output", required=True, metavar="DIR", help="directory of the dataset")
    add(
        "--link_probability",
        type=float,
        default=0.01,
        metavar="P",
        help="of the config `candidates`: at least so much of a name's occurrences are links (0.01)",
    )
    add(
        "--commonness",
        type=float,
        default=0.05,
        metavar="P",
        help="of the config `candidates`: at least so much of a name's links lead to the item (0.05)",
    )
    add("--max_length", type=int, default=50, metavar="N", help="leave out names of more characters (50)")
    add("--section_links", action="store_true", help="take what leads to a section for what leads to its page")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: a number is out of range.
    """
    for name in ("link_probability", "commonness"):
        if not 0 <= getattr(arguments, name) <= 1:
            raise UsageError(f"--{name}={getattr(arguments, name)}: must be between 0 and 1")
    if arguments.max_length < 1:
        raise UsageError(f"--max_length={arguments.max_length}: must be at least 1")
    return Config(
        sentences=arguments.sentences,
        entities=arguments.entities,
        output=arguments.output,
        link_probability=arguments.link_probability,
        commonness=arguments.commonness,
        max_length=arguments.max_length,
        section_links=arguments.section_links,
    )
