"""`--config=FILE`: options from a TOML file with a table for each command. Flags of the command line override them.

[build]
wikis = ["enwiki", "jawiki"]     # --wikis=enwiki,jawiki
sample = 50000                   # --sample=50000
sample_per_wiki = true           # --sample_per_wiki
back_off = false                 # --no-back_off
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.storage import open_file, reading
from wikianchor.pipelines.engine.runner import beam_options

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def with_settings(name: str, arguments: Sequence[str], parser: FlagParser) -> list[str]:
    """Return the arguments of a command with those of its --config before them.

    Raises:
        InputError: the file is missing or no TOML.
        UsageError: it has nothing for this command, something that is no flag, or a wrong value.
    """
    flags: list[str] = []
    typed = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "--config":
            flags += _flags(name, next(rest, ""), parser)
        elif argument.startswith("--config="):
            flags += _flags(name, argument.removeprefix("--config="), parser)
        else:
            typed.append(argument)
    return [*flags, *typed]


def _flags(command: str, path: str, parser: FlagParser) -> list[str]:
    if not path:
        raise UsageError("--config= names no file")
    with open_file(path) as file, reading(path):
        data = file.read()
    try:
        tables = tomllib.loads(data.decode())
    except ValueError as error:
        raise InputError(f"--config={path}: not TOML ({error})") from error
    table = tables.get(command)
    if not isinstance(table, dict):
        raise UsageError(f"--config={path}: has nothing for this command: it needs a table [{command}]")
    flags = [flag for key, value in table.items() for flag in _flag(path, key, value, parser)]
    try:
        if others := parser.check(flags):
            beam_options(others, parser.flags())
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
    if isinstance(value, list) and all(isinstance(item, str) and "," not in item for item in value):
        value = ",".join(value)
    if not isinstance(value, (str, int, float)):
        raise UsageError(f"--config={path}: {key} is neither a text, a number, a truth value nor a list of texts")
    return [f"--{key}={value}"]
