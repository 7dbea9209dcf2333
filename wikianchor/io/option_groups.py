"""Options that commands of all kinds share, each declared once, in dataclasses that the options of a command inherit.

Those of commands that read dumps are in `wikianchor.pipelines.wikimedia.options`.
"""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import at_least, between, directory, option


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a command writes."""

    output: str = option(metavar="DIR", help="directory to write to", parse=directory, recorded=False)


@dataclass(frozen=True, kw_only=True)
class Format:
    """How rows are written."""

    format: str = option(help="format of the files", choices=("parquet",))


@dataclass(frozen=True, kw_only=True)
class Negatives:
    """How many negatives there are."""

    negatives: int = option(
        1,
        metavar="K",
        help="hard negatives of each row; with 0, `pairs` keeps entities without a type",
        check=between(0, 1000),
    )


@dataclass(frozen=True, kw_only=True)
class Seed:
    """What decides random choices."""

    seed: int = option(42, help="key of every random choice")


@dataclass(frozen=True, kw_only=True)
class Sample(Seed):
    """How many rows are taken."""

    sample: int = option(0, help="exactly N rows at random, or all where there are fewer; 0: all", check=at_least(0))


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Whether anything is done."""

    dry_run: bool = option(default=False, help="print what would be fetched, run or sent, and do nothing of it")


@dataclass(frozen=True, kw_only=True)
class KeepOlder:
    """Whether datasets of other rules count as finished."""

    keep_older: bool = option(
        default=False,
        help="accept finished datasets as they are, though rules or versions have changed since they were made",
    )


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where models run."""

    device: str = option("", help="device of the models", unset="cuda where there is one, else cpu", recorded=False)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where something is published."""

    target: str = option(
        flag="to",
        metavar="PLACE",
        help="hf://user/name, gs://bucket/name, s3://bucket/name or a directory",
        parse=directory,
    )


@dataclass(frozen=True, kw_only=True)
class Json:
    """Whether programs read what is printed."""

    json: bool = option(default=False, help="print the results as JSON, see schemas/printed.json", recorded=False)


@dataclass(frozen=True, kw_only=True)
class Printing(Json):
    """What a command prints."""

    quiet: bool = option(default=False, help="print nothing but errors", recorded=False)


@dataclass(frozen=True, kw_only=True)
class Details(Printing):
    """What a command prints that makes datasets."""

    details: bool = option(default=False, help="print the report of each dataset, not a summary", recorded=False)
