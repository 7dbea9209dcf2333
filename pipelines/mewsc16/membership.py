"""Which topics a page has: category names, redirects, sub-categories and the wiki's own table in, topics with the route
by which each was found out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from wikianchor.pipelines.mewsc16.categories import follow
from wikianchor.pipelines.mewsc16.editions import wiki_facts
from wikianchor.schemas.mewsc16 import SUBCATEGORY, TEMPLATE, TOPICS, WIKITEXT

# Bits of a page: a topic's own category, a category right below it, the sign of publication.
_BELOW = len(TOPICS)
_OWN = (1 << _BELOW) - 1
PUBLISHED = 1 << (2 * len(TOPICS))


@dataclass(frozen=True)
class Categories:
    """What the category pages of a wiki say.

    Attributes:
        redirects: category -> the category that it stands for.
        parents: category -> those that it is in.
        ids: page id -> category.
    """

    redirects: Mapping[str, str] = field(default_factory=dict)
    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ids: Mapping[int, str] = field(default_factory=dict)


def bits_of_names(
    language: str,
    topics: Mapping[str, str],
    categories: Categories,
    mode: str,
    extra_parents: Iterable[tuple[str, str]] = (),
) -> dict[str, int]:
    """Return the bits of every category that tells something of the pages in it.

    Args:
        language: of the wiki.
        topics: category -> topic.
        categories: of the wiki.
        mode: of `names.MODES`.
        extra_parents: more pairs of a category and one that it is in.
    """
    redirects = dict(categories.redirects)
    ends: dict[str, int] = {}
    for name, topic in topics.items():
        # A name of the map may itself have been moved.
        ends.setdefault(follow(name, redirects), 1 << TOPICS.index(topic))
    for name in wiki_facts()["published"].get(language, {}).get("categories", ()):
        ends.setdefault(follow(name, redirects), PUBLISHED)
    found = dict(ends)
    for name in topics:
        found.setdefault(name, ends[follow(name, redirects)])
    for name in redirects:
        if (bits := ends.get(follow(name, redirects))) is not None:
            found.setdefault(name, bits)
    if mode != "descend-1":
        return found
    below: dict[str, int] = {}
    for child, parents in (*categories.parents.items(), *((child, (parent,)) for child, parent in extra_parents)):
        bits = 0
        for parent in parents:
            bits |= (found.get(parent, 0) & _OWN) << _BELOW
        if bits and child not in found:
            below[child] = below.get(child, 0) | bits
    for name in redirects:
        end = follow(name, redirects)
        if name not in found and end in below:
            below.setdefault(name, below[end])
    return found | below


def topics_of_bits(wikitext: int, table: int) -> dict[str, str]:
    """Return topic -> route, in the order of `TOPICS`.

    Args:
        wikitext: bits of the categories that the page's text names.
        table: bits of those that the wiki's own table has for it.
    """
    found: dict[str, str] = {}
    for number, topic in enumerate(TOPICS):
        if wikitext >> number & 1:
            found[topic] = WIKITEXT
        elif table >> number & 1:
            found[topic] = TEMPLATE
        elif (wikitext | table) >> (number + _BELOW) & 1:
            found[topic] = SUBCATEGORY
    return found


def label_of(topics: Mapping[str, str]) -> str | None:
    """Return the only topic, or the only one of those that are not by a category below; None where there are several.

    A page in a topic's own category says so; the one above a category it is in is a weaker word.
    """
    own = [topic for topic, route in topics.items() if route != SUBCATEGORY]
    candidates = own or list(topics)
    return candidates[0] if len(candidates) == 1 else None
