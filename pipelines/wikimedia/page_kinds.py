"""Recognise disambiguation pages and lists by their templates and titles.

The patterns are in `data/page_kinds.json`. XML dumps do not contain the flag `page_props.disambiguation`, but they
contain what sets it: the behaviour switch __DISAMBIG__ (https://www.mediawiki.org/wiki/Extension:Disambiguator) and the
templates that include it.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources


class PageKinds:
    """Recognises disambiguation pages and lists in one language.

    >>> PageKinds("en").flags("Mercury", "'''Mercury''' may be: {{disambiguation}}")
    ['disambiguation']
    >>> PageKinds("en").flags("List of planets", "* [[Mars]]")
    ['list']
    """

    def __init__(self, language: str) -> None:
        templates, titles = _data(language)
        names = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in templates)
        self._disambiguation = re.compile(rf"\{{\{{\s*(?i:{names})\s*[|}}\n]")
        self._list = re.compile("|".join(titles) or "(?!)")

    def flags(self, title: str, text: str) -> list[str]:
        """Return the flags of an article (`wikianchor.schemas.titles.FLAGS`), [] for an ordinary one."""
        flags = []
        if "__DISAMBIG__" in text or self._disambiguation.search(text):
            flags.append("disambiguation")
        if self._list.search(title):
            flags.append("list")
        return flags


@lru_cache(maxsize=64)
def _data(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of disambiguation templates and the patterns of list titles of a language."""
    path = resources.files("wikianchor.pipelines.wikimedia") / "data" / "page_kinds.json"
    with path.open(encoding="utf-8") as file:
        data: dict[str, dict[str, list[str]]] = json.load(file)
    keys = dict.fromkeys(("*", language.split("-")[0], language))
    return (
        tuple(name for key in keys for name in data["disambiguation"].get(key, ())),
        tuple(pattern for key in keys for pattern in data["list"].get(key, ())),
    )
