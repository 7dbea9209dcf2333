"""Expand templates by the wiki's own definitions, the pages of its namespace Template.

A dump of pages-articles holds these pages, and those of Lua modules. What cannot be known without the wiki's server
(the database, a module that fails) is `UNKNOWN` in the result.

https://www.mediawiki.org/wiki/Help:Templates, https://www.mediawiki.org/wiki/Transclusion
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import normalise_title
from wikianchor.pipelines.wikimedia.wikitext.braces import Argument, Call, Nodes, Parameter, parse_braces
from wikianchor.pipelines.wikimedia.wikitext.modules import Frame, Modules
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import (
    FUNCTIONS,
    INVOKE,
    NUMBERS,
    PREFIXES,
    SERVED,
    UNFORMATTED,
    UNKNOWN,
    VARIABLES,
    magic_word,
    unsure,
)
from wikianchor.pipelines.wikimedia.wikitext.served import FACTS, DumpFacts, Served, message_title
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags

TEMPLATE = 10
FindTemplate = Callable[[str], str | None]
"""Returns the body of a template (`transcluded`) by its normalised title without the namespace; None if the wiki has no
such template, or its body is not kept."""
BLOCK = "{|"
"""The body of a template that makes a block of its own, in place of its whole definition."""
# Longer definitions are those of infoboxes and lists.
LONGEST = 50_000
_LIMITS = package_json("pipelines.wikimedia", "limits.json")
# Nodes that one call may evaluate, and levels of calls in calls. MediaWiki has 1,000,000 and 100.
MAX_NODES: int = _LIMITS["calls_nodes"]
MAX_DEPTH: int = _LIMITS["calls_depth"]
# Characters of texts, arguments and results of functions that one call may put together; MediaWiki has nearly as many
# bytes for a page.
MAX_SIZE: int = _LIMITS["calls_size"]
# Characters.
LONGEST_RESULT: int = _LIMITS["calls_result"]
# Beginnings of the names of templates that modules show although a rule leaves them out: coordinates.
_SHOWN = tuple(package_json("pipelines.wikimedia", "templates.json")["shown_by_modules"])
_INCLUSION = re.compile(r"<(/?)(noinclude|includeonly|onlyinclude)\s*(/?)>", re.IGNORECASE)
_NO_TEMPLATE = re.compile(r"\s*[:/#]")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)


def transcluded(text: str) -> str:
    """Return what a page shows where it is transcluded, by its tags `noinclude`, `includeonly` and `onlyinclude`.

    Args:
        text: wikitext of a template.

    Returns:
        Wikitext without comments and extension tags.

    >>> transcluded("a<noinclude>b</noinclude><includeonly>c</includeonly><!-- d --><ref>e</ref>")
    'ac'
    """
    text = _COMMENT.sub("", text)
    only = "<onlyinclude>" in text.lower()
    shown: list[str] = []
    position, hidden, inside = 0, False, not only
    for tag in _INCLUSION.finditer(text):
        if not hidden and inside:
            shown.append(text[position : tag.start()])
        position = tag.end()
        name, closes = tag[2].lower(), bool(tag[1])
        if tag[3]:
            continue
        if name == "noinclude":
            hidden = not closes
        elif name == "onlyinclude" and not hidden:
            inside = not closes
    if not hidden and inside:
        shown.append(text[position:])
    return strip_extension_tags("".join(shown), Counter())


def template_title(name: str, site: Site) -> str:
    """Return the normalised title, without its namespace, of the template that a call names; "" if it names none.

    The title of a message, of which `{{int:and}}` shows the text, has its namespace.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> site = site_for("dewiki")
    >>> [template_title(name, site) for name in ("citation_needed", "Vorlage:Box", ":A page", "User:A/b", "#if:")]
    ['Citation needed', 'Box', '', '', '']
    """
    # The name of a call over several lines ends in a line feed.
    name = name.strip("\n ")
    start = 0
    while not _NO_TEMPLATE.match(name, start):
        colon = name.find(":", start)
        if not start and fold_name(name[: max(colon, 0)]) == "int":
            return message_title(name[colon + 1 :])
        namespace = site.namespaces.get(fold_name(name[start:colon])) if colon >= 0 else None
        if namespace is None:
            prefix = site.namespace_names[TEMPLATE] + ":"
            return (normalise_title(prefix + name[start:], site) or "").removeprefix(prefix)
        if namespace != TEMPLATE:
            # {{Template:A}} is {{A}}; {{User:A}} is no template.
            return ""
        start = colon + 1
    return ""


@lru_cache(maxsize=1 << 12)
def _parsed(body: str) -> Nodes:
    return parse_braces(body)


@dataclass
class _Frame:
    """A call that is being expanded: the arguments by name, unnamed ones by their number, from "1"; and the title of
    the template, without its namespace, "" of a page."""

    arguments: Mapping[str, str]
    depth: int
    title: str = ""


class Definitions:
    """Expands the templates of one wiki.

    Args:
        site: the wiki.
        find: the definitions.
        number: formats a number in the language of the wiki.
        fallback: what a template shows by a rule, from its name and its arguments, if its own definition does not tell;
            None without such a rule.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> pages = {"Country": "[[{{{1|}}}]]{{#if:{{{2|}}}|, in {{lc:{{{2}}}}}}}"}
    >>> Definitions(site_for("enwiki"), pages.get).expand("country", {"1": "Chad", "2": "AFRICA"}, "A")
    '[[Chad]], in africa'
    """

    def __init__(
        self,
        site: Site,
        find: FindTemplate,
        number: Callable[[str], str] = str,
        fallback: Callable[[str, Mapping[str, str]], str | None] = lambda name, arguments: None,
    ) -> None:
        self._site = site
        self._find = find
        self._number = number
        self._fallback = fallback
        self._words = language_facts(site.language).words
        self._title_of = lru_cache(maxsize=1 << 14)(partial(template_title, site=site))
        self._nodes = self._size = 0
        facts = DumpFacts(**json.loads(find(FACTS) or "{}"))
        # A citation or another note, which its rule leaves out of sentences.
        self._is_note = lru_cache(maxsize=1 << 12)(
            lambda title: bool(title) and fallback(title, {}) == "" and not title.lower().startswith(_SHOWN)
        )
        self._served = Served(site, facts.date, find)
        self._modules = Modules(site, find, self, self._served) if facts.lua else None

    @property
    def runs_modules(self) -> bool:
        """Whether Lua modules are run."""
        return self._modules is not None

    def read_revision(self, timestamp: str) -> None:
        """Set the time of the revision of the page that is read next, ISO 8601; "" if it is not known."""
        self._served.revision = timestamp

    def begin(self, length: int) -> None:
        """Begin a page of so many characters, whose modules share a budget."""
        if self._modules is not None:
            self._modules.begin(length)

    def serve(self, name: str, arguments: Sequence[str]) -> str:
        """Return what a function of SERVED shows."""
        return unsure("".join(arguments)) or self._served.show(SERVED[name], arguments)

    def choose(self, title: str, page: str, shown: str, other: str) -> str:
        """Return what `{{#ifexist:}}` shows of a title on a page, from its two branches."""
        return unsure(title) or self._served.choose(title, page, shown, other)

    def invoke(
        self,
        module: str,
        function: str,
        arguments: Mapping[str, str],
        title: str,
        given: Mapping[str, str],
        page: str,
        depth: int,
    ) -> str:
        """Return what a function of a module shows; UNKNOWN where modules are not run.

        Args:
            module, function, arguments: those of the call.
            title, given: of the template that the call stands in, as for `_Frame`.
            page: title of the page with the call.
            depth: level of the call.
        """
        if self._modules is None or self._is_note(title) or unsure(module + function):
            return UNKNOWN
        kept = self._nodes, self._size
        if not self._modules.is_running:
            self._nodes = self._size = 0
        parent = Frame(f"{self._site.namespace_names[TEMPLATE]}:{title}" if title else page, given)
        shown = self._modules.show(module, function, Frame("", arguments), parent, page, depth)
        self._nodes, self._size = kept
        return shown if len(shown) <= LONGEST_RESULT else UNKNOWN

    def show(self, nodes: Nodes, arguments: Mapping[str, str], depth: int, page: str) -> str:
        """Return the wikitext that parsed wikitext becomes in a module."""
        return self._shown(nodes, _Frame(arguments, depth), page)

    def expand(self, name: str, arguments: Mapping[str, str], page: str) -> str | None:
        """Return the wikitext that a call shows.

        Args:
            name: name of the template, as the call has it.
            arguments: values by name, unnamed ones by their number, from "1".
            page: title of the page with the call.

        Returns:
            None if the wiki's definition is not known. UNKNOWN stands where words are.
        """
        self._nodes = self._size = 0
        return self._template(name, arguments, page, 0)

    def evaluate(self, call: str, page: str) -> str:
        """Return what a parser function shows that stands on a page, given without its braces."""
        self._nodes = self._size = 0
        return self._shown(parse_braces("{{" + call + "}}"), _Frame({}, 0), page)

    def body(self, name: str) -> str | None:
        """Return the definition of a template, None if it is not known."""
        title = self._title_of(name)
        return self._find(title) if title else None

    def _template(self, name: str, arguments: Mapping[str, str], page: str, depth: int) -> str | None:
        body = self.body(name)
        if body is None:
            return None
        shown = self._shown(_parsed(body), _Frame(arguments, depth + 1, self._title_of(name)), page)
        if UNKNOWN in shown and (known := self._fallback(name.strip(), arguments)) is not None:
            return self._counted(known)
        return shown if len(shown) <= LONGEST_RESULT else UNKNOWN

    def _shown(self, nodes: Nodes, frame: _Frame, page: str) -> str:
        """Return the wikitext that parsed wikitext becomes."""
        shown: list[str] = []
        for node in nodes:
            self._nodes += 1
            if isinstance(node, str):
                shown.append(self._counted(node))
            elif self._nodes > MAX_NODES or frame.depth > MAX_DEPTH:
                shown.append(UNKNOWN)
            else:
                shown.append(
                    self._parameter(node, frame, page) if isinstance(node, Parameter) else self._call(node, frame, page)
                )
        return "".join(shown)

    def _counted(self, text: str) -> str:
        """Return a text if there is room for it in what the call puts together, otherwise UNKNOWN."""
        self._size += len(text)
        return text if self._size <= MAX_SIZE else UNKNOWN

    def _parameter(self, node: Parameter, frame: _Frame, page: str) -> str:
        inner = _Frame(frame.arguments, frame.depth + 1, frame.title)
        name = self._shown(node.name, inner, page).strip()
        if name in frame.arguments:
            return self._counted(frame.arguments[name])
        return "{{{" + name + "}}}" if node.default is None else self._shown(node.default, inner, page)

    def _call(self, node: Call, frame: _Frame, page: str) -> str:
        inner = _Frame(frame.arguments, frame.depth + 1, frame.title)
        name = self._shown(node.name, inner, page).strip()
        if UNKNOWN in name:
            return UNKNOWN
        if not node.arguments:
            word = self._words.get(name, name)
            text = self.serve("#time", [VARIABLES[word]]) if word in VARIABLES else magic_word(word, page)
            if text is not None:
                return self._counted(text)
        start = 0
        while (end := name.find(":", start)) >= 0 and self._canonical(name[start:end]) in PREFIXES:
            start = end + 1
        name = name[start:].strip()
        head, colon, first = name.partition(":")
        key = self._canonical(head)
        if colon and key in NUMBERS:
            given = _Given(self, first, node.arguments, inner, page)
            unchanged = given.text(1).upper() in UNFORMATTED
            return self._counted(first.strip() if unchanged else self._number(first.strip()))
        if colon and key in FUNCTIONS:
            return self._counted(FUNCTIONS[key](_Given(self, first, node.arguments, inner, page)))
        if colon and key in SERVED:
            given = _Given(self, first, node.arguments, inner, page)
            return self._counted(self.serve(key, [given.text(index) for index in range(len(given))]))
        if colon and key in INVOKE:
            function = _Given(self, first, node.arguments, inner, page).text(1)
            arguments = self._arguments(node.arguments[1:], inner, page)
            shown = self.invoke(first.strip(), function, arguments, frame.title, frame.arguments, page, inner.depth)
            return self._counted(shown)
        if name.startswith("#"):
            return UNKNOWN
        arguments = self._arguments(node.arguments, inner, page)
        shown_by_template = self._template(name, arguments, page, inner.depth)
        if shown_by_template is None and (known := self._fallback(name, arguments)) is not None:
            shown_by_template = self._counted(known)
        return UNKNOWN if shown_by_template is None else shown_by_template

    def _arguments(self, nodes: Sequence[Argument], inner: _Frame, page: str) -> dict[str, str]:
        """Return the arguments of a call by name, unnamed ones by their number."""
        arguments: dict[str, str] = {}
        number = 0
        for argument in nodes:
            if argument.name is None:
                number += 1
                arguments[str(number)] = self._shown(argument.value, inner, page)
            else:
                arguments[self._shown(argument.name, inner, page).strip()] = self._shown(
                    argument.value, inner, page
                ).strip()
        return arguments

    def _canonical(self, name: str) -> str:
        """Return the canonical name of a function."""
        key = name.strip().lower()
        return self._words.get(key, key)


class _Given:
    """The arguments of a function (`parser_functions.Arguments`), evaluated when they are asked for."""

    def __init__(
        self, definitions: Definitions, first: str, rest: tuple[Argument, ...], frame: _Frame, page: str
    ) -> None:
        self._definitions, self._first, self._rest, self._frame, self._page = definitions, first, rest, frame, page

    def __len__(self) -> int:
        return len(self._rest) + 1

    def text(self, position: int) -> str:
        if position == 0:
            return self._first.strip()
        if position > len(self._rest):
            return ""
        name, value = self._rest[position - 1]
        return self._shown(value) if name is None else f"{self._shown(name)}={self._shown(value)}"

    def pair(self, position: int) -> tuple[str, Callable[[], str]] | None:
        name, value = self._rest[position - 1]
        return None if name is None else (self._shown(name), lambda: self._shown(value))

    def choose(self, title: str, shown: str, other: str) -> str:
        return self._definitions.choose(title, self._page, shown, other)

    def _shown(self, nodes: Nodes) -> str:
        return self._definitions._shown(nodes, self._frame, self._page).strip()
