"""A page cut a stretch at a time: the pieces of a hostile page all at once would take thirty times its memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

STRETCH = 1 << 20


def stretches(text: str) -> Iterator[str]:
    """Yield a text in parts of many lines, which a line feed joins again."""
    start = 0
    while (end := text.find("\n", start + STRETCH)) >= 0:
        yield text[start:end]
        start = end + 1
    yield text[start:]


def pieces_between(text: str, mark: str) -> Iterator[str]:
    """Yield what `text.split(mark)` returns, for a mark of one character said twice."""
    return chain.from_iterable(stretch.split(mark) for stretch in _stretches_between(text, mark))


def _stretches_between(text: str, mark: str) -> Iterator[str]:
    """Yield a text in parts that a mark joins again."""
    start = 0
    while (end := _next_mark(text, mark, start + STRETCH)) >= 0:
        yield text[start:end]
        start = end + len(mark)
    yield text[start:]


def _next_mark(text: str, mark: str, start: int) -> int:
    """Return where a run of the mark's character begins, which `split` cuts at for sure; -1 where none does."""
    end = text.find(mark, start)
    while end > 0 and text[end - 1] == mark[0]:
        # In the middle of a run: on behind it.
        end = text.find(mark, len(text) - len(text[end:].lstrip(mark[0])))
    return end
