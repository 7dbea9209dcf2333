"""bz2 files with long streams: the blocks that begin in a part of the file, so that many workers share one stream.

A bz2 stream is a row of blocks of at most 900 KB of text, each after the other's last bit, and each begins with the
same 48 bits. A block needs nothing of those before it: wrapped up as a stream of its own, it can be decompressed, and
its checksum says whether it was one. 48 bits that only look like a beginning are found by that too: the block they
stand in ends where they do not, so it is tried as far as the next mark. https://en.wikipedia.org/wiki/Bzip2#File_format
"""

from __future__ import annotations

import bz2
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import numpy as np

from wikianchor.io.errors import InputError, Truncated

READ_BYTES = 1 << 20
BLOCK, END = 0x314159265359, 0x177245385090
MARK_BITS, CHECKSUM_BITS, HEADER_BYTES = 48, 32, 4
# No compressed block is longer: 900,000 bytes that do not compress, with their tables.
LONGEST_BLOCK = 1 << 20
# Bits look like a mark by chance once in 2 ** 44 bytes. A block with more than a few such is no dump's: whoever made it
# wants them all to be tried.
FALSE_MARKS = 8


class Mark(NamedTuple):
    """The place in bits of the beginning of a block, or of the end of a stream."""

    bit: int
    end: bool


class _Pattern(NamedTuple):
    """A mark at one of the eight places in a byte: whole bytes to search for, the first four of them as a
    little-endian number, and the bits on both sides."""

    shift: int
    inner: bytes
    word: int
    before: int
    after: int
    end: bool


def _patterns() -> Iterator[_Pattern]:
    for mark, end in ((BLOCK, False), (END, True)):
        for shift in range(8):
            # 48 bits after `shift` others, filled up to 7 bytes.
            filled = (mark << (8 - shift)).to_bytes(7, "big")
            yield _Pattern(shift, filled[1:6], int.from_bytes(filled[1:5], "little"), filled[0], filled[6], end)


_PATTERNS = tuple(_patterns())


