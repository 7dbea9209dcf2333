"""Say of a page of the namespace Template what it shows where it is transcluded."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.braces import Call, Nodes, Parameter, parse_braces
from wikianchor.pipelines.wikimedia.wikitext.definitions import LONGEST, transcluded
from wikianchor.pipelines.wikimedia.wikitext.inline import frames_text, makes_block
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS
from wikianchor.pipelines.wikimedia.wikitext.served import PREFIX

_CATEGORY = re.compile(r"\[\[[^\[\]|:]*:[^\[\]]*\]\]")
_BLANK = re.compile(r"\s*")
_MODULES = re.compile(r"#invoke:\s*([^|{}<>]*[^|{}<>\s])")
_REQUIRED = re.compile(r"""["']Module:([^"'\n]+)["']""")
# What a module shows depends on other pages than those it names, on which pages exist, or on the date of the dump.
_COMPUTED = re.compile(
    r"(?:require|loadData|loadJsonData)\s*\(?\s*[^(\s\"']|:(?:preprocess|expandTemplate|callParserF)|os\.|Date|mw\.message|\.exists\b"
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


def definition_of(text: str, title_of: Callable[[str], str], core: Any = None) -> Definition:
    """Return the definition of a template that is no redirect.

    Args:
        text: wikitext of the page.
        title_of: returns the normalised title of a template by its name in a call, "" if it is no template.
        core: `TemplateReader` of the compiled core; None to read with Python.

    >>> definition_of("{{Box|{{{1}}}}}<noinclude>[[Category:A]]</noinclude>", str)
    Definition(kind='text', body='{{Box|{{{1}}}}}', first='Box', calls=('Box',), disambiguation=False)
    >>> definition_of("{| class=a", str).kind, definition_of("{{#invoke:A|b}}", str).kind
    ('block', 'server')
    """
    body = core.transcluded(text) if core else transcluded(text)
    if len(body) > LONGEST:
        return Definition("long")
    facts = Facts(*core.facts(body)) if core else facts_of(body)
    if facts.block:
        return Definition("block", disambiguation=facts.disambiguation)
    kind = "server" if facts.is_call and facts.first.lower().startswith("#invoke") else "text"
    first = title_of(facts.first) if facts.first else ""
    named = (name for name in facts.names if name.partition(":")[0].strip().lower() not in FUNCTIONS)
    calls = {*filter(None, map(title_of, named)), *(f"{PREFIX}{name}" for name in _MODULES.findall(body))}
    return Definition(kind, body, first or None, tuple(sorted(calls)), facts.disambiguation)


class Facts(NamedTuple):
    """What of a template's wikitext its definition says.

    Attributes:
        block: whether what stands outside of all braces, which every call shows, makes a block that frames no text.
        disambiguation: whether it marks the pages that call it as disambiguation pages.
        first: the name of the call that it begins with, "" if there is none or the name is computed.
        is_call: whether that call is all that it shows.
        names: the names of all calls.
    """

    block: bool
    disambiguation: bool
    first: str
    is_call: bool
    names: Collection[str]


def facts_of(body: str) -> Facts:
    """Read what a template shows where it is transcluded."""
    nodes = parse_braces(body)
    words = [node for node in nodes if not (isinstance(node, str) and _BLANK.fullmatch(_CATEGORY.sub("", node)))]
    first = words[0] if words else ""
    shown = "".join([node if isinstance(node, str) else "x" for node in nodes])
    return Facts(
        block=makes_block(shown) and not frames_text(shown),
        disambiguation=DISAMBIGUATION in body and _is_set(nodes),
        first=_name(first) if isinstance(first, Call) else "",
        is_call=len(words) == 1 and isinstance(first, Call),
        names=set(_called(nodes)),
    )


def definition_of_module(source: str) -> Definition:
    """Return the definition of a Lua module.

    >>> definition_of_module("return require('Module:Yesno')").calls
    ('Module:Yesno',)
    >>> definition_of_module("return mw.title.new(name).exists").calls
    ('Module:*',)
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


def _called(nodes: Nodes) -> Iterator[str]:
    """Yield the names of the calls in parsed wikitext."""
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Parameter):
            waiting += (*node.name, *(node.default or ()))
        elif isinstance(node, Call):
            if name := _name(node):
                yield name
            waiting += node.name
            for argument in node.arguments:
                waiting += (*(argument.name or ()), *argument.value)
