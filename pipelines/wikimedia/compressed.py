"""Feed compressed bytes to a decompressor piece by piece, and find where streams begin.

When a stream ends, a decompressor copies the unused rest of its input. Therefore the first pieces of a stream are small
and later ones grow: a file of a million tiny streams is read in linear time, and a long stream in large pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

READ_BYTES = 1 << 20
SMALLEST_PIECE = 1 << 12
_ZEROS = re.compile(rb"\x00*")


class CompressedFile:
    """A file that is read forward from an offset.

    Attributes:
        position: offset of the next byte in the file.
    """

    def __init__(self, file: BinaryIO, position: int) -> None:
        self._file, self._data, self._at, self._piece = file, b"", 0, SMALLEST_PIECE
        self.position = position
        file.seek(position)

    def _fill(self) -> bool:
        """Read on if the buffer is used up; return False at the end of the file."""
        if self._at == len(self._data):
            self._data, self._at = self._file.read(READ_BYTES), 0
        return bool(self._data)

    def take(self) -> bytes:
        """Return the next piece, b"" at the end of the file."""
        if not self._fill():
            return b""
        piece = self._data[self._at : self._at + self._piece]
        self._at += len(piece)
        self.position += len(piece)
        self._piece = min(2 * self._piece, READ_BYTES)
        return piece

    def begin_stream(self, unused: int) -> int:
        """Go to the start of the next stream, and skip zeros, which may pad the end of a file.

        Args:
            unused: number of bytes of the last piece that the decompressor did not use.

        Returns:
            The number of zeros skipped.
        """
        self._at -= unused
        self.position -= unused
        self._piece = SMALLEST_PIECE
        zeros = 0
        while self._fill():
            match = _ZEROS.match(self._data, self._at)
            end = match.end() if match else self._at
            zeros += end - self._at
            self._at = end
            if end < len(self._data):
                break
        self.position += zeros
        return zeros

    def starts_with(self, magic: bytes) -> bool:
        """Return whether the buffered bytes that follow begin `magic`; False at the end of the file."""
        following = self._data[self._at : self._at + len(magic)]
        return following != b"" and magic.startswith(following)

    @property
    def ended(self) -> bool:
        """Whether the end of the file is reached."""
        return not self._fill()


def find_all(file: BinaryIO, pattern: re.Pattern[bytes], width: int, start: int, end: int) -> Iterator[int]:
    """Yield the offsets in [start, end) at which a pattern of `width` bytes matches. The caller may move the file."""
    base, data = start, b""
    while base < end:
        file.seek(base + len(data))
        new = file.read(READ_BYTES)
        data += new
        match = pattern.search(data)
        while match and base + match.start() < end:
            yield base + match.start()
            match = pattern.search(data, match.start() + 1)
        if not new:
            return
        # The end of the read may cut a match.
        kept = data[-(width - 1) :]
        base, data = base + len(data) - len(kept), kept
