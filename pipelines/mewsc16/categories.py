"""Read the categories of a page from its wikitext.

A link to the category namespace without a leading colon puts the page in that category, wherever the link is on the
page (https://www.mediawiki.org/wiki/Help:Categories). Category names are page titles without the namespace.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags

# A sort key may contain templates and line feeds, but no link. The prefix ends at the first colon: linear time.
_LINK = re.compile(r"\[\[([^\[\]{}|<>\n:]*:[^\[\]{}|<>\n]*)(?:\|[^\[\]]*)?\]\]")
_CACHE_SIZE = 1 << 16


class CategoryReader:
    """Read the categories of the pages of one wiki.

    Args:
        site: the wiki.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._name = lru_cache(_CACHE_SIZE)(self._read_name)
        self._prefixes = frozenset(name for name, key in site.namespaces.items() if key == CATEGORY)
        templates = "|".join(
            re.escape(name).replace(r"\ ", "[ _]+") for name in language_names("category_redirects", site.language)
        )
        self._soft_redirect = re.compile(rf"\s*\{{\{{\s*(?i:{templates})\s*\|([^{{}}]*)\}}\}}")
        self._target = re.compile(r"\[\[([^\]|\n]*)")

    def categories(self, text: str) -> list[str]:
        """Return the distinct categories in wikitext, in the order of their first links."""
        links = _LINK.findall(text)
        if not links:
            return []
        if "<" in text and any(self._name(raw) for raw in links):
            # Comments and <nowiki> contain no links.
            links = _LINK.findall(strip_extension_tags(text, Counter()))
        return list(dict.fromkeys(filter(None, map(self._name, links))))

    def redirect(self, page: Page) -> str | None:
        """Return the target of a category page that is a redirect or a {{category redirect}}; None for any other."""
        if page.redirect is not None:
            target = page.redirect
            if not target and (match := self._target.search(page.text)):
                target = match[1]
            return self._plain(target)
        match = self._soft_redirect.match(strip_extension_tags(page.text, Counter()))
        if match is None:
            return None
        for argument in match[1].split("|"):
            name, equals, value = argument.partition("=")
            written = value if equals and name.strip().isdigit() else argument
            if written.strip(" \n[]:") and (not equals or name.strip().isdigit()):
                return self._plain(written.strip(" \n[]"))
        return None

    def _plain(self, written: str) -> str | None:
        """Return the name of a category that is written with or without its namespace; None for another page."""
        target = parse_target(written.strip().removeprefix(":"), self._site)
        if target is None or target.interwiki or not target.title:
            return None
        if target.namespace == CATEGORY:
            return target.title.partition(":")[2]
        return target.title if target.namespace == 0 else None

    def _read_name(self, raw: str) -> str:
        """Return the category of a category link, "" for any other link."""
        # The prefix excludes most other links, which saves parsing them.
        prefix = fold_name(raw.partition(":")[0])
        if prefix in self._prefixes or not (prefix in self._site.namespaces or prefix in self._site.interwiki):
            target = parse_target(raw, self._site)
            if target is not None and target.namespace == CATEGORY and not target.colon and not target.interwiki:
                return target.title.partition(":")[2]
        return ""


def follow(name: str, redirects: dict[str, str]) -> str:
    """Return the end of a chain of category redirects; in a cycle, the last category before it repeats."""
    seen = {name}
    while (target := redirects.get(name)) is not None and target not in seen:
        seen.add(target)
        name = target
    return name
