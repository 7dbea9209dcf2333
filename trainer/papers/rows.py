"""The tables of `tables.toml` and the comparisons of `arms.toml` as dataclasses, read without torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from wikianchor.io.config_file import read_toml
from wikianchor.io.errors import UsageError
from wikianchor.trainer.presets import PRESETS

# Added to the titles of rows where EASE does not start from vectors of entities (section 3.3).
WITHOUT_VECTORS = "w/o Wikipedia2Vec"


@dataclass(frozen=True)
class Row:
    """A row of a table; `tables.toml` says what its keys are. `preset` and `model` are those of the backbone."""

    name: str
    objective: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    data: Sequence[str] = ()
    first: str = ""
    pooler: str = ""
    whiten: int = 0
    checkpoint: str = ""
    backbone: str = ""
    preset: str = ""
    model: str = ""

    def preset_options(self, variant: str) -> dict[str, Any]:
        """Return the preset's options of a row of EASE that is trained; `variant` is paper or released."""
        if not self.preset:
            return {}
        name = f"simcse-{self.preset}" if self.objective == "simcse" else f"ease-{self.preset}-{variant}"
        return {**PRESETS[name], "preset": name, **({"model": self.model} if self.model else {})}

    def shown_name(self, flags: Mapping[str, Any]) -> str:
        """Return the row's title, which says in every table that EASE starts from random entity vectors."""
        lacks_vectors = self.objective == "ease" and not flags.get("entity_vectors")
        return f"{self.name}, {WITHOUT_VECTORS}" if lacks_vectors else self.name

    def missing(self, flags: Mapping[str, Any]) -> str:
        """Return why the row cannot be trained with the user's options, "" if it can."""
        if self.options.get("entity_vectors") == "" and not flags.get("entity_vectors"):
            return "the same as with them, since there are no --entity_vectors"
        needed = [name for name in self.data if name in ("general", "nli") and not flags.get(name)]
        return f"needs --{needed[0]}" if needed else ""


@dataclass(frozen=True)
class Table:
    """A table; `tables.toml` says what its keys are."""

    title: str
    tasks: str
    rows: Sequence[Row]
    objective: str = "ease"
    backbones: Sequence[str] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    split: str = "test"
    seeds: int = 10
    figures: Sequence[Mapping[str, Any]] = ()

    def check(self, flags: Mapping[str, Any]) -> None:
        """Raise UsageError for options of the training that are missing, or have no meaning in a table."""
        several = {"seed": "--seeds"}
        if self.backbones:
            several |= {"preset": "--variant", "model": "--backbones", "new": "--backbones"}
        for name, instead in several.items():
            if name in flags:
                raise UsageError(f"--{name}: a table has several: use {instead}")
        # The model of SDJC may be that of its preset.
        for name in ("data", "output") if self.backbones or flags.get("preset") else ("data", "output", "model"):
            if not flags.get(name):
                raise UsageError(f"--{name} is missing")

    def models(self, text: str) -> dict[str, str]:
        """Return the backbones to show and the model of each, "" for the preset's own: all of the table by default."""
        parts = (
            [part.partition("=") for part in text.split(",")] if text else [(name, "", "") for name in self.backbones]
        )
        chosen = {name.strip(): model.strip() for name, _, model in parts}
        for name in (name for name in chosen if name not in self.backbones):
            raise UsageError(f"--backbones: no {name!r} in {self.title}: choose of {', '.join(self.backbones)}")
        return chosen if self.backbones else {"": ""}

    def named(self, names: str) -> list[Row]:
        """Return the rows of these names, with semicolons between; all for ""."""
        by_name = {row.name: row for row in self.rows}
        listed = [name.strip() for name in names.split(";")] if names else list(by_name)
        for name in (name for name in listed if name not in by_name):
            raise UsageError(f"--rows: no {name!r}: choose of {'; '.join(by_name)}")
        return [by_name[name] for name in listed]


def _rows(table: Mapping[str, Any]) -> Iterator[Row]:
    for name in table.get("backbones", [""]):
        backbone: dict[str, Any] = dict(_BACKBONES.get(name, {}))
        title = backbone.pop("title", "")
        for row in table["rows"]:
            settings = {key: value for key, value in row.items() if key not in ("backbones", "grid")}
            grid = row.get("grid", {})
            for values in itertools.product(*grid.values()) if name in row.get("backbones", [name]) else ():
                point = dict(zip(grid, values, strict=True))
                settings["name"] = row["name"].format(backbone=title, **point)
                settings["options"] = {**row.get("options", {}), **point}
                settings["defaults"] = {**table.get("options", {}), **row.get("defaults", {})}
                yield Row(**settings, **backbone, backbone=name)


_TABLES = read_toml(Path(__file__).with_name("tables.toml"))
_BACKBONES = _TABLES.pop("backbones")
TABLES = {name: Table(**{**table, "rows": tuple(_rows(table))}) for name, table in _TABLES.items()}


@dataclass(frozen=True)
class Arm:
    """An arm; `arms.toml` says what its keys are."""

    name: str
    objective: str = ""
    variant: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Comparison:
    """A comparison; `arms.toml` says what its keys are."""

    title: str
    tasks: str
    arms: Sequence[Arm]
    held_out: bool = False
    by_language: bool = False

    def check(self, flags: Mapping[str, Any]) -> None:
        """Raise UsageError for options of the training that are missing, or have no meaning in a comparison."""
        if "seed" in flags:
            raise UsageError("--seed: a comparison has several: use --seeds")
        if flags.get("new") and self.by_language:
            raise UsageError("--new: these are languages that a model does not know: give --model")
        for name, instead in (("data", "dumps"), ("model", "new"), ("output", "")):
            if not flags.get(name) and not flags.get(instead):
                raise UsageError(f"--{name} is missing")


COMPARISONS = {
    name: Comparison(**{**about, "arms": [Arm(**arm) for arm in about["arms"]]})
    for name, about in read_toml(Path(__file__).with_name("arms.toml")).items()
}
