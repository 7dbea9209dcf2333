"""Which templates cost most sentences: the list from which the rules for templates can grow, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

# Keys of the templates among other counts: this and the name.
TEMPLATE = "templates:"
# So many templates are in the ledger of a wiki; of each range of a dump some more are kept, because what is rare in one
# may be frequent in the others.
IN_LEDGER, IN_RANGE, WHILE_READING = 50, 500, 10_000


def forget_rare(counts: Counter[str], number: int) -> None:
    """Of the templates among counts keep those with the most sentences, ties in the order of their names."""
    names = [key for key in counts if key.startswith(TEMPLATE)]
    if len(names) > number:
        for key in sorted(names, key=lambda key: (-counts[key], key))[number:]:
            del counts[key]


def most_costly(templates: Mapping[str, int]) -> dict[str, int]:
    """Return the templates for the ledger, name -> sentences, the most costly first."""
    return dict(sorted(templates.items(), key=lambda item: (-item[1], item[0]))[:IN_LEDGER])
