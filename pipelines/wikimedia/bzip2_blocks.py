"""Split long bz2 streams at their blocks, so that many workers can read one stream.

A bz2 stream is a sequence of blocks of at most 900 KB of text. Blocks begin at any bit, not only at byte boundaries,
and each begins with the same 48-bit magic number. A block does not depend on the blocks before it: with a stream header
and footer added, it is decompressed on its own, and its checksum shows whether the bits were one whole block. The same
48 bits can also occur by chance inside a block. The checksum detects this: the block is then tried with the next magic
number as its end. A stream ends with a checksum of the checksums of its blocks, which the reader of all of them checks.
https://en.wikipedia.org/wiki/Bzip2#File_format
"""

from __future__ import annotations

import os
from bisect import bisect_left
from bz2 import BZ2Decompressor
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.core_record import installed_core

# What decompresses a bz2 stream, with the attributes of `BZ2Decompressor`; the core takes half of the CPU of libbz2.
new_decompressor: Any = getattr(installed_core(), "Bz2Decompressor", None) or BZ2Decompressor
READ_BYTES = 1 << 20
BLOCK, END = 0x314159265359, 0x177245385090
MARK_BITS, CHECKSUM_BITS, HEADER_BYTES = 48, 32, 4
# Upper bound for a compressed block: 900,000 incompressible bytes and their Huffman tables.
LONGEST_BLOCK = 1 << 20
# Each of its bytes, and after four equal ones how often more.
LONGEST_TEXT = 900_000 // 5 * 259
# The magic numbers occur by chance once in 2 ** 44 bytes. A block with more than a few false marks is not from a dump
# but made to waste time, because every false mark costs one decompression.
FALSE_MARKS = 8


class Mark(NamedTuple):
    """The offset, in bits, of the magic number that begins a block or ends a stream."""

    bit: int
    end: bool


def _patterns() -> Iterator[tuple[int, bytes, int, int, bool]]:
    """Yield each magic number at each of the eight bit offsets in a byte: the offset, the five whole bytes, the bits
    before and after these, and whether it ends a stream."""
    for magic, end in ((BLOCK, False), (END, True)):
        for shift in range(8):
            # `shift` zero bits, the 48 bits of the magic number, and zero bits up to 7 bytes.
            padded = (magic << (8 - shift)).to_bytes(7, "big")
            yield shift, padded[1:6], padded[0], padded[6], end


_PATTERNS = tuple(_patterns())


def find_marks(data: bytes, start: int = 0) -> list[Mark]:
    """Return the magic numbers that lie completely in `data`, from byte `start` on, in ascending order.

    A few of them may be false: bits that equal a magic number by chance.
    """
    marks = []
    for shift, inner, before, after, end in _PATTERNS:
        position = data.find(inner, start + 1)
        while position >= 0:
            inner_end = position + len(inner)
            # A magic number at a byte boundary does not reach into the last byte.
            complete = inner_end < len(data) or not shift
            tail = data[inner_end] >> (8 - shift) << (8 - shift) if shift and complete else 0
            if complete and data[position - 1] & (0xFF >> shift) == before and tail == after:
                marks.append(Mark(8 * (position - 1) + shift, end))
            position = data.find(inner, position + 1)
    return sorted(marks)


