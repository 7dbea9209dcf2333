"""Draw a word cloud as SVG.

Words are placed along a spiral from the centre, the most frequent first, each at the first position where it overlaps
no other. Font sizes are proportional to the square root of the count. No font is needed to measure words: a wide
character is one em wide, a narrow one 0.6 em.
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
# The picture is full after this many consecutive words without a position.
_FULL = 10


class Placed(NamedTuple):
    """A word in the picture: its left edge, its baseline, its font size, and its width, in pixels."""

    word: str
    x: float
    y: float
    size: float
    width: float


def layout(words: Sequence[tuple[str, int]]) -> list[Placed]:
    """Return the positions of words; words without a position are left out.

    Args:
        words: with their counts, the most frequent first.
    """
    placed: list[Placed] = []
    most = max((count for _, count in words), default=1)
    not_placed = 0
    for word, count in words:
        if not_placed == _FULL:
            break
        size = max(SMALLEST, LARGEST * math.sqrt(count / most))
        width = size * sum(1.0 if unicodedata.east_asian_width(character) in "WF" else 0.6 for character in word)
        for turn in range(_TURNS):
            angle = _STEP * turn / (1 + turn / 1000)
            radius = 1.2 * angle
            x = WIDTH / 2 + 1.5 * radius * math.cos(angle) - width / 2
            y = HEIGHT / 2 + radius * math.sin(angle) + size / 2
            candidate = Placed(word, x, y, size, width)
            if _inside(candidate) and not any(_overlap(candidate, other) for other in placed):
                placed.append(candidate)
                not_placed = 0
                break
        else:
            not_placed += 1
    return placed


def _inside(word: Placed) -> bool:
    horizontally = word.x >= 4 and word.x + word.width <= WIDTH - 4
    return horizontally and word.y - word.size >= 4 and word.y + word.size * 0.2 <= HEIGHT - 4


def _overlap(word: Placed, other: Placed) -> bool:
    apart = word.x + word.width < other.x or other.x + other.width < word.x
    above = word.y + 0.15 * word.size < other.y - 0.95 * other.size
    below = other.y + 0.15 * other.size < word.y - 0.95 * word.size
    return not (apart or above or below)


def svg(words: Sequence[tuple[str, int]], title: str) -> str:
    """Return the picture."""
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" lang="ja">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        "<g font-family=\"'Noto Sans CJK JP','Hiragino Sans','Yu Gothic','Noto Serif CJK JP',sans-serif\">",
    ]
    for number, placed in enumerate(layout(words)):
        colour = COLOURS[number % len(COLOURS)]
        lines.append(
            f'<text x="{placed.x:.1f}" y="{placed.y:.1f}" font-size="{placed.size:.1f}" '
            f'textLength="{placed.width:.1f}" lengthAdjust="spacingAndGlyphs" fill="{colour}">'
            f"{escape(placed.word)}</text>"
        )
    return "\n".join([*lines, "</g>", "</svg>", ""])
