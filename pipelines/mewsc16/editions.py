"""Facts about the editions of Wikinews, by language: names of namespaces and templates, licences, months.

The facts and their sources are in `data/*.json`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.site import Site, fold_name

CATEGORY = 14
# From this day on every edition is read-only: an earlier dump may lack the last pages.
CLOSED = "2026-05-08"


def wiki_facts() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of `data/wikis.json`."""
    return read_facts("wikis.json")


def read_facts(name: str) -> Mapping[str, Any]:
    """Return the content of a JSON file in `data/`."""
    return package_json("pipelines.mewsc16", name)


def rules_for(language: str, rules: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield the rules of a data file that a language has, by their `languages` and `except`: codes with blanks."""
    for rule in rules:
        if language in rule.get("languages", language).split() and language not in rule.get("except", "").split():
            yield rule


@cache
def words_of(key: str) -> frozenset[str]:
    """Return a list of words in `data/dates.json`.

    Args:
        key: a language, for its months and weekdays in lower case; "joining", for the lower-case words in names of
            places; "never_last", for articles and prepositions, with which no sentence ends; "one_letter", for
            words of one letter.
    """
    return frozenset(read_facts("dates.json").get(key, "").split())


def with_aliases(site: Site) -> Site:
    """Return the site with the aliases of its category namespace that the <siteinfo> of a dump does not list."""
    names = wiki_facts()["category_aliases"].get(site.language, ())
    return replace(site, namespaces={fold_name(name): CATEGORY for name in names} | dict(site.namespaces))


def language_names(kind: str, language: str) -> tuple[str, ...]:
    """Return the names of a kind in `data/wikis.json`: those of all languages first, then those of the language."""
    facts = wiki_facts()[kind]
    return (*facts.get("*", ()), *facts.get(language, ()))


def licence(language: str, timestamp: str) -> str:
    """Return the licence of a revision.

    Args:
        language: the wiki's language.
        timestamp: when the revision was made, ISO 8601; "" stands for the earliest.
    """
    table = read_facts("licences.json")["since"]
    since: Mapping[str, str] = table.get(language, table["*"])
    return since[max(day for day in since if day <= timestamp[:10])]
