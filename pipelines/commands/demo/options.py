"""The command line of `wikianchor demo`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    data: str
    output: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--data", default="demo", metavar="DIR", help="directory that the sample is written to (default: demo)"
    )
    parser.add_argument(
        "--output", default="out/demo", metavar="DIR", help="directory of the datasets (default: out/demo)"
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: a directory has no name, or the sample's is not on a local disk.
    """
    for flag in ("data", "output"):
        if not getattr(arguments, flag).rstrip("/"):
            raise UsageError(f"--{flag}={getattr(arguments, flag)}: name a directory")
    if "://" in arguments.data:
        raise UsageError(f"--data={arguments.data}: the sample is written to a local disk: name a directory there")
    return Config(data=arguments.data.rstrip("/"), output=arguments.output.rstrip("/"))
