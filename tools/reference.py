"""Writes docs/reference/ from the parsers of the commands and the schemas of the datasets; `--check` only compares."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import pyarrow as pa  # noqa: E402

from wikianchor import schemas  # noqa: E402
from wikianchor.pipelines.cli.commands import COMMANDS, command_parser  # noqa: E402
from wikianchor.trainer.evaluate.options import parser as evaluate_parser  # noqa: E402
from wikianchor.trainer.mboe.config import mboe_parser  # noqa: E402
from wikianchor.trainer.options import HELP, task_parser  # noqa: E402

PLACE = ROOT / "docs" / "reference"
NOTE = "<!-- Written by tools/reference.py: change the code, then run `make docs`. -->\n\n"


def main() -> int:
    """Write the pages, or say which are not what they should be."""
    pages = {"commands.md": commands(), "trainer.md": trainer(), "datasets.md": datasets()}
    if sys.argv[1:] == ["--check"]:
        old = [name for name, text in pages.items() if (PLACE / name).read_text("utf-8") != text]
        print("\n".join(f"docs/reference/{name}: not what the code says: run `make docs`" for name in old))
        return 1 if old else 0
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (PLACE / name).write_text(text, "utf-8")
    return 0


def commands() -> str:
    """Return the page of `wikianchor`."""
    text = (
        NOTE + "# Commands\n\n`wikianchor COMMAND --flag=value ...`. Exit status: 0, done; 1, an input is broken or an "
    )
    text += "output cannot be written; 2, the command line is wrong; 130, interrupted.\n\n"
    text += "A command that runs a pipeline passes the flags of Beam on to Beam. Two more flags are for the engine "
    text += "([engines](../how-to/engines.md)): `--workers=N`, worker processes on this machine; "
    text += "`--shuffle=auto|beam|files`, how rows change places.\n"
    for name, command in COMMANDS.items():
        text += f"\n## {name}\n\n{_escaped(command.summary)}\n\n    {command.example}\n\n{flags(command_parser(name))}"
    return text


def trainer() -> str:
    """Return the page of the trainer and its evaluation."""
    text = NOTE + "# Trainer\n\n`wikianchor train OBJECTIVE --flag=value ...`"
    text += ", or `python -m wikianchor.trainer.task OBJECTIVE ...`, which `torchrun` starts on several GPUs.\n"
    objectives = next(action for action in task_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, about in HELP.items():
        parser = mboe_parser() if name == "mboe" else objectives.choices[name]
        text += f"\n## {name}\n\n{_escaped(about)}\n\n{flags(parser)}"
    return text + f"\n# Evaluation\n\n`wikianchor evaluate --flag=value ...`\n\n{flags(evaluate_parser())}"


def flags(parser: argparse.ArgumentParser) -> str:
    """Return the table of a parser's flags."""
    lines = ["| flag | |", "|---|---|"]
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS or "--help" in action.option_strings:
            continue
        value = ""
        if action.nargs != 0:
            value = "=" + str(action.metavar or "\\|".join(map(str, action.choices or ())) or action.dest.upper())
        # --flag and --no-flag are one.
        name = f"`{action.option_strings[0]}{value}`".replace("`\\|", "`")
        about = _escaped(" ".join(str(action.help or "").replace("%%", "%").split()))
        lines.append(f"| {name} | {about}{' (required)' if action.required else ''} |")
    return "\n".join(lines) + "\n"


def datasets() -> str:
    """Return the page of the schemas."""
    text = NOTE + "# Datasets\n\nEach is a directory with `manifest.json` and `data/CONFIG/train-*.parquet`. "
    text += "Every column carries its meaning in the metadata of the file too, and holds no null unless it says so.\n"
    for name in sorted(module.name for module in pkgutil.iter_modules(schemas.__path__)):
        module = importlib.import_module(f"wikianchor.schemas.{name}")
        found = [value for value in vars(module).values() if isinstance(value, pa.Schema) and value.metadata]
        for schema in found:
            text += "\n".join(_columns(schema)) + "\n"
    return text


def _columns(schema: pa.Schema) -> Iterator[str]:
    name, version = (schema.metadata[key].decode() for key in (b"wikianchor.dataset", b"wikianchor.schema_version"))
    yield f"\n## {name}\n\nVersion {version}.\n\n| column | type | |\n|---|---|---|"
    for field in schema:
        yield _row(field, "")
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            for place in range(inner.num_fields):
                yield _row(inner.field(place), f"{field.name}.")


def _row(field: pa.Field, before: str) -> str:
    inner = field.type.value_type if pa.types.is_list(field.type) else field.type
    kind = "struct" if pa.types.is_struct(inner) else str(inner)
    kind = f"list of {kind}" if pa.types.is_list(field.type) else kind
    about = _escaped((field.metadata or {}).get(b"description", b"").decode())
    return f"| `{before}{field.name}` | {kind}{', may be null' if field.nullable else ''} | {about} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main())
