"""The core decompresses bz2 and gzip as Python's modules do, and refuses what is damaged."""

import bz2
import random
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

core = pytest.importorskip("wikianchor_core", reason="NOT TESTED: the core is not installed: make core")

# Texts that repeat themselves, long runs of one byte, and all bytes.
RUNS = st.lists(st.tuples(st.sampled_from(b"ab<\x00\xff"), st.integers(1, 600)), max_size=20)
TEXTS = st.one_of(
    st.binary(max_size=3000),
    RUNS.map(lambda runs: b"".join(bytes([byte]) * count for byte, count in runs)),
    st.tuples(st.binary(max_size=40), st.integers(0, 300)).map(lambda parts: parts[0] * parts[1]),
)
# Three blocks.
LINES = b"".join(b"%d\n" % line for line in range(45_000))
LINES_PACKED = bz2.compress(LINES, 1)


def pieces(stream: bytes, size: int, longest: int, kind: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the text of a stream that is given in pieces, and what follows the stream; EOFError if it is cut off."""
    decompressor, position = kind(), 0
    while not decompressor.eof:
        piece = b""
        if decompressor.needs_input:
            piece = stream[position : position + size]
            position += size
            if not piece:
                raise EOFError
        yield decompressor.decompress(piece, longest)
    yield decompressor.unused_data + stream[position:]


def unpack(stream: bytes, size: int = 1 << 20, longest: int = 1 << 20, kind: Callable[[], Any] | None = None) -> bytes:
    return b"".join(pieces(stream, size, longest, kind or core.Bz2Decompressor))


@given(TEXTS, st.integers(1, 9), st.integers(1, 5000), st.integers(1, 5000))
def test_the_text_is_that_of_libbz2_however_it_is_cut(text: bytes, level: int, size: int, longest: int) -> None:
    assert unpack(bz2.compress(text, level) + b"more", size, longest) == text + b"more"


def test_blocks_of_all_lengths() -> None:
    text = b"".join(b"%d: a line of text\n" % number for number in range(150_000))
    for level in (1, 9):
        assert unpack(bz2.compress(text, level), 1 << 18) == text
    # No two rotations differ: the chain is a circle of one or two rows.
    for text in (b"x" * 3_000_000, b"xy" * 200_000, b"\x00"):
        assert unpack(bz2.compress(text)) == text


@pytest.mark.parametrize("text", [b"", b"a", b"one text of one block, " * 9, bytes(range(256)) * 3], ids=len)
def test_a_changed_bit_is_an_error_as_it_is_for_libbz2(text: bytes) -> None:
    stream = bz2.compress(text)
    # Whether a block is "randomised", as none has been since 1999, is its bit after magic number and checksum.
    randomised = 8 * 4 + 48 + 32
    for bit in range(8 * len(stream)):
        damaged = bytearray(stream)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        outcomes = []
        for kind in (core.Bz2Decompressor, bz2.BZ2Decompressor):
            try:
                outcomes.append(unpack(bytes(damaged), kind=kind))
            except (OSError, EOFError) as error:
                outcomes.append(b"refused" if isinstance(error, OSError) else b"cut off")
        assert outcomes[0] == outcomes[1] or (text and bit == randomised), bit


def test_a_stream_that_is_cut_off_has_no_end() -> None:
    stream = bz2.compress(b"a text")
    for end in range(len(stream)):
        with pytest.raises(EOFError):
            unpack(stream[:end])


def test_what_comes_before_damage_is_returned() -> None:
    text = b"".join(b"%d\n" % number for number in range(50_000))
    stream = bytearray(bz2.compress(text, 1))
    # In the checksum of the stream.
    stream[-2] ^= 0x10
    read: list[bytes] = []
    with pytest.raises(OSError, match="checksum"):
        read.extend(pieces(bytes(stream), 1000, 1000, core.Bz2Decompressor))
    assert b"".join(read) == text[: sum(map(len, read))]
    assert len(b"".join(read)) > 100_000
    with pytest.raises(OSError, match="no bz2 stream"):
        unpack(b"PK\x03\x04 and more")


@given(st.integers(0, 10**9))
def test_what_is_returned_of_a_damaged_stream_is_right(number: int) -> None:
    stream = bytearray(LINES_PACKED)
    # Behind the header, whose level says only how much memory is needed.
    bit = 32 + number % (8 * len(stream) - 32)
    stream[bit // 8] ^= 0x80 >> bit % 8
    read: list[bytes] = []
    with suppress(OSError, EOFError):
        read.extend(pieces(bytes(stream), 1 << 20, 1 << 20, core.Bz2Decompressor))
    assert LINES.startswith(b"".join(read))


def test_a_decompressor_ends_once() -> None:
    decompressor = core.Bz2Decompressor()
    assert (decompressor.needs_input, decompressor.eof) == (True, False)
    assert decompressor.decompress(bz2.compress(b"text") + b"more", 100) == b"text"
    assert (decompressor.needs_input, decompressor.eof, decompressor.unused_data) == (False, True, b"more")
    with pytest.raises(EOFError):
        decompressor.decompress(b"", 1)


def gzipped(text: bytes, level: int) -> bytes:
    packer = zlib.compressobj(level, wbits=31)
    return packer.compress(text) + packer.flush()


def inflated(stream: bytes, size: int, longest: int, inflater: Any) -> tuple[bytes, bytes | None]:
    """Return the text of a member, given in pieces, and what follows it; None where it is cut off or damaged."""
    text, position = b"", 0
    with suppress(zlib.error):
        while not inflater.eof and (inflater.unconsumed_tail or position < len(stream)):
            piece = inflater.unconsumed_tail or stream[position : (position := position + size)]
            text += inflater.decompress(piece, longest)
    return text, inflater.unused_data + stream[position:] if inflater.eof else None


def assert_inflates_as_zlib(stream: bytes, size: int, longest: int) -> None:
    by_core = inflated(stream, size, longest, core.GzDecompressor())
    assert by_core == inflated(stream, size, longest, zlib.decompressobj(31))


@given(TEXTS, st.integers(0, 9), st.integers(1, 5000), st.integers(1, 5000), st.integers(0, 3000))
def test_a_member_is_inflated_as_by_zlib(text: bytes, level: int, size: int, longest: int, end: int) -> None:
    stream = gzipped(text, level)
    assert inflated(stream + b"more", size, longest, core.GzDecompressor()) == (text, b"more")
    assert_inflates_as_zlib(stream[:end], size, longest)


TEXT = b"one text of one member, " * 9 + random.Random(1).randbytes(300)


@pytest.mark.parametrize(("level", "size"), [(0, 1000), (1, 7), (9, 1000)])
def test_a_changed_bit_is_an_error_as_it_is_for_zlib(level: int, size: int) -> None:
    stream = gzipped(TEXT, level)
    for bit in range(8 * len(stream)):
        damaged = bytearray(stream)
        damaged[bit // 8] ^= 0x80 >> bit % 8
        assert_inflates_as_zlib(bytes(damaged), size, 100)


def test_a_bomb_is_inflated_piece_by_piece() -> None:
    inflater = core.GzDecompressor()
    assert inflater.decompress(gzipped(bytes(1 << 28), 9), 1000) == bytes(1000)
    assert len(inflater.unconsumed_tail) > 200_000
    with pytest.raises(EOFError):
        for _ in iter(lambda: len(inflater.decompress(inflater.unconsumed_tail, 1 << 22)), 0):
            pass
