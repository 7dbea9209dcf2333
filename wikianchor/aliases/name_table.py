"""Find names in text with a trie of atoms, stored as the sorted hashes of its nodes.

Every prefix of a name that ends with an atom is a node. Its hash is a polynomial hash of its code points with 64 bits,
which can be computed for any span of a text from two prefix sums. All atoms of a text descend the trie together, with
one lookup per level. A node takes 16 to 20 bytes. The arrays are written once and memory-mapped by the readers.

A span that is no name has the hash of a node with a probability of nodes / 2**64. For all of English Wikipedia that is
expected once in a few hundred builds, and adds one occurrence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from wikianchor.aliases.folding import LIMIT, SEPARATOR, CodePoints, FoldedText, Offsets, code_points, cut

Hashes = npt.NDArray[np.uint64]
_BASE = 0x9E3779B97F4A7C15
_INVERSE = pow(_BASE, -1, 1 << 64)
_HIGHEST = np.uint64(0xFFFFFFFFFFFFFFFF)
# Names hashed at a time: about as many characters as in the portions of text that are searched for names.
HASHED_TOGETHER = 1 << 14


class _Powers:
    """Cached powers of the base and of its inverse, for the longest text so far."""

    def __init__(self) -> None:
        self.up = self.down = np.ones(1, np.uint64)

    def up_to(self, length: int) -> tuple[Hashes, Hashes]:
        """Return more than `length` powers of the base, and of its inverse."""
        if len(self.up) <= length:
            size = 1 << length.bit_length()
            self.up, self.down = (_powers(base, size) for base in (_BASE, _INVERSE))
        return self.up, self.down


def _powers(base: int, size: int) -> Hashes:
    factors = np.full(size, base, np.uint64)
    factors[0] = 1
    return np.cumprod(factors, dtype=np.uint64)


_cached_powers = _Powers()


@cache
def _mixed_points() -> Hashes:
    """Return the hashes of all code points: looking them up is faster than computing them.

    They are those of the finaliser of splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators,
    2014).
    """
    state = (np.arange(LIMIT, dtype=np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


class Sums:
    """Prefix sums over the code points of a text, from which the hash of any span is computed."""

    def __init__(self, points: CodePoints) -> None:
        up, self._down = _cached_powers.up_to(len(points))
        hashes = _mixed_points()[points.astype(np.int64)]
        hashes *= up[: len(points)]
        self._sums = np.zeros(len(points) + 1, np.uint64)
        np.cumsum(hashes, out=self._sums[1:])

    def of(self, first: Offsets, last: Offsets) -> Hashes:
        """Return the hashes of the spans [first, last)."""
        return (self._sums[last] - self._sums[first]) * self._down[first]

    def ends_of(self, first: Offsets, last: Offsets) -> tuple[Hashes, Hashes, Hashes]:
        """Return by atom the sum before it, the sum after it, and the factor for spans that begin with it."""
        return self._sums[first], self._sums[last], self._down[first]


class Nodes(NamedTuple):
    """Nodes of the trie: prefixes of names.

    Attributes:
        hashes: the hashes of the prefixes, ascending and distinct, uint64.
        values: by prefix, int32: 2 * number of the name that equals the prefix, or -2 if no name does; plus 1 if the
            prefix begins longer names.
    """

    hashes: Hashes
    values: npt.NDArray[np.int32]


def nodes_of(keys: Sequence[str], start: int = 0) -> Nodes:
    """Return the nodes of names.

    Args:
        keys: folded names (`folding.fold_all`).
        start: number of the first name; the others are numbered consecutively.
    """
    parts = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))]
    parts += (
        _nodes(keys[first : first + HASHED_TOGETHER], start + first) for first in range(0, len(keys), HASHED_TOGETHER)
    )
    return merge(parts)


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
    """Merge the nodes of several sets of names."""
    return _unique(np.concatenate([part.hashes for part in parts]), np.concatenate([part.values for part in parts]))


def _unique(hashes: Hashes, values: npt.NDArray[np.int32]) -> Nodes:
    """Sort nodes by hash, and merge those of the same prefix."""
    order = np.argsort(hashes, kind="stable")
    hashes, values = hashes[order], values[order]
    starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1])[: len(hashes)])
    if not len(starts):
        return Nodes(hashes, values)
    names = np.maximum.reduceat(values >> 1, starts)
    longer = np.maximum.reduceat(values & 1, starts)
    return Nodes(hashes[starts], (names * 2 + longer).astype(np.int32))


def table_of(nodes: Nodes) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a `NameTable` in memory."""
    pieces = list(table_pieces([nodes], 1, len(nodes.hashes)))
    return {name: np.concatenate([piece[name] for piece in pieces if name in piece]) for name in pieces[0]}


