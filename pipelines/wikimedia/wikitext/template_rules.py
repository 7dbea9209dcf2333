"""Render template calls by the rules of `data/templates.json`.

A rule is "" for a template that shows nothing in a sentence. Otherwise it is a text with slots:

    {1} {name} {2|1}    the first argument; a named one; the second, or else the first
    {#1}                the first argument, formatted as a number
    {*}                 all unnamed arguments, one after another
    {measure}           a number with its unit, from the arguments of {{convert|5|to|10|km|mi}}
    [ ({2})]            optional text: shown only if its slots have values
    {open} {close}      square brackets
    {link} {end}        the brackets around a link
    {?lc} {!3}          conditions: the argument must be given; must not be given
    {!words}            no unnamed argument may hold words: on some wikis the template wraps the text that it marks

All other slots must have values. If a rule does not fit a call, the rule after "||" is tried. If none fits, the call
leaves a `GAP`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import is_wikipedia
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, protect

_SLOT = re.compile(r"\{([^{}]*)\}")
_CONDITION = re.compile(r"\{([?!])([^{}]*)\}")
_OPTIONAL = re.compile(r"\[([^\[\]]*)\]")
_VALUE = re.compile(r"[-+−]?[\d.,/+]+(?:[eE][-+]?\d+)?")
# "12 de mayo de 2010" is a date.
_DATE_WORDS: int = package_json("pipelines.wikimedia", "limits.json")["date_words"]
# Protected, so that two brackets do not become a link.
_SIGNS = {"open": protect("["), "close": protect("]"), "link": "[[", "end": "]]"}
# The key of the rules for wikis that are no Wikipedia.
_SISTERS = "sisters"


@lru_cache(maxsize=64)
def template_rules(wiki: str, language: str) -> Mapping[str, str]:
    """Return the rules of a wiki by lower-case template name, including the rules of all wikis.

    The name "lang-*" stands for all templates whose names begin with "lang-".

    Args:
        wiki: its database name.
        language: code of its language.
    """
    merged: dict[str, str] = {}
    for key in ("*", *(() if is_wikipedia(wiki) else (_SISTERS,)), language.split("-")[0], language):
        for rule, names in _table("rules").get(key, {}).items():
            merged.update(dict.fromkeys(names, rule))
    return merged


def _table(name: str) -> Any:
    return package_json("pipelines.wikimedia", "templates.json")[name]


@lru_cache(maxsize=2)
def measures(table: str) -> Mapping[str, str]:
    """Return what {{convert}} shows for its codes: the signs of "units", or for words between the numbers of "ranges".

    >>> measures("units")["km2"], measures("ranges")["x"]
    ('km²', ' × ')
    """
    return {code: shown for shown, codes in _table(table)["*"].items() for code in codes}


def fill(rule: str, arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Render a template call.

    Args:
        rule: that of the template, with alternatives separated by "||".
        arguments: values by name; unnamed ones by their number, from "1".
        number: formats a number in the language of the wiki.

    Returns:
        The visible text, GAP if no alternative fits.

    >>> fill("{1}[ ({2})]", {"1": "Kyiv"}, str), fill("{1}[ ({2})]", {"1": "Kyiv", "2": "city"}, str)
    ('Kyiv', 'Kyiv (city)')
    """
    alternatives = rule.split("||")
    return next((text for part in alternatives if (text := _filled(part, arguments, number)) is not None), GAP)


def _filled(rule: str, arguments: Mapping[str, str], number: Callable[[str], str]) -> str | None:
    """Render a call by one alternative of a rule; return None if it does not fit."""

    def value(keys: str) -> str:
        if keys in _SIGNS:
            return _SIGNS[keys]
        if keys == "*":
            return "".join(_unnamed(arguments))
        if keys == "measure":
            return _measure(arguments, number)
        for key in keys.lstrip("#").split("|"):
            if argument := arguments.get(key):
                return number(argument) if keys.startswith("#") else argument
        return ""

    def optional(match: re.Match[str]) -> str:
        return match[1] if all(value(keys) for keys in _slots(match[1])[1::2]) else ""

    conditions, rule = _conditions(rule)
    for sign, key in conditions:
        given = any(map(_holds_words, _unnamed(arguments))) if key == "words" else bool(arguments.get(key))
        if given != (sign == "?"):
            return None
    while "[" in rule:
        rule = _OPTIONAL.sub(optional, rule)
    parts = list(_slots(rule))
    values = parts[1::2] = list(map(value, parts[1::2]))
    return "".join(parts) if all(values) else None


def _unnamed(arguments: Mapping[str, str]) -> list[str]:
    """Return the unnamed arguments in their order."""
    return [arguments.get(str(position), "") for position in range(1, len(arguments) + 1)]


def _holds_words(argument: str) -> bool:
    """Return whether an argument may be text of the page; a date is none, nor the name of an option."""
    words = argument.split()
    is_date = len(words) <= _DATE_WORDS and any(char.isdecimal() for char in argument)
    return any(char.isalpha() for char in argument) and not is_date


@lru_cache(maxsize=4096)
def _conditions(rule: str) -> tuple[list[tuple[str, str]], str]:
    """Return the conditions of a rule, each a sign and an argument, and the rule without them."""
    return _CONDITION.findall(rule), _CONDITION.sub("", rule)


@lru_cache(maxsize=4096)
def _slots(rule: str) -> list[str]:
    """Return text and slots of a rule alternately, text first and last."""
    return _SLOT.split(rule)


def _measure(arguments: Mapping[str, str], number: Callable[[str], str]) -> str:
    """Return "5 to 10 km" for |5|to|10|km|mi, "5 ft 11 in" for |5|ft|11|in|m; "" if it is no number with a unit."""
    shown, position = "", 1
    units, ranges = measures("units"), measures("ranges")
    while True:
        value, word = arguments.get(str(position), ""), arguments.get(str(position + 1), "")
        if not _VALUE.fullmatch(value) or not word:
            return ""
        shown += number(value.replace(",", "").replace("+", " "))
        following = arguments.get(str(position + 2), "")
        if word in ranges:
            shown += ranges[word]
        elif _VALUE.fullmatch(following) and arguments.get(str(position + 3)):
            shown += f" {units.get(word, word)} "
        else:
            return f"{shown} {units.get(word, word)}"
        position += 2
