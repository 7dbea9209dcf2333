"""Split dump files into byte ranges for workers, and decompress one range.

A dump is plain, bz2, gzip or xz; its first bytes decide, not its name. `split_file` cuts a file into ranges and
`read_range` yields the decompressed bytes of one range. A record belongs to the range in which it begins:

- A plain file can be cut at any byte.
- A bz2 file is cut where streams start (a multistream dump has one stream for every hundred pages), or at blocks if its
  streams are long.
- A gzip file is cut where members start.
- An xz file is one range.

The end of the last record of a range may lie in the next range. So a reader reads on past the end of its range, and
marks those bytes as not owned. Every record is thus read by exactly one worker.
"""

from __future__ import annotations

import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO, NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import READ_BYTES, file_size, open_file, reading
from wikianchor.pipelines.wikimedia.bzip2_blocks import has_end, new_decompressor, read_blocks
from wikianchor.pipelines.wikimedia.compressed import CompressedFile, find_all
from wikianchor.pipelines.wikimedia.gzip_members import find_member, read_members

# A bz2 block is read in random order from a table of 3.6 MB, which leaves the processor's cache while the pages of a
# chunk are read. Chunks that are longer than a block end inside a block less often.
CHUNK_BYTES = 4 << 20
# Past its end a range needs the rest of one page, most often nothing.
BEYOND_BYTES = 64 << 10
# A bz2 stream begins with its block size and the magic number of its first block. These ten bytes do not occur by
# chance.
STREAM_START = re.compile(rb"BZh[1-9]1AY&SY")
STREAM_START_BYTES = 10
_MAGIC = {"bz2": b"BZh", "gz": b"\x1f\x8b", "xz": b"\xfd7zXZ\x00"}
_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "bz2": new_decompressor,
    "xz": partial(lzma.LZMADecompressor, lzma.FORMAT_XZ),
}
XZ_FOOTER_BYTES = 12
# Bytes. Ranges are small enough that one file keeps many workers busy, and large enough for large shards.
SMALLEST_RANGE, LARGEST_RANGE, RANGES = 4 << 20, 64 << 20, 64
# The last ranges are shorter, so that the workers end at about the same time: each has this part of what is left, but
# at least this part of a range.
LAST_RANGES, SHORTEST_RANGE = 8, 4
# Bytes. The streams of a multistream dump have a hundred pages, a few hundred KB; longer ones are cut at their blocks.
SHORT_STREAM = 8 << 20


class Range(NamedTuple):
    """The records of a file that begin in one byte range.

    Attributes:
        path: the file.
        start: first byte, compressed.
        end: byte after the last.
        last: whether the file ends with this range.
        blocks: whether the bz2 file is cut at blocks instead of streams.
    """

    path: str
    start: int
    end: int
    last: bool
    blocks: bool = False


class Chunk(NamedTuple):
    """Some decompressed bytes of a range.

    Attributes:
        data: the bytes.
        offset: offset in the compressed file from which they come, or a little before it.
        owned: whether records that begin in `data` belong to the range.
        exact: whether the file is not compressed, so that each byte of `data` has an exact offset in it.
    """

    data: bytes
    offset: int
    owned: bool
    exact: bool = False


