"""Write docker/templates/STAGE.json, what Dataflow's console shows of a stage, from the flags that the stage declares.

    python tools/templates.py

A test fails when a file is not what this would write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from wikianchor.io.options import Option, declared
from wikianchor.pipelines.cli.commands import COMMANDS

STAGES = ("sentences", "entities", "pairs", "export", "mentions", "interlanguage", "mewsc16", "corpus", "negatives")
# The values of an option by its type.
PATTERNS = {bool: "^(true|false)$", int: "^-?[0-9]+$", float: "^[-+.0-9e]+$"}
PLACE = Path(__file__).parent.parent / "docker/templates"


def metadata(stage: str) -> str:
    """Return the metadata of a stage's template (https://cloud.google.com/dataflow/docs/guides/templates)."""
    which = {"name": "stage", "label": "stage", "helpText": f"{stage}, and nothing else", "regexes": [f"^{stage}$"]}
    parameters = [which, *map(parameter, declared(COMMANDS[stage].options))]
    described = {"name": f"wikianchor {stage}", "description": COMMANDS[stage].summary, "parameters": parameters}
    return json.dumps(described, indent=2, ensure_ascii=False) + "\n"


def parameter(option: Option) -> dict[str, Any]:
    """Return an option as a parameter."""
    described: dict[str, Any] = {
        "name": option.flag,
        "label": option.flag.replace("_", " "),
        "helpText": option.text({}),
    }
    if not option.required:
        described["isOptional"] = True
    if option.choices:
        described["regexes"] = [f"^({'|'.join(map(re.escape, option.choices))})$"]
    elif option.kind in PATTERNS:
        described["regexes"] = [PATTERNS[option.kind]]
    return described


def main() -> None:
    """Write all of them."""
    PLACE.mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        (PLACE / f"{stage}.json").write_text(metadata(stage), encoding="utf-8")


if __name__ == "__main__":
    main()
