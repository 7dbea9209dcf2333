"""Parse the braces of a template's wikitext: calls, `{{name|argument}}`, and parameters, `{{{name|default}}}`.

The rules for nested braces are those of MediaWiki's preprocessor
(https://www.mediawiki.org/wiki/Preprocessor_ABNF): of a run of closing braces three end a parameter and two a call,
innermost first, and a "|" inside of `[[...]]` separates no arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple, Union

from wikianchor.io.package_data import package_json

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
MAX_DEPTH: int = package_json("pipelines.wikimedia", "limits.json")["braces_depth"]
_TOKEN = re.compile(r"\{{2,}|\}{2,}|\[\[|\]\]|[|=]")


@dataclass
class _Open:
    """Braces or brackets that are not closed yet.

    Attributes:
        width: number of braces; 0 for brackets.
        arguments: nodes of each argument that has been read.
        equals: the index of the node "=" after the name of each argument, -1 if it has none.
    """

    width: int
    arguments: list[list[Node]] = field(default_factory=lambda: [[]])
    equals: list[int] = field(default_factory=lambda: [-1])


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
        sign = token[0]
        top = stack[-1]
        if sign == "=" and (not top.width or len(top.arguments) == 1 or top.equals[-1] >= 0):
            # Text: a node for each such sign would take memory.
            continue
        if token.start() > position:
            top.arguments[-1].append(text[position : token.start()])
        position = token.end()
        if sign[0] in "{[" and len(stack) <= MAX_DEPTH:
            stack.append(_Open(len(sign) if sign[0] == "{" else 0))
        elif sign[0] == "}" and top.width:
            _close(len(sign), stack)
        elif sign == "]]" and len(stack) > 1 and not top.width:
            stack.pop()
            stack[-1].arguments[-1] += ("[[", *_flat(top), "]]")
        elif sign == "|" and top.width:
            top.arguments.append([])
            top.equals.append(-1)
        else:
            if sign == "=":
                top.equals[-1] = len(top.arguments[-1])
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
            node = Parameter(_joined(first), _joined(rest[0]) if rest else None)
        else:
            node = Call(_joined(first), tuple(map(_argument, rest, top.equals[1:])))
        width -= taken
        top.width -= taken
        if top.width >= 2:
            top.arguments, top.equals = [[node]], [-1]
        else:
            stack.pop()
            stack[-1].arguments[-1] += ("{" * top.width, node)
    stack[-1].arguments[-1].append("}" * width)


def _argument(nodes: list[Node], equals: int) -> Argument:
    if equals < 0:
        return Argument(None, _joined(nodes))
    return Argument(_joined(nodes[:equals]), _joined(nodes[equals + 1 :]))


def _flat(unclosed: _Open) -> list[Node]:
    """Return what is inside of braces or brackets as text with calls."""
    nodes: list[Node] = []
    for number, argument in enumerate(unclosed.arguments):
        nodes += ("|", *argument) if number else argument
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
