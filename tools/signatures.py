"""The signatures of the commands as functions, from the declarations of their options: `wikianchor/signatures.pyi`, for
editors and type checkers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

from wikianchor.commands import LEFT_OUT, PIPELINES, PRINTING
from wikianchor.io.options import Option, declared
from wikianchor.pipelines.cli.commands import COMMANDS
from wikianchor.trainer.config import CONFIGS
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.score.options import ScoreOptions

HEAD = '''"""Written by tools/reference.py: change the options, then run `make docs`."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, overload

from wikianchor.api.datasets import OpenDataset
from wikianchor.api.models import Callback
from wikianchor.trainer.config import Config
from wikianchor.trainer.evaluate.report import Result

Path: TypeAlias = str | PathLike[str]
'''
_ENGINE = ("workers: int | None = ...", "beam: Sequence[str] = ...")
# What `train` takes besides paths.
_ROWS = {"data": "Path | Iterable[Mapping[str, Any]]"}


def signatures() -> str:
    """Return the stub file."""
    stubs = [HEAD]
    for name in PIPELINES:
        result = "str" if name in PRINTING else "OpenDataset"
        stubs.append(
            _stub(
                name,
                [*parameters(COMMANDS[name].options, left_out=LEFT_OUT), *_ENGINE],
                result,
                COMMANDS[name].summary,
            )
        )
    stubs.append(
        _stub("score", parameters(ScoreOptions), "OpenDataset", "an export + a model -> the export with cosines")
    )
    callbacks = "callbacks: Iterable[Callback] = ..."
    configs: list[str] = []
    for objective, cls in CONFIGS.items():
        options = parameters(cls, _ROWS)
        literal = f"Literal[{objective!r}]".replace("'", '"')
        summary = f"Train by {objective}, and return the directory of the model"
        stubs.append("@overload\n" + _stub("train", [callbacks, *options], "str", summary, [f"config: {literal}"]))
        first = [f"objective: {literal}", "config: str = ..."]
        configs.append(
            "@overload\n" + _stub("train_config", options, "Config", f"Return options of {objective}", first)
        )
    summary = "Train by a config, and return the directory of the model"
    stubs.append("@overload\n" + _stub("train", [callbacks], "str", summary, ["config: Config"]))
    stubs += configs
    first = ["model: Path", "data: Path = ...", "tasks: str | Sequence[str] = ..."]
    rest = parameters(EvaluateOptions, left_out=("model", "data", "tasks"))
    stubs.append(_stub("evaluate", rest, "list[Result]", "Score a model", first))
    return "\n".join(stubs)


def parameters(cls: type, other: dict[str, str] | None = None, left_out: Sequence[str] = ()) -> list[str]:
    """Return the parameters for the options of a dataclass.

    Args:
        cls: the dataclass.
        other: types of some parameters, by name.
        left_out: options that are no parameters.
    """
    options = (option for option in declared(cls) if option.name not in left_out)
    return [
        f"{option.name}: {(other or {}).get(option.name) or _type(option)}{'' if option.required else ' = ...'}"
        for option in options
    ]


def _type(option: Option) -> str:
    """Return the type of the values of an option."""
    if option.kind is tuple:
        kind = f"str | Sequence[{option.item.__name__}]"
    elif option.choices:
        kind = f"Literal[{', '.join(f'{choice!r}' for choice in option.choices)}]".replace("'", '"')
    else:
        # Of a type of its own, which is read from text too.
        kind = option.kind.__name__ if option.kind in (int, float, bool) else "Path"
    return f"{kind} | None" if option.auto else kind


def _stub(name: str, options: Iterable[str], result: str, summary: str, first: Sequence[str] = ()) -> str:
    """Return the stub of a function with keyword arguments."""
    lines = "".join(f"    {parameter},\n" for parameter in (*first, "*", *options))
    return f"def {name}(\n{lines}) -> {result}:\n{textwrap.indent(_docstring(summary), '    ')}\n"


def _docstring(summary: str) -> str:
    return f'"""{summary[0].upper()}{summary[1:]}."""'
