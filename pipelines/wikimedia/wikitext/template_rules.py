"""The rules of `data/templates.json`: what a reader sees of a template call, made of its arguments.

A rule is "" for a template that shows nothing in the sentence, or a text with slots: {1} is the first argument, {name}
a named one, {2|1} the second or else the first, {#1} the first written as a number, {*} all that have no name, one
after another. What stands in brackets, [ ({2})], is shown only where its slots are filled; brackets themselves are
{open} and {close}. {measure} is a number with its unit, as {{convert|5|to|10|km|mi}} begins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources

from pipelines.wikimedia.wikitext.marks import GAP

_SLOT = re.compile(r"\{([^{}]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_VALUE = re.compile(r"[-+−]?[\d.,/+]+(?:[eE][-+]?\d+)?")
# Slots for what has a meaning in a rule.
_SIGNS = {"open": "[", "close": "]"}
# Words that join the numbers of a range in {{convert}}.
_RANGES = {
    **{word: f" {word} " for word in ("to", "and", "or", "by")},
    **dict.fromkeys(("-", "–", "to-"), "–"),
    **dict.fromkeys(("x", "×"), " × "),
    **dict.fromkeys(("+/-", "±"), " ± "),
}


@lru_cache(maxsize=64)
def template_rules(language: str) -> Mapping[str, str]:
    """Return template name, lower-case -> rule, for a language; the rules for all languages included.

    The name "lang-*" covers all that begin so.
    """
    merged: dict[str, str] = {}
    for key in ("*", language.split("-")[0], language):
        for rule, names in _tables()["rules"].get(key, {}).items():
            merged.update(dict.fromkeys(names, rule))
    return merged


@lru_cache(maxsize=1)
def _tables() -> Mapping[str, Mapping[str, Mapping[str, list[str]]]]:
    path = resources.files("pipelines.wikimedia") / "data" / "templates.json"
    with path.open(encoding="utf-8") as file:
        tables: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.load(file)
    return tables


@lru_cache(maxsize=1)
def _units() -> Mapping[str, str]:
    units = _tables()["units"]["*"]
    return {code: shown for shown, codes in units.items() for code in codes}


def fill(rule: str, arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Return what a call shows by its rule; a `GAP` where nothing is left to show.

    Args:
        rule: not "".
        arguments: by name, the others by number from "1".
        number: writes a number as the language does.
    """

    def value(keys: str) -> str:
        if keys in _SIGNS:
            return _SIGNS[keys]
        if keys == "*":
            unnamed = (arguments.get(str(place), "") for place in range(1, len(arguments) + 1))
            return "".join(unnamed)
        if keys == "measure":
            return _measure(arguments, number)
        write = number if keys.startswith("#") else str
        return write(next((arguments[key] for key in keys.lstrip("#").split("|") if arguments.get(key)), ""))

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(value(keys) for keys in _SLOT.findall(match[1])) else ""

    if "[" in rule:
        while (shorter := _OPTIONAL.sub(optional, rule)) != rule:
            rule = shorter
    shown = _SLOT.sub(lambda match: value(match[1]), rule)
    # Nothing to show where words were meant to stand: a hole all the same.
    return shown if shown.strip() else GAP


def _measure(arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Return "5 to 10 km" for |5|to|10|km|mi; "" for what is no number."""
    shown, place = "", 1
    while True:
        written = arguments.get(str(place), "")
        if not _VALUE.fullmatch(written):
            return ""
        shown += number(written.replace(",", ""))
        join = _RANGES.get(arguments.get(str(place + 1), ""))
        if join is None:
            break
        shown += join
        place += 2
    unit = arguments.get(str(place + 1), "")
    return f"{shown} {_units().get(unit, unit)}".rstrip()
