"""Random pages with the templates that they are read with: a wiki's own, mutations of these, and nested sets that are
put together from the constructs of https://www.mediawiki.org/wiki/Help:Templates."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests import fuzzing
from tests.fuzzing import MARKUP, STARTS
from tests.real_pages import site_of
from wikianchor.io.storage import file_size
from wikianchor.pipelines.templates.steps import TemplatePages
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import TEMPLATE, template_title
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS

Definitions = Mapping[str, str]
"""Wikitext of Template pages, by title without the namespace."""
BATCH = 250
# Templates that are mutated together: those of a few names, and what they call.
MUTATED, MUTATED_NAMES = 60, 12
# Names that the built-in rules know stand among those that they do not know.
NAMES = (
    "A",
    "B",
    "C",
    "D",
    "E",
    "a b",
    "Lang",
    "Nowrap",
    "Convert",
    "Lang-xx",
    "Small",
    "Citation needed",
    "IPA",
    "!-",
)
PARAMETERS = ("1", "2", "3", "n", "N", "link", "1 ", "", "{{{1}}}", "{{A}}", "0", "٣")
VALUES = (
    *("", " ", "x", "Ünï", "oak tree", "1", "-2.50", "1000", "1e3", "0", "abc/def", "a=b", "a|b", "[[x|y]]", "[[z]]s"),
    *(
        "\n",
        "{{!}}",
        "{{=}}",
        "{{((}}",
        "<b>c</b>",
        "'''d'''",
        "It is a town in the [[North]]. ",
        "#default",
        "{{{1}}}",
    ),
    *(
        "<nowiki>|</nowiki>",
        "<ref>r</ref>",
        "<!-- c -->",
        "http://a.b",
        "[http://a.b c]",
        "File:A.jpg",
        "京都",
        "５",
        "²",
    ),
)
WORDS = (
    "The ",
    " is a town in the [[North]]",
    " was built in ",
    " of the [[Church|church]]",
    ". ",
    "\n",
    " and ",
    ", ",
)
BLOCKS = (
    "\n* ",
    "\n# ",
    "\n: ",
    "\n; ",
    "{|\n| ",
    "\n|-\n| ",
    "\n|}",
    "\n== ",
    " ==\n",
    "\n\n",
    "<div>",
    "</div>",
    "<br>",
)
BRACES = (
    "{{",
    "}}",
    "{{{",
    "}}}",
    "{",
    "}",
    "{{{{{",
    "}}}}}",
    "[[",
    "]]",
    "|",
    "=",
    "{{subst:",
    "{{{|",
    "{{#if:",
    "{{|",
)
TAGS = ("includeonly", "noinclude", "onlyinclude", "nowiki", "ref", "small", "sup", "span style='display:none'", "poem")
PREFIXES = ("", "", "", "", " ", "Template:", "template:", ":", "subst:", "safesubst:", "msg:", "\n", "_")
# Characters that a program may take for those of MediaWiki's syntax.
ODD = {
    "s": "ſ",
    "k": "\u212a",
    "i": "İıＩ",
    " ": "\u00a0\u2028\u3000\t\x85",
    "1": "١²１",
    ":": "：",
    "|": "｜",
    "\n": "\u2028",
}
DEEPEST, LONGEST_PIECE = 4, 90
_CALLED = re.compile(r"\{\{\s*([^|{}\[\]<>#\n]+?)\s*(?=[|}\n])")
_PARAMETER = re.compile(r"\{\{\{[^{}|]*")


@dataclass
class Fuzz:
    """Makes wikitext of one wiki at random.

    Args:
        chance: decides.
        site: the wiki.
        texts: of real articles.
        sources: wikitext of real templates, which need not be of this wiki.
        names: of the templates that are called.
    """

    chance: random.Random
    site: Site
    texts: Sequence[str]
    sources: Sequence[str]
    names: Sequence[str] = NAMES
    functions: list[str] = field(init=False)

    def __post_init__(self) -> None:
        words = language_facts(self.site.language).words
        self.functions = [*FUNCTIONS, *(word for word, name in words.items() if name in FUNCTIONS), "formatnum", "#x"]

    def one(self, items: Sequence[str]) -> str:
        """Return one of some texts."""
        return items[int(self.chance.random() * len(items))]

    def cut(self, text: str) -> str:
        """Return a piece of a text, which often begins with markup."""
        start = int(self.chance.random() * len(text))
        if self.chance.random() < 0.5:
            start = max(0, text.find(self.one(STARTS), start))
        return text[start : start + int(self.chance.random() ** 2 * LONGEST_PIECE) + 1]

    def pages(self, number: int) -> list[str]:
        """Return the wikitext of pages that call templates."""
        return [self._odd("".join(self._pieces())) for _ in range(number)]

    def _pieces(self) -> Iterator[str]:
        in_words = self.chance.random() < 0.4
        for _ in range(1 + int(self.chance.random() * 9)):
            if in_words:
                yield self.one(WORDS)
            kind = self.chance.random()
            if kind < 0.4:
                yield self.call(1)
            elif kind < 0.65:
                yield self.one(MARKUP)
            else:
                yield self.cut(self.one(self.texts))

    def value(self, depth: int) -> str:
        """Return an argument, or a part of a body."""
        kind = self.chance.random()
        if kind < 0.5 or depth > DEEPEST:
            return self.one(VALUES)
        if kind < 0.7:
            return self.call(depth + 1)
        if kind < 0.8:
            return self.one(MARKUP)
        return self.cut(self.one(self.texts)) if kind < 0.85 else self.value(depth + 1) + self.value(depth + 1)

    def call(self, depth: int) -> str:
        """Return a call of a template or of a parser function, now and then without its end."""
        if self.chance.random() < 0.15:
            return self.function(self.value, depth)
        arguments = "".join([self._argument(depth) for _ in range(int(self.chance.random() ** 1.5 * 5))])
        name = self.one(PREFIXES) + self.one(self.names)
        return "{{" + name + arguments + ("}}" if self.chance.random() < 0.95 else self.one(BRACES))

    def _argument(self, depth: int) -> str:
        name = self.one(PARAMETERS) + self.one(("=", "=", " = ")) if self.chance.random() < 0.3 else ""
        return "|" + name + self.value(depth)

    def function(self, part: Callable[[int], str], depth: int) -> str:
        """Return a call of a parser function; mostly of those that choose."""
        name = self.one(("#if", "#ifeq", "#switch", "#expr", "#ifexpr")) if self.chance.random() < 0.5 else None
        name = name or self.one(self.functions)
        arguments = [part(depth + 1) for _ in range(1 + int(self.chance.random() * 4))]
        if name == "#switch":
            arguments = [
                one + self.one(("=", "")) + part(depth + 1) if number else one for number, one in enumerate(arguments)
            ]
        if name in ("#expr", "#ifexpr") and self.chance.random() < 0.7:
            arguments[0] = " ".join(
                [
                    self.one(
                        (
                            "1",
                            "2.5",
                            "-",
                            "+",
                            "*",
                            "/",
                            "(",
                            ")",
                            "=",
                            "<",
                            "mod",
                            "round",
                            "not",
                            "{{{1}}}",
                            "{{{n|3}}}",
                            "and",
                            "^",
                            "e",
                            "0.1",
                            "1e9",
                        )
                    )
                    for _ in range(int(self.chance.random() * 7))
                ]
            )
        return "{{" + name + ":" + "|".join(arguments) + "}}"

    def body(self, depth: int = 0) -> str:
        """Return the wikitext of a template."""
        if depth > DEEPEST:
            return self.one(VALUES)
        return "".join([self._node(depth) for _ in range(1 + int(self.chance.random() ** 1.5 * 6))])

    def _node(self, depth: int) -> str:
        kind = self.chance.random()
        if kind < 0.2:
            return self.one(VALUES)
        if kind < 0.38:
            default = "|" + self.body(depth + 1) if self.chance.random() < 0.6 else ""
            return "{{{" + self.one(PARAMETERS) + default + "}}}"
        if kind < 0.5:
            return self.call(depth + 1)
        if kind < 0.66:
            return self.function(self.body, depth + 1)
        if kind < 0.74:
            return (
                "[[" + self.body(depth + 2) + ("|" + self.body(depth + 2) if self.chance.random() < 0.6 else "") + "]]"
            )
        if kind < 0.8:
            return self.one(BLOCKS)
        if kind < 0.86:
            tag = self.one(TAGS)
            return f"<{tag}>{self.body(depth + 1)}</{tag.partition(' ')[0]}>"
        if kind < 0.9:
            return self.one(BRACES)
        return self.one(MARKUP) if kind < 0.95 else self.cut(self.one(self.sources))

    def definitions(self) -> dict[str, str]:
        """Return a set of templates, of which most call those after them only: others take as long as is allowed."""
        names, parts = self.names, dict[str, str]()
        for number, name in enumerate(names):
            self.names = names if self.chance.random() < 0.04 else [*names[number + 1 :], "x"]
            if self.chance.random() < 0.8:
                parts[name] = self._definition()
        self.names = names
        return parts

    def _definition(self) -> str:
        if self.chance.random() < 0.06:
            prefix = self.site.namespace_names[10] + ":"
            return f"#REDIRECT [[{prefix}{self.one(self.names)}]]"
        return self._odd(self.body())

    def _odd(self, text: str) -> str:
        """Return a text, one time in ten with an odd character in place of one of its own."""
        position = int(self.chance.random() * 10 * len(text))
        if position >= len(text) or (char := text[position].lower()) not in ODD:
            return text
        return (
            text.replace(text[position], self.one(ODD[char]))
            if position % 2
            else text[:position] + self.one(ODD[char]) + text[position + 1 :]
        )

    def mutated(self, templates: Mapping[str, str]) -> dict[str, str]:
        """Return some templates of a wiki; most of them are changed."""
        return {
            name: self._mutated(text) if self.chance.random() < 0.7 else text
            for name, text in sorted(templates.items())
        }

    def _mutated(self, text: str) -> str:
        for _ in range(1 + int(self.chance.random() * 4)):
            start = int(self.chance.random() * (len(text) + 1))
            end = start + int(self.chance.random() ** 2 * LONGEST_PIECE)
            kind = int(self.chance.random() * 8)
            if kind == 0:
                text = text[:start] + self.one(MARKUP) + text[start:]
            elif kind == 1:
                text = text[:start] + self.cut(self.one(self.sources)) + text[start:]
            elif kind == 2:
                text = text[:start] + text[end:]
            elif kind == 3:
                text = text[:end] + text[start:end] + text[end:]
            elif kind == 4:
                text = text[:start] if self.chance.random() < 0.3 else text[:start] + self._node(2) + text[start:]
            elif kind == 5:
                text = text[:start] + self.one(BRACES) + text[end:]
            elif kind == 6:
                text = self._swapped(text, "|")
            elif parts := _PARAMETER.findall(text):
                text = text.replace(self.one(parts), "{{{" + self.one(PARAMETERS), 1)
        return text

    def _swapped(self, text: str, mark: str) -> str:
        """Return a text with two of its pieces in each other's place."""
        pieces = text.split(mark)
        one, other = (int(self.chance.random() * len(pieces)) for _ in range(2))
        pieces[one], pieces[other] = pieces[other], pieces[one]
        return mark.join(pieces)


