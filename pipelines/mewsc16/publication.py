"""Determine whether a Wikinews page is published: by its templates, and by the categories that it is in.

The names are in `data/wikis.json`, each with its evidence. A name that a wiki does not have changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wikianchor.pipelines.mewsc16.editions import wiki_facts


class PublicationReader:
    """Read the status of pages from their templates.

    Args:
        language: the wiki's language.
    """

    def __init__(self, language: str) -> None:
        self._published = _calls(wiki_facts()["published"].get(language, {}).get("templates", ()))
        self._unpublished = _calls(wiki_facts()["unpublished"].get(language, {}).get("templates", ()))

    def status(self, text: str, in_category: bool, in_drafts: bool = False) -> str:
        """Return "published", "unpublished", or "unknown" for a page without any sign.

        Args:
            text: wikitext of the page.
            in_category: whether it is in a category of published pages.
            in_drafts: whether it is in a category of unpublished pages.
        """
        if self._unpublished.search(text) or (in_drafts and not in_category):
            return "unpublished"
        return "published" if in_category or self._published.search(text) else "unknown"


def _calls(names: Iterable[str]) -> re.Pattern[str]:
    """Return an expression for calls of templates; without names, one that never matches."""
    either = "|".join(re.escape(name).replace(r"\ ", "[ _]+") for name in names)
    return re.compile(rf"\{{\{{\s*(?i:{either})\s*[|}}\n]" if either else "(?!)")
