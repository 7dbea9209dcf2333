"""Separate gaps from the names of the templates that left them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from wikianchor.pipelines.wikimedia.wikitext.links import Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, NAMED

_GAP = re.compile(f"{GAP}{NAMED}*")


def take_names(text: str, names: Sequence[str], columns: Sequence[Links]) -> tuple[str, list[str]]:
    """Remove the NAMED characters after gaps and return which template left each gap.

    Args:
        text: a gap of the n-th template is followed by n NAMED characters, a gap without a template by none.
        names: names of the templates.
        columns: links in the text; their offsets are adjusted in place.

    Returns:
        The text without NAMED, and for each GAP in it the name of the template, "" for a gap without one.
    """
    if GAP not in text:
        return text, []
    # By gap: the offset after it, and the number of characters removed up to there.
    ends, removed = array("q"), array("q", [0])
    gaps = []
    for match in _GAP.finditer(text):
        number = match.end() - match.start() - 1
        ends.append(match.end())
        removed.append(removed[-1] + number)
        gaps.append(names[number - 1] if number else "")
    if removed[-1]:
        for links in columns:
            for offsets in (links.starts, links.ends):
                _shift(offsets, ends, removed)
        text = text.replace(NAMED, "")
    return text, gaps


def _shift(offsets: array[int], ends: array[int], removed: array[int]) -> None:
    """Subtract from each offset the number of characters removed before it, which is the same between two gaps."""
    bounds = [bisect_left(offsets, end) for end in ends]
    for (begin, end), number in zip(pairwise((*bounds, len(offsets))), removed[1:], strict=True):
        if begin < end:
            offsets[begin:end] = array("q", [offset - number for offset in offsets[begin:end]])
