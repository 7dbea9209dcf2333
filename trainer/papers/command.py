"""`wikianchor papers`: run a command, print what it returns, and write it to OUTPUT/NAME.md."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from wikianchor.io.storage import write_text
from wikianchor.trainer.command import run_command
from wikianchor.trainer.papers import construction, figures
from wikianchor.trainer.papers.options import parse
from wikianchor.trainer.papers.rows import TABLES
from wikianchor.trainer.papers.tables import TableRun

COMMANDS: dict[str, Callable[[Any], str]] = {
    "figures words": figures.words,
    "figures cases": figures.cases,
    "construction filter": construction.filter_pairs,
    "construction compare": construction.compare,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("papers", lambda: run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> str:
    """Run the command of a command line; return its result.

    Raises:
        UsageError: the command line is invalid.
        InputError: an input cannot be read, or an output cannot be written.
    """
    command, options, flags = parse(argv)
    kind, _, name = command.partition(" ")
    if kind == "tables":
        text, output = TableRun(TABLES[name], flags, options).run(), str(flags["output"])
    else:
        text, output = COMMANDS[command](options), options.output
    if output:
        write_text(os.path.join(output, f"{name}.md"), text)
    return text
