"""What is known of the Wikinews editions: a language code in; names, signs and licences out. The facts and where they
are from stand in `data/wikis.json` and `data/licences.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import Any

from wikianchor.pipelines.wikimedia.site import Site, fold_name

CATEGORY = 14
# The first day on which every edition was closed: a dump made before may lack its last pages.
CLOSED = "2026-05-08"


@cache
def wiki_facts() -> Mapping[str, Mapping[str, Any]]:
    """Return `data/wikis.json`."""
    return _read("wikis.json")


@cache
def _read(name: str) -> Mapping[str, Any]:
    with (resources.files("wikianchor.pipelines.mewsc16") / "data" / name).open(encoding="utf-8") as file:
        facts: Mapping[str, Any] = json.load(file)
    return facts


def with_aliases(site: Site) -> Site:
    """Add the names of the category namespace that only the site's configuration knows."""
    names = wiki_facts()["category_aliases"].get(site.language, ())
    return replace(site, namespaces={fold_name(name): CATEGORY for name in names} | dict(site.namespaces))


def language_names(kind: str, language: str) -> tuple[str, ...]:
    """Return a list of names of a language, those for all languages first."""
    facts = wiki_facts()[kind]
    return (*facts.get("*", ()), *facts.get(language, ()))


def licence(language: str, timestamp: str) -> str:
    """Return the licence of a revision.

    Args:
        language: of the wiki.
        timestamp: when the revision was saved, ISO 8601; "" counts as the beginning.
    """
    table = _read("licences.json")["since"]
    since: Mapping[str, str] = table.get(language, table["*"])
    return since[max(day for day in since if day <= timestamp[:10])]
