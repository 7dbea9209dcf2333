"""What the dumps of a target are: jobs of a wiki's run on dumps.wikimedia.org, by their names there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SITE = "https://dumps.wikimedia.org"


@dataclass(frozen=True)
class Need:
    """What a target is made of.

    Attributes:
        project: the project of the wikis, as database names end.
        jobs: names of jobs of a wiki's run.
        wikidata: whether Wikidata's JSON dump is needed.
    """

    project: str
    jobs: tuple[str, ...]
    wikidata: bool = False


ARTICLES, PAGE_PROPS = "articlesmultistreamdump", "pagepropstable"
PAGES, CATEGORY_LINKS, LINK_TARGETS, LANGUAGE_LINKS = (
    "pagetable",
    "categorylinkstable",
    "linktargettable",
    "langlinkstable",
)
NEEDS: Mapping[str, Need] = {
    "pairs": Need("wiki", (ARTICLES, PAGE_PROPS), wikidata=True),
    "sentences": Need("wiki", (ARTICLES,)),
    "entities": Need("wiki", (PAGE_PROPS,), wikidata=True),
    "mewsc16": Need("wikinews", (ARTICLES, CATEGORY_LINKS, LINK_TARGETS)),
    "topics": Need("wikinews", (PAGES, PAGE_PROPS, LANGUAGE_LINKS)),
}
