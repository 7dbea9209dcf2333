"""Split gzip files at their members, so that many workers can read one file.

Wikidata's JSON dump is thousands of gzip members one after the other. A member begins with a magic number of three
bytes, which also occurs by chance inside other members. So a header counts only if the 64 KB after it can be inflated.
https://www.rfc-editor.org/rfc/rfc1952
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.compressed import CompressedFile

READ_BYTES = 1 << 20
CHUNK_BYTES = 4 << 20
MAGIC = b"\x1f\x8b\x08"
HEADER_BYTES = 10
# Bytes inflated to check a header. Random bytes fail within the first hundred.
TRIAL_BYTES = 1 << 16
_WITH_HEADER = 16 + zlib.MAX_WBITS


def find_member(file: BinaryIO, start: int, end: int) -> int | None:
    """Return the offset of the first member that begins in [start, end), or None."""
    position, data = start, b""
    while position < end:
        file.seek(position + len(data))
        new = file.read(READ_BYTES)
        data += new
        at = data.find(MAGIC)
        while at >= 0 and position + at < end:
            if _looks_like_header(data[at : at + HEADER_BYTES]) and _inflates(file, position + at):
                return position + at
            at = data.find(MAGIC, at + 1)
        if not new:
            return None
        # The start of a header may be cut by the end of a read.
        position += max(0, len(data) - HEADER_BYTES)
        data = data[-HEADER_BYTES:]
    return None


def _looks_like_header(head: bytes) -> bool:
    # Bits 5 to 7 of the flags are reserved; there are fourteen codes of operating systems, and 255 for unknown.
    return len(head) == HEADER_BYTES and head[3] < 0x20 and head[8] in (0, 2, 4) and (head[9] < 14 or head[9] == 255)


def _inflates(file: BinaryIO, start: int) -> bool:
    file.seek(start)
    try:
        zlib.decompressobj(_WITH_HEADER).decompress(file.read(TRIAL_BYTES))
    except zlib.error:
        return False
    return True


def read_members(file: BinaryIO, path: str, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Decompress the members that begin at byte `start` or later, up to the end of the file.

    Args:
        file: the open file.
        path: its name, for messages.
        start: first byte of the range.
        end: byte after the range. If no member begins in [start, end), nothing is yielded.

    Yields:
        The text of the members in pieces of at most CHUNK_BYTES; the offset at which the member of the piece begins;
        and the offset of the compressed data of the piece.

    Raises:
        Truncated: the last member is cut off.
        InputError: a member is damaged, or there are other bytes between members.
    """
    member = 0 if start == 0 else find_member(file, start, end)
    if member is None:
        return
    source = CompressedFile(file, member)
    while True:
        inflater = zlib.decompressobj(_WITH_HEADER)
        data = b""
        while not inflater.eof:
            if not data:
                offset = source.position
                data = source.take()
                if not data:
                    raise Truncated(f"{path}: the gz data are cut off at byte {offset}: fetch it again")
            try:
                text = inflater.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise InputError(f"{path}: damaged gz data near byte {offset} ({error}): fetch it again") from error
            data = inflater.unconsumed_tail
            if text:
                yield text, member, offset
        # Zeros may pad the end of a file.
        source.begin_stream(len(inflater.unused_data))
        if source.ended:
            return
        member = source.position
        if not source.starts_with(MAGIC):
            raise InputError(f"{path}: damaged gz data: byte {member} is the start of no member: fetch it again")
