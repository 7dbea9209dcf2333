"""Determine whether a Wikinews page is published: by its templates, and by the categories that it is in.

The names are in `data/wikis.json`, each with its evidence. A name that a wiki does not have changes nothing.
"""

from __future__ import annotations

import re
from functools import cache

from wikianchor.pipelines.mewsc16.editions import wiki_facts


def publication_status(text: str, language: str, in_category: bool, in_drafts: bool) -> str:
    """Return "published", "unpublished", or "unknown" for a page without any sign.

    Args:
        text: wikitext of the page.
        language: the wiki's language.
        in_category: whether it is in a category of published pages.
        in_drafts: whether it is in a category of unpublished pages.
    """
    if _calls("unpublished", language).search(text) or (in_drafts and not in_category):
        return "unpublished"
    return "published" if in_category or _calls("published", language).search(text) else "unknown"


@cache
def _calls(kind: str, language: str) -> re.Pattern[str]:
    """Return an expression for calls of the templates of a kind; one that never matches where a wiki has none."""
    names = wiki_facts()[kind].get(language, {}).get("templates", ())
    either = "|".join(re.escape(name).replace(r"\ ", "[ _]+") for name in names)
    return re.compile(rf"\{{\{{\s*(?i:{either})\s*[|}}\n]" if either else "(?!)")
