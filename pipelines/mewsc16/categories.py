"""Categories of a page: wikitext in, the names of the categories it is put in out.

A link to the category namespace without a leading colon is a membership wherever it stands on the page
(https://www.mediawiki.org/wiki/Help:Categories). Names are as in titles, without the namespace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags

# A sort key may hold templates and line feeds, but no link. The first colon ends the prefix, so that many take no time.
_LINK = re.compile(r"\[\[([^\[\]{}|<>\n:]*:[^\[\]{}|<>\n]*)(?:\|[^\[\]]*)?\]\]")
_MOST_REMEMBERED = 1 << 16


class CategoryReader:
    """Reads the categories of the pages of one wiki; remembers what it has read."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._known: dict[str, str] = {}
        names = {name for name, key in site.namespaces.items() if key == CATEGORY}
        self._prefixes = frozenset(names)
        templates = "|".join(
            re.escape(name).replace(r"\ ", "[ _]+") for name in language_names("category_redirects", site.language)
        )
        self._soft_redirect = re.compile(rf"\s*\{{\{{\s*(?i:{templates})\s*\|([^{{}}]*)\}}\}}")
        self._target = re.compile(r"\[\[([^\]|\n]*)")

    def categories(self, text: str) -> list[str]:
        """Return the categories that wikitext names, each once, in their order."""
        links = _LINK.findall(text)
        if not links:
            return []
        if "<" in text and any(self._name(raw) for raw in links):
            # What stands in a comment or in nowiki is no link.
            links = _LINK.findall(strip_extension_tags(text, Counter()))
        return list(dict.fromkeys(filter(None, map(self._name, links))))

    def redirect(self, page: Page) -> str | None:
        """Return the category that a category page stands for, by a redirect or by a template that says so; None for
        an ordinary one."""
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
        """Return the name of a category that may be written without its namespace."""
        target = parse_target(written.strip().removeprefix(":"), self._site)
        if target is None or target.interwiki or not target.title:
            return None
        if target.namespace == CATEGORY:
            return target.title.partition(":")[2]
        return target.title if target.namespace == 0 else None

    def _name(self, raw: str) -> str:
        """Return the category that a link puts its page in, "" for a link of another kind."""
        found = self._known.get(raw)
        if found is None:
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            found = ""
            # Most links with a colon lead elsewhere: the prefix tells.
            prefix = fold_name(raw.partition(":")[0])
            if prefix in self._prefixes or not (prefix in self._site.namespaces or prefix in self._site.interwiki):
                target = parse_target(raw, self._site)
                if target is not None and target.namespace == CATEGORY and not target.colon and not target.interwiki:
                    found = target.title.partition(":")[2]
            self._known[raw] = found
        return found


def follow(name: str, redirects: dict[str, str]) -> str:
    """Return where a chain of category redirects ends; a circle ends where it began."""
    seen = {name}
    while (target := redirects.get(name)) is not None and target not in seen:
        seen.add(target)
        name = target
    return name


def aliases(names: Iterable[str], redirects: dict[str, str]) -> dict[str, str]:
    """Return name -> the name it stands for, of every name in a list and of those that redirect to one."""
    wanted = dict.fromkeys(names)
    found = {name: name for name in wanted}
    for name in redirects:
        if name not in found and (end := follow(name, redirects)) in wanted:
            found[name] = end
    return found
