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
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to write over and over."""
    return tmp_path_factory.mktemp("dumps") / "dump"


def whole(path: Path) -> bytes:
    return b"".join(chunk.data for chunk in read_range(Range(str(path), 0, file_size(str(path)), True)))


def pages_of(part: Range) -> list[bytes]:
    return [raw for raw, _ in cut_pages(read_range(part), part.path)]


def inner(pages: Sequence[bytes]) -> list[bytes]:
    return [raw.strip() for raw in pages]


def until_truncated(items: Iterable[bytes], found: list[bytes]) -> str | None:
    """Gather items up to the error that the file is cut off, and return what it says."""
    try:
        for item in items:
            found.append(item)
    except Truncated as error:
        return str(error)
    return None


# --- ranges -----------------------------------------------------------------------------------------------------------


@settings(max_examples=150)
@given(
    count=st.integers(0, len(PAGES)),
    cuts=st.lists(st.integers(0, 1 << 20), max_size=12),
    ranges=st.integers(1, 40),
    read_bytes=st.sampled_from([10, 11, 64, 333, 1 << 20]),
    chunk_bytes=st.sampled_from([1, 7, 100, 4 << 20]),
    plain=st.booleans(),
)
def test_every_page_is_in_exactly_one_range(
    place: Path, count: int, cuts: list[int], ranges: int, read_bytes: int, chunk_bytes: int, plain: bool
) -> None:
    """Streams cut pages, tags and each other's ranges anywhere; sizes of reads are nobody's business."""
    data = export(PAGES[:count])
    place.write_bytes(data if plain else streams(data, cuts))
    size = place.stat().st_size
    range_bytes = max(1, size // ranges)
    # One byte at a time is slow where there is much to read.
    chunk_bytes = max(chunk_bytes, size // 200)
    with (
        mock.patch.multiple(dumps, READ_BYTES=read_bytes, CHUNK_BYTES=chunk_bytes),
        mock.patch.object(compressed, "READ_BYTES", read_bytes),
    ):
        parts = split_file(str(place), range_bytes)
        found = [raw for part in parts for raw in pages_of(part)]
    assert [(part.start, part.end) for part in parts] == [
        (start, min(start + range_bytes, size)) for start in range(0, size, range_bytes)
    ]
    assert [part.last for part in parts] == [False] * (len(parts) - 1) + [True]
    assert found == inner(PAGES[:count])


@pytest.mark.parametrize("shift", range(-12, 13))
def test_the_start_of_a_stream_across_the_end_of_a_range_and_of_a_read(place: Path, shift: int) -> None:
    first = bz2.compress(head())
    place.write_bytes(first + bz2.compress(PAGES[1] + END))
    end = len(first) - shift
    parts = [Range(str(place), 0, 5, False), Range(str(place), 5, end, False), Range(str(place), end, 1 << 20, True)]
    with mock.patch.object(compressed, "READ_BYTES", max(1, end - 5)):
        assert [raw for part in parts for raw in pages_of(part)] == inner(PAGES[1:2])


def test_a_multistream_dump_starts_a_range_at_a_stream(place: Path) -> None:
    place.write_bytes(multistream(PAGES, per_stream=1))
    parts = split_file(str(place), 500)
    assert len(parts) > 4
    assert [raw for part in parts for raw in pages_of(part)] == inner(PAGES)
    assert any(part.start and pages_of(part) for part in parts)


def test_empty_streams_are_passed_over(place: Path) -> None:
    empty = bz2.compress(b"")
    place.write_bytes(empty + bz2.compress(head() + PAGES[0]) + empty + empty + bz2.compress(PAGES[1] + END) + empty)
    for range_bytes in (13, 14, 15, 100, 10_000):
        found = [raw for part in split_file(str(place), range_bytes) for raw in pages_of(part)]
        assert found == inner(PAGES[:2])


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_gives_the_same_bytes(place: Path, packing: str) -> None:
    data = export(PAGES)
    place.write_bytes(PACKINGS[packing](data))
    assert compression(str(place)) == packing
    assert whole(place) == data
    found = [raw for part in split_file(str(place), 1000) for raw in pages_of(part)]
    assert found == inner(PAGES)


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_files_of_several_members(place: Path, pack) -> None:
    data = export(PAGES)
    place.write_bytes(b"".join(pack(data[start : start + 999]) for start in range(0, len(data), 999)))
    assert whole(place) == data


# --- broken files -----------------------------------------------------------------------------------------------------


@settings(max_examples=80)
@given(packing=st.sampled_from(["bz2", "multistream", "gz", "xz"]), share=st.floats(0, 1))
def test_a_cut_off_file_gives_what_is_whole_and_then_says_where_it_ends(
    place: Path, packing: str, share: float
) -> None:
    data = multistream(PAGES) if packing == "multistream" else PACKINGS[packing](export(PAGES))
    size = 10 + int(share * (len(data) - 11))
    place.write_bytes(data[:size])
    found: list[bytes] = []
    said = until_truncated((raw for raw, _ in cut_pages(read_range(Range(str(place), 0, size, True)), "?")), found)
    assert found == inner(PAGES[: len(found)])
    if said is None:
        assert packing == "multistream"  # between two of its streams there is nothing to tell by
    else:
        assert re.fullmatch(rf"{place}: the .*cut off at byte {size}: fetch it again", said)


def test_what_was_read_before_the_cut_is_not_lost(place: Path) -> None:
    data = export([page(f"Page {number}", number, noise(5000)) for number in range(40)])
    for pack in (gzip.compress, lzma.compress, lambda data: streams(data, range(0, len(data), 5000))):
        packed = pack(data)
        place.write_bytes(packed[: len(packed) * 9 // 10])
        found: list[bytes] = []
        chunks = (chunk.data for chunk in read_range(Range(str(place), 0, file_size(str(place)), True)))
        assert until_truncated(chunks, found)
        assert data.startswith(b"".join(found))
        assert sum(map(len, found)) > len(data) // 2


@pytest.mark.parametrize("packing", ["bz2", "gz", "xz"])
def test_damaged_data_are_named_and_never_pass_for_good_ones(place: Path, packing: str) -> None:
    data = export(PAGES)
    packed = bytearray(PACKINGS[packing](data))
    for at in range(len(packed) // 4, len(packed) - 40, len(packed) // 20):
        damaged = packed.copy()
        damaged[at] ^= 0x55
        place.write_bytes(damaged)
        with pytest.raises(InputError, match=rf"{place}.*(damaged|cut off)"):
            assert whole(place) == data


def test_a_damaged_stream_leaves_the_others_alone(place: Path) -> None:
    first, second, third = bz2.compress(head() + PAGES[1]), bytearray(bz2.compress(PAGES[4])), bz2.compress(END)
    second[len(second) // 2] ^= 0xFF
    place.write_bytes(first + second + bz2.compress(PAGES[7]) + third)
    after = len(first) + len(second)
    with pytest.raises(InputError, match=rf"damaged bz2 data in the stream at byte {len(first)}"):
        pages_of(Range(str(place), 0, after, False))
    assert pages_of(Range(str(place), after, file_size(str(place)), True)) == inner([PAGES[7]])


def test_damage_is_told_however_little_is_given_out_at_once(place: Path) -> None:
    packed = bytearray(bz2.compress(export(PAGES)))
    packed[len(packed) // 2] ^= 0xFF
    place.write_bytes(packed)
    with mock.patch.object(dumps, "CHUNK_BYTES", 100), pytest.raises(InputError, match="damaged bz2 data"):
        whole(place)


def test_zeros_may_pad_the_end_but_not_hide_a_hole(place: Path) -> None:
    start, rest = bz2.compress(head() + PAGES[0]), bz2.compress(PAGES[1] + END)
    place.write_bytes(start + rest + bytes(5000))
    assert whole(place) == head() + PAGES[0] + PAGES[1] + END
    for zeros in (100, 5000):
        with mock.patch.object(compressed, "READ_BYTES", 1000):
            place.write_bytes(start + bytes(zeros) + rest)
            with pytest.raises(InputError, match="is not bz2 data"):
                whole(place)


def test_zeros_in_multiples_of_four_may_pad_each_stream_of_xz(place: Path) -> None:
    start, rest = lzma.compress(head() + PAGES[0]), lzma.compress(PAGES[1] + END)
    for between, after in ((0, 4), (8, 0), (4, 4000)):
        place.write_bytes(start + bytes(between) + rest + bytes(after))
        assert whole(place) == head() + PAGES[0] + PAGES[1] + END
    for between, after in ((0, 3), (5, 0), (4, 4001)):
        place.write_bytes(start + bytes(between) + rest + bytes(after))
        with pytest.raises(InputError, match="is not xz data"):
            whole(place)


FLIP_PAGES = [page(f"Page {number}", number, noise(40)) for number in range(9)]
THREE_STREAMS = [export(FLIP_PAGES[:3])[: -len(END)], b"".join(FLIP_PAGES[3:6]), b"".join(FLIP_PAGES[6:]) + END]


def flips(place: Path, packing: str, step: int) -> None:
    """Flip bits of every `step`th byte of a file of three streams, and read it as `--allow_truncated` does."""
    packed = b"".join(PACKINGS[packing.removesuffix(" blocks")](text) for text in THREE_STREAMS)
    for cuts in (1, 4):
        range_bytes = -(-len(packed) // cuts)
        for at, mask in itertools.product(range(0, len(packed), step), (0xFF, 1, 16, 128)):
            damaged = bytearray(packed)
            damaged[at] ^= mask
            place.write_bytes(damaged)
            found: list[bytes] = []
            with suppress(InputError):
                read_site([str(place)], None)
                for part in split_file(str(place), range_bytes):
                    part = part._replace(blocks=packing.endswith("blocks"))
                    with suppress(Truncated):
                        found += pages_of(part)
                if packing == "plain":
                    assert len(found) >= len(FLIP_PAGES), (at, mask, cuts)
                else:
                    assert found == inner(FLIP_PAGES), (at, mask, cuts)


@pytest.mark.parametrize("packing", [*PACKINGS, "bz2 blocks"])
def test_a_flipped_byte_is_an_error_or_gives_the_same_pages(place: Path, packing: str) -> None:
    flips(place, packing, 197 if packing == "plain" else 37)


@pytest.mark.nightly
@pytest.mark.parametrize("packing", [*PACKINGS, "bz2 blocks"])
def test_each_flipped_byte_is_an_error_or_gives_the_same_pages(place: Path, packing: str) -> None:
    flips(place, packing, 1)


@pytest.mark.parametrize("packing", ["bz2", "gz", "xz"])
def test_what_follows_the_compressed_data_is_not_passed_over(place: Path, packing: str) -> None:
    place.write_bytes(PACKINGS[packing](export(PAGES)) + b"<html>403 Forbidden</html>")
    with pytest.raises(InputError, match=str(place)):
        whole(place)


@pytest.mark.parametrize(
    ("start", "said"), [(b"", "is empty"), (b"PK\x03\x04", "zip archives"), (b"7z\xbc\xaf", "7z archives"),
                        (b"\x28\xb5\x2f\xfd", "zstd archives")]
)  # fmt: skip
def test_files_that_are_not_read_are_told_by_their_start(place: Path, start: bytes, said: str) -> None:
    place.write_bytes(start)
    with pytest.raises(InputError, match=rf"{place}: .*{said}"):
        compression(str(place))


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc for a file that cannot be read")
def test_an_error_of_the_disk_is_one_line() -> None:
    for read in (compression, sha1):
        with pytest.raises(InputError, match=r"^/proc/self/mem: cannot be read \(.*\): check the path and the disk$"):
            read("/proc/self/mem")


@pytest.mark.parametrize("kind", ["gz", "xz", "bz2", "plain"])
def test_an_error_of_the_disk_is_not_taken_for_damaged_data(place: Path, kind: str) -> None:
    place.write_bytes(PACKINGS[kind](export(PAGES)))
    real = open(place, "rb")  # noqa: SIM115
    broken = mock.Mock(wraps=real, spec=real)
    broken.read.side_effect = OSError(5, "Input/output error")
    broken.__enter__ = lambda self: self
    broken.__exit__ = lambda *args: real.close()
    with (
        mock.patch.object(dumps, "open_file", return_value=broken),
        mock.patch.object(dumps, "compression", return_value=kind),
        pytest.raises(InputError, match=rf"{place}: cannot be read \(Input/output error\)"),
    ):
        whole(place)


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


def test_sha1_is_that_of_the_file(place: Path) -> None:
    place.write_bytes(os.urandom(3_000_000))
    assert sha1(str(place)) == hashlib.sha1(place.read_bytes()).hexdigest()
