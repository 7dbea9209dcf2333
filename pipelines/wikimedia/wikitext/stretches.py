"""Split a page in stretches of a megabyte: all pieces of a hostile page at once would take thirty times its memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

STRETCH = 1 << 20


def stretches(text: str) -> Iterator[str]:
    """Yield a text in stretches of whole lines; joined by line feeds they are the text."""
    start = 0
    while (end := text.find("\n", start + STRETCH)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def pieces_between(text: str, mark: str) -> Iterator[str]:
    """Yield the items of `text.split(mark)` for a mark that is one character twice.

    >>> list(pieces_between("a[[b[[[c", "[["))
    ['a', 'b', '[c']
    """
    return chain.from_iterable(stretch.split(mark) for stretch in _stretches_between(text, mark))


def _stretches_between(text: str, mark: str) -> Iterator[str]:
    """Yield a text in stretches; joined by marks they are the text."""
    start = 0
    while (end := _next_mark(text, mark, start + STRETCH)) >= 0:
        yield text[start:end]
        start = end + len(mark)
    yield text[start:]


def _next_mark(text: str, mark: str, start: int) -> int:
    """Return where the next run of the mark's character begins, at which `split` cuts too; -1 if there is none."""
    end = text.find(mark, start)
    while end > 0 and text[end - 1] == mark[0]:
        # In the middle of a run: search after it.
        end = text.find(mark, len(text) - len(text[end:].lstrip(mark[0])))
    return end
