"""Options are declared once: command line, config file, manifest, reference and help agree with the declaration."""

from __future__ import annotations

import argparse
import dataclasses
import html
import importlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tools import reference, templates
from wikianchor.io.config_file import with_settings
from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser
from wikianchor.io.options import (
    Option,
    add_options,
    at_least,
    between,
    declared,
    directory,
    fraction,
    option,
    option_group,
    program,
    read_options,
    recorded,
    shown,
    values_of,
)
from wikianchor.mteb.options import MtebOptions
from wikianchor.pipelines.cli.commands import COMMANDS, command_parser
from wikianchor.trainer.config import CONFIGS, make, presets_of
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.options import parser as evaluate_parser
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detect import DetectOptions

PRESETS: Mapping[str, Mapping[str, Any]] = {"ours": {}, "theirs": {"size": 7, "fast": True, "outer": "b"}}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Inner:
    preset: str = option("ours", presets=PRESETS, help="where defaults come from", recorded=False)
    size: int = option(3, help="size in 100 %", check=at_least(0))
    fast: bool = option(False, help="be fast")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outer:
    path: str = option(positional=True, help="a path", recorded=False)
    target: str = option(flag="for", choices=("x", "y"), help="a target")
    outer: str = option("a", help="a letter")
    names: tuple[str, ...] = option((), help="names", unset="all")
    rates: tuple[float, ...] = option((0.5, 1.0), help="rates")
    files: tuple[str, ...] = option((), repeat=True, help="files")
    limit: int | None = option(None, help="a limit", check=at_least(1), unset="none")
    share: float = option(0.25, help="a share", check=between(0, 1))
    word: str = option("", help="a word", parse=lambda value, flag: f"{flag}:{value}")
    inner: Inner = option_group(Inner, "the group")
    rows: int = 5

    def completed(self) -> Outer:
        if self.target == "y" and not self.names:
            raise UsageError("--for=y needs --names")
        return dataclasses.replace(self, word=self.word.upper())


def read(*arguments: str) -> Outer:
    parser = FlagParser()
    add_options(parser, Outer)
    return read_options(Outer, parser.parse_args(arguments))


def test_values_are_read_by_their_types() -> None:
    given = read("p", "--for=x", "--names=b, a,b", "--rates=0,2", "--files=1,2", "--files=3", "--limit=4", "--word=w")
    assert given == Outer(
        path="p", target="x", names=("b", "a"), rates=(0.0, 2.0), files=("1,2", "3"), limit=4, word="WORD:W"
    )
    assert read("p", "--for=x") == Outer(path="p", target="x")
    assert read("p", "--for=x", "--limit=auto").limit is None


def test_a_preset_stands_for_defaults() -> None:
    assert read("p", "--for=x", "--preset=theirs").inner == Inner(preset="theirs", size=7, fast=True)
    given = read("p", "--for=x", "--no-fast", "--preset=theirs", "--size=1")
    assert (given.inner.size, given.inner.fast, given.outer) == (1, False, "b")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--size=-1"], "--size=-1: must not be negative"),
        (["--limit=0"], "--limit=0: must be 1 or more"),
        (["--limit=x"], "argument --limit: invalid int value: 'x': see --help"),
        (["--size=auto"], "argument --size: invalid int value: 'auto': see --help"),
        (["--share=2"], "--share=2.0: must be between 0 and 1"),
        (["--rates=x"], "--rates=x: must be numbers with commas between"),
        (["--size=x"], "argument --size: invalid int value: 'x': see --help"),
        (["--for=y"], "--for=y needs --names"),
        (["--preset=thiers"], "argument --preset: invalid choice: 'thiers' .*did you mean theirs"),
    ],
)
def test_a_wrong_value_is_one_line(arguments: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=f"^{problem}"):
        read("p", "--for=x", *arguments)


def test_checks() -> None:
    assert [fraction(value) for value in (1, 0.5)] == ["", ""]
    assert fraction(0)
    assert between(0, 1)(0) == between(0, 1)(1) == at_least(2)(2) == ""


def test_the_manifest_has_what_decides_the_output() -> None:
    record = recorded(Outer(path="p", target="x"))
    assert record == {
        **{"target": "x", "outer": "a", "names": [], "rates": [0.5, 1.0], "files": [], "limit": None, "share": 0.25},
        **{"word": "", "size": 3, "fast": False, "rows": 5},
    }


