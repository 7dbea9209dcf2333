"""Write docker/templates/STAGE.json, what Dataflow's console shows of a stage, from the flags that the stage declares.

    python tools/templates.py

A test fails when a file is not what this would write.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wikianchor.pipelines.cli.commands import COMMANDS

STAGES = ("sentences", "entities", "pairs", "mentions", "interlanguage", "mewsc16", "corpus", "negatives")
PLACE = Path(__file__).parent.parent / "docker/templates"


def metadata(stage: str) -> str:
    """Return the metadata of a stage's template (https://cloud.google.com/dataflow/docs/guides/templates)."""
    parser = argparse.ArgumentParser(add_help=False)
    COMMANDS[stage].options.add_arguments(parser)
    which = {"name": "stage", "label": "stage", "helpText": f"{stage}, and nothing else", "regexes": [f"^{stage}$"]}
    parameters = [which, *(parameter(action) for action in parser._actions)]
    found = {"name": f"wikianchor {stage}", "description": COMMANDS[stage].summary, "parameters": parameters}
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def parameter(action: argparse.Action) -> dict[str, Any]:
    """Return what a flag is as a parameter."""
    name = action.dest
    found: dict[str, Any] = {"name": name, "label": name.replace("_", " "), "helpText": (action.help or name) % {}}
    if not action.required:
        found["isOptional"] = True
    pattern = next(patterns(action), None)
    if pattern:
        found["regexes"] = [pattern]
    return found


def patterns(action: argparse.Action) -> Iterator[str]:
    """Yield what the values of a flag look like, where that is known."""
    if action.nargs == 0:
        yield "^(true|false)$"
    elif action.choices:
        yield f"^({'|'.join(re.escape(str(choice)) for choice in action.choices)})$"
    elif action.type is int:
        yield "^-?[0-9]+$"
    elif action.type is float:
        yield "^[-+.0-9e]+$"


def main() -> None:
    """Write all of them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        (PLACE / f"{stage}.json").write_text(metadata(stage), encoding="utf-8")


if __name__ == "__main__":
    main()
