"""Make the extractor of a wiki: `wikitext.Extractor`, the same by the compiled core, or that of mwparserfromhell."""

from __future__ import annotations

from array import array
from collections import Counter
from types import ModuleType

from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.core_rules import site_rules
from wikianchor.pipelines.wikimedia.mwparser import MwparserExtractor
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Aside, Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.definitions import FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.templates import definitions_of


def make_extractor(
    site: Site,
    find_template: FindTemplate | None = None,
    *,
    parser: str = "wikianchor",
    engine: str | None = None,
    asides: bool = False,
    literal: bool = False,
    structured: bool = False,
) -> Extractor | CompiledExtractor | MwparserExtractor:
    """Return the extractor of a wiki.

    Args:
        site, find_template, asides, literal: as for `wikitext.Extractor`; the other parser takes the rules alone and
            returns no asides.
        parser: one of `choices.PARSERS`.
        engine: one of `choices.ENGINES`, for the first parser; None for the compiled core where it is installed. The
            core has no literal mode, which is for comparisons.
        structured: as for `wikitext.Extractor`, which is returned then.

    Raises:
        UsageError: the package of the parser, or the core that is asked for, is not installed.
    """
    if parser != "wikianchor":
        return MwparserExtractor(site, literal=literal)
    core = None if literal or structured else core_of(engine)
    if core is None:
        return Extractor(site, literal=literal, find_template=find_template, asides=asides, structured=structured)
    return CompiledExtractor(core, site, find_template, asides)


class CompiledExtractor:
    """Extracts the pages of one wiki with the core, with the same results as `wikitext.Extractor`."""

    def __init__(self, core: ModuleType, site: Site, find_template: FindTemplate | None, asides: bool) -> None:
        self._definitions = definitions_of(site, find_template)
        self._core = core.Extractor(site_rules(site), find_template, self._definitions, asides)

    def extract(self, text: str, title: str, timestamp: str = "") -> Extract:
        """Extract the visible text of a page and its links, as `wikitext.Extractor.extract` does."""
        self._definitions.read_revision(timestamp)
        text, links, others, gaps, counts, asides = self._core.extract(text, title)
        return Extract(
            text=text,
            links=_links(*links),
            other_links=_links(*others),
            gaps=gaps,
            counts=Counter(counts),
            asides=[Aside(region, shown, _links(*columns)) for region, shown, columns in asides],
        )

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the titles of all articles that the wikitext links to, sorted, without the page itself."""
        titles: list[str] = self._core.linked_titles(text, title)
        return titles


def _links(starts: list[int], ends: list[int], targets: list[str], fragments: list[str]) -> Links:
    return Links(array("q", starts), array("q", ends), targets, fragments)