def find_marks(data: bytes, start: int = 0) -> list[Mark]:
    """Return the marks that lie in `data` whole, from bit 8 * start on, in order. A few may be no marks at all.

    Four bytes of a mark are compared at once, at each of the four ways that words can lie over the data: that costs
    less than a search for each of the sixteen marks.
    """
    found = []
    for first in range(start + 1, start + 5):
        words = np.frombuffer(data, "<u4", max(0, (len(data) - first) // 4), min(first, len(data)))
        for shift, inner, word, before, after, end in _PATTERNS:
            for hit in np.flatnonzero(words == word).tolist():
                at = first + 4 * hit
                ends_in = at + len(inner)
                if data[at:ends_in] != inner:
                    continue
                # The last byte counts only where the mark reaches into it.
                tail = data[ends_in] >> (8 - shift) << (8 - shift) if shift and ends_in < len(data) else 0
                whole = ends_in < len(data) or not shift
                if whole and data[at - 1] & (0xFF >> shift) == before and tail == after:
                    found.append(Mark(8 * (at - 1) + shift, end))
    return sorted(found)


def unpack_block(data: bytes, first: int, last: int) -> bytes | None:
    """Return the text of the block in bits [first, last) of `data`, None where they are not one whole block."""
    size = last - first
    if size < MARK_BITS + CHECKSUM_BITS:
        return None
    bits = int.from_bytes(data[first // 8 : (last + 7) // 8], "big") >> (-last % 8)
    bits &= (1 << size) - 1
    checksum = bits >> (size - MARK_BITS - CHECKSUM_BITS) & 0xFFFFFFFF
    # The checksum of a stream of one block is that block's.
    stream = ((bits << MARK_BITS | END) << CHECKSUM_BITS) | checksum
    size += MARK_BITS + CHECKSUM_BITS
    stream <<= -size % 8
    decompressor = bz2.BZ2Decompressor()
    try:
        text = decompressor.decompress(b"BZh9" + stream.to_bytes((size + 7) // 8, "big"))
    except OSError:
        return None
    return text if decompressor.eof and not decompressor.unused_data else None


def read_blocks(file: BinaryIO, path: str, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Yield the text of each block that begins at byte `start` or after, to the end of the file, with the byte in which
    the block begins. Nothing where none begins before `end`.

    Raises:
        Truncated: the last stream is cut off.
        InputError: a block is damaged, or there is something else between streams.
    """
    yield from _Blocks(file, path, start, end).read()


class _Blocks:
    """A window over the file, moved from block to block. Marks are counted from the start of the file here."""

    def __init__(self, file: BinaryIO, path: str, start: int, end: int) -> None:
        self._file, self._path, self._end = file, path, end
        # The window's bytes, where it begins, how far it was searched for marks, and those found and not yet used.
        self._data, self._base, self._searched = b"", start, 0
        self._marks: deque[Mark] = deque()
        # The text of the first block, which was unpacked to see whether it is one.
        self._ready: bytes | None = None
        file.seek(start)

    def read(self) -> Iterator[tuple[bytes, int]]:
        first = self._first()
        while first is not None:
            self._forget(first.bit // 8)
            if first.end:
                first = self._after_stream(first)
                continue
            text = self._block(first)
            yield text, first.bit // 8
            first = self._take()

    def _first(self) -> Mark | None:
        """Return the first mark of a true block in the part, None where there is none."""
        tried = 0
        while (mark := self._take()) is not None and mark.bit // 8 < self._end:
            self._forget(mark.bit // 8)
            # What ends here is a stream that begins before the part, or one without a block.
            if mark.end:
                continue
            # Only the first may be false without the block before it to show that.
            if self._sound(mark) or not self._inside_another(mark):
                return mark
            tried += 1
            if tried > FALSE_MARKS:
                raise self._damaged(mark)
        return None

    def _sound(self, mark: Mark) -> bool:
        following = self._peek()
        self._ready = None if following is None else self._unpack(mark, following)
        return self._ready is not None

    def _unpack(self, first: Mark, last: Mark) -> bytes | None:
        return unpack_block(self._data, first.bit - 8 * self._base, last.bit - 8 * self._base)

    def _inside_another(self, mark: Mark) -> bool:
        """Whether a mark stands within a block that begins before it."""
        here = self._file.tell()
        begin = max(0, mark.bit // 8 - LONGEST_BLOCK)
        self._file.seek(begin)
        data = self._file.read(2 * LONGEST_BLOCK)
        self._file.seek(here)
        marks = [found.bit for found in find_marks(data)]
        inside = mark.bit - 8 * begin
        place = bisect_left(marks, inside)
        # A block with the mark in it has few others that are false.
        return any(
            unpack_block(data, first, last) is not None
            for first in marks[max(0, place - FALSE_MARKS) : place]
            for last in marks[place + 1 : place + 1 + FALSE_MARKS]
        )

    def _block(self, first: Mark) -> bytes:
        """Return the text of a block, passing over what only looks like the mark after it."""
        if self._ready is not None:
            text, self._ready = self._ready, None
            return text
        passed = 0
        while (after := self._peek(passed)) is not None and after.bit - first.bit <= 8 * LONGEST_BLOCK:
            found = self._unpack(first, after)
            if found is not None:
                for _ in range(passed):
                    self._marks.popleft()
                return found
            passed += 1
            if passed > FALSE_MARKS:
                break
        if not passed:
            raise Truncated(
                f"{self._path}: the bz2 block at byte {first.bit // 8} is cut off at byte {self._read_to}: "
                "fetch it again"
            )
        raise self._damaged(first)

    def _damaged(self, mark: Mark) -> InputError:
        return InputError(f"{self._path}: damaged bz2 data in the block at byte {mark.bit // 8}: fetch it again")

    def _after_stream(self, mark: Mark) -> Mark | None:
        """Return the first mark of the stream that follows the end of another, None at the end of the file."""
        place = (mark.bit + MARK_BITS + CHECKSUM_BITS + 7) // 8
        while self._read_to < place + HEADER_BYTES + 6 and self._more():
            pass
        if self._read_to < place:
            raise Truncated(f"{self._path}: a bz2 stream is cut off at byte {self._read_to}: fetch it again")
        begin = place - self._base
        header = self._data[begin : begin + HEADER_BYTES]
        if not header.strip(b"\x00"):
            self._pass_padding(begin)
            return None
        if not (header.startswith(b"BZh"[: len(header)]) and header[3:] in b"123456789"):
            raise InputError(f"{self._path}: byte {place} is not bz2 data: fetch it again")
        following = self._take()
        if following is None:
            raise Truncated(
                f"{self._path}: the bz2 stream at byte {place} is cut off at byte {self._read_to}: fetch it again"
            )
        if following.bit != 8 * (place + HEADER_BYTES):
            raise InputError(f"{self._path}: damaged bz2 data in the stream at byte {place}: fetch it again")
        return following

    def _pass_padding(self, begin: int) -> None:
        """Zeros may pad the end of a file, as on a tape; zeros before more data are a hole in it."""
        place = self._base + begin
        self._data = self._data[begin:]
        while not self._data.strip(b"\x00"):
            self._data = self._file.read(READ_BYTES)
            if not self._data:
                return
        raise InputError(f"{self._path}: byte {place} is not bz2 data: fetch it again")

    @property
    def _read_to(self) -> int:
        return self._base + len(self._data)

    def _take(self) -> Mark | None:
        """Return the next mark and go past it; None at the end of the file."""
        return None if self._peek() is None else self._marks.popleft()

    def _peek(self, number: int = 0) -> Mark | None:
        while len(self._marks) <= number and self._more():
            pass
        return self._marks[number] if len(self._marks) > number else None

    def _more(self) -> bool:
        """Read on; return whether there was anything."""
        new = self._file.read(READ_BYTES)
        if not new:
            return False
        self._data += new
        # What the last read cut off begins in its last seven bytes.
        for mark in find_marks(self._data, max(0, self._searched - 7)):
            if (mark.bit + MARK_BITS + 7) // 8 > self._searched:
                self._marks.append(Mark(8 * self._base + mark.bit, mark.end))
        self._searched = len(self._data)
        return True

    def _forget(self, before: int) -> None:
        """Drop the bytes of the window before one of the file, where they are worth it: the rest is copied."""
        passed = before - self._base
        if passed >= READ_BYTES // 2:
            self._data = self._data[passed:]
            self._base = before
            self._searched -= passed
