"""The command line of `wikianchor corpus`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand, matching
from wikianchor.pipelines.japanese.choices import PARSERS


@dataclass(frozen=True)
class Config:
    """What the user asked for; `files` or `datasets` is empty."""

    files: tuple[str, ...]
    datasets: tuple[str, ...]
    output: str
    column: str = "text"
    parser: str = "ginza"
    min_tokens: int = 5
    near: float = 0.9
    sample: int = 0
    seed: int = 42


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.add_argument(
        "--input",
        required=True,
        metavar="FILES",
        help="text (.txt, a record a line), .csv, .jsonl, or a `sentences` dataset: one, a glob, several with commas",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dataset")
    parser.add_argument("--column", default="text", help="column of a CSV, key of JSON lines (default: text)")
    parser.add_argument(
        "--parser",
        choices=PARSERS,
        default=PARSERS[0],
        help="ginza: sentences, tokens and trees (default); sudachi: a hundred times faster, without trees, so "
        "with noun spans of the rules nouns and nouns_names alone",
    )
    parser.add_argument("--min_tokens", type=int, default=5, help="shorter sentences are dropped (default: 5)")
    parser.add_argument(
        "--near",
        type=float,
        default=0.9,
        help="drop a sentence whose character trigrams overlap with those of an earlier one by this share (default: "
        "0.9; 0: equal sentences alone)",
    )
    parser.add_argument(
        "--sample",
        type=int,
        default=0,
        metavar="N",
        help="take N sentences by lot (default: all); wiki1m: 1000000 of a `sentences` dataset",
    )
    parser.add_argument("--seed", type=int, default=42, help="of the sample (default: 42)")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: a number makes no sense, or the input is both files and datasets.
    """
    if not arguments.near == 0 and not 0.5 <= arguments.near <= 1:
        raise UsageError(f"--near={arguments.near}: 0, or between 0.5 and 1")
    for name in ("min_tokens", "sample"):
        if getattr(arguments, name) < 0:
            raise UsageError(f"--{name}={getattr(arguments, name)}: must not be negative")
    patterns = [part.strip().rstrip("/") for part in arguments.input.split(",") if part.strip()]
    directories = [one for one in patterns if matching(one, directories=True)]
    files = tuple(expand(",".join(one for one in patterns if one not in directories), "input"))
    if bool(files) == bool(directories):
        raise UsageError(f"--input={arguments.input}: name files, or datasets of sentences, and not both or neither")
    return Config(
        files=files,
        datasets=tuple(directories),
        output=arguments.output,
        column=arguments.column,
        parser=arguments.parser,
        min_tokens=arguments.min_tokens,
        near=arguments.near,
        sample=arguments.sample,
        seed=arguments.seed,
    )
