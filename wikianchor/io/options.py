"""Options, each declared once: a field of a dataclass states name, type, default, help, choices and check of an option.

Command line, `--config` file, manifest, reference documentation and Flex Templates are derived from the declaration:

    @dataclass(frozen=True)
    class WordsOptions:
        corpus: str = option(metavar="DIRS", help="one or more `corpus` datasets", recorded=False)
        most: int = option(150, help="largest number of words", check=at_least(1))

    add_options(parser, WordsOptions)                      # --corpus=DIRS, --most=N
    options = read_options(WordsOptions, parser.parse_args())

The annotation decides how a value is read: `str`, `int` and `float` (also with `| None`) are single values; `bool` is
the two flags --name and --no-name; `tuple[str, ...]`, `tuple[int, ...]` and `tuple[float, ...]` are lists with commas;
a nested dataclass (`option_group`) is a titled group of flags. A field without `option` has no flag. Where None stands
for what follows from other options, it is written `auto`, which undoes the value of a preset. Help shows each default
as it is declared. The namespace of `parse_args` holds only the options that the user gave.

Commands share options by inheritance: the options of a command are a dataclass that inherits from groups, such as
`wikianchor.io.option_groups.Output`. A group with a `TITLE` is a section of the help. A subclass that gives a field
another default keeps its declaration; other attributes of the declaration are replaced by `ADJUSTED`, a class attribute
that maps the field to them. Where a command has many options, `FIRST` names those that help shows first.

A dataclass may have a method `completed`, which checks what no single option can, and returns the options to use.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import math
import os
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import FlagParser, HelpFormatter, did_you_mean, nearest_or_all

T = TypeVar("T")
Check = Callable[[Any], str]
Parse = Callable[[str, str], Any]
_KEY = "wikianchor.option"
AUTO = "auto"


@dataclass(frozen=True)
class Option:
    """The declaration of an option.

    Attributes:
        help: what the option is, without its default.
        metavar: how help names the value; "" for N (int), X (float), or the name in capitals.
        choices: the accepted values; empty for any, or for the names of the presets.
        check: returns what is wrong with a value, "" if nothing is.
        parse: returns the value of a text; called with the text and the name of the flag.
        flag: the name on the command line, where it is not that of the field.
        unset: what an empty default means, shown in its place.
        positional: whether it is an argument without a flag.
        repeat: of a tuple: whether the flag is given once for each item, instead of items with commas between.
        recorded: whether the manifest holds it, since it decides what the dataset contains.
        may_change: whether a training that goes on from a checkpoint may have another value.
        presets: names that stand for defaults of the other options; without any there is no flag.
        name: the name of the field. This and the following are filled in from the dataclass.
        kind: str, int, float, bool or tuple.
        item: the type of the items of a tuple.
        required: whether it has to be given.
        default: its value where it is not given.
        auto: whether `auto` is a value, None: what follows from other options, such as where a preset says another.
        group: the title of its group, "" for none.
    """

    help: str
    metavar: str = ""
    choices: tuple[str, ...] = ()
    check: Check | None = None
    parse: Parse | None = None
    flag: str = ""
    unset: str = ""
    positional: bool = False
    repeat: bool = False
    recorded: bool = True
    may_change: bool = False
    presets: Mapping[str, Mapping[str, Any]] | None = None
    name: str = ""
    kind: type = str
    item: type = str
    required: bool = False
    default: Any = None
    auto: bool = False
    group: str = ""

    @property
    def value(self) -> str:
        """How help names the value, "" for a switch."""
        if self.kind is bool:
            return ""
        name = self.name if self.positional else self.name.upper()
        return self.metavar or "|".join(self.choices) or {int: "N", float: "X"}.get(self.kind, name)

    def written(self, value: Any) -> str:
        """Return the option as it is written on a command line.

        >>> Option("", flag="back_off", kind=bool).written(False)
        '--no-back_off'
        >>> Option("", flag="exclude_types", kind=tuple).written(())
        '--exclude_types=none'
        """
        if self.kind is bool:
            return f"--{self.flag}" if value else f"--no-{self.flag}"
        # An empty list in place of a default is written `none`.
        return f"--{self.flag}={shown(value) or ('none' if self.kind is tuple else '')}"

    def text(self, defaults: Mapping[str, Any]) -> str:
        """Return the help with the default, which `defaults`, those of a preset, may replace."""
        default = "" if self.required else shown(defaults.get(self.name, self.default)) or self.unset
        return f"{self.help} (default: {default})" if default else self.help

    def read(self, value: Any) -> Any:
        """Return the value of what the user gave.

        Raises:
            UsageError: it is not a value of the option, or out of range.
        """
        if self.auto and value == AUTO:
            return None
        value = _with_home(value)
        if self.parse and isinstance(value, (list, tuple)) and not any("," in str(item) for item in value):
            # A list of Python means the same as one with commas.
            value = ",".join(map(str, value))
        read = self._parsed(value) if isinstance(value, str) else value
        if self.kind is tuple:
            read = tuple(read)
        problem = "must be a finite number" if isinstance(read, float) and not math.isfinite(read) else ""
        if self.check and read is not None and not problem:
            problem = self.check(read)
        if problem:
            raise UsageError(f"--{self.flag}={value}: {problem}")
        return read

    def _parsed(self, text: str) -> Any:
        if self.parse:
            return self.parse(text, self.flag)
        if self.kind is not tuple:
            return text
        try:
            return [self.item(part) for part in split_list(text)]
        except ValueError as error:
            raise UsageError(f"--{self.flag}={text}: must be numbers with commas between") from error


def _with_home(value: Any) -> Any:
    """Return a value, paths as text, with the home directory in place of a ~ that a part of it begins with: a shell
    puts it there only where a word begins, and `--output=~/out` is one word.

    >>> _with_home("~/a,b~,~/c").replace(os.path.expanduser("~"), "/home/ada")
    '/home/ada/a,b~,/home/ada/c'
    """
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_with_home, value))
    if not isinstance(value, str):
        return value
    return ",".join(os.path.expanduser(part) if part.startswith("~/") else part for part in value.split(","))


def option(default: Any = MISSING, *, help: str, choices: Any = (), **settings: Any) -> Any:
    """Return the field of a dataclass that declares an option.

    Args:
        default: its value where the user gives none; an option without a default is required.
        help: what the option is, without its default.
        choices: the accepted values.
        settings: other attributes of `Option`.
    """
    return field(default=default, metadata={_KEY: Option(help, choices=tuple(choices), **settings)})


def option_group(group: type, title: str) -> Any:
    """Return the field of a dataclass that holds a group of options, itself a dataclass."""
    return field(default_factory=group, metadata={_KEY: title})


def declared(cls: type) -> list[Option]:
    """Return the options of a dataclass in the order of its help, those of its groups included."""
    first: Sequence[str] = getattr(cls, "FIRST", ())
    if not first:
        return list(_declared(cls))
    rest = "more options"
    options = [
        dataclasses.replace(declaration, group="" if declaration.name in first else declaration.group or rest)
        for declaration in _declared(cls)
    ]

    def rank(declaration: Option) -> int:
        return first.index(declaration.name) if declaration.name in first else len(first) + (declaration.group == rest)

    return sorted(options, key=rank)


def _declared(cls: type, group: str = "") -> Iterator[Option]:
    hints = get_type_hints(cls)
    for attribute in dataclasses.fields(cls):
        name, declaration = attribute.name, _declaration(cls, attribute.name)
        if isinstance(declaration, str):
            yield from _declared(hints[name], declaration)
        elif declaration and declaration.presets != {}:
            kind, item = _kind(hints[name])
            required = attribute.default is MISSING
            auto = kind is not bool and (attribute.default is None or type(None) in get_args(hints[name]))
            choices = declaration.choices or tuple(declaration.presets or ())
            yield dataclasses.replace(
                declaration,
                name=name,
                flag=declaration.flag or name,
                choices=(*choices, AUTO) if auto and choices else choices,
                kind=kind,
                item=item,
                required=required,
                default=None if required else attribute.default,
                auto=auto,
                group=group or _section(cls, name),
            )


def _declaring(cls: type, name: str) -> Iterator[tuple[type, Any]]:
    """Yield the dataclasses that have a field, from the subclass to the class that declares it, with the field."""
    for ancestor in cls.__mro__:
        if field := vars(ancestor).get("__dataclass_fields__", {}).get(name):
            yield ancestor, field


def _declaration(cls: type, name: str) -> Any:
    """Return the `Option` of a field or the title of its group, None if it has neither."""
    written = (field.metadata[_KEY] for _, field in _declaring(cls, name) if _KEY in field.metadata)
    declaration: Any = next(written, None)
    for ancestor in reversed(cls.__mro__):
        if changes := vars(ancestor).get("ADJUSTED", {}).get(name):
            declaration = dataclasses.replace(declaration, **changes)
    return declaration


def _section(cls: type, name: str) -> str:
    """Return the title of the help section of an option: that of the group that declares it."""
    titles = [vars(group)["TITLE"] for group, _ in _declaring(cls, name) if "TITLE" in vars(group)]
    return titles[-1] if titles else ""


def _kind(hint: Any) -> tuple[type, type]:
    """Return the type of an annotation without `| None`, and that of its items."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(part for part in get_args(hint) if part is not type(None))
    return (tuple, get_args(hint)[0]) if get_origin(hint) is tuple else (hint, hint)