class Wiki(NamedTuple):
    """What random pages are made of.

    Attributes:
        site: the wiki.
        texts: its first articles.
        templates: wikitext of its templates by title; none of a slice.
        names: names of templates in calls of `texts`, as often as they are called.
    """

    site: Site
    texts: list[str]
    templates: dict[str, str]
    names: list[str]


@cache
def wikis() -> list[Wiki]:
    """Return the wikis that are whole, with their templates, and after them the slices."""
    data = Path(os.environ["WIKIANCHOR_DATA"])
    whole = [*(data / "with-templates").glob("*wiki-*.xml.bz2"), *(data / "states").glob("*-20220701-*.xml.bz2")]
    slices = [Wiki(*fuzzing.real_pages(language), {}, []) for language in fuzzing.LANGUAGES]
    return [*map(_whole_wiki, sorted(map(str, whole))), *slices]


def _whole_wiki(path: str) -> Wiki:
    site = site_of(path)
    pages, texts, templates = TemplatePages(site), list[str](), dict[str, str]()
    for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
        namespace = page_namespace(raw, path)
        if namespace == TEMPLATE:
            page = parse_page(raw, path)
            templates[pages.title(page)] = page.text
        elif not namespace and len(texts) < fuzzing.PAGES and b"<redirect" not in raw:
            texts.append(parse_page(raw, path).text)
    templates.pop("", None)
    # A dump of templates alone goes with a slice.
    texts = [text for text in texts if text] or fuzzing.real_pages(site.language)[1]
    names = _called(texts, site, templates)
    return Wiki(site, texts, templates, names or sorted(templates))


