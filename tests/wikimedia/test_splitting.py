"""One compressed file for many readers: whatever the cut, every record comes out exactly once."""

import bz2
import gzip
import itertools
import lzma
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dumps import export, page
from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import file_size
from wikianchor.pipelines.wikimedia import bzip2_blocks, compressed, dumps
from wikianchor.pipelines.wikimedia.bzip2_blocks import BLOCK, MARK_BITS, Mark, find_marks, unpack_block
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, split_file
from wikianchor.pipelines.wikimedia.pages import cut_pages


def noise(letters: int, seed: int) -> str:
    return "".join(random.Random(seed).choices("abcdefghijklmnop ", k=letters))


# Level 1 of bzip2 makes a block of each 100 KB, so a megabyte has a dozen.
PAGES = [page(f"Page {number}", number, noise(2_000 + 26 * number, number)) for number in range(200)]
DATA = export(PAGES)
ONE_STREAM = bz2.compress(DATA, 1)


@pytest.fixture(scope="module")
def dump_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("split") / "dump"


def texts(part: Range) -> Iterator[bytes]:
    return (raw for raw, _ in cut_pages(read_range(part), part.path))


def titles(parts: list[Range]) -> list[bytes]:
    return [re.search(rb"<title>(.*)</title>", raw)[1] for part in parts for raw in texts(part)]  # type: ignore[index]


def ranges(path: Path, cuts: list[int], blocks: bool) -> list[Range]:
    size = path.stat().st_size
    bounds = sorted({0, size, *(cut for cut in cuts if 0 < cut < size)})
    return [Range(str(path), a, b, b == size, blocks) for a, b in itertools.pairwise(bounds)]


TITLES = [b"Page %d" % number for number in range(200)]


# --- bz2 by block -----------------------------------------------------------------------------------------------------


