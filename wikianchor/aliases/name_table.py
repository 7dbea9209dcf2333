"""The table by which names are found in text: a trie of atoms, kept as the sorted hashes of its nodes.

Every prefix of a name that ends with an atom is a node. Its hash is that of its code points, a polynomial over 64
bits, which for any stretch of a text follows from two running sums. So all atoms of a text go down the trie together,
a look-up for each in a level. A node takes 16 to 20 bytes; the arrays are saved once and mapped by whoever looks.

A stretch of text that is no name is taken for one with a probability of nodes / 2**64: for all of English Wikipedia
that is once in a few hundred builds, and then one occurrence is counted too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.aliases.folding import SEPARATOR, CodePoints, Places, Text, code_points, cut

Hashes = npt.NDArray[np.uint64]
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)
# Names hashed at a time: about as many characters as the portions of text that names are looked for in, whose powers
# are held anyway.
HASHED_TOGETHER = 1 << 14


class _Powers:
    """Powers of the base and of its inverse, as many as the longest text so far has needed."""

    def __init__(self) -> None:
        self.up = self.down = np.ones(1, np.uint64)

    def of(self, length: int) -> tuple[Hashes, Hashes]:
        if len(self.up) <= length:
            size = 1 << length.bit_length()
            self.up, self.down = (_powers(base, size) for base in (_BASE, _INVERSE))
        return self.up, self.down


def _powers(base: int, size: int) -> Hashes:
    found = np.full(size, base, np.uint64)
    found[0] = 1
    return np.cumprod(found, dtype=np.uint64)


def _mixed(points: CodePoints) -> Hashes:
    """The finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014)."""
    state = (points.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


_powers_held = _Powers()
_LATIN = 1 << 16
_letters = _mixed(np.arange(_LATIN, dtype=np.uint32))


class Sums:
    """Running sums over a text, from which the hash of any stretch of it follows."""

    def __init__(self, points: CodePoints) -> None:
        up, self._down = _powers_held.of(len(points))
        high = len(points) > 0 and int(points.max()) >= _LATIN
        # NumPy takes twice as long where it has to widen the places itself.
        mixed = _mixed(points) if high else _letters[points.astype(np.int64)]
        mixed *= up[: len(points)]
        self._sums = np.empty(len(points) + 1, np.uint64)
        self._sums[0] = 0
        np.cumsum(mixed, out=self._sums[1:])

    def of(self, first: Places, last: Places) -> Hashes:
        """Return the hashes of the stretches [first, last)."""
        return (self._sums[last] - self._sums[first]) * self._down[first]

    def ends_of(self, first: Places, last: Places) -> tuple[Hashes, Hashes, Hashes]:
        """Return by atom the sum before it, the sum after it, and the power that a stretch from it on is divided by."""
        return self._sums[first], self._sums[last], self._down[first]


class Nodes(NamedTuple):
    """Prefixes of names.

    Attributes:
        hashes: of the prefixes, ascending, each once.
        values: by prefix, twice the number of the name that it is, -2 for none; one more where longer names begin so.
    """

    hashes: Hashes
    values: npt.NDArray[np.int32]


def nodes_of(keys: Sequence[str], start: int = 0) -> Nodes:
    """Return the prefixes of names.

    Args:
        keys: folded names.
        start: number of the first.
    """
    found = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))]
    for first in range(0, len(keys), HASHED_TOGETHER):
        found.append(_nodes(keys[first : first + HASHED_TOGETHER], start + first))
    return merge(found)


def _nodes(keys: Sequence[str], start: int) -> Nodes:
    text = cut(code_points(SEPARATOR.join(keys)))
    separator = text.points[text.first] == 0
    name = np.cumsum(separator)[~separator]
    first, last = text.first[~separator], text.last[~separator]
    head = np.append(True, name[1:] != name[:-1])[: len(name)]
    begin = first[np.flatnonzero(head)][np.cumsum(head) - 1]
    whole = np.append(name[1:] != name[:-1], True)[: len(name)]
    values = np.where(whole, (start + name) * 2, -1)
    return _unique(Sums(text.points).of(begin, last), values.astype(np.int32))


def merge(parts: Sequence[Nodes]) -> Nodes:
    """Return the prefixes of several sets of names."""
    return _unique(np.concatenate([part.hashes for part in parts]), np.concatenate([part.values for part in parts]))


def _unique(hashes: Hashes, values: npt.NDArray[np.int32]) -> Nodes:
    """Join what is said of one prefix: it is a name, longer names begin with it, or both."""
    order = np.argsort(hashes, kind="stable")
    hashes, values = hashes[order], values[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    if not len(starts):
        return Nodes(hashes, values)
    names = np.maximum.reduceat(values >> 1, starts)
    longer = np.maximum.reduceat(values & 1, starts)
    return Nodes(hashes[starts], (names * 2 + longer).astype(np.int32))


def table_of(nodes: Nodes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a `NameTable`."""
    pieces = list(table_pieces([nodes], 1, len(nodes.hashes)))
    return {name: np.concatenate([piece[name] for piece in pieces if name in piece]) for name in pieces[0]}