def compression(path: str) -> str:
    """Return the compression of a file by its first bytes: "bz2", "gz", "xz" or "plain".

    Raises:
        InputError: the file is empty, or an archive of a kind that cannot be read (7z, zip, zstd).
    """
    with open_file(path) as file, reading(path):
        head = file.read(STREAM_START_BYTES)
    if not head:
        raise InputError(f"{path}: the file is empty: fetch it again")
    for name, magic in _MAGIC.items():
        if head.startswith(magic):
            return name
    for magic, name in ((b"7z\xbc\xaf", "7z"), (b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd")):
        if head.startswith(magic):
            raise InputError(f"{path}: {name} archives are not read: unpack it, or pack it again with bzip2")
    return "plain"


def split_dumps(paths: Sequence[str]) -> list[Range]:
    """Cut the files of one wiki into ranges of SMALLEST_RANGE to LARGEST_RANGE bytes; the last ones are shorter.

    Raises:
        InputError: a file is missing, empty, or an archive of a kind that cannot be read.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as dump:
    ...     dump.truncate(20 << 20)
    ...     [part.end - part.start >> 10 for part in split_dumps([dump.name])]
    20971520
    [2560, 2240, 1960, 1715, 1500, 1313, 1148, 1024, 1024, 1024, 1024, 1024, 1024, 1024, 874]
    """
    sizes = [file_size(path) for path in paths]
    size = min(max(SMALLEST_RANGE, sum(sizes) // RANGES), LARGEST_RANGE)
    return [part for n, path in enumerate(paths) for part in split_file(path, size, sum(sizes[n + 1 :]))]


def split_file(path: str, range_bytes: int, later_bytes: int = 0) -> list[Range]:
    """Cut a file into ranges of `range_bytes` compressed bytes; the last ones are shorter.

    The cuts depend on the files alone, never on the number of workers.

    Args:
        path: the file.
        range_bytes: size of a range. A file that is not longer is one range.
        later_bytes: size of the files that are read after this one.
    """
    size, kind = file_size(path), compression(path)
    if kind == "xz":
        return [Range(path, 0, size, last=True)]
    blocks = kind == "bz2" and size > range_bytes and not _has_short_streams(path)
    ends = _ends(size, range_bytes, later_bytes) if size > range_bytes else [size]
    return [Range(path, start, end, end == size, blocks) for start, end in pairwise([0, *ends])]


def _ends(size: int, range_bytes: int, later_bytes: int) -> Iterator[int]:
    """Yield where the ranges of a file end."""
    end = 0
    while end < size:
        left = size - end + later_bytes
        length = min(max(left // LAST_RANGES, range_bytes // SHORTEST_RANGE, 1), range_bytes)
        end = min(end + length, size)
        yield end


def is_one_task(path: str) -> bool:
    """Return whether a large file cannot be split: an xz file, or a gzip file with a single member."""
    if file_size(path) <= SMALLEST_RANGE:
        return False
    kind = compression(path)
    if kind == "gz":
        with open_file(path) as file, reading(path):
            return find_member(file, 1, LARGEST_RANGE) is None
    return kind == "xz"


def _has_short_streams(path: str) -> bool:
    """Return whether a second bz2 stream starts within SHORT_STREAM bytes; only other files are cut at blocks, because
    that costs more time."""
    with open_file(path) as file, reading(path):
        return find_stream(file, 1, SHORT_STREAM) is not None


def read_range(part: Range) -> Iterator[Chunk]:
    """Yield the decompressed bytes of a range, then those of the ranges after it, marked as not owned.

    Callers stop as soon as their last record is complete.

    Raises:
        Truncated: the compressed data end too early.
        InputError: the compressed data are damaged.
    """
    kind = compression(part.path)
    with open_file(part.path) as file, reading(part.path):
        if kind == "plain":
            yield from _read_plain(file, part)
            return
        try:
            yield from _joined(_UNPACK[kind](file, part))
        except Truncated as error:
            # A flipped bit can hide the end of a stream, so that the decompressor reads past it.
            if _HAS_END[kind](file):
                raise InputError(f"{str(error).partition(' is cut off')[0]} is damaged: fetch it again") from error
            raise


def whole_file(path: str) -> Range:
    """Return the range of all bytes of a file."""
    return Range(path, 0, file_size(path), last=True)


def content_of(path: str) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file."""
    return (chunk.data for chunk in read_range(whole_file(path)))


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Join small chunks, because callers search each chunk for the end of a record."""
    waiting: list[Chunk] = []
    size = 0
    try:
        for chunk in chunks:
            if waiting and chunk.owned != waiting[0].owned:
                yield _join(waiting)
                waiting, size = [], 0
            waiting.append(chunk)
            size += len(chunk.data)
            if size >= BEYOND_BYTES:
                yield _join(waiting)
                waiting, size = [], 0
    except InputError:
        # Records before the damage are whole: yield them first.
        if waiting:
            yield _join(waiting)
        raise
    if waiting:
        yield _join(waiting)


def _join(chunks: list[Chunk]) -> Chunk:
    return chunks[0] if len(chunks) == 1 else chunks[0]._replace(data=b"".join(chunk.data for chunk in chunks))


def _read_plain(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    file.seek(part.start)
    position = part.start
    while position < part.end:
        data = file.read(min(CHUNK_BYTES, part.end - position))
        if not data:
            return
        yield Chunk(data, position, owned=True, exact=True)
        position += len(data)
    while data := file.read(READ_BYTES):
        yield Chunk(data, position, owned=False, exact=True)
        position += len(data)


def find_stream(file: BinaryIO, start: int, end: int) -> int | None:
    """Return the offset of the first bz2 stream that begins in [start, end), or None."""
    return next(find_all(file, STREAM_START, STREAM_START_BYTES, start, end), None)


def _read_streams(file: BinaryIO, part: Range, kind: str) -> Iterator[Chunk]:
    # An empty bz2 stream has no block and so is not found by `find_stream`: the start of the file needs no search.
    stream = 0 if part.start == 0 else find_stream(file, part.start, part.end)
    if stream is None:
        return
    source, decompressor = CompressedFile(file, stream), _DECOMPRESSORS[kind]()
    while True:
        offset = source.position
        data = source.take()
        if not data:
            cut_off = f"the {kind} stream at byte {stream} is cut off at byte {offset}: fetch it again"
            raise Truncated(f"{part.path}: {cut_off}")
        drained = False
        while not drained:
            try:
                out = decompressor.decompress(data, CHUNK_BYTES if stream < part.end else BEYOND_BYTES)
            except (OSError, lzma.LZMAError) as error:
                reason = f" ({error})" if kind == "xz" else ""
                damaged = f"{part.path}: damaged {kind} data in the stream at byte {stream}{reason}: fetch it again"
                raise InputError(damaged) from error
            data = b""
            if out:
                yield Chunk(out, offset, stream < part.end)
            drained = decompressor.eof or decompressor.needs_input
        if decompressor.eof:
            zeros, ended = source.begin_stream(len(decompressor.unused_data)), source.ended
            # Zeros in multiples of four may pad each stream of xz. In bz2 they may pad the end of a file; before more
            # data they are missing data.
            is_padding = zeros % 4 == 0 if kind == "xz" else ended or not zeros
            if not is_padding or not (ended or source.starts_with(_MAGIC[kind])):
                raise InputError(f"{part.path}: byte {source.position - zeros} is not {kind} data: fetch it again")
            if ended:
                return
            stream, decompressor = source.position, _DECOMPRESSORS[kind]()


def _read_bz2_blocks(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    for data, offset in read_blocks(file, part.path, part.start, part.end):
        yield Chunk(data, offset, offset < part.end)


def _read_gz(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    for data, member, offset in read_members(file, part.path, part.start, part.end):
        yield Chunk(data, offset, member < part.end)


_UNPACK: dict[str, Callable[[BinaryIO, Range], Iterator[Chunk]]] = {
    "bz2": lambda file, part: _read_bz2_blocks(file, part) if part.blocks else _read_streams(file, part, "bz2"),
    "gz": _read_gz,
    "xz": lambda file, part: _read_streams(file, part, "xz"),
}


def _has_xz_footer(file: BinaryIO) -> bool:
    """Return whether an xz file ends with the footer of a stream; zeros may follow."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - READ_BYTES))
    footer = file.read().rstrip(b"\x00")[-XZ_FOOTER_BYTES:]
    return footer.endswith(b"YZ") and zlib.crc32(footer[4:10]) == int.from_bytes(footer[:4], "little")


# `read_members` checks the end of a gzip file by itself: it needs to know the member.
_HAS_END: dict[str, Callable[[BinaryIO], bool]] = {"bz2": has_end, "gz": lambda file: False, "xz": _has_xz_footer}


def read_head(path: str, limit: int = 1 << 20) -> bytes:
    """Return the first decompressed bytes of a file: up to `limit` of them, fewer if the file is short or cut off.

    Reading stops after </siteinfo>.

    Raises:
        Truncated: the file is cut off before the first decompressed byte.
        InputError: the file is empty or damaged.
    """
    head = b""
    try:
        # Chunks that follow the end of a range are small.
        for chunk in read_range(Range(path, 0, 0, last=False)):
            head += chunk.data
            if len(head) >= limit or b"</siteinfo>" in head:
                break
    except Truncated:
        if not head:
            raise
    return head[:limit]
