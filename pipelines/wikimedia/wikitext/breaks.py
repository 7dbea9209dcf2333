"""Line feeds that replace tags and images, which tell where paragraphs and quotations end."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import IntEnum

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.placeholders import BREAK, LIST


class Break(IntEnum):
    """What a line feed that replaces a tag or an image does: with SOFT (<br>) the paragraph goes on; with the others it
    ends, and a quotation begins or ends."""

    SOFT = 0
    HARD = 1
    QUOTE = 2
    UNQUOTE = 3


Breaks = list[tuple[int, int]]
"""For each line feed that replaces a tag or an image, in order: the number of line feeds before it, and its effect.
Those of the wikitext before list items have `NOT_ITEM` and the depth of the item."""

NOT_ITEM = max(Break)
_FEED = re.compile(f"{BREAK}|\n({LIST}*)")
# What the line feeds of some tags do; those of others are hard.
_LINE_FEEDS: Mapping[str, str] = package_json("pipelines.wikimedia", "tags.json")["line_feeds"]


def break_of(name: str, *, is_closing: bool) -> Break:
    """Return what the line feed of a tag does.

    Args:
        name: that of the tag, in lower case.
        is_closing: whether it is a closing tag.
    """
    kind = _LINE_FEEDS.get(name)
    if kind == "quotation":
        return Break.UNQUOTE if is_closing else Break.QUOTE
    return Break.SOFT if kind == "soft" else Break.HARD


def breaks_of_lines(text: str) -> Breaks:
    """Return the breaks of a text in which BREAK is to become a line feed: images and others that stand beside the text
    end its paragraph; and the depths of list items, which have LIST once for each.

    >>> breaks_of_lines(f"a\\nb{BREAK}c\\n{LIST}{LIST}d")
    [(1, <Break.HARD: 1>), (2, 5)]
    """
    marks = enumerate(_FEED.finditer(text)) if BREAK in text or LIST in text else ()
    return [
        (number, Break.HARD if mark[0] == BREAK else NOT_ITEM + len(mark[1]))
        for number, mark in marks
        if mark[0] != "\n"
    ]


def with_inserted(breaks: Breaks, inserted: Breaks) -> Breaks:
    """Return all breaks of a text into which line feeds were inserted.

    Args:
        breaks: those of the text before.
        inserted: those of the line feeds that were inserted, in the text after.

    >>> with_inserted([(0, Break.HARD), (1, Break.HARD)], [(1, Break.SOFT)])
    [(0, <Break.HARD: 1>), (1, <Break.SOFT: 0>), (2, <Break.HARD: 1>)]
    """
    merged: Breaks = []
    number = 0
    for feed, kind in breaks:
        while number < len(inserted) and inserted[number][0] - number <= feed:
            merged.append(inserted[number])
            number += 1
        merged.append((feed + number, kind))
    return merged + inserted[number:]


def without_removed(breaks: Breaks, removed: Sequence[tuple[int, int]], text: str) -> Breaks:
    """Return the breaks of a text of which line feeds were removed.

    Args:
        breaks: those of the text before.
        removed: an offset in the text after, ascending, and how many line feeds were removed there.
        text: the text after.

    >>> without_removed([(0, Break.SOFT), (1, Break.HARD), (2, Break.SOFT)], [(3, 1)], "a\\nbc\\nd")
    [(0, <Break.SOFT: 0>), (1, <Break.SOFT: 0>)]
    """
    kept: Breaks = []
    before = feeds = at = number = 0
    for offset, count in removed:
        feeds += text.count("\n", at, offset)
        at, first = offset, feeds + before
        while number < len(breaks) and breaks[number][0] < first + count:
            if breaks[number][0] < first:
                kept.append((breaks[number][0] - before, breaks[number][1]))
            number += 1
        before += count
    return kept + [(feed - before, kind) for feed, kind in breaks[number:]]