def shown(value: Any) -> str:
    """Return a default as help shows it, "" for an empty one.

    >>> shown(True), shown(("en", "mul")), shown(10.0), shown(None)
    ('on', 'en,mul', '10', '')
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (tuple, list)):
        return ",".join(map(shown, value))
    return "" if value is None else str(value)


def add_options(parser: argparse.ArgumentParser | argparse._ArgumentGroup, cls: type) -> None:
    """Add the options of a dataclass to a parser, or to a group of it."""
    groups: dict[str, Any] = {"": parser}
    actions: list[tuple[Option, argparse.Action]] = []

    def show(preset: Mapping[str, Any]) -> None:
        for declaration, action in actions:
            action.help = declaration.text(preset).replace("%", "%%")

    for declaration in declared(cls):
        if declaration.group not in groups:
            groups[declaration.group] = parser.add_argument_group(declaration.group)
        actions.append((declaration, _add_option(groups[declaration.group], declaration, show)))
    show({})


def program(prog: str, description: str, cls: type | None = None) -> FlagParser:
    """Return the parser of a program, with the options of a dataclass if one is given.

    Args:
        prog: how the program is called.
        description: what --help says above the options, line breaks included.
        cls: the dataclass.
    """
    parser = FlagParser(prog=prog, description=description, formatter_class=HelpFormatter)
    if cls:
        add_options(parser, cls)
    return parser


def _add_option(group: Any, declaration: Option, show: Callable[[Mapping[str, Any]], None]) -> argparse.Action:
    settings: dict[str, Any] = {"default": argparse.SUPPRESS}
    name = declaration.name
    if not declaration.positional:
        name = f"--{declaration.flag}"
        settings |= {"dest": declaration.name, "required": declaration.required}
    if declaration.kind is bool:
        return group.add_argument(name, action=argparse.BooleanOptionalAction, **settings)
    if declaration.choices:
        settings["choices"] = declaration.choices
    else:
        settings["metavar"] = declaration.value
    if declaration.kind in (int, float):
        settings["type"] = _number(declaration)
    if declaration.presets is not None:
        settings |= {"action": _PresetAction, "show": lambda preset: show((declaration.presets or {})[preset])}
    elif declaration.repeat:
        settings["action"] = "append"
    return group.add_argument(name, **settings)


def _number(declaration: Option) -> Callable[[str], Any]:
    """Return what reads the number of an option; argparse names it by its `__name__` where that fails."""

    @functools.wraps(declaration.kind, updated=())
    def read(text: str) -> Any:
        return AUTO if declaration.auto and text == AUTO else declaration.kind(text)

    return read


class _PresetAction(argparse.Action):
    """Store the name of a preset; a --help that follows shows the defaults of that preset."""

    def __init__(self, *arguments: Any, show: Callable[[str], None], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._show = show

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, values)
        self._show(values)


def read_options(cls: type[T], given: argparse.Namespace) -> T:
    """Return the options that the user gave, with the defaults of the others, which may be those of a preset.

    Args:
        cls: the dataclass.
        given: the options that the user gave; names that the dataclass does not declare are not looked at.

    Raises:
        UsageError: a value is wrong.
    """
    options = [declaration for declaration in _declared(cls) if declaration.name in given]
    read = {declaration.name: declaration.read(getattr(given, declaration.name)) for declaration in options}
    defaults = dict[str, Any]()
    for declaration in options:
        if declaration.presets:
            defaults |= declaration.presets.get(read[declaration.name], {})
    return _completed(cls, {**defaults, **read})


def _completed(cls: Any, values: Mapping[str, Any]) -> Any:
    """Return the options of a dataclass and of its groups, completed, with the defaults of those without a value."""
    arguments = {}
    for attribute in dataclasses.fields(cls):
        name = attribute.name
        if isinstance(_declaration(cls, name), str):
            arguments[name] = _completed(attribute.default_factory, values)
        elif name in values:
            arguments[name] = values[name]
    made = cls(**arguments)
    return made.completed() if hasattr(made, "completed") else made


def checked(cls: type, function: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a call of a function gives, as `read_options` takes them.

    Args:
        cls: the dataclass that declares the options.
        function: the name of the function, for errors.
        given: values by name, None for an option that is not given.

    Raises:
        TypeError: there is no such option, one is missing, or a value is of another type.
        UsageError: a value is none of the choices.
    """
    options = {declaration.name: declaration for declaration in declared(cls)}
    for name in given:
        if name not in options:
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{did_you_mean(name, options)}")
    values = {name: _with_home(value) for name, value in given.items() if value is not None}
    if missing := [name for name, declaration in options.items() if declaration.required and name not in values]:
        raise TypeError(f"{function}() missing the keyword argument {missing[0]!r}")
    for name, value in values.items():
        declaration = options[name]
        if declaration.kind in (int, float, bool) and not (declaration.auto and value == AUTO):
            # A bool is an int to Python, and an int is a float to its type checkers.
            accepted = (int, float) if declaration.kind is float else declaration.kind
            if not isinstance(value, accepted) or isinstance(value, bool) != (declaration.kind is bool):
                raise TypeError(f"{function}({name}={value!r}): must be {declaration.kind.__name__}")
        elif declaration.kind is str and not isinstance(value, str) and (function, name) != ("train", "data"):
            # The rows of a training may be given themselves.
            raise TypeError(f"{function}({name}={value!r}): must be a text or a path")
        elif declaration.choices and value not in declaration.choices:
            raise UsageError(f"{function}({name}={value!r}){nearest_or_all(str(value), declaration.choices)}")
    return values


