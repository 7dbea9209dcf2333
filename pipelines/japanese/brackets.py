"""Find brackets and quotation marks without a counterpart."""

from __future__ import annotations

from collections import Counter

# Without <, which is "less than" in the texts of studies, and without ‘, since ’ is an apostrophe too.
CLOSING = dict(zip("([{（［｛「『【〔〈《“", ")]}）］｝」』】〕〉》”", strict=True))
_CLOSE = frozenset(CLOSING.values())


def unmatched(text: str) -> list[int]:
    """Return the positions of the brackets in a text that have no counterpart.

    >>> unmatched("咳(「乾性」)と熱)")
    [9]
    >>> unmatched("(「)")
    [1]
    """
    positions: list[int] = []
    opened: list[int] = []
    awaited: Counter[str] = Counter()
    for position, character in enumerate(text):
        if character in CLOSING:
            opened.append(position)
            awaited[CLOSING[character]] += 1
        elif awaited[character]:
            # What was opened within and not closed has no counterpart.
            while CLOSING[text[opened[-1]]] != character:
                positions.append(opened[-1])
                awaited[CLOSING[text[opened.pop()]]] -= 1
            opened.pop()
            awaited[character] -= 1
        elif character in _CLOSE:
            positions.append(position)
    return sorted(positions + opened)
