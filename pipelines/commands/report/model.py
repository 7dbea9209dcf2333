"""The model of a report, which `text.py` and `page.py` show: the product first, then the details of each dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# Lower bounds of the shades of a table of shares, in per cent.
SHADES = (1, 5, 15, 30, 50)


class Item(NamedTuple):
    """A Wikidata item; the label is "" if the datasets have none."""

    qid: int
    label: str = ""

    def __str__(self) -> str:
        return f"{self.label} (Q{self.qid})" if self.label else f"Q{self.qid}"


@dataclass(frozen=True)
class Counts:
    """A table of counts: bars on the page, one line on the terminal.

    Attributes:
        title: the title.
        names: heading of the column of names.
        rows: (name, count, note), in the order in which they are shown.
        total: the number that shares are shares of.
        line: the same on the terminal, "" for a table of the page alone.
    """

    title: str
    names: str
    rows: Sequence[tuple[str | Item, int, str]]
    total: int
    line: str = ""


class GridRow(NamedTuple):
    """A row of a `Grid`: its name, its counts, the counts of which shares are shown, and the total of these."""

    name: str
    counts: list[int]
    parts: list[int]
    total: int


@dataclass(frozen=True)
class Grid:
    """A table with a row for each wiki, and before them one for all if there are several.

    Attributes:
        title: the title.
        note: a sentence below the title.
        counts: headings of the counts.
        parts: headings of the parts, which are shown as shares.
        kept: number of parts, from the first, that are in the dataset; the others were dropped.
    """

    title: str
    note: str
    counts: list[str]
    parts: list[str | Item]
    kept: int
    rows: list[GridRow]


class Step(NamedTuple):
    """A step of a funnel: what is left, its number, and (reason, number) of what was dropped, the largest first."""

    name: str
    number: int
    dropped: list[tuple[str, int]]


@dataclass(frozen=True)
class PairExample:
    """A pair: its sentence in three parts, its items, and the revision that it is from."""

    before: str
    mention: str
    after: str
    entity: Item
    negatives: list[Item]
    kind: Item | None
    route: str
    wiki: str
    title: str
    rev_id: int


@dataclass
class Product:
    """What a build is for: pairs, or the sentences of some wikis where there are no pairs.

    Attributes:
        title: the title, with the main number.
        directory: that of the dataset; "" for several datasets.
        totals: (number, what it counts).
        examples: sampled pairs.
        outcomes: what became of the links of each wiki.
        funnels: steps by unit, each with its largest number first.
        coverage: tables by wiki.
    """

    title: str
    directory: str
    totals: list[tuple[str, str]]
    outcomes: Grid
    funnels: dict[str, list[Step]]
    examples: list[PairExample] = field(default_factory=list)
    coverage: list[Grid] = field(default_factory=list)


def percent(number: int, total: int) -> float:
    """Return a share in per cent, 0 of nothing."""
    return 100 * number / total if total else 0.0


def share(number: int, total: int) -> str:
    """Return a share in whole per cent, without the sign; "" of nothing.

    >>> share(1, 3), share(1, 1000), share(999, 1000), share(0, 9)
    ('33', '<1', '>99', '')
    """
    value = percent(number, total)
    rounded = "<1" if value < 1 else ">99" if 99.5 <= value < 100 else f"{value:.0f}"
    return rounded if number else ""


def shade(number: int, total: int) -> int:
    """Return the number of bounds in `SHADES` that a share reaches."""
    return sum(percent(number, total) >= bound for bound in SHADES)


def short(number: float) -> str:
    """Return a number in few characters.

    >>> short(2_500_000)
    '2.5M'
    """
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.3g}"
