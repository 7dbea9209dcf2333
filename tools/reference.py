"""Writes docs/reference/ from the options of the commands and the schemas of the datasets; `--check` only compares."""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import wikianchor
from tools.signatures import signatures
from wikianchor import schemas
from wikianchor.io.config_file import config_help
from wikianchor.io.options import Option, declared
from wikianchor.pipelines.cli.commands import COMMANDS, TRAINER
from wikianchor.pipelines.engine.flags import EngineFlags
from wikianchor.trainer.options import HELP, OBJECTIVES
from wikianchor.trainer.papers.options import ArmOptions

ROOT = Path(__file__).parent.parent
REFERENCE = "docs/reference"
# A vertical bar in a cell of a table: with a backslash, pages of the site would show that too.
BAR = "&#124;"
NOTE = "<!-- Written by tools/reference.py: change the code, then run `make docs`. -->\n\n"
# The other commands of the trainer: title, usage, options, and the table of --config, "" for none.
BESIDE_TRAINING: tuple[tuple[str, str, type, str], ...] = (
    ("Evaluation", "evaluate --flag=value ...`", TRAINER["evaluate"].options, "evaluate"),
    ("Evaluation by mteb", "mteb --flag=value ...`", TRAINER["mteb"].options, ""),
    (
        "Tables of papers",
        "papers tables NAME --flag=value ...`, with the options of ease, for sdjc with its own",
        TRAINER["papers"].options,
        "",
    ),
    ("Comparisons of arms", "papers figure2|negatives --flag=value ...`, with the options of ease", ArmOptions, ""),
    ("Vectors of entities", "vectors --flag=value ...`", TRAINER["vectors"].options, ""),
    ("Graph for ONNX Runtime", "onnx --flag=value ...`", TRAINER["onnx"].options, ""),
    ("Scores of an export", "score --flag=value ...`", TRAINER["score"].options, ""),
    ("Scores of entity linking", "link --flag=value ...`", TRAINER["link"].options, ""),
    ("Entities in documents", "detect --flag=value ... < documents.jsonl`", TRAINER["detect"].options, ""),
)


def main() -> int:
    """Write the files, or say which are not what they should be."""
    files = {
        f"{REFERENCE}/commands.md": commands(),
        f"{REFERENCE}/trainer.md": trainer(),
        f"{REFERENCE}/datasets.md": datasets(),
        f"{REFERENCE}/python.md": python(),
        "wikianchor/signatures.pyi": signatures(),
    }
    if sys.argv[1:] == ["--check"]:
        old = [name for name, text in files.items() if (ROOT / name).read_text("utf-8") != text]
        print("\n".join(f"{name}: not what the code says: run `make docs`" for name in old))
        return 1 if old else 0
    for name, text in files.items():
        (ROOT / name).write_text(text, "utf-8")
    return 0


def commands() -> str:
    """Return the page of `wikianchor`."""
    text = (
        f"{NOTE}# Commands\n\n`wikianchor COMMAND --flag=value ...`. Exit status: 0, done; 1, an input is broken or an "
        "output cannot be written; 2, the command line is wrong; 130, interrupted.\n\n"
        "A command that runs a pipeline passes the flags of Beam on to Beam. These flags are for the engine "
        f"([engines](../how-to/engines.md)):\n\n{table(declared(EngineFlags))}"
    )
    for name, command in COMMANDS.items():
        options = command.declared
        text += f"\n## {name}\n\n{_escaped(command.summary)}\n\n    {command.example}\n\n{table(options)}"
        text += config_row(name) + presets(options)
    return text


def trainer() -> str:
    """Return the page of the trainer and its evaluation."""
    objectives = [
        f"\n## {name}\n\n{_escaped(HELP[name])}\n\n{sections(cls, config_row(f'train.{name}'))}{presets(declared(cls))}"
        for name, cls in OBJECTIVES.items()
    ]
    others = [
        f"\n# {title}\n\n`wikianchor {usage}\n\n{table(declared(cls))}{config_row(config) if config else ''}"
        for title, usage, cls, config in BESIDE_TRAINING
    ]
    usage = "`wikianchor train OBJECTIVE --flag=value ...`"
    on_gpus = "on several GPUs `torchrun -m wikianchor train OBJECTIVE ...`"
    return "".join([f"{NOTE}# Trainer\n\n{usage}; {on_gpus}.\n", *objectives, *others])


