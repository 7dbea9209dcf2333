"""The command line of `wikianchor topics`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    sql: tuple[str, ...]
    output: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--sql",
        required=True,
        metavar="FILES",
        help="tables of Wikinews: page of every wiki, langlinks of the English one, page_props of every wiki",
    )
    parser.add_argument("--output", required=True, metavar="FILE", help="the topic map, for mewsc16 --topics")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: no file is named.
    """
    sql = tuple(expand(arguments.sql, "sql"))
    if not sql:
        raise UsageError("--sql= names no file")
    return Config(sql, arguments.output)
