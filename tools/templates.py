"""Write docker/templates/STAGE.json, what Dataflow's console shows of a stage, from the flags that the stage declares.

    python tools/templates.py
    python tools/templates.py --image=IMAGE --output=DIR

With an image it writes the Flex Templates themselves, as `gcloud dataflow flex-template build` does: files for a
bucket. A test fails when a file of docker/templates/ is not what this would write.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

from wikianchor.commands import STAGES
from wikianchor.io.options import Option, declared
from wikianchor.pipelines.cli.commands import COMMANDS

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


def template(stage: str, image: str) -> str:
    """Return the Flex Template of a stage, for an image that is a tag or a digest of a registry."""
    parts = {"image": image, "sdkInfo": {"language": "PYTHON"}, "metadata": json.loads(metadata(stage))}
    return json.dumps(parts, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all of them."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--image", help="of worker.Dockerfile, in a registry: write Flex Templates")
    flags.add_argument("--output", type=Path, default=PLACE, help="directory (docker/templates)")
    arguments = flags.parse_args()
    if arguments.image and arguments.output == PLACE:
        flags.error("--image needs --output: docker/templates has the metadata alone")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for stage in STAGES:
        text = template(stage, arguments.image) if arguments.image else metadata(stage)
        (arguments.output / f"{stage}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
