"""Recognise disambiguation pages and lists by their templates and titles.

The patterns are in `data/page_kinds.json`. XML dumps do not contain the flag `page_props.disambiguation`, but they
contain what sets it: the behaviour switch __DISAMBIG__ (https://www.mediawiki.org/wiki/Extension:Disambiguator) and the
templates that include it: those in the data by name, and those of the wiki by their own pages.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from wikianchor.io.package_data import package_json

_SWITCH: str = package_json("pipelines.wikimedia", "characters.json")["disambiguation_switch"]
# The name in a call, and the sign that ends it.
_CALL = re.compile(r"\{\{\s*([^{}|\n]+)([|}\n]?)")


def patterns_of(kind: str, language: str) -> list[str]:
    """Return what shows a kind of pages of a language: of "disambiguation" the names of templates, with a small first
    letter, of "list" expressions for titles."""
    patterns: dict[str, list[str]] = package_json("pipelines.wikimedia", "page_kinds.json")[kind]
    return [name for key in dict.fromkeys(("*", language.split("-")[0], language)) for name in patterns.get(key, ())]


class PageKinds:
    """Recognises disambiguation pages and lists in one language.

    Args:
        language: that of the wiki.
        marks_disambiguation: returns whether a template, by its name in a call, marks disambiguation pages by the
            wiki's own definition; None if the definitions are not at hand.

    Attributes:
        marks_disambiguation: the same, remembered for the last names.

    >>> PageKinds("en").flags("Mercury", "'''Mercury''' may be: {{disambiguation}}")
    ['disambiguation']
    >>> PageKinds("en").flags("List of planets", "* [[Mars]]")
    ['list']
    """

    def __init__(self, language: str, marks_disambiguation: Callable[[str], bool] | None = None) -> None:
        self._names = frozenset(map(_folded, patterns_of("disambiguation", language)))
        self.marks_disambiguation = lru_cache(maxsize=1 << 14)(marks_disambiguation) if marks_disambiguation else None
        self._list = re.compile("|".join(patterns_of("list", language)) or "(?!)")

    def flags(self, title: str, text: str) -> list[str]:
        """Return the flags of an article (`wikianchor.schemas.titles.FLAGS`), [] for an ordinary one."""
        flags = []
        if _SWITCH in text or self._is_marked(text):
            flags.append("disambiguation")
        if self.is_list(title):
            flags.append("list")
        return flags

    def is_list(self, title: str) -> bool:
        """Return whether an article is a list by its title."""
        return self._list.search(title) is not None

    def _is_marked(self, text: str) -> bool:
        marks = self.marks_disambiguation
        return any(
            (end and _folded(name.rstrip()) in self._names) or (marks is not None and marks(name))
            for name, end in _CALL.findall(text)
        )


def _folded(name: str) -> str:
    return name.lower().replace("_", " ")