def values_of(group: type, options: Any) -> dict[str, Any]:
    """Return the values of the options of a group, which another command has too."""
    return {attribute.name: getattr(options, attribute.name) for attribute in dataclasses.fields(group)}


def recorded(options: Any) -> dict[str, Any]:
    """Return the options that decide what a dataset contains, as its manifest holds them: names to JSON values."""
    record: dict[str, Any] = {}
    for attribute in dataclasses.fields(options):
        declaration, value = _declaration(type(options), attribute.name), getattr(options, attribute.name)
        if isinstance(declaration, str):
            record |= recorded(value)
        elif declaration is None or declaration.recorded:
            record[attribute.name] = list(value) if isinstance(value, tuple) else value
    return record


def split_list(value: str) -> tuple[str, ...]:
    """Return the parts of a comma-separated list, each once, in order.

    >>> split_list("en, ja,en,")
    ('en', 'ja')
    """
    return tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))


def without_slash(value: str, flag: str) -> str:
    """Return the path of a directory without a slash at its end."""
    return value if value.endswith("://") else value.rstrip("/")


def directory(value: str, flag: str) -> str:
    """Return the path or URI of a directory without a slash at its end.

    Raises:
        UsageError: the path is empty, as that of an unset variable, or a URI names no bucket.
    """
    scheme, is_uri, path = value.rpartition("://")
    if not path.strip("/"):
        raise UsageError(f"--{flag}={value}: name a " + (f"bucket: {scheme}://BUCKET/PATH" if is_uri else "directory"))
    return value.rstrip("/")


def file_path(value: str, flag: str) -> str:
    """Return the path of a file.

    Raises:
        UsageError: the path is empty, as that of an unset variable.
    """
    if not value:
        raise UsageError(f"--{flag}= names no file")
    return value


def at_least(least: int) -> Check:
    """Return the check that a number is not below another."""
    problem = f"must be {least} or more" if least else "must not be negative"
    return lambda value: problem if value < least else ""


def above(limit: float) -> Check:
    """Return the check that a number is above another."""
    return lambda value: "" if value > limit else f"must be above {limit:g}"


def between(low: float, high: float) -> Check:
    """Return the check that a number is not below the one and not above the other."""
    return lambda value: "" if low <= value <= high else f"must be between {low:g} and {high:g}"


def among(names: Sequence[str]) -> Check:
    """Return the check that a list is not empty and has no other names than these."""

    def check(values: Sequence[str]) -> str:
        unknown = [value for value in values if value not in names]
        return f"{unknown[0]} is none of {', '.join(names)}" if unknown else "" if values else "names nothing"

    return check


def fraction(value: float) -> str:
    """Check that a number is above 0 and at most 1."""
    return "" if 0 < value <= 1 else "must lie above 0 and be 1 at most"