def _called(texts: Sequence[str], site: Site, templates: Definitions) -> list[str]:
    """Return the names of templates that texts call, as often as they call them."""
    names = [name for text in texts for name in _CALLED.findall(text)]
    known = {name for name in {*names} if template_title(name, site) in templates}
    return [name for name in names if name in known]


class Batch(NamedTuple):
    """Random pages that are read together.

    Attributes:
        kind: how they are made.
        whose: a name for wiki and templates, where other batches have the same; else "".
        site: the wiki.
        definitions: its templates; None for the built-in rules.
        texts: wikitext of the pages.
    """

    kind: str
    whose: str
    site: Site
    definitions: Definitions | None
    texts: list[str]


def make_batch(seed: int, number: int) -> Batch:
    """Return the pages of a number, which depend on it and the seed alone. Of five batches three have templates."""
    chance = random.Random(seed * 1_000_000_007 + number)
    known = wikis()
    whole = [wiki for wiki in known if wiki.templates]
    kind = number % 5
    if kind in (0, 2):
        which = int(chance.random() * len(known))
        site, texts = known[which][:2]
        return Batch("without templates", f"rules {which}", site, None, _splices(chance, texts, BATCH))
    which = int(chance.random() * len(whole))
    site, texts, templates, names = whole[which]
    fuzz = Fuzz(chance, site, texts, list(templates.values()), names)
    if kind == 1:
        pages = [*_splices(chance, texts, BATCH // 2), *fuzz.pages(BATCH - BATCH // 2)]
        return Batch("by the wiki's templates", f"templates {which}", site, templates, pages)
    if kind == 3:
        fuzz.names = [fuzz.one(names) for _ in range(MUTATED_NAMES)]
        definitions = fuzz.mutated(_with_callees(fuzz.names, site, templates))
        return Batch("by mutated templates", "", site, definitions, fuzz.pages(BATCH))
    # The language is any, the templates to cut from are of one.
    site, texts = fuzz.chance.choice(known)[:2]
    fuzz = Fuzz(chance, site, texts, fuzz.sources)
    return Batch("by random templates", "", site, fuzz.definitions(), fuzz.pages(BATCH))


def _splices(chance: random.Random, texts: Sequence[str], number: int) -> list[str]:
    return [fuzzing.splice(chance, texts) for _ in range(number)]


def _with_callees(names: Sequence[str], site: Site, templates: Definitions) -> dict[str, str]:
    """Return the templates of some names, and those that they call."""
    parts: dict[str, str] = {}
    waiting = list(names)
    while waiting and len(parts) < MUTATED:
        title = template_title(waiting.pop(), site)
        if title in templates and title not in parts:
            parts[title] = templates[title]
            waiting += _CALLED.findall(templates[title])
    return parts
