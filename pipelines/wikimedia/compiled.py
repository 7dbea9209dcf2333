"""`wikitext.Extractor` by the compiled core, with the same results."""

from __future__ import annotations

from array import array
from collections import Counter
from types import ModuleType

from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Aside, Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.definitions import FindTemplate


def fastest_extractor(
    site: Site, find_template: FindTemplate | None = None, asides: bool = False, engine: str | None = None
) -> Extractor | CompiledExtractor:
    """Return the extractor of a wiki by an engine.

    Args:
        site, find_template, asides: as for `wikitext.Extractor`.
        engine: one of `choices.ENGINES`; None for the compiled core where it is installed.

    Raises:
        UsageError: the core is asked for, and not installed.
    """
    core = core_of(engine)
    if core is None:
        return Extractor(site, find_template=find_template, asides=asides)
    return CompiledExtractor(core, site, find_template, asides)


class CompiledExtractor:
    """Extracts the pages of one wiki with the core."""

    def __init__(self, core: ModuleType, site: Site, find_template: FindTemplate | None, asides: bool) -> None:
        self._core = core.Extractor(site_rules(site), find_template, asides)

    def extract(self, text: str, title: str) -> Extract:
        """Extract the visible text of a page and its links, as `wikitext.Extractor.extract` does."""
        shown, links, others, gaps, counts, asides = self._core.extract(text, title)
        found = [Aside(region, shown_beside, _links(*of)) for region, shown_beside, of in asides]
        return Extract(shown, _links(*links), _links(*others), gaps, Counter(counts), found)

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the titles of all articles that the wikitext links to, sorted, without the page itself."""
        titles: list[str] = self._core.linked_titles(text, title)
        return titles


def _links(starts: list[int], ends: list[int], targets: list[str], fragments: list[str]) -> Links:
    return Links(array("q", starts), array("q", ends), targets, fragments)