def python() -> str:
    """Return the page of the names of `wikianchor`."""
    text = f"{NOTE}# Python\n\n{inspect.getdoc(wikianchor.commands)}\n"
    for name in wikianchor.__all__:
        value = getattr(wikianchor, name)
        if callable(value):
            text += _documented(f"## {name}", value)
            methods = inspect.getmembers(value, inspect.isfunction) if inspect.isclass(value) else []
            text += "".join(_documented(f"### {name}.{own}", method) for own, method in methods if own[0] != "_")
    return text


def _documented(heading: str, value: Any) -> str:
    """Return the section of a function or class."""
    signature = "" if inspect.isclass(value) else str(inspect.signature(value)).replace("'", "")
    first = f"{heading.split()[1]}{signature}\n\n" if signature else ""
    return f"\n{heading}\n\n```text\n{first}{inspect.getdoc(value)}\n```\n"


def config_row(name: str) -> str:
    """Return the row of --config."""
    return f"| `--config=FILE` | {config_help(name)} |\n"


def sections(cls: type, first: str) -> str:
    """Return the tables of options, one for each section of the help; `first` is the last row of the first one."""
    options = sorted(declared(cls), key=lambda option: option.group != "")
    groups = dict.fromkeys(option.group for option in options)
    tables = {group: table([option for option in options if option.group == group]) for group in groups}
    return tables.pop("") + first + "".join(f"\n{group}:\n\n{text}" for group, text in tables.items())


def table(options: Iterable[Option]) -> str:
    """Return the table of options, with their defaults."""
    lines, group = ["| option | |", "|---|---|"], ""
    for option in options:
        if option.group != group:
            group = option.group
            lines.append(f"| **{group}** | |")
        value = f"={option.value}" if option.value else ""
        name = option.value if option.positional else f"--{option.flag}{value}"
        about = option.text({}) + (" (required)" if option.required else "")
        code = f"<code>{html.escape(name).replace('|', BAR)}</code>" if "|" in name else f"`{name}`"
        lines.append(f"| {code} | {_escaped(about)} |")
    return "\n".join(lines) + "\n"


def presets(options: Iterable[Option]) -> str:
    """Return the table of the presets of options, "" where there are none."""
    by_name = {option.name: option for option in options}
    lines = []
    for preset, values in next((option.presets for option in by_name.values() if option.presets), {}).items():
        flags = [
            by_name[name].written(value)
            for name, value in values.items()
            if name in by_name and value != by_name[name].default
        ]
        about = f"`{' '.join(flags)}`" if flags else "the defaults above"
        lines.append(f"| `{preset}` | {about} |\n")
    return "".join(["\n| preset | stands for |\n|---|---|\n", *lines]) if lines else ""


def datasets() -> str:
    """Return the page of the schemas."""
    text = NOTE + "# Datasets\n\nEach is a directory with `manifest.json` and `data/CONFIG/train-*.parquet`. "
    text += "Every column carries its meaning in the metadata of the file too, and holds no null unless it says so.\n"
    for name in sorted(module.name for module in pkgutil.iter_modules(schemas.__path__)):
        module = importlib.import_module(f"wikianchor.schemas.{name}")
        described = [value for value in vars(module).values() if isinstance(value, pa.Schema) and value.metadata]
        for schema in described:
            text += "\n".join(_columns(schema)) + "\n"
    return text


def _columns(schema: pa.Schema) -> Iterator[str]:
    name, version = (schema.metadata[key].decode() for key in (b"wikianchor.dataset", b"wikianchor.schema_version"))
    yield f"\n## {name}\n\nVersion {version}.\n\n| column | type | |\n|---|---|---|"
    for field in schema:
        yield _row(field, "")
        inner = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(inner):
            for number in range(inner.num_fields):
                yield _row(inner.field(number), f"{field.name}.")


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
