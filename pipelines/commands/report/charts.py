"""Charts as geometry: the template of the page draws them as inline SVG, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

# In units of the drawing, which fits a phone; a larger screen shows it larger.
WIDTH, HEIGHT = 360, 170
LEFT, BOTTOM, TOP, RIGHT = 34, 26, 10, 8
# Labels below a chart, at most.
LABELS = 10
# The share of its bin that a column fills.
FILLED = 0.84


@dataclass
class Chart:
    """A chart of columns or of one line.

    Attributes:
        title, note: the caption.
        columns: (x, y, width, height, tooltip) of each column.
        points: (x, y) of the line.
        y_ticks: (y, label) of the grid.
        x_ticks: (x, label).
        x_label: what the horizontal axis is.
    """

    title: str
    note: str
    columns: list[tuple[float, float, float, float, str]] = field(default_factory=list)
    points: list[tuple[float, float]] = field(default_factory=list)
    y_ticks: list[tuple[float, str]] = field(default_factory=list)
    x_ticks: list[tuple[float, str]] = field(default_factory=list)
    x_label: str = ""


def histogram(bins: Sequence[tuple[str, int]], title: str, note: str) -> Chart:
    """Return a chart with a column for each (name, count)."""
    highest = max((number for _, number in bins), default=0)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(bins))

    def y(number: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * number / max(1, highest)

    chart = Chart(title, note, y_ticks=[(y(tick), short(tick)) for tick in _ticks(highest)])
    for index, (name, number) in enumerate(bins):
        x = LEFT + index * step
        column = (x + step * (1 - FILLED) / 2, y(number), step * FILLED, y(0) - y(number), f"{name}: {number:,}")
        chart.columns.append(column)
        if index % max(1, math.ceil(len(bins) / LABELS)) == 0:
            chart.x_ticks.append((x + step / 2, name))
    return chart


def curve(values: Sequence[tuple[float, float]], title: str, note: str, x_label: str) -> Chart:
    """Return a chart with a line through points, both axes logarithmic; all values are at least 1."""
    right = max(1.0, math.log10(max((x for x, _ in values), default=1)))
    top = max(1.0, math.log10(max((y for _, y in values), default=1)))

    def x(value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log10(value) / right

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * math.log10(value) / top

    return Chart(
        title,
        note,
        points=[(x(first), y(second)) for first, second in values],
        y_ticks=[(y(10**power), short(10**power)) for power in range(math.floor(top) + 1)],
        x_ticks=[(x(10**power), short(10**power)) for power in range(math.floor(right) + 1)],
        x_label=x_label,
    )


def _ticks(highest: int) -> list[int]:
    """Return three to six round numbers from 0 up to the highest."""
    if highest <= 0:
        return [0]
    size = 10 ** max(0, math.floor(math.log10(highest)))
    step = next((size * part for part in (0.2, 0.5, 1.0) if highest / (size * part) <= 5), size * 2)
    return [number for index in range(7) if (number := round(index * max(1.0, step))) <= highest]


def short(number: float) -> str:
    """Return a number in few characters.

    >>> short(2_500_000)
    '2.5M'
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
