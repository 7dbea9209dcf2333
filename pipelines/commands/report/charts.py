"""Charts as inline SVG and as tables with bars: no script, no picture file, and the colours of the page around them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from xml.etree.ElementTree import Element

from wikianchor.pipelines.commands.report.html import Child, tag

# Drawn for a phone's width; larger screens show them larger.
WIDTH, HEIGHT = 360, 170
LEFT, BOTTOM, TOP, RIGHT = 34, 26, 10, 8


def bars(rows: Sequence[tuple[str, int, str]], total: int, head: tuple[str, str] = ("", "")) -> Element:
    """Return a table of names with a number, its share of a total as a bar, and a note."""
    lines = [
        tag(
            "tr",
            tag("th", name, scope="row", class_="kept" if name == "kept" else None),
            tag("td", f"{number:,}", class_="number"),
            tag("td", share(number, total), class_="number"),
            tag(
                "td",
                tag(
                    "div", class_="bar kept" if name == "kept" else "bar", style=f"width:{_percent(number, total):.2f}%"
                ),
                tag("small", note) if note else None,
                class_="bars",
            ),
        )
        for name, number, note in rows
    ]
    columns = tag("tr", tag("th", head[0]), tag("th", head[1], class_="number"), tag("th"), tag("th"))
    return tag("div", tag("table", tag("thead", columns) if any(head) else None, tag("tbody", lines)), class_="scroll")


def share(number: int, total: int) -> str:
    """Return a share in per cent, never 0 for something."""
    percent = _percent(number, total)
    return f"{percent:.1f} %" if percent >= 0.1 or not number else "< 0.1 %"


def _percent(number: int, total: int) -> float:
    return 100 * number / total if total else 0.0


def histogram(bins: Sequence[tuple[str, int]], what: str, of: str) -> Element:
    """Return columns, one for each bin."""
    highest = max((number for _, number in bins), default=0)
    step = (WIDTH - LEFT - RIGHT) / max(1, len(bins))
    every = max(1, math.ceil(len(bins) / 10))
    marks: list[Child] = list(_grid(highest))
    for place, (name, number) in enumerate(bins):
        x, height = LEFT + place * step, _height(number, highest)
        marks.append(
            tag(
                "rect",
                tag("title", f"{name}: {number:,}"),
                x=f"{x + step * 0.08:.2f}",
                y=f"{HEIGHT - BOTTOM - height:.2f}",
                width=f"{step * 0.84:.2f}",
                height=f"{height:.2f}",
                class_="column",
            )
        )
        if place % every == 0:
            marks.append(_text(name, x + step / 2, HEIGHT - BOTTOM + 12))
    return _svg(marks, what, of)


def _height(number: float, highest: float) -> float:
    return (HEIGHT - BOTTOM - TOP) * number / highest if highest else 0.0


def _grid(highest: int) -> list[Element]:
    marks = []
    for step in _steps(highest):
        y = HEIGHT - BOTTOM - _height(step, highest)
        marks.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.2f}", y2=f"{y:.2f}", class_="grid"))
        marks.append(_text(short(step), LEFT - 4, y + 3, "end"))
    return marks


def _steps(highest: int) -> list[int]:
    """Return round numbers from 0 up to a number, three to six."""
    if highest <= 0:
        return [0]
    size = 10 ** max(0, math.floor(math.log10(highest)))
    step = next((size * part for part in (0.2, 0.5, 1.0) if highest / (size * part) <= 5), size * 2)
    return [number for place in range(7) if (number := round(place * max(1.0, step))) <= highest]


def short(number: float) -> str:
    """Return a number in few characters."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"


def curve(points: Sequence[tuple[float, float]], what: str, of: str, across: str) -> Element:
    """Return a line through points, both axes logarithmic; all values are 1 at least."""
    right = max(1.0, math.log10(max((x for x, _ in points), default=1)))
    top = max(1.0, math.log10(max((y for _, y in points), default=1)))

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (WIDTH - LEFT - RIGHT) * math.log10(x) / right,
            HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * math.log10(y) / top,
        )

    marks: list[Child] = []
    for power in range(math.floor(right) + 1):
        marks.append(_text(short(10**power), place(10**power, 1)[0], HEIGHT - BOTTOM + 12))
    for power in range(math.floor(top) + 1):
        y = place(1, 10**power)[1]
        marks.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.2f}", y2=f"{y:.2f}", class_="grid"))
        marks.append(_text(short(10**power), LEFT - 4, y + 3, "end"))
    line = " ".join(f"{x:.2f},{y:.2f}" for x, y in (place(*point) for point in points))
    marks.append(tag("polyline", points=line, class_="line"))
    marks.append(_text(across, (LEFT + WIDTH) / 2, HEIGHT - 2))
    return _svg(marks, what, of)


def _text(value: str, x: float, y: float, anchor: str = "middle") -> Element:
    return tag("text", value, x=f"{x:.2f}", y=f"{y:.2f}", text_anchor=anchor)


def _svg(marks: Sequence[Child], what: str, of: str) -> Element:
    picture = tag("svg", marks, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=f"{what}; {of}")
    return tag("figure", tag("figcaption", tag("strong", what), f" {of}"), picture)