def test_help_shows_the_defaults() -> None:
    parser = FlagParser()
    add_options(parser, Outer)
    text = " ".join(parser.format_help().split())
    for line in (
        "size in 100 % (default: 3)",
        "be fast (default: off)",
        "a letter (default: a)",
        "names (default: all)",
        "rates (default: 0.5,1)",
    ):
        assert line in text
    assert "files (default" not in text
    with pytest.raises(SystemExit):
        parser.parse_args(["p", "--preset=theirs", "--help"])
    text = " ".join(parser.format_help().split())
    for line in ("size in 100 % (default: 7)", "be fast (default: on)", "a letter (default: b)"):
        assert line in text


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    TITLE: ClassVar[str] = "how files are read"

    files: tuple[str, ...] = option(metavar="FILES", help="files to read", unset="all", recorded=False)
    strict: bool = option(default=False, help="refuse what is damaged")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Needed(Reading):
    seed: int = option(42, help="key of every choice")
    output: str = option(metavar="DIR", help="where to write", parse=directory)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Optionals(Needed):
    FIRST: ClassVar[tuple[str, ...]] = ("output", "files")

    files: tuple[str, ...] = ()


def test_commands_inherit_the_options_of_groups() -> None:
    first, second = ({option.name: option for option in declared(cls)} for cls in (Needed, Optionals))
    assert first.keys() == second.keys() == {"files", "strict", "seed", "output"}
    assert (first["files"].required, second["files"].required) == (True, False)
    assert first["files"].help == second["files"].help
    assert first["files"].text({}) == "files to read"
    assert second["files"].text({}) == "files to read (default: all)"
    # A field with another default is recorded, or not, as it was declared.
    assert recorded(Optionals(output="x")) == {"strict": False, "seed": 42, "output": "x"}
    assert values_of(Reading, Optionals(output="x", strict=True)) == {"files": (), "strict": True}


def test_help_has_sections_and_shows_first_what_people_need_first() -> None:
    assert [(option.name, option.group) for option in declared(Optionals)] == [
        ("output", ""),
        ("files", ""),
        ("strict", "how files are read"),
        ("seed", "more options"),
    ]
    parser = FlagParser()
    add_options(parser, Optionals)
    text = parser.format_help()
    assert text.index("--output DIR  ") < text.rindex("--files") < text.index("\nhow files are read:\n")
    assert text.index("\nhow files are read:\n") < text.index("\nmore options:\n") < text.index("--seed N  ")


def test_an_option_is_declared_once() -> None:
    """Where commands have an option of one name, they say the same of it, but for what differs by design."""
    by_flag: dict[str, set[str]] = {}
    for command in COMMANDS.values():
        for declaration in declared(command.options):
            by_flag.setdefault(declaration.flag, set()).add(declaration.help)
    assert {flag for flag, helps in by_flag.items() if len(helps) > 1} == set(SEVERAL)


# Options of one name with several declarations, and why.
SEVERAL = {
    "dumps": "pages of one wiki, of which each file is checked at once; or dumps of all kinds, in directories",
    "wikis": "one wiki, several, or several of the project that the target of a download is of",
    "output": "a directory or a file",
    "sql": "the tables of a Wikinews, or the page table of a wiki",
    "directory": "of datasets, or also of a model",
    "templates": "`extract` also reads the templates of a dataset",
    "parser": "of wikitext, or of Japanese",
    "negatives": "`export` has by default as many as its pairs",
    "sentences": "datasets that are read, or whether `extract` shows sentences",
    "split": "by page and item, of mentions",
    "mentions": "the names of entities, also as candidates",
    "documents": "datasets that are read, or whether `sentences` writes them",
    "previous": "an older dataset, from which rows are copied or by which they are dated",
    "format": "of an export, or of mentions for a linker",
    "corpus": "of Japanese sentences, or documents to take passages from",
    "entities": "also the types, labels and aliases of targets",
    "sample": "rows, or queries",
    "near": "between sentences, or between a sentence and its negative, with other bounds",
}


def flags_in(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings or [action.dest]}


