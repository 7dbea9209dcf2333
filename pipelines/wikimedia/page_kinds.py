"""Recognise disambiguation pages and lists by their templates and titles.

The patterns are in `data/page_kinds.json`. XML dumps do not contain the flag `page_props.disambiguation`, but they
contain what sets it: the behaviour switch __DISAMBIG__ (https://www.mediawiki.org/wiki/Extension:Disambiguator) and the
templates that include it.
"""

from __future__ import annotations

import re

from wikianchor.io.package_data import package_json


class PageKinds:
    """Recognises disambiguation pages and lists in one language.

    >>> PageKinds("en").flags("Mercury", "'''Mercury''' may be: {{disambiguation}}")
    ['disambiguation']
    >>> PageKinds("en").flags("List of planets", "* [[Mars]]")
    ['list']
    """

    def __init__(self, language: str) -> None:
        data: dict[str, dict[str, list[str]]] = package_json("pipelines.wikimedia", "page_kinds.json")
        keys = dict.fromkeys(("*", language.split("-")[0], language))
        templates = [name for key in keys for name in data["disambiguation"].get(key, ())]
        titles = [pattern for key in keys for pattern in data["list"].get(key, ())]
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
