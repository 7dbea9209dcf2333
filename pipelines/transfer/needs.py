"""What the dumps of a target are: jobs of a wiki's run on dumps.wikimedia.org, by their names there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.errors import UsageError
from pipelines.wikimedia.languages import RENAMED, is_language_edition

SITE = "https://dumps.wikimedia.org"


@dataclass(frozen=True)
class Need:
    """What a target is made of.

    Attributes:
        project: of the wikis, as database names end.
        jobs: of a wiki's run.
        wikidata: whether Wikidata's JSON dump is needed.
    """

    project: str
    jobs: tuple[str, ...]
    wikidata: bool


ARTICLES, PAGE_PROPS = "articlesmultistreamdump", "pagepropstable"
PAGES, CATEGORY_LINKS, LINK_TARGETS, LANGUAGE_LINKS = (
    "pagetable",
    "categorylinkstable",
    "linktargettable",
    "langlinkstable",
)
NEEDS: Mapping[str, Need] = {
    "pairs": Need("wiki", (ARTICLES, PAGE_PROPS), True),
    "sentences": Need("wiki", (ARTICLES,), False),
    "entities": Need("wiki", (PAGE_PROPS,), True),
    "mewsc16": Need("wikinews", (ARTICLES, CATEGORY_LINKS, LINK_TARGETS), False),
    "topics": Need("wikinews", (PAGES, PAGE_PROPS, LANGUAGE_LINKS), False),
}


def wiki_named(name: str, project: str) -> str:
    """Return the database name of a wiki that is named by it or by its code: en and enwiki are both enwiki.

    Raises:
        UsageError: there is no such wiki.
    """
    codes = {language: code for code, language in RENAMED.items() if code != "simple"}
    for wiki in (name, codes.get(name, name).replace("-", "_") + project):
        if wiki.endswith(project) and wiki != project and is_language_edition(wiki):
            return wiki
    raise UsageError(f"--wikis: {name} is no language of this project: write it like en or en{project}")
