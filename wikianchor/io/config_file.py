"""`--config=FILE`: options from a TOML file with a table for each command. Flags of the command line override them.
The table of `train ease` is [train.ease], and so on.

[build]
wikis = ["enwiki", "jawiki"]     # --wikis=enwiki,jawiki
sample = 50000                   # --sample=50000
sample_per_wiki = true           # --sample_per_wiki
duplicates = false               # --no-duplicates
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli

    tomllib = tomli

__all__ = ["add_config", "config_help", "read_tables", "tomllib", "with_settings"]

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file of the package."""
    return tomllib.loads(path.read_text("utf-8"))


def add_config(parser: FlagParser, table: str) -> FlagParser:
    """Add `--config` to a parser, and return it."""
    parser.add_argument("--config", metavar="FILE", help=config_help(table))
    return parser


def config_help(table: str) -> str:
    """Return the help of --config."""
    return f"TOML file with more options, in a table [{table}]"


def with_settings(
    name: str, arguments: Sequence[str], parser: FlagParser, check: Callable[[list[str]], object] | None = None
) -> list[str]:
    """Return the arguments of a command with those of its --config before them.

    Args:
        name: the name of the table, such as "build" or "train.ease".
        arguments: the arguments of the command.
        parser: the parser of the command.
        check: raises UsageError for flags that the parser passes on; None where it passes on none.

    Raises:
        InputError: the file is missing or no TOML.
        UsageError: it has nothing for this command, something that is no flag, or a wrong value.
    """
    flags: list[str] = []
    typed = []
    rest = iter(arguments)
    for argument in rest:
        flag, is_joined, path = argument.partition("=")
        if flag == "--config":
            flags += _flags(name, path if is_joined else next(rest, ""), parser, check)
        else:
            typed.append(argument)
    return [*flags, *typed]


def read_tables(path: str) -> dict[str, Any]:
    """Return the tables of a TOML file.

    Raises:
        InputError: the file is missing or no TOML.
    """
    if not path:
        raise UsageError("--config= names no file")
    data = read_bytes(path)
    with malformed(f"--config={path}: not TOML"):
        return tomllib.loads(data.decode())


def _flags(command: str, path: str, parser: FlagParser, check: Callable[[list[str]], object] | None) -> list[str]:
    table: Any = read_tables(path)
    for part in command.split("."):
        table = table.get(part) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise UsageError(f"--config={path}: has nothing for this command: it needs a table [{command}]")
    flags = [flag for key, value in table.items() for flag in _flag(path, key, value, parser)]
    try:
        others = parser.check(flags)
        if check and others:
            check(others)
    except UsageError as error:
        raise UsageError(f"--config={path}: {error}") from error
    return flags


def _flag(path: str, key: str, value: Any, parser: FlagParser) -> list[str]:
    """Return an entry as it is written on the command line."""
    if not _NAME.fullmatch(key) or key == "config":
        raise UsageError(f"--config={path}: {key!r} is no flag")
    if value is True:
        return [f"--{key}"]
    if value is False:
        return [f"--no-{key}"] if f"--no-{key}" in parser.flags() else []
    if isinstance(value, list) and all(isinstance(item, str) for item in value) and f"--{key}" in parser.repeated():
        return [f"--{key}={item}" for item in value]
    if isinstance(value, list) and all(isinstance(item, str) and "," not in item for item in value):
        value = ",".join(value)
    if not isinstance(value, (str, int, float)):
        raise UsageError(f"--config={path}: {key} is neither a text, a number, a truth value nor a list of texts")
    return [f"--{key}={value}"]
