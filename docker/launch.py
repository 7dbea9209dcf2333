"""What a Flex Template runs: `--stage=pairs --min_links=10 ...` as Dataflow passes it, as `wikianchor pairs
--min_links=10 ...`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.io.options import declared
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.cli.commands import COMMANDS


def command(given: Sequence[str]) -> list[str]:
    """Return the command line of a stage. A template's parameters all have values, so those of switches are true or
    false.

    Raises:
        UsageError: the stage is missing or unknown, or a switch is neither.
    """
    stages = [flag.partition("=")[2] for flag in given if flag.startswith("--stage=")]
    if len(stages) != 1 or stages[0] not in COMMANDS:
        raise UsageError(f"--stage={','.join(stages)}: name one stage, such as --stage=sentences")
    switches = {f"--{option.flag}" for option in declared(COMMANDS[stages[0]].options) if option.kind is bool}
    line = [stages[0]]
    for flag in given:
        name, _, value = flag.partition("=")
        if name not in switches:
            line += [] if name == "--stage" else [flag]
        elif value not in ("true", "false"):
            raise UsageError(f"{flag}: must be true or false")
        else:
            line.append(name if value == "true" else f"--no-{name[2:]}")
    return line


if __name__ == "__main__":
    sys.exit(main(command(sys.argv[1:])))
