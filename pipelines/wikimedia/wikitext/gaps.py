"""Gaps and the templates that left them: in the text a gap is one character, and its name stands beside the text."""

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
    """Take the marks that name gaps out of a text.

    Args:
        text: in which each gap of the n-th name has n marks behind it, and others have none.
        names: of templates.
        columns: links in the text; their offsets follow it.

    Returns:
        The text, and the name of each gap in it, "" where no template left it.
    """
    if GAP not in text:
        return text, []
    # Where each gap ends, marks included, and how many marks are taken up to there.
    ends, taken = array("q"), array("q", [0])
    gaps = []
    for match in _GAP.finditer(text):
        marks = match.end() - match.start() - 1
        ends.append(match.end())
        taken.append(taken[-1] + marks)
        gaps.append(names[marks - 1] if marks else "")
    if taken[-1]:
        for links in columns:
            for offsets in (links.starts, links.ends):
                _shift(offsets, ends, taken)
        text = text.replace(NAMED, "")
    return text, gaps


def _shift(offsets: array[int], ends: array[int], taken: array[int]) -> None:
    """Take from each offset the marks that stand before it: as many for all offsets between two gaps."""
    bounds = [bisect_left(offsets, end) for end in ends]
    for (begin, end), marks in zip(pairwise((*bounds, len(offsets))), taken[1:], strict=True):
        if begin < end:
            offsets[begin:end] = array("q", [offset - marks for offset in offsets[begin:end]])
