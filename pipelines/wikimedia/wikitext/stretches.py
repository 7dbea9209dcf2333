"""Split a page in stretches of a megabyte: all pieces of a hostile page at once would take thirty times its memory."""

from __future__ import annotations

from collections.abc import Iterator

STRETCH = 1 << 20


def stretches(text: str) -> Iterator[str]:
    """Yield a text in stretches of whole lines; joined by line feeds they are the text."""
    start = 0
    while (end := text.find("\n", start + STRETCH)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def pieces_between(text: str, mark: str) -> Iterator[str]:
    """Yield the items of `text.split(mark)` one by one.

    >>> list(pieces_between("a[[b[[[c", "[["))
    ['a', 'b', '[c']
    """
    start = 0
    while (end := text.find(mark, start)) >= 0:
        yield text[start:end]
        start = end + len(mark)
    yield text[start:]
