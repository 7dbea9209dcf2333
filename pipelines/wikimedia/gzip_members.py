"""Split gzip files at their members, so that many workers can read one file.

Wikidata's JSON dump is thousands of gzip members one after the other. A member begins with a magic number of three
bytes, which also occurs by chance inside other members. So a header counts only if the 64 KB after it can be inflated.
https://www.rfc-editor.org/rfc/rfc1952
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.compressed import CompressedFile, find_all
from wikianchor.pipelines.wikimedia.core_record import installed_core

# The core takes half of the CPU of zlib.
new_decompressor = getattr(installed_core(), "GzDecompressor", None) or partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)
CHUNK_BYTES = 4 << 20
MAGIC = b"\x1f\x8b\x08"
# Bits 5 to 7 of the flags are reserved. zlib ignores the time, the level and the operating system.
_HEADER = re.compile(MAGIC + rb"[\x00-\x1f].{6}", re.DOTALL)
HEADER_BYTES = 10
# Bytes inflated to check a header. Random bytes fail within the first hundred.
TRIAL_BYTES = 1 << 16
# A member ends with the size of its text, modulo 2 ** 32.
SIZE_BYTES = 4


def find_member(file: BinaryIO, start: int, end: int) -> int | None:
    """Return the offset of the first member that begins in [start, end), or None."""
    headers = find_all(file, _HEADER, HEADER_BYTES, start, end)
    return next((offset for offset in headers if _inflates(file, offset)), None)


def _inflates(file: BinaryIO, start: int) -> bool:
    file.seek(start)
    try:
        new_decompressor().decompress(file.read(TRIAL_BYTES), CHUNK_BYTES)
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
        inflater = new_decompressor()
        data, size = b"", 0
        while not inflater.eof:
            if not data:
                offset = source.position
                data = source.take()
                if not data:
                    if _is_whole(file, member, size):
                        raise InputError(f"{path}: damaged gz data in the member at byte {member}: fetch it again")
                    raise Truncated(f"{path}: the gz data are cut off at byte {offset}: fetch it again")
            try:
                text = inflater.decompress(data, CHUNK_BYTES)
            except zlib.error as error:
                raise InputError(f"{path}: damaged gz data near byte {offset}: fetch it again") from error
            data = inflater.unconsumed_tail
            size += len(text)
            if text:
                yield text, member, offset
        # Zeros may pad the end of a file.
        source.begin_stream(len(inflater.unused_data))
        if source.ended:
            return
        previous, member = member, source.position
        # The reader of the next range has to find this member, or it would be lost without a word.
        if not source.starts_with(MAGIC) or (previous < end <= member and not _is_next(file, end, member)):
            raise InputError(f"{path}: damaged gz data: byte {member} is the start of no member: fetch it again")


def _is_next(file: BinaryIO, start: int, member: int) -> bool:
    """Return whether `find_member` finds a member as the first one that begins at byte `start` or later."""
    position = file.tell()
    first = find_member(file, start, member + 1)
    file.seek(position)
    return first == member


def _is_whole(file: BinaryIO, member: int, size: int) -> bool:
    """Return whether a file has its end although the member at byte `member`, with `size` bytes of text, has none.

    Another member follows, or the last bytes are about the size of the text; those of a truncated file are so by chance
    once in 30,000 times.
    """
    end = file.seek(-SIZE_BYTES, os.SEEK_END) + SIZE_BYTES
    stated = int.from_bytes(file.read(SIZE_BYTES), "little")
    return abs(stated - size % (1 << 32)) < TRIAL_BYTES or find_member(file, member + 1, end) is not None
