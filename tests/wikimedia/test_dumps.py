"""Opening dump files: what kind they are, how they are cut into ranges, and what is said of broken ones."""

import bz2
import gzip
import hashlib
import itertools
import lzma
import os
import random
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.dumps import END, PACKINGS, export, head, multistream, page, streams
from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import expand, file_size, reading, sha1
from wikianchor.pipelines.wikimedia import compressed, dumps
from wikianchor.pipelines.wikimedia.dumps import Range, compression, read_range, split_file
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.pages import cut_pages

RANDOM = random.Random(1)


def noise(size: int) -> str:
    """Text that does not compress well, so that streams are of some length."""
    return "".join(RANDOM.choices("abcdefghijklmnopqrstuvwxyz <&>\n字é", k=size))


PAGES = [page(f"Page {number}", number, noise(size)) for number, size in enumerate((1, 900, 0, 40, 3000, 7, 250, 1200))]


@pytest.fixture(scope="module")
def dump_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write over and over."""
    return tmp_path_factory.mktemp("dumps") / "dump"


def whole(path: Path) -> bytes:
    return b"".join(chunk.data for chunk in read_range(Range(str(path), 0, file_size(str(path)), True)))


def pages_of(part: Range) -> list[bytes]:
    return [raw for raw, _ in cut_pages(read_range(part), part.path)]


def inner(pages: Sequence[bytes]) -> list[bytes]:
    return [raw.strip() for raw in pages]


def until_truncated(items: Iterable[bytes], pages_read: list[bytes]) -> str | None:
    """Gather items up to the error that the file is cut off, and return what it says."""
    try:
        for item in items:
            pages_read.append(item)
    except Truncated as error:
        return str(error)
    return None


# --- ranges -----------------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(
    count=st.integers(0, len(PAGES)),
    cuts=st.lists(st.integers(0, 1 << 20), max_size=12),
    ranges=st.integers(1, 40),
    read_bytes=st.sampled_from([10, 11, 64, 333, 1 << 20]),
    chunk_bytes=st.sampled_from([1, 7, 100, 4 << 20]),
    plain=st.booleans(),
)
def test_every_page_is_in_exactly_one_range(
    dump_path: Path, count: int, cuts: list[int], ranges: int, read_bytes: int, chunk_bytes: int, plain: bool
) -> None:
    """Streams cut pages, tags and each other's ranges anywhere; sizes of reads are nobody's business."""
    data = export(PAGES[:count])
    dump_path.write_bytes(data if plain else streams(data, cuts))
    size = dump_path.stat().st_size
    range_bytes = max(1, size // ranges)
    # One byte at a time is slow where there is much to read.
    chunk_bytes = max(chunk_bytes, size // 200)
    with (
        mock.patch.multiple(dumps, READ_BYTES=read_bytes, CHUNK_BYTES=chunk_bytes),
        mock.patch.object(compressed, "READ_BYTES", read_bytes),
    ):
        parts = split_file(str(dump_path), range_bytes)
        pages_read = [raw for part in parts for raw in pages_of(part)]
    lengths = [part.end - part.start for part in parts]
    assert [part.start for part in parts] == [0, *itertools.accumulate(lengths)][:-1]
    assert sum(lengths) == size
    # Workers end together if the last ranges are the shortest.
    assert range_bytes >= lengths[0]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-2:-1] in ([], [max(1, range_bytes // dumps.SHORTEST_RANGE)])
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert pages_read == inner(PAGES[:count])


@pytest.mark.parametrize("shift", range(-12, 13))
def test_the_start_of_a_stream_across_the_end_of_a_range_and_of_a_read(dump_path: Path, shift: int) -> None:
    first = bz2.compress(head())
    dump_path.write_bytes(first + bz2.compress(PAGES[1] + END))
    end = len(first) - shift
    parts = [
        Range(str(dump_path), 0, 5, False),
        Range(str(dump_path), 5, end, False),
        Range(str(dump_path), end, 1 << 20, True),
    ]
    with mock.patch.object(compressed, "READ_BYTES", max(1, end - 5)):
        assert [raw for part in parts for raw in pages_of(part)] == inner(PAGES[1:2])


def test_a_multistream_dump_starts_a_range_at_a_stream(dump_path: Path) -> None:
    dump_path.write_bytes(multistream(PAGES, per_stream=1))
    parts = split_file(str(dump_path), 500)
    assert len(parts) > 4
    assert [raw for part in parts for raw in pages_of(part)] == inner(PAGES)
    assert any(part.start and pages_of(part) for part in parts)


def test_empty_streams_are_passed_over(dump_path: Path) -> None:
    empty = bz2.compress(b"")
    dump_path.write_bytes(
        empty + bz2.compress(head() + PAGES[0]) + empty + empty + bz2.compress(PAGES[1] + END) + empty
    )
    for range_bytes in (13, 14, 15, 100, 10_000):
        pages_read = [raw for part in split_file(str(dump_path), range_bytes) for raw in pages_of(part)]
        assert pages_read == inner(PAGES[:2])


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_gives_the_same_bytes(dump_path: Path, packing: str) -> None:
    data = export(PAGES)
    dump_path.write_bytes(PACKINGS[packing](data))
    assert compression(str(dump_path)) == packing
    assert whole(dump_path) == data
    pages_read = [raw for part in split_file(str(dump_path), 1000) for raw in pages_of(part)]
    assert pages_read == inner(PAGES)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_files_of_several_members(dump_path: Path, pack) -> None:
    data = export(PAGES)
    dump_path.write_bytes(b"".join(pack(data[start : start + 999]) for start in range(0, len(data), 999)))
    assert whole(dump_path) == data


# --- broken files -----------------------------------------------------------------------------------------------------


@settings(max_examples=50)
@given(packing=st.sampled_from(["bz2", "multistream", "gz", "xz"]), share=st.floats(0, 1))
def test_a_cut_off_file_gives_what_is_whole_and_then_says_where_it_ends(
    dump_path: Path, packing: str, share: float
) -> None:
    data = multistream(PAGES) if packing == "multistream" else PACKINGS[packing](export(PAGES))
    size = 10 + int(share * (len(data) - 11))
    dump_path.write_bytes(data[:size])
    pages_read: list[bytes] = []
    said = until_truncated(
        (raw for raw, _ in cut_pages(read_range(Range(str(dump_path), 0, size, True)), "?")), pages_read
    )
    assert pages_read == inner(PAGES[: len(pages_read)])
    if said is None:
        assert packing == "multistream"  # between two of its streams there is nothing to tell by
    else:
        assert re.fullmatch(rf"{dump_path}: the .*cut off at byte {size}: fetch it again", said)


def test_what_was_read_before_the_cut_is_not_lost(dump_path: Path) -> None:
    data = export([page(f"Page {number}", number, noise(5000)) for number in range(40)])
    for pack in (gzip.compress, lzma.compress, lambda data: streams(data, range(0, len(data), 5000))):
        packed = pack(data)
        dump_path.write_bytes(packed[: len(packed) * 9 // 10])
        pages_read: list[bytes] = []
        chunks = (chunk.data for chunk in read_range(Range(str(dump_path), 0, file_size(str(dump_path)), True)))
        assert until_truncated(chunks, pages_read)
        assert data.startswith(b"".join(pages_read))
        assert sum(map(len, pages_read)) > len(data) // 2


@pytest.mark.parametrize("packing", ["bz2", "gz", "xz"])
def test_damaged_data_are_named_and_never_pass_for_good_ones(dump_path: Path, packing: str) -> None:
    data = export(PAGES)
    packed = bytearray(PACKINGS[packing](data))
    for at in range(len(packed) // 4, len(packed) - 40, len(packed) // 20):
        damaged = packed.copy()
        damaged[at] ^= 0x55
        dump_path.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"{dump_path}.*(damaged|cut off)"):
            assert whole(dump_path) == data


def test_a_damaged_stream_leaves_the_others_alone(dump_path: Path) -> None:
    first, second, third = bz2.compress(head() + PAGES[1]), bytearray(bz2.compress(PAGES[4])), bz2.compress(END)
    second[len(second) // 2] ^= 0xFF
    dump_path.write_bytes(first + second + bz2.compress(PAGES[7]) + third)
    after = len(first) + len(second)
    with pytest.raises(InputError, match=rf"damaged bz2 data in the stream at byte {len(first)}"):
        pages_of(Range(str(dump_path), 0, after, False))
    assert pages_of(Range(str(dump_path), after, file_size(str(dump_path)), True)) == inner([PAGES[7]])


def test_damage_is_told_however_little_is_given_out_at_once(dump_path: Path) -> None:
    packed = bytearray(bz2.compress(export(PAGES)))
    packed[len(packed) // 2] ^= 0xFF
    dump_path.write_bytes(packed)
    with mock.patch.object(dumps, "CHUNK_BYTES", 100), pytest.raises(InputError, match="damaged bz2 data"):
        whole(dump_path)


def test_zeros_may_pad_the_end_but_not_hide_a_hole(dump_path: Path) -> None:
    start, rest = bz2.compress(head() + PAGES[0]), bz2.compress(PAGES[1] + END)
    dump_path.write_bytes(start + rest + bytes(5000))
    assert whole(dump_path) == head() + PAGES[0] + PAGES[1] + END
    for zeros in (100, 5000):
        with mock.patch.object(compressed, "READ_BYTES", 1000):
            dump_path.write_bytes(start + bytes(zeros) + rest)
            with pytest.raises(InputError, match="is not bz2 data"):
                whole(dump_path)


def test_zeros_in_multiples_of_four_may_pad_each_stream_of_xz(dump_path: Path) -> None:
    start, rest = lzma.compress(head() + PAGES[0]), lzma.compress(PAGES[1] + END)
    for between, after in ((0, 4), (8, 0), (4, 4000)):
        dump_path.write_bytes(start + bytes(between) + rest + bytes(after))
        assert whole(dump_path) == head() + PAGES[0] + PAGES[1] + END
    for between, after in ((0, 3), (5, 0), (4, 4001)):
        dump_path.write_bytes(start + bytes(between) + rest + bytes(after))
        with pytest.raises(InputError, match="is not xz data"):
            whole(dump_path)


FLIP_PAGES = [page(f"Page {number}", number, noise(40)) for number in range(9)]
THREE_STREAMS = [export(FLIP_PAGES[:3])[: -len(END)], b"".join(FLIP_PAGES[3:6]), b"".join(FLIP_PAGES[6:]) + END]


def flips(dump_path: Path, packing: str, step: int) -> None:
    """Flip bits of every `step`th byte of a file of three streams, and read it as `--allow_truncated` does."""
    packed = b"".join(PACKINGS[packing.removesuffix(" blocks")](text) for text in THREE_STREAMS)
    for cuts in (1, 4):
        range_bytes = -(-len(packed) // cuts)
        for at, mask in itertools.product(range(0, len(packed), step), (0xFF, 1, 16, 128)):
            damaged = bytearray(packed)
            damaged[at] ^= mask
            dump_path.write_bytes(damaged)
            pages_read: list[bytes] = []
            with suppress(InputError):
                read_site([str(dump_path)], None)
                for part in split_file(str(dump_path), range_bytes):
                    part = part._replace(blocks=packing.endswith("blocks"))
                    with suppress(Truncated):
                        pages_read += pages_of(part)
                if packing == "plain":
                    assert len(pages_read) >= len(FLIP_PAGES), (at, mask, cuts)
                else:
                    assert pages_read == inner(FLIP_PAGES), (at, mask, cuts)


@pytest.mark.parametrize("packing", [*PACKINGS, "bz2 blocks"])
def test_a_flipped_byte_is_an_error_or_gives_the_same_pages(dump_path: Path, packing: str) -> None:
    flips(dump_path, packing, 197 if packing == "plain" else 37)


@pytest.mark.nightly
@pytest.mark.parametrize("packing", [*PACKINGS, "bz2 blocks"])
def test_each_flipped_byte_is_an_error_or_gives_the_same_pages(dump_path: Path, packing: str) -> None:
    flips(dump_path, packing, 1)


@pytest.mark.parametrize("packing", ["bz2", "gz", "xz"])
def test_what_follows_the_compressed_data_is_not_passed_over(dump_path: Path, packing: str) -> None:
    dump_path.write_bytes(PACKINGS[packing](export(PAGES)) + b"<html>403 Forbidden</html>")
    with pytest.raises(InputError, match=str(dump_path)):
        whole(dump_path)


@pytest.mark.parametrize(
    ("start", "said"), [(b"", "is empty"), (b"PK\x03\x04", "zip archives"), (b"7z\xbc\xaf", "7z archives"),
                        (b"\x28\xb5\x2f\xfd", "zstd archives")]
)  # fmt: skip
def test_files_that_are_not_read_are_told_by_their_start(dump_path: Path, start: bytes, said: str) -> None:
    dump_path.write_bytes(start)
    with pytest.raises(InputError, match=rf"{dump_path}: .*{said}"):
        compression(str(dump_path))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc for a file that cannot be read")
def test_an_error_of_the_disk_is_one_line() -> None:
    for read in (compression, sha1):
        with pytest.raises(InputError, match=r"^/proc/self/mem: cannot be read \(.*\): check the path and the disk$"):
            read("/proc/self/mem")


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "plain"])
def test_an_error_of_the_disk_is_not_taken_for_damaged_data(dump_path: Path, kind: str) -> None:
    dump_path.write_bytes(PACKINGS[kind](export(PAGES)))
    real = open(dump_path, "rb")  # noqa: SIM115
    broken = mock.Mock(wraps=real, spec=real)
    broken.read.side_effect = OSError(5, "Input/output error")
    broken.__enter__ = lambda self: self
    broken.__exit__ = lambda *args: real.close()
    with (
        mock.patch.object(dumps, "open_file", return_value=broken),
        mock.patch.object(dumps, "compression", return_value=kind),
        pytest.raises(InputError, match=rf"{dump_path}: cannot be read \(Input/output error\)"),
    ):
        whole(dump_path)


# --- names ------------------------------------------------------------------------------------------------------------


def test_expand_takes_lists_and_globs_and_names_with_brackets(tmp_path: Path) -> None:
    for name in ("a.xml", "b.xml", "[1].xml"):
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "c.xml").mkdir()
    assert expand(f"{tmp_path}/b.xml, {tmp_path}/?.xml,", "dumps") == [f"{tmp_path}/a.xml", f"{tmp_path}/b.xml"]
    assert expand(f"{tmp_path}/[1].xml", "dumps") == [f"{tmp_path}/[1].xml"]
    assert expand("", "dumps") == []
    with pytest.raises(InputError, match=r"--dumps=.*/d\*: no such file"):
        expand(f"{tmp_path}/a.xml,{tmp_path}/d*", "dumps")


def test_missing_files_and_directories_are_named(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(InputError, match=f"{path}: no such file"):
            file_size(str(path))
        with pytest.raises(InputError, match=f"{path}: cannot be read"):
            sha1(str(path))


def test_a_hub_that_does_not_answer_is_one_line() -> None:
    httpx = pytest.importorskip("httpx", reason="NO HUB: pip install '.[hub]'")
    with pytest.raises(InputError, match=r"^hf://datasets/a: cannot be read"), reading("hf://datasets/a"):
        raise httpx.ConnectError("[Errno -2] Name or service not known")


def test_a_uri_that_is_not_known_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^ftp://host/file: cannot be opened"):
        file_size("ftp://host/file")


def test_sha1_is_that_of_the_file(dump_path: Path) -> None:
    dump_path.write_bytes(os.urandom(3_000_000))
    assert sha1(str(dump_path)) == hashlib.sha1(dump_path.read_bytes()).hexdigest()
