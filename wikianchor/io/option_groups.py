"""Options that commands of all kinds share, each declared once, in dataclasses that their options inherit from."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import directory, option


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a command writes."""

    output: str = option(metavar="DIR", help="directory to write to", parse=directory, recorded=False)


@dataclass(frozen=True, kw_only=True)
class Seed:
    """What decides random choices."""

    seed: int = option(42, help="key of every random choice")


@dataclass(frozen=True, kw_only=True)
class DryRun:
    """Whether anything is done."""

    dry_run: bool = option(default=False, help="print what would be fetched, run or sent, and do nothing of it")


@dataclass(frozen=True, kw_only=True)
class Device:
    """Where models run."""

    device: str = option("", help="device of the models", unset="cuda where there is one, else cpu", recorded=False)
