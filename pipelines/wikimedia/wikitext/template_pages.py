"""Say of a page of the namespace Template what it shows where it is transcluded."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.braces import Call, Nodes, Parameter, parse_braces
from wikianchor.pipelines.wikimedia.wikitext.definitions import LONGEST, transcluded
from wikianchor.pipelines.wikimedia.wikitext.inline import makes_block
from wikianchor.pipelines.wikimedia.wikitext.modules import PREFIX
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS

_CATEGORY = re.compile(r"\[\[[^\[\]|:]*:[^\[\]]*\]\]")
_BLANK = re.compile(r"\s*")
_MODULES = re.compile(r"#invoke:\s*([^|{}<>]*[^|{}<>\s])")
_REQUIRED = re.compile(r"""["']Module:([^"'\n]+)["']""")
# What a module shows depends on other pages than those it names, or on the date of the dump.
_COMPUTED = re.compile(
    r"(?:require|loadData|loadJsonData)\s*\(?\s*[^(\s\"']|:(?:preprocess|expandTemplate|callParserF)|os\.|Date"
)
ANY = f"{PREFIX}*"
"""Among the calls of a module: it may call any page."""
DISAMBIGUATION: str = package_json("pipelines.wikimedia", "characters.json")["disambiguation_switch"]


class Definition(NamedTuple):
    """What a template shows; the fields are those of `schemas.templates`."""

    kind: str
    body: str | None = None
    first: str | None = None
    calls: tuple[str, ...] = ()
    disambiguation: bool = False


def definition_of(text: str, title_of: Callable[[str], str]) -> Definition:
    """Return the definition of a template that is no redirect.

    Args:
        text: wikitext of the page.
        title_of: returns the normalised title of a template by its name in a call, "" if it is no template.

    >>> definition_of("{{Box|{{{1}}}}}<noinclude>[[Category:A]]</noinclude>", str)
    Definition(kind='text', body='{{Box|{{{1}}}}}', first='Box', calls=('Box',), disambiguation=False)
    >>> definition_of("{| class=a", str).kind, definition_of("{{#invoke:A|b}}", str).kind
    ('block', 'server')
    """
    body = transcluded(text)
    if len(body) > LONGEST:
        return Definition("long")
    nodes = parse_braces(body)
    disambiguation = DISAMBIGUATION in body and _is_set(nodes)
    # What stands outside of all braces is shown by every call.
    if makes_block("".join([node if isinstance(node, str) else "x" for node in nodes])):
        return Definition("block", disambiguation=disambiguation)
    words = [node for node in nodes if not (isinstance(node, str) and _BLANK.fullmatch(_CATEGORY.sub("", node)))]
    only = words[0] if len(words) == 1 else None
    is_server = isinstance(only, Call) and _name(only).lower().startswith("#invoke")
    first = title_of(_name(words[0])) if words and isinstance(words[0], Call) else ""
    calls = {*_called(nodes, title_of), *(f"{PREFIX}{name}" for name in _MODULES.findall(body))}
    kind = "server" if is_server else "text"
    return Definition(kind, body, first or None, tuple(sorted(calls)), disambiguation)


def definition_of_module(source: str) -> Definition:
    """Return the definition of a Lua module.

    >>> definition_of_module("return require('Module:Yesno')").calls
    ('Module:Yesno',)
    """
    calls = {f"{PREFIX}{name.strip()}" for name in _REQUIRED.findall(source)}
    return Definition("module", source, calls=tuple(sorted(calls | ({ANY} if _COMPUTED.search(source) else set()))))


def _is_set(nodes: Nodes) -> bool:
    """Return whether parsed wikitext has the switch outside of conditions, other than those on the namespace."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            if DISAMBIGUATION in node:
                return True
        elif isinstance(node, Call) and "NAMESPACE" in _texts(node.name):
            for argument in node.arguments:
                waiting += argument.value
    return False


def _texts(nodes: Nodes) -> str:
    """Return the text of parsed wikitext, with the names of the calls in it."""
    return "".join([node if isinstance(node, str) else _name(node) if isinstance(node, Call) else "" for node in nodes])


def _name(call: Call) -> str:
    """Return the name of a call, "" if it is computed."""
    return call.name[0].strip() if len(call.name) == 1 and isinstance(call.name[0], str) else ""


def _called(nodes: Nodes, title_of: Callable[[str], str]) -> Iterator[str]:
    """Yield the titles of the templates that are named in parsed wikitext."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Parameter):
            waiting += (*node.name, *(node.default or ()))
        elif isinstance(node, Call):
            name = _name(node)
            if name and name.partition(":")[0].strip().lower() not in FUNCTIONS and (title := title_of(name)):
                yield title
            waiting += node.name
            for argument in node.arguments:
                waiting += (*(argument.name or ()), *argument.value)
