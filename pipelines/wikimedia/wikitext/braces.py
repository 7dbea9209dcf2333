"""Parse the braces of a template's wikitext: calls, `{{name|argument}}`, and parameters, `{{{name|default}}}`.

The rules for nested braces are those of MediaWiki's preprocessor
(https://www.mediawiki.org/wiki/Preprocessor_ABNF): of a run of closing braces three end a parameter and two a call,
innermost first, and a "|" inside of `[[...]]` separates no arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, Union

Nodes = tuple["Node", ...]
Node = Union[str, "Parameter", "Call"]


class Parameter(NamedTuple):
    """`{{{name|default}}}`; `default` is None if there is none."""

    name: Nodes
    default: Nodes | None


class Argument(NamedTuple):
    """An argument of a call; `name` is None if it is not named."""

    name: Nodes | None
    value: Nodes


class Call(NamedTuple):
    """`{{name|arguments}}`: a template, a parser function or a magic word."""

    name: Nodes
    arguments: tuple[Argument, ...]


# Deeper braces are text; no template comes near it.
MAX_DEPTH = 60
_TOKEN = re.compile(r"\{{2,}|\}{2,}|\[\[|\]\]|[|=]")
# Stands for the "=" after the name of an argument, which no call is named.
_EQUALS = Call(("\x00=",), ())


@dataclass
class _Open:
    """Braces or brackets that are not closed yet: their number, and the arguments read so far."""

    width: int
    arguments: list[list[Node]] = field(default_factory=lambda: [[]])


def parse_braces(text: str) -> Nodes:
    """Parse wikitext without comments and extension tags, in linear time.

    >>> parse_braces("a {{b|c=d}} {{{1|}}}")
    ('a ', Call(name=('b',), arguments=(Argument(name=('c',), value=('d',)),)), ' ', Parameter(name=('1',), default=()))
    """
    page = _Open(0)
    # Brackets have the width 0, as the page has.
    stack = [page]
    position = 0
    for token in _TOKEN.finditer(text):
        if token.start() > position:
            stack[-1].arguments[-1].append(text[position : token.start()])
        position = token.end()
        sign = token[0]
        top = stack[-1]
        if sign[0] in "{[" and len(stack) <= MAX_DEPTH:
            stack.append(_Open(len(sign) if sign[0] == "{" else 0))
        elif sign[0] == "}" and top.width:
            _close(len(sign), stack)
        elif sign == "]]" and len(stack) > 1 and not top.width:
            stack.pop()
            stack[-1].arguments[-1] += ("[[", *_flat(top), "]]")
        elif sign == "|" and top.width:
            top.arguments.append([])
        elif sign == "=" and top.width and len(top.arguments) > 1 and _EQUALS not in top.arguments[-1]:
            top.arguments[-1].append(_EQUALS)
        else:
            top.arguments[-1].append(sign)
    page_nodes = stack[0].arguments[-1]
    for unclosed in stack[1:]:
        page_nodes += ("{" * unclosed.width or "[[", *_flat(unclosed))
    page_nodes.append(text[position:])
    return _joined(page_nodes)


def _close(width: int, stack: list[_Open]) -> None:
    """End the calls and parameters that a run of closing braces ends; braces that are left over are text."""
    while width >= 2 and (top := stack[-1]).width:
        taken = min(3, width, top.width)
        first, *rest = top.arguments
        node: Node
        if taken == 3:
            node = Parameter(_joined(first), _joined(_plain(rest[0])) if rest else None)
        else:
            node = Call(_joined(first), tuple(map(_argument, rest)))
        width -= taken
        top.width -= taken
        if top.width >= 2:
            top.arguments = [[node]]
        else:
            stack.pop()
            stack[-1].arguments[-1] += ("{" * top.width, node)
    stack[-1].arguments[-1].append("}" * width)


def _argument(nodes: list[Node]) -> Argument:
    if _EQUALS not in nodes:
        return Argument(None, _joined(nodes))
    place = nodes.index(_EQUALS)
    return Argument(_joined(nodes[:place]), _joined(nodes[place + 1 :]))


def _plain(nodes: list[Node]) -> list[Node]:
    return ["=" if node is _EQUALS else node for node in nodes]


def _flat(unclosed: _Open) -> list[Node]:
    """Return what is inside of braces or brackets as text with calls."""
    nodes: list[Node] = []
    for number, argument in enumerate(unclosed.arguments):
        nodes += ("|", *_plain(argument)) if number else _plain(argument)
    return nodes


def _joined(nodes: list[Node]) -> Nodes:
    """Join neighbouring texts; leave empty ones out."""
    joined: list[Node] = []
    texts: list[str] = []
    for node in nodes:
        if isinstance(node, str):
            texts.append(node)
            continue
        if text := "".join(texts):
            joined.append(text)
        texts = []
        joined.append(node)
    if text := "".join(texts):
        joined.append(text)
    return tuple(joined)
