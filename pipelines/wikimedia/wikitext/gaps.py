"""Gaps and the templates that left them: in the text a gap is one character, and its name stands beside the text."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Sequence

from pipelines.wikimedia.wikitext.links import Links
from pipelines.wikimedia.wikitext.marks import GAP, NAMED

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
    runs = [match.span() for match in _GAP.finditer(text)]
    gaps = [names[end - start - 2] if end - start > 1 else "" for start, end in runs]
    if NAMED not in text:
        return text, gaps
    ends = [end for start, end in runs]
    for links in columns:
        for offsets in (links.starts, links.ends):
            taken, place = 0, bisect_left(offsets, runs[0][1])
            for (start, end), following in zip(runs, [*ends[1:], len(text) + 1], strict=True):
                taken += end - start - 1
                before, place = place, bisect_left(offsets, following, place)
                if taken and before < place:
                    offsets[before:place] = array("q", (offset - taken for offset in offsets[before:place]))
    return text.replace(NAMED, ""), gaps
