"""Pages that are no articles about one thing: disambiguation pages and lists, told by their templates and titles.

Data: `data/page_kinds.json`. The wikis' own flag, `page_props.disambiguation`, is not in an XML dump; the behaviour
switch behind it
(https://www.mediawiki.org/wiki/Extension:Disambiguator) and the names of the templates that hold it are.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from importlib import resources


class PageKinds:
    """Tells the kinds of the pages of one language."""

    def __init__(self, language: str) -> None:
        templates, titles = _data(language)
        names = "|".join(re.escape(name).replace(r"\ ", "[ _]") for name in templates)
        self._disambiguation = re.compile(rf"\{{\{{\s*(?i:{names})\s*[|}}\n]")
        self._list = re.compile("|".join(titles) or "(?!)")

    def flags(self, title: str, text: str) -> list[str]:
        """Return the flags of an article, of `wikianchor.schemas.titles.FLAGS`."""
        found = []
        if "__DISAMBIG__" in text or self._disambiguation.search(text):
            found.append("disambiguation")
        if self._list.search(title):
            found.append("list")
        return found


@lru_cache(maxsize=64)
def _data(language: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    path = resources.files("wikianchor.pipelines.wikimedia") / "data" / "page_kinds.json"
    with path.open(encoding="utf-8") as file:
        data: dict[str, dict[str, list[str]]] = json.load(file)
    keys = dict.fromkeys(("*", language.split("-")[0], language))
    return (
        tuple(name for key in keys for name in data["disambiguation"].get(key, ())),
        tuple(pattern for key in keys for pattern in data["list"].get(key, ())),
    )
