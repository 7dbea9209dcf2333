"""Read the categories of a page from its wikitext.

A link to the category namespace without a leading colon puts the page in that category, wherever the link is on the
page, and also in what a template shows there (https://www.mediawiki.org/wiki/Help:Categories). Category names are page
titles without the namespace.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from itertools import islice

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names
from wikianchor.pipelines.mewsc16.template_calls import outermost_calls
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext.definitions import Definitions, FindTemplate, template_title
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags

# A sort key may contain templates and line feeds, but no link. The prefix ends at the first colon: linear time.
_LINK = re.compile(r"\[\[([^\[\]{}|<>\n:]*:[^\[\]{}|<>\n]*)(?:\|[^\[\]]*)?\]\]")
_CACHE_SIZE = 1 << 16
# The names of calls.
_CALLED = re.compile(r"\{\{\s*(?:[a-z]{3,9}:)?([^{}|\n<>\[\]#]{1,120})")
# Calls of a page that are expanded, and templates that are looked through for one: hostile ones take bounded time.
MAX_CALLS = 100


class CategoryReader:
    """Read the categories of the pages of one wiki.

    Args:
        site: the wiki.
        find_body: the bodies of its templates, which may set categories; None if they are not at hand.
    """

    def __init__(self, site: Site, find_body: FindTemplate | None = None) -> None:
        self._site = site
        self._find_body = find_body
        self._definitions = Definitions(site, find_body) if find_body else None
        names = "|".join(re.escape(name) for name, key in sorted(site.namespaces.items()) if key == CATEGORY)
        # The namespace may be computed, as in [[{{ns:14}}:A]].
        self._sets_category = re.compile(rf"\[\[\s*(?:(?i:{names})\s*:|\{{\{{)")
        self._sets = lru_cache(_CACHE_SIZE)(self._find_sets)
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

    def template_categories(self, text: str, title: str) -> list[str]:
        """Return the distinct categories that the templates of a page set, by their definitions.

        Args:
            text: wikitext of the page.
            title: the page's title.
        """
        if self._definitions is None or "{{" not in text:
            return []
        # Most pages have no such template, and are not parsed.
        if not any(self._sets(name) for name in {*_CALLED.findall(text)}):
            return []
        calls = ("|".join(call.arguments) for call in outermost_calls(strip_extension_tags(text, Counter())))
        setting = (source for source in calls if any(map(self._sets, _CALLED.findall("{{" + source))))
        expanded = [self._definitions.evaluate(source, title) for source in islice(setting, MAX_CALLS)]
        links = [link for wikitext in expanded for link in _LINK.findall(wikitext)]
        return list(dict.fromkeys(filter(None, map(self._name, links))))

    def _find_sets(self, name: str) -> bool:
        """Return whether a template, or one that it calls, may set a category."""
        assert self._find_body is not None
        waiting, seen = [template_title(name.strip(), self._site)], set[str]()
        while waiting and len(seen) < MAX_CALLS:
            title = waiting.pop()
            if not title or title in seen:
                continue
            seen.add(title)
            body = self._find_body(title) or ""
            if self._sets_category.search(body):
                return True
            waiting += (template_title(called.strip(), self._site) for called in _CALLED.findall(body))
        return False

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