def flags_of(options: Iterable[Option]) -> set[str]:
    flags = set()
    for entry in options:
        flags |= {entry.name} if entry.positional else {f"--{entry.flag}"}
        flags |= {f"--no-{entry.flag}"} if entry.kind is bool else set()
    return flags


def trainer_parser(objective: str) -> argparse.ArgumentParser:
    parser = FlagParser()
    add_options(parser, CONFIGS[objective])
    return parser


TRAINER = {
    **{name: (list(declared(config)), trainer_parser(name)) for name, config in CONFIGS.items()},
    "mboe": (list(declared(MboeConfig)), program("", "", MboeConfig)),
    "Evaluation": (list(declared(EvaluateOptions)), evaluate_parser()),
    "Evaluation by mteb": (list(declared(MtebOptions)), program("", "", MtebOptions)),
    "Vectors of entities": (list(declared(EntityVectorsOptions)), program("", "", EntityVectorsOptions)),
    "Entities in documents": (list(declared(DetectOptions)), program("", "", DetectOptions)),
}
PROGRAMS = {
    **{name: (command.declared, command_parser(name)) for name, command in COMMANDS.items()},
    **{f"trainer {name}": both for name, both in TRAINER.items()},
}


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """The sections of the reference by the names of `PROGRAMS`."""
    text_of_flags = {}
    for before, page in (("", reference.commands()), ("trainer ", reference.trainer())):
        for section in re.split(r"^##? ", page, flags=re.MULTILINE):
            name, _, text = section.partition("\n")
            text_of_flags[f"{before}{name}"] = text
    return text_of_flags


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_option_is_everywhere(name: str, sections: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    options, parser = PROGRAMS[name]
    assert flags_in(parser) - {"-h", "--help", "--config"} == flags_of(options)
    text = " ".join(parser.format_help().split())
    for entry in options:
        assert entry.positional or f"--{entry.flag}" in text
        assert entry.help in text
        row = entry.value if entry.positional else f"--{entry.flag}={entry.value}".removesuffix("=")
        cell = f"<code>{html.escape(row).replace('|', '&#124;')}</code>" if "|" in row else f"`{row}`"
        assert f"| {cell} |" in sections[name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_help_has_a_default_typed_by_hand(name: str) -> None:
    for entry in PROGRAMS[name][0]:
        assert "default:" not in entry.help, entry.name
        assert not shown(entry.default) or f"({shown(entry.default)})" not in entry.help, entry.name


@pytest.mark.parametrize("name", COMMANDS)
def test_a_config_file_may_have_every_option(name: str, tmp_path: Path) -> None:
    options = [entry for entry in PROGRAMS[name][0] if not entry.positional]
    values = {bool: "true", int: "3", float: "0.5", tuple: '["a", "b"]'}
    lines = [
        f"{entry.flag} = " + (f'"{entry.choices[0]}"' if entry.choices else values.get(entry.kind, '"x"'))
        for entry in options
    ]
    path = tmp_path / "config.toml"
    path.write_text("\n".join([f"[{name}]", *lines]))
    flags = with_settings(name, [f"--config={path}"], command_parser(name))
    assert {flag.partition("=")[0] for flag in flags} == {f"--{entry.flag}" for entry in options}


@pytest.mark.parametrize("stage", templates.STAGES)
def test_a_template_has_every_option(stage: str) -> None:
    names = re.findall(r'"name": "(\w+)",\n +"label"', templates.metadata(stage))
    assert names == ["stage", *(entry.flag for entry in declared(COMMANDS[stage].options))]


@pytest.mark.parametrize("objective", CONFIGS)
def test_the_trainer_uses_the_defaults_that_help_shows(objective: str) -> None:
    needed = {"data": "d", "model": "m", "output": "o"}
    for preset, values in {"": {}, **presets_of(objective)}.items():
        flags = {"preset": preset} if preset else {}
        config = make(objective, {**flags, **needed}, {})
        for entry in declared(CONFIGS[objective]):
            if entry.name in needed or entry.name == "preset":
                continue
            expected = shown(values.get(entry.name, entry.default))
            # 0 and "" stand for what follows from other options.
            if expected not in ("0", ""):
                assert f"(default: {expected})" in entry.text(values)
                assert shown(getattr(config, entry.name)) == expected, entry.name


def test_the_t5_shows_its_own_defaults() -> None:
    text = " ".join(trainer_parser("t5").format_help().split())
    for default in ("adafactor", "0.001", "8"):
        assert f"(default: {default})" in text
    assert "(default: adamw)" not in text


def test_help_is_the_same_on_every_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before Python 3.13, argparse itself adds defaults to the help of a switch."""

    class Verbose(argparse.BooleanOptionalAction):
        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **settings)
            self.help = f"{self.help or ''} (default: %(default)s)"

    before = [command_parser(name).format_help() for name in COMMANDS]
    monkeypatch.setattr(argparse, "BooleanOptionalAction", Verbose)
    assert [command_parser(name).format_help() for name in COMMANDS] == before


def test_options_need_nothing_but_the_standard_library() -> None:
    source = Path(importlib.import_module("wikianchor.io.options").__file__ or "").read_text("utf-8")
    modules = set(re.findall(r"^(?:from|import) ([\w.]+)", source, re.MULTILINE))
    assert {name for name in modules if not name.startswith("wikianchor.io.")} <= {
        "__future__",
        *sys.stdlib_module_names,
        "collections.abc",
    }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Speed:
    TITLE: ClassVar[str] = "the speed"

    rate: float = option(1.0, help="how fast")
    preset: str = option("", help="where defaults come from", presets={})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slow(Speed):
    TITLE: ClassVar[str] = "the rest"
    FIRST: ClassVar[tuple[str, ...]] = ("size",)

    rate: float = 0.5
    size: int = option(3, help="size")
    unit: str = option("m", help="unit")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Slowest(Slow):
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rate": {"help": "how slow"},
        "preset": {"presets": {"calm": {"rate": 0.25}}},
    }


def test_options_are_inherited_in_sections_with_other_defaults_and_words() -> None:
    groups = {entry.name: (entry.group, entry.default, entry.help) for entry in declared(Slow)}
    # Without presets there is no option for them.
    assert groups == {
        "rate": ("the speed", 0.5, "how fast"),
        "size": ("", 3, "size"),
        "unit": ("the rest", "m", "unit"),
    }
    assert {entry.name: entry.help for entry in declared(Slowest)}["rate"] == "how slow"
    parser = FlagParser()
    add_options(parser, Slowest)
    assert read_options(Slowest, parser.parse_args(["--preset=calm"])) == Slowest(preset="calm", rate=0.25)
    text = parser.format_help()
    assert text.index("--size N ") < text.index("the speed:") < text.index("--rate X ")


def test_auto_undoes_what_a_preset_says() -> None:
    needed = {"data": "d", "output": "o", "preset": "ease-bert-released"}
    assert (make("ease", needed, {}).pooler, make("ease", needed, {}).step_size) == ("cls", 128)
    config = make("ease", {**needed, "pooler": "auto", "step_size": "auto", "softmax_size": 48}, {})
    assert (config.pooler, config.step_size) == (None, 48)


def test_an_objective_has_its_own_options_alone() -> None:
    names = {name: {entry.name for entry in declared(config)} for name, config in CONFIGS.items()}
    assert {"entity_weight", "entity_vectors", "negatives"} <= names["ease"]
    assert not {"entity_weight", "entity_vectors", "negatives", "span_length"} & names["simcse"]
    assert not {"softmax_size", "preset", "pooler"} & names["t5"]
    shared = {"learning_rate", "warmup_steps", "weight_decay", "clip_norm", "step_size", "patience", "precision"}
    assert shared <= set.intersection(*names.values(), {entry.name for entry in declared(MboeConfig)})
    for config in (*CONFIGS.values(), MboeConfig):
        assert {entry.name for entry in declared(config) if not entry.group} <= set(config.FIRST)


def test_a_home_directory_and_a_path_object_are_paths_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    path = Option("", kind=str)
    assert path.read("~/a,b~,~c,~/d") == "/home/ada/a,b~,~c,/home/ada/d"
    assert path.read(Path("~/a")) == "/home/ada/a"
    assert Option("", kind=tuple).read(["~/a", Path("b")]) == ("/home/ada/a", "b")
    assert Option("", kind=int).read(3) == 3
