"""Count which templates cost most sentences, in bounded memory: the candidates for new rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from wikianchor.io.package_data import package_json

# Prefix of the keys of templates among other counts.
TEMPLATE: str = package_json("pipelines.wikimedia", "names.json")["prefixes"]["templates"]
# Numbers of templates kept: in the ledger of a wiki, for a range of a dump, and while a range is read. A range keeps
# more than the ledger, because a template that is rare in one range may be frequent in others.
IN_LEDGER, IN_RANGE, WHILE_READING = 50, 500, 10_000


def forget_rare(counts: Counter[str], number: int) -> None:
    """Remove all templates from counts but the `number` with the most sentences; ties go by name.

    >>> counts = Counter({"templates:a": 1, "templates:b": 2, "links": 1})
    >>> forget_rare(counts, 1)
    >>> sorted(counts)
    ['links', 'templates:b']
    """
    names = [key for key in counts if key.startswith(TEMPLATE)]
    if len(names) > number:
        for key in sorted(names, key=lambda key: (-counts[key], key))[number:]:
            del counts[key]


def most_costly(templates: Mapping[str, int]) -> dict[str, int]:
    """Return the IN_LEDGER templates with the most dropped sentences, name -> sentences, in descending order."""
    return dict(sorted(templates.items(), key=lambda item: (-item[1], item[0]))[:IN_LEDGER])
