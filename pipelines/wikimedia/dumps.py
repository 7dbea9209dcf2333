"""Opening dump files: paths in, byte ranges that share a file among workers, decompressed chunks out.

A dump is plain, bz2, gzip or xz, told by its first bytes and not by its name. `split_file` cuts it into ranges;
`read_range` yields the decompressed bytes of one range. Plain files are cut anywhere, bz2 files where streams start (a
multistream dump has one every hundred pages) or, where streams are long, at their blocks, gzip files where members
start; an xz file is one range. A reader goes on past its end until its last record is whole, and what it reads there is
marked as not its own, so that every record belongs to exactly one range.
"""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable, Iterator, Sequence
from typing import BinaryIO, NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import READ_BYTES, file_size, open_file, reading
from wikianchor.pipelines.wikimedia.bzip2_blocks import read_blocks
from wikianchor.pipelines.wikimedia.compressed import CompressedFile
from wikianchor.pipelines.wikimedia.gzip_members import find_member, read_members

CHUNK_BYTES = 1 << 20
# Past its end a range needs the rest of one page, most often nothing.
BEYOND_BYTES = 64 << 10
# A bz2 stream begins with its block size and the magic number of its first block: ten bytes that do not occur by
# chance.
STREAM_STARTS = tuple(b"BZh%d1AY&SY" % level for level in range(1, 10))
STREAM_START_BYTES = 10
# Ranges are small enough that one file keeps many workers busy, large enough that their shards are.
SMALLEST_RANGE, LARGEST_RANGE, RANGES = 4 << 20, 64 << 20, 64
# A hundred pages are some hundred KB; a part of this size is worth a worker of its own.
SHORT_STREAM = 8 << 20


class Range(NamedTuple):
    """The records of `path` that begin in compressed bytes [start, end); `last` where the file ends with it, `blocks`
    where the streams of a bz2 file are cut too."""

    path: str
    start: int
    end: int
    last: bool
    blocks: bool = False


class Chunk(NamedTuple):
    """Decompressed bytes, the compressed offset that they come from or shortly before it, and whether the range owns
    what begins in them; `exact` where they stand in the file as they are, so that every byte of them has an offset of
    its own."""

    data: bytes
    offset: int
    owned: bool
    exact: bool = False


def compression(path: str) -> str:
    """Return "bz2", "gz", "xz" or "plain".

    Raises:
        InputError: the file is empty, or an archive that is not read here.
    """
    with open_file(path) as file, reading(path):
        head = file.read(STREAM_START_BYTES)
    if not head:
        raise InputError(f"{path}: the file is empty: fetch it again")
    for magic, name in ((b"BZh", "bz2"), (b"\x1f\x8b", "gz"), (b"\xfd7zXZ\x00", "xz")):
        if head.startswith(magic):
            return name
    for magic, name in ((b"7z\xbc\xaf", "7z"), (b"PK\x03\x04", "zip"), (b"\x28\xb5\x2f\xfd", "zstd")):
        if head.startswith(magic):
            raise InputError(f"{path}: {name} archives are not read: unpack it, or pack it again with bzip2")
    return "plain"


