"""Count the links of a page where the passes of `Extractor.extract` find, show and remove them.

A link is counted as its opening brackets: "[[". Numbers of things in the source have names that begin with "source:";
see docs/explanation/ledger.md for the two sums that `unbalanced` checks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

# In the wikitext of the page, and what is taken from and added to them until all templates show their text.
SOURCE, COMMENT, NOWIKI = "source:links", "source:comment", "source:nowiki"
IN_CALLS, FROM_CALLS, NOTICES = "source:in_calls", "source:from_calls", "source:notices"
# Where what stood between two brackets is removed, they become those of a link.
JOINED = "source:joined"
SEEN = "seen"
# In text that a pass removes as markup, such as attributes of tags and language variants that are not chosen.
MARKUP = "markup"


def links_in(text: str) -> int:
    """Return the number of links of wikitext.

    >>> links_in("[[A]] [[[B]]] [C]")
    2
    """
    return text.count("[[")


def count_change(counts: Counter[str], before: int, after: int, has_bucket: bool = False) -> None:
    """Count the links that passes have removed, or joined, in the text that a reader sees.

    Args:
        counts: those of the page.
        before: number of links before these passes.
        after: number of links after them.
        has_bucket: the passes count what they remove, and `before` is without it. That there are fewer links now is a
            fault, which `unbalanced` finds.
    """
    if after > before:
        counts[JOINED] += after - before
        counts[SEEN] += after - before
    elif after < before and not has_bucket:
        counts[MARKUP] += before - after


def unbalanced(counts: Mapping[str, int]) -> str | None:
    """Return what is wrong with the ledger of a page or a wiki; None if it balances.

    Args:
        counts: numbers by kind and name, such as "links:table" and "source:links".
    """
    negative = next((f"{name} is {number}" for name, number in counts.items() if number < 0), None)
    if negative is not None:
        return negative
    seen = counts.get("links:seen", 0)
    buckets = sum(number for name, number in counts.items() if name.startswith("links:")) - seen
    if buckets != seen:
        return f"{seen} links seen, {buckets} in buckets"
    if SOURCE in counts:
        taken = counts.get(COMMENT, 0) + counts.get(NOWIKI, 0) + counts.get(IN_CALLS, 0) + counts.get(NOTICES, 0)
        shown = counts[SOURCE] - taken + counts.get(FROM_CALLS, 0) + counts.get(JOINED, 0)
        if shown != seen:
            return f"{seen} links seen, {shown} by the source"
    return None
