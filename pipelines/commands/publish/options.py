"""The command line of `wikianchor publish`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

DESCRIPTION = """\
Publishes one dataset: its shards, a card that datasets.load_dataset and the Hub understand, a description in
Croissant, and the manifest, which comes last. What is there already is not sent again. A dataset of several languages
gets a config for each. What is published lies ready in a release directory, to be looked at.
"""


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    directory: str
    target: str
    release: str
    by_language: bool
    private: bool
    dry_run: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    parser.description = DESCRIPTION
    parser.add_argument("directory", help="a dataset")
    parser.add_argument(
        "--to", required=True, metavar="PLACE", help="hf://user/name, gs://bucket/name, s3://bucket/name or a directory"
    )
    parser.add_argument(
        "--release",
        metavar="DIR",
        help="directory in which the release is made (default: that of the dataset, -release)",
    )
    parser.add_argument(
        "--by_language",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="add a config for each language; rows of a shuffled dataset are written once more for that (default)",
    )
    parser.add_argument("--private", action="store_true", help="make a new repository of the Hub private")
    parser.add_argument(
        "--dry_run", action="store_true", help="make the release, show what would be sent, send nothing"
    )


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the arguments."""
    directory = arguments.directory.rstrip("/")
    return Config(
        directory=directory,
        target=arguments.to.rstrip("/"),
        release=(arguments.release or f"{directory}-release").rstrip("/"),
        by_language=arguments.by_language,
        private=arguments.private,
        dry_run=arguments.dry_run,
    )