def test_marks_are_found_at_every_bit() -> None:
    draw = random.Random(1)
    for shift in range(16):
        before, after = draw.getrandbits(32 + shift), draw.getrandbits(64)
        bits = (before << MARK_BITS | BLOCK) << 64 | after
        size = 32 + shift + MARK_BITS + 64
        data = (bits << (-size % 8)).to_bytes((size + 7) // 8, "big")
        # The bits before fill 32 + shift places, whatever their own leading zeros.
        assert Mark(32 + shift, False) in find_marks(data)


def test_a_block_by_itself_and_nothing_else() -> None:
    marks = list(find_marks(ONE_STREAM))
    assert len(marks) > 8
    assert [mark.end for mark in marks] == [False] * (len(marks) - 1) + [True]
    pieces = [unpack_block(ONE_STREAM, a.bit, b.bit) for a, b in itertools.pairwise(marks)]
    assert b"".join(filter(None, pieces)) == DATA
    first, second = marks[:2]
    for wrong in ((first.bit, second.bit - 1), (first.bit, second.bit + 1), (first.bit + 1, second.bit), (5, 60)):
        assert unpack_block(ONE_STREAM, *wrong) is None


@settings(max_examples=25)
@given(
    cuts=st.lists(st.integers(1, len(ONE_STREAM)), max_size=12),
    read_bytes=st.sampled_from([7, 1_000, 60_001, 1 << 20]),
)
def test_every_page_of_one_stream_is_in_exactly_one_range(dump_path: Path, cuts: list[int], read_bytes: int) -> None:
    dump_path.write_bytes(ONE_STREAM)
    with mock.patch.object(bzip2_blocks, "READ_BYTES", max(read_bytes, 500)):
        assert titles(ranges(dump_path, cuts, True)) == TITLES


@settings(max_examples=25)
@given(
    streams=st.lists(st.integers(0, len(DATA)), max_size=5),
    cuts=st.lists(st.integers(0, 10_000), max_size=8),
    padded=st.booleans(),
)
def test_blocks_across_streams(dump_path: Path, streams: list[int], cuts: list[int], padded: bool) -> None:
    bounds = sorted({0, len(DATA), *streams})
    packed = [bz2.compress(DATA[a:b], 1) for a, b in itertools.pairwise(bounds)]
    packed.insert(len(packed) // 2, bz2.compress(b""))
    dump_path.write_bytes(b"".join(packed) + bytes(2_000 * padded))
    size = dump_path.stat().st_size
    assert titles(ranges(dump_path, [cut * size // 10_000 for cut in cuts], True)) == TITLES


def test_bits_that_only_look_like_a_block_are_passed_over(dump_path: Path) -> None:
    dump_path.write_bytes(ONE_STREAM)
    real = find_marks(ONE_STREAM)
    false = [Mark((a.bit + b.bit) // 2 + 3, number % 3 == 2) for number, (a, b) in enumerate(itertools.pairwise(real))]
    every = sorted(real + false)

    def with_false(data: bytes, start: int = 0) -> list[Mark]:
        at = ONE_STREAM.find(data[:200]) if len(data) > 200 else ONE_STREAM.find(data)
        moved = [Mark(mark.bit - 8 * at, mark.end) for mark in every]
        return [mark for mark in moved if mark.bit >= 8 * start and mark.bit + 56 <= 8 * len(data)]

    cuts = ([mark.bit // 8 for mark in false] + [mark.bit // 8 + 1 for mark in real])[::20]
    with mock.patch.object(bzip2_blocks, "find_marks", with_false):
        assert titles(ranges(dump_path, cuts, True)) == TITLES


def test_a_damaged_block_is_told_by_the_reader_that_owns_it_and_by_no_other(dump_path: Path) -> None:
    marks = find_marks(ONE_STREAM)
    damaged = bytearray(ONE_STREAM)
    damaged[marks[5].bit // 8 + 1_000] ^= 0xFF
    dump_path.write_bytes(damaged)
    cuts = [mark.bit // 8 for mark in marks if not mark.end]
    said = []
    for part in ranges(dump_path, cuts, True):
        try:
            list(texts(part))
        except InputError as error:
            said.append(str(error))
    # The reader of the block, and the one before it, whose last page ends there.
    byte = marks[5].bit // 8
    assert said
    assert set(said) == {f"{dump_path}: damaged bz2 data in the block at byte {byte}: fetch it again"}


def test_the_checksum_of_a_stream_is_checked_by_who_reads_all_of_its_blocks(dump_path: Path) -> None:
    end = find_marks(ONE_STREAM)[-1]
    damaged = bytearray(ONE_STREAM)
    damaged[(end.bit + MARK_BITS + 7) // 8] ^= 1
    said = f"{dump_path}: damaged bz2 data in the stream that ends at byte {len(damaged)}: fetch it again"
    dump_path.write_bytes(damaged)
    with pytest.raises(InputError, match=re.escape(said)):
        titles(ranges(dump_path, [], True))
    # All pages are there; no reader knows the checksums of all blocks.
    assert titles(ranges(dump_path, [len(damaged) // 2], True)) == TITLES
    # A later stream.
    dump_path.write_bytes(bz2.compress(b"") + bytes(damaged))
    with pytest.raises(InputError, match="damaged bz2 data in the stream that ends at byte"):
        titles(ranges(dump_path, [], True))


def test_a_block_that_is_missing_is_told(dump_path: Path) -> None:
    marks = find_marks(ONE_STREAM)
    bits = f"{int.from_bytes(ONE_STREAM, 'big'):0{8 * len(ONE_STREAM)}b}"
    end = marks[-1].bit + MARK_BITS + 32
    shorter = bits[: marks[5].bit] + bits[marks[6].bit : end]
    dump_path.write_bytes(int(shorter.ljust(-(-len(shorter) // 8) * 8, "0"), 2).to_bytes(-(-len(shorter) // 8), "big"))
    with pytest.raises(InputError, match="damaged bz2 data in the stream that ends at byte"):
        titles(ranges(dump_path, [], True))


@pytest.mark.parametrize("share", [0.3, 0.6, 0.999, 0.99999])
def test_a_stream_that_is_cut_off(dump_path: Path, share: float) -> None:
    size = int(len(ONE_STREAM) * share)
    dump_path.write_bytes(ONE_STREAM[:size])
    pieces: list[bytes] = []
    whole = (raw for part in ranges(dump_path, [size // 3, size // 2], True) for raw in texts(part))
    with pytest.raises(Truncated, match=f"cut off at byte {size}: fetch it again"):
        pieces.extend(whole)
    assert len(pieces) >= 200 * (share - 0.1) - 30


@pytest.mark.parametrize("cuts", [[], [len(ONE_STREAM) // 2]])
@pytest.mark.parametrize("header", [b"BZh0", b"BZhi"])
def test_a_first_header_that_is_none(dump_path: Path, header: bytes, cuts: list[int]) -> None:
    dump_path.write_bytes(header + ONE_STREAM[4:])
    with pytest.raises(InputError, match="damaged bz2 data in the stream at byte 0"):
        titles(ranges(dump_path, cuts, True))


def test_what_is_no_bz2_after_a_stream(dump_path: Path) -> None:
    for rest in (b"rubbish", bytes(300) + b"more", b"BZh0" + ONE_STREAM[4:], ONE_STREAM[:9]):
        dump_path.write_bytes(ONE_STREAM + rest)
        with pytest.raises(InputError, match=r"is not bz2 data|cut off at byte"):
            titles(ranges(dump_path, [], True))


def test_a_file_of_long_streams_is_cut_at_blocks_and_a_multistream_dump_is_not(dump_path: Path) -> None:
    dump_path.write_bytes(ONE_STREAM)
    parts = split_file(str(dump_path), len(ONE_STREAM) // 4)
    assert all(part.blocks for part in parts)
    assert sum(bool(list(texts(part))) for part in parts) >= 4
    assert titles(parts) == TITLES
    assert not any(part.blocks for part in split_file(str(dump_path), len(ONE_STREAM)))
    dump_path.write_bytes(bz2.compress(DATA[:5000], 1) + bz2.compress(DATA[5000:], 1))
    assert not any(part.blocks for part in split_file(str(dump_path), len(ONE_STREAM) // 4))


def test_tiny_streams_take_linear_time(dump_path: Path) -> None:
    """A million streams of a byte are a file of 40 MB; what is left of a read is not copied for each of them."""
    begin = DATA.index(b"<page>")
    text = DATA[: DATA.index(b"</page>", begin) + len(b"</page>")]
    byte = {value: bz2.compress(bytes([value])) for value in set(text)}
    dump_path.write_bytes(b"".join(byte[value] for value in text * 3) + bz2.compress(b"") * 50_000)
    start = time.process_time()
    for blocks in (False, True):
        assert len(list(texts(Range(str(dump_path), 0, file_size(str(dump_path)), True, blocks)))) == 3
    assert time.process_time() - start < 10


def test_marks_that_are_none_take_linear_time(dump_path: Path) -> None:
    mark = BLOCK.to_bytes(6, "big")
    dump_path.write_bytes(ONE_STREAM[:4] + (mark + b"abcdefgh") * 150_000)
    start = time.process_time()
    for begin in (0, 1_000_000):
        with pytest.raises(InputError, match="damaged bz2 data in the block at byte"):
            list(read_range(Range(str(dump_path), begin, file_size(str(dump_path)), True, True)))
    assert time.process_time() - start < 10


# --- gzip by member ---------------------------------------------------------------------------------------------------


def members(cuts: list[int], level: int = 6) -> bytes:
    bounds = sorted({0, len(DATA), *cuts})
    return b"".join(gzip.compress(DATA[a:b], level, mtime=7) for a, b in itertools.pairwise(bounds))


@settings(max_examples=25)
@given(
    inner=st.lists(st.integers(1, len(DATA)), max_size=12),
    cuts=st.lists(st.integers(0, 10_000), max_size=12),
    level=st.sampled_from([1, 9]),
    read_bytes=st.sampled_from([100, 4_001, 1 << 20]),
    padded=st.booleans(),
)
def test_every_page_of_gzip_members_is_in_exactly_one_range(
    dump_path: Path, inner: list[int], cuts: list[int], level: int, read_bytes: int, padded: bool
) -> None:
    dump_path.write_bytes(members(inner, level) + bytes(1_000 * padded))
    size = dump_path.stat().st_size
    parts = ranges(dump_path, [cut * size // 10_000 for cut in cuts], False)
    with mock.patch.object(compressed, "READ_BYTES", read_bytes):
        assert titles(parts) == TITLES


def test_a_header_within_a_member_is_none(dump_path: Path) -> None:
    # Level 0 stores what it is given, so the inner file's own header stands in the outer one as it is.
    inner = gzip.compress(b"inner", mtime=7)[:10] + random.Random(3).randbytes(5_000)
    dump_path.write_bytes(gzip.compress(inner * 20, 0) + gzip.compress(DATA))
    size = dump_path.stat().st_size
    pieces = b"".join(
        chunk.data
        for part in ranges(dump_path, list(range(0, size, 3_000)), False)
        for chunk in read_range(part)
        if chunk.owned
    )
    assert pieces == inner * 20 + DATA


def test_empty_members_take_linear_time(dump_path: Path) -> None:
    empty = gzip.compress(b"", mtime=7)
    dump_path.write_bytes(empty * 100_000 + gzip.compress(DATA) + (empty + b"\0") * 50_000)
    start = time.process_time()
    assert titles([Range(str(dump_path), 0, file_size(str(dump_path)), True)]) == TITLES
    assert time.process_time() - start < 10


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_progress_within_one_stream(dump_path: Path, pack: Callable[[bytes], bytes]) -> None:
    dump_path.write_bytes(pack(DATA))
    offsets = [chunk.offset for chunk in read_range(Range(str(dump_path), 0, file_size(str(dump_path)), True))]
    assert offsets == sorted(offsets)
    assert 0 < offsets[-1] < file_size(str(dump_path))


def test_a_file_that_cannot_be_shared(dump_path: Path) -> None:
    words = random.Random(5).randbytes(dumps.SMALLEST_RANGE)
    for data, alone in (
        (gzip.compress(words, 1), True),
        (gzip.compress(words, 1) * 2, False),
        (lzma.compress(words, preset=0), True),
    ):
        dump_path.write_bytes(data)
        assert dumps.is_one_task(str(dump_path)) == alone
        assert not alone or sum(bool(list(read_range(part))) for part in split_file(str(dump_path), 1 << 20)) == 1
    dump_path.write_bytes(lzma.compress(b"short"))
    assert not dumps.is_one_task(str(dump_path))


def test_what_follows_the_last_member(dump_path: Path) -> None:
    dump_path.write_bytes(members([50_000]) + bytes(100) + members([]))
    whole = Range(str(dump_path), 0, file_size(str(dump_path)), True)
    assert b"".join(chunk.data for chunk in read_range(whole)) == DATA + DATA
    dump_path.write_bytes(members([]) + b"rubbish")
    with pytest.raises(InputError, match="is the start of no member"):
        titles([whole])


def test_gzip_files_are_cut_too(dump_path: Path) -> None:
    dump_path.write_bytes(members(list(range(0, len(DATA), 20_000))))
    parts = split_file(str(dump_path), dump_path.stat().st_size // 6)
    assert sum(bool(list(texts(part))) for part in parts) >= 6
    assert titles(parts) == TITLES
    assert dumps.compression(str(dump_path)) == "gz"
