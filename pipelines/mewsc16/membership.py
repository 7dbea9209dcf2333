"""Determine the topics of a page from its categories, and by which route each was found.

The categories of a wiki are encoded as bits: one bit for each topic whose category it is, one for each topic whose
category it is directly below, and two for categories of published and unpublished pages. The bits of a page are those
of its categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_

from wikianchor.pipelines.mewsc16.categories import follow
from wikianchor.pipelines.mewsc16.editions import wiki_facts
from wikianchor.schemas.mewsc16 import SUBCATEGORY, TEMPLATE, TOPICS, WIKITEXT

# Shift of the bits for sub-categories, and mask of the bits for topic categories.
_BELOW = len(TOPICS)
TOPIC_BITS = (1 << _BELOW) - 1
PUBLISHED = 1 << (2 * len(TOPICS))
UNPUBLISHED = PUBLISHED << 1


@dataclass(frozen=True)
class Categories:
    """The category pages of a wiki.

    Attributes:
        redirects: category -> the target of its redirect.
        parents: category -> the categories that it is in.
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
    """Return the bits of every category that has any.

    Args:
        language: the wiki's language.
        topics: category -> topic.
        categories: the category pages of the wiki.
        mode: see --membership; sub-categories count with "descend-1".
        extra_parents: more pairs of a category and a category that it is in.
    """
    redirects = dict(categories.redirects)
    marked = [(name, 1 << TOPICS.index(topic)) for name, topic in topics.items()]
    for kind, bit in (("published", PUBLISHED), ("unpublished", UNPUBLISHED)):
        marked += [(name, bit) for name in wiki_facts()[kind].get(language, {}).get("categories", ())]
    # A category of the map may itself be a redirect. Of several names of a category, the first decides.
    ends = {follow(name, redirects): bits for name, bits in reversed(marked)}
    by_redirect = {name: ends.get(follow(name, redirects), 0) for name in (*topics, *redirects)}
    bits_of = {name: bits for name, bits in by_redirect.items() if bits} | ends
    if mode != "descend-1":
        return bits_of
    below: dict[str, int] = {}
    for child, parents in (*categories.parents.items(), *((child, (parent,)) for child, parent in extra_parents)):
        bits = reduce(or_, ((bits_of.get(parent, 0) & TOPIC_BITS) << _BELOW for parent in parents), 0)
        if bits and child not in bits_of:
            below[child] = below.get(child, 0) | bits
    for name in redirects:
        end = follow(name, redirects)
        if name not in bits_of and end in below:
            below.setdefault(name, below[end])
    return bits_of | below


def topics_of_bits(wikitext: int, table: int) -> dict[str, str]:
    """Return topic -> route, in the order of `TOPICS`.

    Args:
        wikitext: bits of the categories in the wikitext of the page.
        table: bits of its categories that templates set: in the wiki's `categorylinks` table, or by their definitions.
    """
    bits_of = ((WIKITEXT, wikitext), (TEMPLATE, table), (SUBCATEGORY, (wikitext | table) >> _BELOW))
    routes = {topic: [route for route, bits in bits_of if bits >> number & 1] for number, topic in enumerate(TOPICS)}
    return {topic: of_topic[0] for topic, of_topic in routes.items() if of_topic}


def label_of(topics: Mapping[str, str]) -> str | None:
    """Return the topic of a page if there is exactly one, else None.

    Topics of the page's own categories take precedence over those of categories above them.
    """
    direct = [topic for topic, route in topics.items() if route != SUBCATEGORY]
    candidates = direct or list(topics)
    return candidates[0] if len(candidates) == 1 else None
