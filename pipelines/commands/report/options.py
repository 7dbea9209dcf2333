"""The command line of `wikianchor report`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    directory: str
    html: str | None
    dumps: str | None
    seed: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    parser.add_argument("directory", help="a dataset, or the output of build")
    parser.add_argument("--html", metavar="FILE", help="write the report as one page that needs no network")
    parser.add_argument(
        "--dumps", metavar="PLACES", help="for the page: show sentences of these dumps that were dropped"
    )
    parser.add_argument("--seed", type=int, default=42, help="decides which examples the page shows (default: 42)")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the arguments."""
    if arguments.dumps is not None and arguments.html is None:
        raise UsageError(f"--dumps={arguments.dumps} is for the page: name it with --html=FILE")
    return Config(arguments.directory.rstrip("/"), arguments.html, arguments.dumps, arguments.seed)
