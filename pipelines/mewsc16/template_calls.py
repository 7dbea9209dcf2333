"""Find the outermost template calls of wikitext, in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BRACES = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")


class TemplateCall(NamedTuple):
    """A template call: its offsets with braces, and its arguments; the first is the name."""

    start: int
    end: int
    arguments: list[str]

    def by_name(self) -> dict[str, str]:
        """Return the arguments by name, unnamed ones by their number, from "1"."""
        named: dict[str, str] = {}
        number = 0
        for argument in self.arguments[1:]:
            name, equals, value = argument.partition("=")
            if equals and not any(sign in name for sign in ("[[", "{{", "<")):
                named[name.strip()] = value.strip()
            else:
                number += 1
                named[str(number)] = argument
        return named


def outermost_calls(text: str) -> Iterator[TemplateCall]:
    """Yield the template calls that are in no other call.

    >>> [call.arguments for call in outermost_calls("a {{b|[[c|d]]|{{e|f}}}} {{g}} {{h")]
    [['b', '[[c|d]]', '{{e|f}}'], ['g']]
    """
    depth = brackets = start = 0
    bars: list[int] = []
    for sign in _BRACES.finditer(text):
        if sign[0] == "{{":
            if not depth:
                start, bars, brackets = sign.start(), [sign.end()], 0
            depth += 1
        elif not depth:
            continue
        elif sign[0] == "|":
            if depth == 1 and not brackets:
                bars.append(sign.end())
        elif sign[0] == "[[":
            brackets += 1
        elif sign[0] == "]]":
            brackets = max(0, brackets - 1)
        else:
            depth -= 1
            if not depth:
                ends = [*(bar - 1 for bar in bars[1:]), sign.start()]
                yield TemplateCall(start, sign.end(), [text[bar:end] for bar, end in zip(bars, ends, strict=True)])