def split_dumps(paths: Sequence[str]) -> list[Range]:
    """Cut files that belong together into ranges of one size."""
    total = sum(file_size(path) for path in paths)
    size = min(max(SMALLEST_RANGE, total // RANGES), LARGEST_RANGE)
    return [part for path in paths for part in split_file(path, size)]


def split_file(path: str, range_bytes: int) -> list[Range]:
    """Cut a file into ranges of `range_bytes` compressed bytes; the cut depends on the file alone, never on the
    workers."""
    size, kind = file_size(path), compression(path)
    if kind == "xz":
        return [Range(path, 0, size, True)]
    blocks = kind == "bz2" and size > range_bytes and not _has_short_streams(path)
    starts = range(0, size, range_bytes)
    return [Range(path, start, min(start + range_bytes, size), start + range_bytes >= size, blocks) for start in starts]


def is_one_task(path: str) -> bool:
    """Return whether a file is worth many tasks and can only be one, because it has no place to begin at but its start:
    xz, or gzip in a single member."""
    if file_size(path) <= SMALLEST_RANGE:
        return False
    kind = compression(path)
    if kind == "gz":
        with open_file(path) as file, reading(path):
            return find_member(file, 1, LARGEST_RANGE) is None
    return kind == "xz"


def _has_short_streams(path: str) -> bool:
    """Whether a second bz2 stream starts soon; to read by blocks costs more, so that is for other files."""
    with open_file(path) as file, reading(path):
        return find_stream(file, 1, SHORT_STREAM) is not None


def read_range(part: Range) -> Iterator[Chunk]:
    """Yield the decompressed bytes of a range, and past its end those of the ranges after it, marked as not owned.

    Raises:
        Truncated: the compressed data end too early.
        InputError: the compressed data are damaged.
    """
    kind = compression(part.path)
    with open_file(part.path) as file, reading(part.path):
        if kind == "plain":
            yield from _read_plain(file, part)
        else:
            yield from _joined(_UNPACK[kind](file, part))


def _joined(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Join chunks that are smaller than any use of them: a reader looks for the end of its record in each."""
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
        # What is whole must come out before the damage is met.
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
        yield Chunk(data, position, True, True)
        position += len(data)
    while data := file.read(READ_BYTES):
        yield Chunk(data, position, False, True)
        position += len(data)


def find_stream(file: BinaryIO, start: int, end: int) -> int | None:
    """Return the offset of the first bz2 stream that begins in [start, end), or None."""
    file.seek(start)
    position, data = start, b""
    # The start of a stream may itself be cut by the end of the range, or by that of a read.
    while position < end + STREAM_START_BYTES - 1:
        new = file.read(READ_BYTES)
        data = data[-(STREAM_START_BYTES - 1) :] + new if data else new
        hits = [hit for magic in STREAM_STARTS if (hit := data.find(magic)) >= 0]
        base = position + len(new) - len(data)
        if hits:
            return base + min(hits) if base + min(hits) < end else None
        if not new:
            return None
        position += len(new)
    return None


def _read_bz2(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    # An empty bz2 stream has no block, so only the file's own start is taken without looking for a first block.
    stream = 0 if part.start == 0 else find_stream(file, part.start, part.end)
    if stream is None:
        return
    source, decompressor = CompressedFile(file, stream), bz2.BZ2Decompressor()
    while True:
        offset = source.position
        data = source.take()
        if not data:
            raise Truncated(f"{part.path}: the bz2 stream at byte {stream} is cut off at byte {offset}: fetch it again")
        drained = False
        while not drained:
            try:
                out = decompressor.decompress(data, CHUNK_BYTES if stream < part.end else BEYOND_BYTES)
            except OSError as error:
                damaged = f"{part.path}: damaged bz2 data in the stream at byte {stream}: fetch it again"
                raise InputError(damaged) from error
            data = b""
            if out:
                yield Chunk(out, offset, stream < part.end)
            drained = decompressor.eof or decompressor.needs_input
        if decompressor.eof:
            # Zeros may pad the end of a file, as on a tape; zeros before more data are a hole in it.
            zeros = source.begin_stream(len(decompressor.unused_data))
            if source.ended:
                return
            stream = source.position - zeros
            if zeros or not source.starts_with(b"BZh"):
                raise InputError(f"{part.path}: byte {stream} is not bz2 data: fetch it again")
            decompressor = bz2.BZ2Decompressor()


def _read_bz2_blocks(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    for data, offset in read_blocks(file, part.path, part.start, part.end):
        yield Chunk(data, offset, offset < part.end)


def _read_gz(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    for data, member, offset in read_members(file, part.path, part.start, part.end):
        yield Chunk(data, offset, member < part.end)


def _read_xz(file: BinaryIO, part: Range) -> Iterator[Chunk]:
    offset = 0
    try:
        with lzma.LZMAFile(file) as unpacked:
            # read1, not read: what is whole must come out before the end of a cut-off file is met.
            while data := unpacked.read1(CHUNK_BYTES):
                yield Chunk(data, offset, True)
                offset = file.tell()
    except EOFError as error:
        raise Truncated(f"{part.path}: the xz data are cut off at byte {file.tell()}: fetch it again") from error
    except lzma.LZMAError as error:
        raise InputError(f"{part.path}: damaged xz data near byte {file.tell()} ({error}): fetch it again") from error


_UNPACK: dict[str, Callable[[BinaryIO, Range], Iterator[Chunk]]] = {
    "bz2": lambda file, part: _read_bz2_blocks(file, part) if part.blocks else _read_bz2(file, part),
    "gz": _read_gz,
    "xz": _read_xz,
}


def read_head(path: str, limit: int = 1 << 20) -> bytes:
    """Return the first decompressed bytes of a file, at most `limit`; less where the file is short or cut off.

    Raises:
        Truncated: it is cut off so early that there are none.
        InputError: it cannot be read.
    """
    head = b""
    try:
        for chunk in read_range(Range(path, 0, file_size(path), True)):
            head += chunk.data
            if len(head) >= limit or b"</siteinfo>" in head:
                break
    except Truncated:
        if not head:
            raise
    return head[:limit]
