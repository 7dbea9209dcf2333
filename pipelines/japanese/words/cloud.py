"""A picture of the words of a corpus, the frequent ones large: words with counts in, an SVG out.

Words are laid along a spiral from the middle, the most frequent first, each at the first place where it covers none.
Sizes go with the square root of the count. No font is needed to make it: a wide character is as wide as it is high, a
narrow one six tenths of that.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 960, 600
LARGEST, SMALLEST = 96.0, 9.0
COLOURS = ("#1b5e8a", "#b3541e", "#2e7d4f", "#6a4c93", "#8a6d1b", "#37474f")
_STEP = 0.35
_TURNS = 5_000
# Words in a row without room after which the picture is full.
_FULL = 10


class Placed(NamedTuple):
    """A word in the picture: its left edge, its base line, its size, and the box that it takes."""

    word: str
    x: float
    y: float
    size: float
    width: float


def layout(words: Sequence[tuple[str, int]]) -> list[Placed]:
    """Return where each word goes, the most frequent first; those for which there is no room are left out."""
    found: list[Placed] = []
    most = max((count for _, count in words), default=1)
    without_room = 0
    for word, count in words:
        if without_room == _FULL:
            break
        size = max(SMALLEST, LARGEST * math.sqrt(count / most))
        width = size * sum(1.0 if unicodedata.east_asian_width(one) in "WF" else 0.6 for one in word)
        for turn in range(_TURNS):
            angle = _STEP * turn / (1 + turn / 1000)
            radius = 1.2 * angle
            x = WIDTH / 2 + 1.5 * radius * math.cos(angle) - width / 2
            y = HEIGHT / 2 + radius * math.sin(angle) + size / 2
            one = Placed(word, x, y, size, width)
            if _inside(one) and not any(_overlap(one, other) for other in found):
                found.append(one)
                without_room = 0
                break
        else:
            without_room += 1
    return found


def _inside(one: Placed) -> bool:
    return (
        one.x >= 4 and one.x + one.width <= WIDTH - 4 and one.y - one.size >= 4 and one.y + one.size * 0.2 <= HEIGHT - 4
    )


def _overlap(one: Placed, other: Placed) -> bool:
    apart = one.x + one.width < other.x or other.x + other.width < one.x
    above = one.y + 0.15 * one.size < other.y - 0.95 * other.size
    below = other.y + 0.15 * other.size < one.y - 0.95 * one.size
    return not (apart or above or below)


def svg(words: Sequence[tuple[str, int]], title: str) -> str:
    """Return the picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" lang="ja">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        "<g font-family=\"'Noto Sans CJK JP','Hiragino Sans','Yu Gothic','Noto Serif CJK JP',sans-serif\">",
    ]
    for number, one in enumerate(layout(words)):
        colour = COLOURS[number % len(COLOURS)]
        lines.append(
            f'<text x="{one.x:.1f}" y="{one.y:.1f}" font-size="{one.size:.1f}" textLength="{one.width:.1f}" '
            f'lengthAdjust="spacingAndGlyphs" fill="{colour}">{escape(one.word)}</text>'
        )
    return "\n".join([*lines, "</g>", "</svg>", ""])