def table_lengths(total: int) -> dict[str, int]:
    """Return the lengths of the arrays of a `NameTable` with `total` nodes."""
    return {"hashes": total + 1, "values": total + 1, "buckets": 1 << max(1, total.bit_length())}


def table_pieces(parts: Iterable[Nodes], ranges: int, total: int) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the arrays of a `NameTable` piece by piece.

    Args:
        parts: the nodes of each range of hashes, ascending; all ranges have the same width.
        ranges: number of ranges, a power of two and at most the number of buckets.
        total: number of nodes in all ranges.
    """
    buckets = table_lengths(total)["buckets"]
    shift = np.uint64(65 - buckets.bit_length())
    start, width = 0, buckets // ranges
    for number, nodes in enumerate(parts):
        bounds = np.arange(number * width, (number + 1) * width, dtype=np.uint64) << shift
        buckets_of_range = start + np.searchsorted(nodes.hashes, bounds)
        yield {"hashes": nodes.hashes, "values": nodes.values, "buckets": buckets_of_range.astype(np.uint32)}
        start += len(nodes.hashes)
    # A sentinel after the last bucket.
    yield {"hashes": np.array([_HIGHEST]), "values": np.array([-2], np.int32)}


class NameMatches(NamedTuple):
    """Names that occur in a text.

    Attributes:
        first: index of the first atom of each match.
        last: index of its last atom, inclusive.
        names: number of the name.
    """

    first: Offsets
    last: Offsets
    names: npt.NDArray[np.int32]


class NameTable:
    """Finds the names of a wiki in text.

    Args:
        arrays: `hashes`, `values` and `buckets`, from `table_of` or memory-mapped.

    >>> from wikianchor.aliases.folding import code_points, cut, fold_all
    >>> table = NameTable(table_of(nodes_of(fold_all(["New York", "York City"]))))
    >>> text = cut(code_points("New York City"))
    >>> matches = table.find(text, Sums(text.points))
    >>> matches.first.tolist(), matches.last.tolist(), matches.names.tolist()
    ([0, 1], [1, 2], [0, 1])
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._hashes, self._values, self._buckets = arrays["hashes"], arrays["values"], arrays["buckets"]
        self._shift = np.uint64(64 - (len(self._buckets).bit_length() - 1))

    def look_up(self, hashes: Hashes) -> tuple[Offsets, npt.NDArray[np.int32]]:
        """Return the indices of those hashes that are nodes, and the values of these nodes."""
        index = self._buckets[hashes >> self._shift].astype(np.int64)
        candidates = self._hashes[index]
        # Hashes are uniformly distributed: a bucket contains one on average.
        behind = np.flatnonzero(candidates < hashes)
        while len(behind):
            index[behind] += 1
            candidates[behind] = self._hashes[index[behind]]
            behind = behind[candidates[behind] < hashes[behind]]
        known = np.flatnonzero(candidates == hashes)
        return known, self._values[index[known]]

    def numbers_of(self, hashes: Hashes) -> npt.NDArray[np.int32]:
        """Return the number of the name of each hash, -1 if no name has it."""
        numbers = np.full(len(hashes), -1, np.int32)
        known, values = self.look_up(hashes)
        numbers[known] = values >> 1
        return numbers

    def find(self, text: FoldedText, sums: Sums) -> NameMatches:
        """Return all names in a text, overlapping ones included, ordered by their length in atoms."""
        before, after, power = sums.ends_of(text.first, text.last)
        hashes = (after - before) * power
        allowed = None if text.begins.all() else np.flatnonzero(text.begins)
        known, values = self.look_up(hashes if allowed is None else hashes[allowed])
        begin = end = known if allowed is None else allowed[known]
        matches = []
        while True:
            named = np.flatnonzero((values >= 0) & text.ends[end])
            matches.append(NameMatches(begin[named], end[named], values[named] >> 1))
            longer = np.flatnonzero((values & 1).astype(np.bool_) & (end + 1 < len(text.first)))
            begin, end = begin[longer], end[longer] + 1
            if not len(begin):
                break
            known, values = self.look_up((after[end] - before[begin]) * power[begin])
            begin, end = begin[known], end[known]
        return NameMatches(*(np.concatenate(parts) for parts in zip(*matches, strict=True)))