def table_lengths(total: int) -> dict[str, int]:
    """Return the lengths of the arrays of a `NameTable` of so many nodes."""
    return {"hashes": total + 1, "values": total + 1, "buckets": 1 << max(1, total.bit_length())}


def table_pieces(parts: Iterable[Nodes], ranges: int, total: int) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the arrays of a `NameTable` piece by piece.

    Args:
        parts: the nodes of each range of hashes, ascending; the ranges have one width.
        ranges: how many, a power of two that is not above the number of buckets.
        total: how many nodes there are in all.
    """
    buckets = table_lengths(total)["buckets"]
    shift = np.uint64(65 - buckets.bit_length())
    start, width = 0, buckets // ranges
    for number, nodes in enumerate(parts):
        bounds = np.arange(number * width, (number + 1) * width, dtype=np.uint64) << shift
        places = start + np.searchsorted(nodes.hashes, bounds)
        yield {"hashes": nodes.hashes, "values": nodes.values, "buckets": places.astype(np.uint32)}
        start += len(nodes.hashes)
    # The last bucket ends at a hash that no name has.
    yield {"hashes": np.array([_HIGHEST]), "values": np.array([-2], np.int32)}


class Found(NamedTuple):
    """Names in a text: the atom that each begins with, the atom that it ends with, and its number."""

    first: Places
    last: Places
    names: npt.NDArray[np.int32]


class NameTable:
    """The names of a wiki, ready to be found."""

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._hashes, self._values, self._buckets = arrays["hashes"], arrays["values"], arrays["buckets"]
        self._shift = np.uint64(64 - (len(self._buckets).bit_length() - 1))

    def look_up(self, hashes: Hashes) -> tuple[Places, npt.NDArray[np.int32]]:
        """Return which of some hashes are prefixes of names, and their values."""
        at = self._buckets[hashes >> self._shift].astype(np.int64)
        there = self._hashes[at]
        # Hashes are spread evenly, so a bucket holds one on average.
        behind = np.flatnonzero(there < hashes)
        while len(behind):
            at[behind] += 1
            there[behind] = self._hashes[at[behind]]
            behind = behind[there[behind] < hashes[behind]]
        found = np.flatnonzero(there == hashes)
        return found, self._values[at[found]]

    def numbers_of(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the numbers of names, -1 for what is none."""
        numbers = np.full(len(hashes), -1, np.int32)
        found, values = self.look_up(hashes)
        numbers[found] = values >> 1
        return numbers

    def find(self, text: Text, sums: Sums) -> Found:
        """Return all names in a text, whether they overlap or not, by their length in atoms."""
        before, after, power = sums.ends_of(text.first, text.last)
        hashes = (after - before) * power
        allowed = None if text.begins.all() else np.flatnonzero(text.begins)
        known, values = self.look_up(hashes if allowed is None else hashes[allowed])
        begin = end = known if allowed is None else allowed[known]
        found = []
        while True:
            named = np.flatnonzero((values >= 0) & text.ends[end])
            found.append(Found(begin[named], end[named], values[named] >> 1))
            on = np.flatnonzero((values & 1).astype(np.bool_) & (end + 1 < len(text.first)))
            begin, end = begin[on], end[on] + 1
            if not len(begin):
                break
            known, values = self.look_up((after[end] - before[begin]) * power[begin])
            begin, end = begin[known], end[known]
        return Found(*(np.concatenate(parts) for parts in zip(*found, strict=True)))