def _bits(data: bytes, first: int, last: int) -> int:
    """Return the bits [first, last) of `data` as a number."""
    return int.from_bytes(data[first // 8 : (last + 7) // 8], "big") >> (-last % 8) & (1 << (last - first)) - 1


def _is_header(data: bytes) -> bool:
    """Return whether data begins with the header of a stream, or is the beginning of one."""
    return data.startswith(b"BZh"[: len(data)]) and data[3:HEADER_BYTES] in b"123456789"


def unpack_block(data: bytes, first: int, last: int) -> bytes | None:
    """Decompress the block in bits [first, last) of `data`; return None if these bits are not one whole block."""
    size = last - first
    if size < MARK_BITS + CHECKSUM_BITS:
        return None
    bits = _bits(data, first, last)
    checksum = bits >> (size - MARK_BITS - CHECKSUM_BITS) & 0xFFFFFFFF
    # The checksum of a stream with one block equals the checksum of the block.
    stream = ((bits << MARK_BITS | END) << CHECKSUM_BITS) | checksum
    size += MARK_BITS + CHECKSUM_BITS
    stream <<= -size % 8
    decompressor = new_decompressor()
    try:
        text: bytes = decompressor.decompress(b"BZh9" + stream.to_bytes((size + 7) // 8, "big"), LONGEST_TEXT)
    except OSError:
        return None
    return text if decompressor.eof and not decompressor.unused_data else None


def has_end(file: BinaryIO) -> bool:
    """Return whether a bz2 file ends with the end of a stream, one byte of whose magic number may be damaged; zeros may
    follow."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - READ_BYTES))
    data = file.read()
    shortest = len(data.rstrip(b"\x00"))
    # The checksum, which follows the magic number, may end with zeros.
    for end in range(shortest, min(shortest + CHECKSUM_BITS // 8, len(data)) + 1):
        bits = int.from_bytes(data[max(0, end - 11) : end], "big")
        marks = (bits >> (CHECKSUM_BITS + padding) & (1 << MARK_BITS) - 1 for padding in range(8))
        if any((mark ^ END).bit_count() <= 8 for mark in marks):
            return True
    return False


def read_blocks(file: BinaryIO, path: str, start: int, end: int) -> Iterator[tuple[bytes, int]]:
    """Decompress the blocks that begin at byte `start` or later, up to the end of the file.

    Args:
        file: the open file.
        path: its name, for messages.
        start: first byte of the range.
        end: byte after the range. If no block begins in [start, end), nothing is yielded.

    Yields:
        The text of each block, and the offset of the byte in which the block begins.

    Raises:
        Truncated: the last stream is cut off.
        InputError: a block is damaged, a stream from whose start on the blocks were read has another checksum, or there
            are other bytes between streams.
    """
    yield from _BlockReader(file, path, start, end).read()


class _BlockReader:
    """Read blocks through a window that moves over the file. The offsets of marks count from the start of the file."""

    def __init__(self, file: BinaryIO, path: str, start: int, end: int) -> None:
        self._file, self._path, self._end = file, path, end
        # The window: its bytes, its offset in the file, and how many of its bytes were searched for marks.
        self._data, self._base, self._searched = b"", start, 0
        # Marks that were found and not yet used.
        self._marks: deque[Mark] = deque()
        # Text of the first block: `_is_block` decompresses it, so that it need not be done twice.
        self._ready: bytes | None = None
        # The checksum of the stream up to here; None if its first blocks belong to other ranges.
        self._checksum: int | None = None if start else 0
        file.seek(start)

    def read(self) -> Iterator[tuple[bytes, int]]:
        """Yield what `read_blocks` yields."""
        first = self._first() if self._base else self._take()
        if not self._base and (first is None or first.bit != 8 * HEADER_BYTES or not _is_header(self._data)):
            raise InputError(f"{self._path}: damaged bz2 data in the stream at byte 0: fetch it again")
        while first is not None:
            self._forget(first.bit // 8)
            if first.end:
                first = self._after_stream(first)
                continue
            text = self._block(first)
            if self._checksum is not None:
                rotated = self._checksum << 1 & 0xFFFFFFFF | self._checksum >> (CHECKSUM_BITS - 1)
                self._checksum = rotated ^ self._checksum_after(first)
            yield text, first.bit // 8
            first = self._take()

    def _first(self) -> Mark | None:
        """Return the first mark in the range that begins a real block, None if there is none."""
        false_marks = 0
        while (mark := self._take()) is not None and mark.bit // 8 < self._end:
            self._forget(mark.bit // 8)
            # The end of a stream that begins before the range, or of one without blocks.
            if mark.end:
                continue
            # Later marks are checked by the block before them; the first one has none.
            if self._is_block(mark) or not self._inside_another(mark):
                return mark
            false_marks += 1
            if false_marks > FALSE_MARKS:
                raise self._damaged(mark)
        return None

    def _is_block(self, mark: Mark) -> bool:
        """Return whether the bits from a mark to the next one are a block; keep its text in `_ready`."""
        following = self._peek()
        self._ready = None if following is None else self._unpack(mark, following)
        return self._ready is not None

    def _unpack(self, first: Mark, last: Mark) -> bytes | None:
        return unpack_block(self._data, first.bit - 8 * self._base, last.bit - 8 * self._base)

    def _inside_another(self, mark: Mark) -> bool:
        """Return whether a mark is false because it lies inside a block that begins before it."""
        position = self._file.tell()
        begin = max(0, mark.bit // 8 - LONGEST_BLOCK)
        self._file.seek(begin)
        data = self._file.read(2 * LONGEST_BLOCK)
        self._file.seek(position)
        bits = [other.bit for other in find_marks(data)]
        number = bisect_left(bits, mark.bit - 8 * begin)
        # A block that holds this mark holds few other false ones.
        return any(
            unpack_block(data, first, last) is not None
            for first in bits[max(0, number - FALSE_MARKS) : number]
            for last in bits[number + 1 : number + 1 + FALSE_MARKS]
        )

    def _block(self, first: Mark) -> bytes:
        """Return the text of the block at a mark, and remove false marks inside the block."""
        if self._ready is not None:
            text, self._ready = self._ready, None
            return text
        false_marks = 0
        while (last := self._peek(false_marks)) is not None and last.bit - first.bit <= 8 * LONGEST_BLOCK:
            block = self._unpack(first, last)
            if block is not None:
                for _ in range(false_marks):
                    self._marks.popleft()
                return block
            false_marks += 1
            if false_marks > FALSE_MARKS:
                break
        if not false_marks:
            raise Truncated(
                f"{self._path}: the bz2 block at byte {first.bit // 8} is cut off at byte {self._read_to}: "
                "fetch it again"
            )
        raise self._damaged(first)

    def _checksum_after(self, mark: Mark) -> int:
        """Return the checksum that follows a magic number in the window."""
        first = mark.bit - 8 * self._base + MARK_BITS
        return _bits(self._data, first, first + CHECKSUM_BITS)

    def _damaged(self, mark: Mark) -> InputError:
        return InputError(f"{self._path}: damaged bz2 data in the block at byte {mark.bit // 8}: fetch it again")

    def _after_stream(self, mark: Mark) -> Mark | None:
        """Return the first mark of the stream after the end of another, None at the end of the file."""
        stream = (mark.bit + MARK_BITS + CHECKSUM_BITS + 7) // 8
        while self._read_to < stream + HEADER_BYTES + 6 and self._more():
            pass
        if self._read_to < stream:
            raise Truncated(f"{self._path}: a bz2 stream is cut off at byte {self._read_to}: fetch it again")
        if self._checksum not in (None, self._checksum_after(mark)):
            raise InputError(f"{self._path}: damaged bz2 data in the stream that ends at byte {stream}: fetch it again")
        self._checksum = 0
        begin = stream - self._base
        header = self._data[begin : begin + HEADER_BYTES]
        if not header.strip(b"\x00"):
            self._skip_padding(begin)
            return None
        if not _is_header(header):
            raise InputError(f"{self._path}: byte {stream} is not bz2 data: fetch it again")
        following = self._take()
        if following is None:
            raise Truncated(
                f"{self._path}: the bz2 stream at byte {stream} is cut off at byte {self._read_to}: fetch it again"
            )
        if following.bit != 8 * (stream + HEADER_BYTES):
            raise InputError(f"{self._path}: damaged bz2 data in the stream at byte {stream}: fetch it again")
        return following

    def _skip_padding(self, begin: int) -> None:
        """Check that only zeros follow: zeros may pad the end of a file, but zeros before more data are missing data.

        Raises:
            InputError: other bytes follow.
        """
        offset = self._base + begin
        self._data = self._data[begin:]
        while not self._data.strip(b"\x00"):
            self._data = self._file.read(READ_BYTES)
            if not self._data:
                return
        raise InputError(f"{self._path}: byte {offset} is not bz2 data: fetch it again")

    @property
    def _read_to(self) -> int:
        return self._base + len(self._data)

    def _take(self) -> Mark | None:
        """Remove and return the next mark; None at the end of the file."""
        return None if self._peek() is None else self._marks.popleft()

    def _peek(self, number: int = 0) -> Mark | None:
        """Return the next mark, or the one `number` after it, without removing it; None at the end of the file."""
        while len(self._marks) <= number and self._more():
            pass
        return self._marks[number] if len(self._marks) > number else None

    def _more(self) -> bool:
        """Read the next bytes into the window and find their marks; return False at the end of the file."""
        new = self._file.read(READ_BYTES)
        if not new:
            return False
        self._data += new
        # A mark that the end of the last read cut off begins in its last seven bytes.
        for mark in find_marks(self._data, max(0, self._searched - 7)):
            if (mark.bit + MARK_BITS + 7) // 8 > self._searched:
                self._marks.append(Mark(8 * self._base + mark.bit, mark.end))
        self._searched = len(self._data)
        return True

    def _forget(self, before: int) -> None:
        """Drop the bytes of the window before a byte of the file if they are many, because the rest has to be
        copied."""
        unused = before - self._base
        if unused >= READ_BYTES // 2:
            self._data = self._data[unused:]
            self._base = before
            self._searched -= unused
