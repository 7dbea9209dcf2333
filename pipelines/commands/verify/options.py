"""The command line of `wikianchor verify`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError

DESCRIPTION = """\
Checks datasets of ours: that the manifest lists every file and every file has the sha256 that stands there, that
columns and rows are those of the schema, that links lie in their text, that the ledger adds up and agrees with the
rows. With --against, random rows of sentences, entities, pairs and mewsc16 are derived again from the dumps and
compared. Exit status 0: all is right. 1: something is not.
"""


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    directory: str
    against: str | None
    rows: int
    seed: int


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    parser.description = DESCRIPTION
    parser.add_argument("directory", help="a dataset, or the output of build")
    parser.add_argument(
        "--against", metavar="PLACES", help="the dumps that it was made from: directories, files or globs"
    )
    parser.add_argument(
        "--rows", type=int, default=1000, help="rows of each table to derive again from the dumps (default: 1000)"
    )
    parser.add_argument("--seed", type=int, default=42, help="decides which rows (default: 42)")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the arguments.

    Raises:
        UsageError: a number is out of range.
    """
    if arguments.rows < 1:
        raise UsageError(f"--rows={arguments.rows}: must be 1 at least")
    return Config(arguments.directory.rstrip("/"), arguments.against, arguments.rows, arguments.seed)
