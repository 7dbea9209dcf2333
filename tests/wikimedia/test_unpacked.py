"""The second reading of a range takes the copy of its decompressed bytes, and gives what the dump gives."""

import bz2
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from wikianchor.io.errors import Truncated
from wikianchor.pipelines.cli import command_line as cli
from wikianchor.pipelines.sentences import graph
from wikianchor.pipelines.wikimedia import unpacked
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, read_range, split_file
from wikianchor.pipelines.wikimedia.pages import cut_pages
from wikianchor.pipelines.wikimedia.unpacked import ChunkCopy, read_copy

DUMP = Path(__file__).parent.parent.parent / "demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2"


def pages_of(part: Range, copy: Path) -> list[tuple[bytes, int]]:
    """Cut the pages of a range, and leave a copy."""
    with ChunkCopy(str(copy)) as file:
        return list(cut_pages(file.copied(read_range(part)), part.path))


def test_the_pages_of_a_copy_are_those_of_the_dump(tmp_path: Path) -> None:
    ranges = split_file(str(DUMP), DUMP.stat().st_size // 3)
    assert len(ranges) > 2
    for number, part in enumerate(ranges):
        copy = tmp_path / "scratch" / str(number)
        pages = pages_of(part, copy)
        with mock.patch.object(unpacked, "read_range", side_effect=AssertionError):
            assert list(cut_pages(read_copy(str(copy), part), part.path)) == pages
    assert len(list((tmp_path / "scratch").iterdir())) == len(ranges)


def test_a_damaged_range_has_no_copy(tmp_path: Path) -> None:
    dump = tmp_path / "a.xml.bz2"
    dump.write_bytes(bz2.compress(b"<page>A</page>\n" * 1000)[:-20])
    part = Range(str(dump), 0, dump.stat().st_size, True)
    with pytest.raises(Truncated):
        pages_of(part, tmp_path / "copy")
    assert [path.name for path in tmp_path.iterdir()] == ["a.xml.bz2"]
    with pytest.raises(Truncated):
        list(read_copy(str(tmp_path / "copy"), part))


def test_a_copy_of_another_boot_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    part = Range(str(DUMP), 0, DUMP.stat().st_size, True)
    pages = pages_of(part, tmp_path / "copy")
    (copy,) = tmp_path.iterdir()
    # What a power failure may leave.
    os.truncate(copy, 0)
    monkeypatch.setattr(unpacked, "boot_id", lambda: "later")
    assert list(cut_pages(read_copy(str(tmp_path / "copy"), part), part.path)) == pages


def full_disk(*_: Any, **__: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ipc.new_stream", full_disk),
        ("ipc.new_stream", lambda *_, **__: mock.Mock(write_batch=full_disk)),
        ("sync_file", full_disk),
    ],
)
def test_a_full_disk_leaves_every_chunk_and_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: Callable[..., Any]
) -> None:
    monkeypatch.setattr(f"{unpacked.__name__}.{name}", value)
    # Where no boot is known, the copy is flushed.
    monkeypatch.setattr(unpacked, "boot_id", str)
    chunks = [Chunk(b"a", 0, True), Chunk(b"b", 1, False, True)]
    with ChunkCopy(f"{tmp_path}/copy") as copy:
        assert list(copy.copied(iter(chunks))) == chunks
    assert not list(tmp_path.iterdir())


def test_rows_are_the_same_with_and_without_copies(tmp_path: Path) -> None:
    digests = []
    for name, free in (("none", 1 << 60), ("zstd", 8 * DUMP.stat().st_size), ("without", 0)):
        read: list[str] = []

        def counted(part: Range, read: list[str] = read) -> Any:
            read.append(part.path)
            return read_range(part)

        with (
            mock.patch.object(graph, "free_bytes", return_value=free),
            mock.patch.object(unpacked, "read_range", counted),
        ):
            assert cli.main(["sentences", f"--dumps={DUMP}", f"--output={tmp_path / name}", "--workers=1"]) == 0
        assert len(read) == (not free)
        manifest = json.loads((tmp_path / name / "manifest.json").read_text())
        digests.append([manifest["configs"], manifest["ledger"]])
        assert not list((tmp_path / name).rglob("unpacked-*"))
    assert digests[0] == digests[1] == digests[2]
