"""The sections of a document, as `documents` has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def section_paths(sections: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return for each section the headings that lead to it.

    >>> section_paths([{"title": "A", "level": 2}, {"title": "B", "level": 3}, {"title": "C", "level": 2}])
    [['A'], ['A', 'B'], ['C']]
    """
    paths, around = [], list[tuple[int, str]]()
    for section in sections:
        while around and around[-1][0] >= section["level"]:
            around.pop()
        around.append((section["level"], section["title"]))
        # A page may nest sections no deeper than the six levels of headings.
        paths.append([title for _, title in around])
    return paths
