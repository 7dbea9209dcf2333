"""The rules of `data/templates.json`: what a reader sees of a template call, made of its arguments.

A rule is "" for a template that shows nothing in the sentence, or a text with slots: {1} is the first argument, {name}
a named one, {2|1} the second or else the first, {#1} the first written as a number, {*} all that have no name, one
after another; {measure} is a number with its unit, as {{convert|5|to|10|km|mi}} begins. A slot has to be filled, but
for those in brackets, [ ({2})], which are shown only if they are; brackets themselves are {open} and {close}. {?lc}
says that an argument has to be there, {!3} that it must not. Where a rule does not fit a call, what follows "||" is
tried, and if nothing fits, words are missing: a `GAP`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import resources

from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, protect

_SLOT = re.compile(r"\{([^{}]*)\}")
_CONDITION = re.compile(r"\{([?!])([^{}]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_VALUE = re.compile(r"[-+−]?[\d.,/+]+(?:[eE][-+]?\d+)?")
# Slots for what has a meaning in a rule. They must not make a link where another bracket stands beside them.
_SIGNS = {"open": protect("["), "close": protect("]")}
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
    path = resources.files("wikianchor.pipelines.wikimedia") / "data" / "templates.json"
    with path.open(encoding="utf-8") as file:
        tables: Mapping[str, Mapping[str, Mapping[str, list[str]]]] = json.load(file)
    return tables


@lru_cache(maxsize=1)
def _units() -> Mapping[str, str]:
    units = _tables()["units"]["*"]
    return {code: shown for shown, codes in units.items() for code in codes}


def fill(rule: str, arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Return what a call shows by its rule.

    Args:
        rule: of the template.
        arguments: by name, the others by number from "1".
        number: writes a number as the language does.
    """
    return next((shown for one in rule.split("||") if (shown := _filled(one, arguments, number)) is not None), GAP)


def _filled(rule: str, arguments: Mapping[str, str], number: Callable[[str], str]) -> str | None:
    """Return what a call shows by one rule, None where it does not fit."""

    def value(keys: str) -> str:
        if keys in _SIGNS:
            return _SIGNS[keys]
        if keys == "*":
            return "".join(arguments.get(str(place), "") for place in range(1, len(arguments) + 1))
        if keys == "measure":
            return _measure(arguments, number)
        for key in keys.lstrip("#").split("|"):
            if found := arguments.get(key):
                return number(found) if keys.startswith("#") else found
        return ""

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(value(keys) for keys in _slots(match[1])[1::2]) else ""

    conditions, rule = _conditions(rule)
    if any(bool(arguments.get(key)) != (sign == "?") for sign, key in conditions):
        return None
    while "[" in rule:
        rule = _OPTIONAL.sub(optional, rule)
    parts = list(_slots(rule))
    values = parts[1::2] = list(map(value, parts[1::2]))
    return "".join(parts) if all(values) else None


@lru_cache(maxsize=4096)
def _conditions(rule: str) -> tuple[list[tuple[str, str]], str]:
    """Return the conditions of a rule, each a sign and an argument, and the rule without them."""
    return _CONDITION.findall(rule), _CONDITION.sub("", rule)


@lru_cache(maxsize=4096)
def _slots(rule: str) -> list[str]:
    """Return the text of a rule and what stands in its slots by turns, text first and last."""
    return _SLOT.split(rule)


def _measure(arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Return "5 to 10 km" for |5|to|10|km|mi, "5 ft 11 in" for |5|ft|11|in|m; "" for what is no number with a unit."""
    shown, place = "", 1
    while True:
        written, word = arguments.get(str(place), ""), arguments.get(str(place + 1), "")
        if not _VALUE.fullmatch(written) or not word:
            return ""
        shown += number(written.replace(",", "").replace("+", " "))
        following = arguments.get(str(place + 2), "")
        if word in _RANGES:
            shown += _RANGES[word]
        elif _VALUE.fullmatch(following) and arguments.get(str(place + 3)):
            shown += f" {_units().get(word, word)} "
        else:
            return f"{shown} {_units().get(word, word)}"
        place += 2
