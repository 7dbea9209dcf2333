"""Show what `{{#invoke:}}` shows, by the Lua modules of the wiki, and answer the questions that they ask.

Lua runs in a process of its own (`lua.process`). What cannot be known without the wiki's server, and a call that fails
or reaches a limit, is UNKNOWN.

https://www.mediawiki.org/wiki/Extension:Scribunto
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.lua.process import LuaProcess, Shown
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import normalise_title
from wikianchor.pipelines.wikimedia.wikitext.braces import Argument, Call, Nodes, parse_braces
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_form, number_writer
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED, protect
from wikianchor.pipelines.wikimedia.wikitext.served import MODULE, PREFIX, Served
from wikianchor.pipelines.wikimedia.wikitext.styles import hidden_classes, without_hidden

_LIMITS = package_json("pipelines.wikimedia", "limits.json")
# Instructions of Lua for a call; for a page, and for each character of it.
CALL_BUDGET: int = _LIMITS["lua_call"]
PAGE_BUDGET: int = _LIMITS["lua_page"]
CHARACTER_BUDGET: int = _LIMITS["lua_character"]
# Results that are kept, and their characters.
_KEPT, _KEPT_LENGTH = 1 << 14, 1 << 22
# Characters.
LONGEST_NUMBER = 1000
_MARK = re.compile(f"{GAP}{NAMED}*|{UNKNOWN}")
# Control characters other than those of `placeholders.protect`, which only stand for markup.
_CONTROL = re.compile(f"{GAP}{NAMED}*|[\x00-\x06\x0b\x0c\x0d\x1c-\x1f]")

Pairs = tuple[tuple[str, str], ...]


class Frame(NamedTuple):
    """A call whose arguments Lua reads: the title of the page that is transcluded, and its arguments by name."""

    title: str
    arguments: Mapping[str, str]


class Expander(Protocol):
    """Expands wikitext for modules: `Definitions`."""

    def show(self, nodes: Nodes, arguments: Mapping[str, str], depth: int, page: str) -> str:
        """Return the wikitext that parsed wikitext becomes, with what is left of the limits of the call."""


class Modules:
    """The Lua modules of one wiki.

    Args:
        site: the wiki.
        find: returns the source of a module by PREFIX and its title.
        expander: expands what modules give back to MediaWiki.
        served: the functions that need facts of the wiki.
    """

    def __init__(self, site: Site, find: Callable[[str], str | None], expander: Expander, served: Served) -> None:
        self._site, self._find, self._expander, self._served = site, find, expander, served
        self._process = LuaProcess(_facts(site), self._answer)
        self._results: dict[tuple[Any, ...], tuple[str, int]] = {}
        self._length = 0
        self._left = PAGE_BUDGET
        # Of the calls that run, outermost first: the frame, the level, the title of the page.
        self._running: list[tuple[Frame, int, str]] = []
        self._marks: set[str] = set()
        # Classes that the style sheets hide which the calls name.
        self._hidden: set[str] = set()
        self._of_page = False
        # What is said of pages that may exist: "1" or "0", "" to end the call.
        self._exist = ""

    @property
    def is_running(self) -> bool:
        """Whether a call is in a call."""
        return bool(self._running)

    def begin(self, length: int) -> None:
        """Begin a page of so many characters."""
        self._left = PAGE_BUDGET + CHARACTER_BUDGET * length

    def show(self, module: str, function: str, frame: Frame, parent: Frame, page: str, depth: int) -> str:
        """Return the wikitext that a function of a module shows.

        Args:
            module, function: their names.
            frame: the call.
            parent: the template that the call stands in.
            page: title of the page.
            depth: level of the call.
        """
        if self._running:
            return self._run(module, function, frame, parent, page, depth, CALL_BUDGET)[0]
        key = (module, function, *map(_pairs, (frame, parent)), parent.title)
        known = self._results.get(key) or self._results.get((*key, page))
        if known is None:
            if self._left <= 0:
                return UNKNOWN
            self._marks, self._hidden, self._of_page = set(), set(), False
            known = self._run(module, function, frame, parent, page, depth, CALL_BUDGET)
            self._length += len(known[0])
            if len(self._results) >= _KEPT or self._length > _KEPT_LENGTH:
                self._results.clear()
                self._length = 0
            self._results[(*key, page) if self._of_page else key] = known
        shown, cost = known
        self._left -= cost
        return shown

    def close(self) -> None:
        """End the process that runs Lua."""
        self._process.close()

    def _run(
        self, module: str, function: str, frame: Frame, parent: Frame, page: str, depth: int, budget: int
    ) -> tuple[str, int]:
        title = f"{PREFIX}{module}"
        self._running.append((frame, depth, page))
        try:
            given = [[each.title, _flat(each.arguments.items())] for each in (Frame(title, frame.arguments), parent)]
            ok, text, cost, of_page = self._invoke(page, budget, title, function, *given)
            self._of_page = self._of_page or of_page
        finally:
            self._running.pop()
        marks = {mark for each in (frame, parent) for value in each.arguments.values() for mark in _MARK.findall(value)}
        marks |= self._marks
        if not ok or not all(mark in text for mark in marks):
            # A decision may rest on words that are missing.
            return UNKNOWN, cost
        text = _CONTROL.sub(lambda match: match[0] if match[0] in marks else "", text)
        return without_hidden(text, self._hidden), cost

    def _invoke(self, *call: Any) -> Shown:
        """Run a call; if it asks which pages exist, it counts where all and none of them show the same."""
        shown = self._process.invoke(*call)
        if shown.ok or shown.text != "exists" or len(self._running) > 1:
            return shown
        self._exist = "1"
        with_all = self._process.invoke(*call)
        self._exist = "0"
        with_none = self._process.invoke(*call)
        self._exist = ""
        ok = with_all.ok and with_none.ok
        ok = ok and self._served.without_categories(with_all.text) == self._served.without_categories(with_none.text)
        return Shown(ok, with_none.text, shown.cost + with_all.cost + with_none.cost, of_page=True)

    def _answer(self, name: str, *arguments: Any) -> Any:
        """Answer a question of the libraries in Lua."""
        answer = getattr(self, f"_answer_{name}", None)
        return self._served.answer(name, *arguments) if answer is None else answer(*arguments)

    def _answer_source(self, title: str) -> str | None:
        head, colon, name = title.partition(":")
        if not colon or (fold_name(head) != "module" and self._site.namespaces.get(fold_name(head)) != MODULE):
            return None
        name = " ".join(name.replace("_", " ").split())
        return self._find(PREFIX + name[:1].upper() + name[1:])

    def _answer_preprocess(self, text: str, *flat: str) -> str:
        return self._expanded(parse_braces(text), flat)

    def _answer_template(self, title: str, *flat: str) -> str:
        return self._expanded((Call((title,), tuple(map(_argument, _pairs_of(flat)))),), ())

    def _answer_function(self, name: str, *flat: str) -> str:
        values = [value if key.isdecimal() else f"{key}={value}" for key, value in _pairs_of(flat)]
        head, colon, first = name.partition(":")
        values = [first, *values] if colon else values
        rest = tuple(Argument(None, (value,)) for value in values[1:])
        return self._expanded((Call((f"{head}:{values[0] if values else ''}",), rest),), ())

    def _expanded(self, nodes: Nodes, flat: Iterable[str]) -> str:
        frame, depth, page = self._running[-1]
        self._of_page = True
        shown = self._expander.show(nodes, dict(_pairs_of(tuple(flat))) or frame.arguments, depth + 1, page)
        self._marks.update(_MARK.findall(shown))
        return shown

    def _answer_styles(self, source: str) -> str:
        self._hidden |= hidden_classes(self._answer_source(source) or "")
        return ""

    def _answer_title(self, text: str, namespace: float) -> list[Any]:
        name, _, fragment = text.partition("#")
        prefix = self._site.namespace_names.get(int(namespace), "")
        head, colon, rest = name.partition(":")
        known = self._site.namespaces.get(fold_name(head)) if colon else None
        if known is None and prefix:
            name = f"{prefix}:{name}"
        title = normalise_title(name.removeprefix(":"), self._site)
        if not title:
            return []
        head, colon, rest = title.partition(":")
        known = self._site.namespaces.get(fold_name(head)) if colon else None
        return [known or 0, rest if known else title, fragment.strip().replace("_", " "), ""]

    def _answer_exists(self, namespace: float, text: str) -> str:
        self._of_page = True
        return "1" if self._served.exists(int(namespace), text, self._running[-1][2]) else self._exist

    def _answer_nowiki(self, text: str) -> str:
        return protect(text)

    def _answer_number(self, language: str, text: str) -> str:
        return number_writer(language)(text) if len(text) <= LONGEST_NUMBER else text

    def _answer_plain_number(self, language: str, text: str) -> str:
        form = number_form(language)
        text = text.translate({ord(digit): str(value) for value, digit in enumerate(form.digits)})
        text = text.replace(form.thousands, "") if form.thousands else text
        return text.replace(form.decimal, ".").replace("−", "-")

    def _answer_fallbacks(self, language: str) -> list[str]:
        return [*language_facts(language).fallbacks, "en"]


def _facts(site: Site) -> dict[str, Any]:
    """Return what `mw.site` says."""
    names = {0: "", -1: "Special", -2: "Media", **site.namespace_names}
    canonical = package_json("pipelines.wikimedia", "languages.json")["canonical_namespaces"]
    if MODULE not in names:
        names |= {MODULE: "Module", MODULE + 1: "Module talk"}
    namespaces = [
        {"id": key, "name": name, "canonical": canonical.get(str(key), name)} for key, name in sorted(names.items())
    ]
    host = site.article_path.removesuffix("/wiki/")
    return {"language": site.language, "name": names.get(4, ""), "server": host, "namespaces": namespaces}


def _pairs(frame: Frame) -> Pairs:
    return tuple(frame.arguments.items())


def _flat(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return names and values in turn: numbered arguments first, as MediaWiki has them."""
    ordered = sorted(pairs, key=lambda pair: not (pair[0].isdecimal() and pair[0][0] != "0"))
    return [text for pair in ordered for text in pair]


def _pairs_of(flat: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    return zip(flat[::2], flat[1::2], strict=True)


def _argument(pair: tuple[str, str]) -> Argument:
    return Argument((pair[0],), (pair[1],))
