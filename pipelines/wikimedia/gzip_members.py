"""Split gzip files at their members, so that many workers can read one file.

Wikidata's JSON dump is thousands of gzip members one after the other. A member begins with a magic number of three
bytes, which also occurs by chance inside other members. So a header counts only if the 64 KB after it can be inflated.
https://www.rfc-editor.org/rfc/rfc1952
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import BinaryIO

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.compressed import CompressedFile, find_all

CHUNK_BYTES = 4 << 20
MAGIC = b"\x1f\x8b\x08"
# Bits 5 to 7 of the flags are reserved; there are fourteen codes of operating systems, and 255 for unknown.
_HEADER = re.compile(MAGIC + rb"[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)
HEADER_BYTES = 10
# Bytes inflated to check a header. Random bytes fail within the first hundred.
TRIAL_BYTES = 1 << 16
_WITH_HEADER = 16 + zlib.MAX_WBITS


def find_member(file: BinaryIO, start: int, end: int) -> int | None:
    """Return the offset of the first member that begins in [start, end), or None."""
    headers = find_all(file, _HEADER, HEADER_BYTES, start, end)
    return next((offset for offset in headers if _inflates(file, offset)), None)


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
