"""Writing one Parquet file: what the part says of it, and what is left when it fails."""

import errno
import gc
import hashlib
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wikianchor.io.errors import InputError
from wikianchor.io.storage import writing
from wikianchor.pipelines.dataset import part_writer as parts
from wikianchor.pipelines.dataset.part_writer import PartWriter

SCHEMA = pa.schema([("number", pa.int64()), ("text", pa.string())])


def batch(first: int, rows: int) -> pa.RecordBatch:
    numbers = range(first, first + rows)
    return pa.RecordBatch.from_pydict({"number": numbers, "text": [f"row {n}" for n in numbers]}, schema=SCHEMA)


def files(output: Path) -> list[Path]:
    return sorted(path for path in output.rglob("*") if path.is_file())


def test_a_part_says_what_the_file_is(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "rows", 7, SCHEMA) as writer:
        writer.write(batch(0, 3))
        writer.write(batch(3, 0))
        writer.write(pa.Table.from_batches([batch(3, 2), batch(5, 1)]))
        assert writer.part is None
    part = writer.part
    assert part is not None
    assert files(tmp_path) == [Path(part.path)]
    data = Path(part.path).read_bytes()
    assert (part.config, part.order, part.rows) == ("rows", 7, 6)
    assert (part.size, part.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    with pq.ParquetFile(part.path) as file:
        assert [file.metadata.row_group(number).num_rows for number in range(file.num_row_groups)] == [3, 3]
        assert file.read().column("number").to_pylist() == list(range(6))


def test_the_same_rows_give_the_same_bytes_under_another_name(tmp_path: Path) -> None:
    parts = []
    for _ in range(2):
        with PartWriter(str(tmp_path), "rows", 0, SCHEMA) as writer:
            writer.write(batch(0, 1000))
        parts.append(writer.part)
    assert parts[0].path != parts[1].path
    assert parts[0].sha256 == parts[1].sha256


def test_no_row_no_file(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "rows", 0, SCHEMA) as writer:
        writer.write(batch(0, 0))
    assert writer.part is None
    assert files(tmp_path) == []


@pytest.fixture
def no_garbage() -> None:
    """Collect what earlier tests left, whose files may be open, so that a test sees warnings about its own alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.filterwarnings("error")
def test_an_error_of_others_goes_on_and_the_part_does_not_count(tmp_path: Path) -> None:
    writer = PartWriter(str(tmp_path), "rows", 0, SCHEMA)

    def fail() -> None:
        with writer:
            writer.write(batch(0, 10))
            raise KeyError("ours")

    with pytest.raises(KeyError, match="ours"):
        fail()
    assert writer.part is None
    gc.collect()


class FullDisk:
    """A file system that has room for some bytes, and a file on it."""

    type_name = "local"

    def __init__(self, space: int) -> None:
        self.room = space
        self.deleted: list[str] = []

    def create_dir(self, path: str, recursive: bool) -> None: ...

    def open_output_stream(self, path: str) -> "FullDisk":
        return self

    def write(self, data: bytes) -> None:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def delete_file(self, path: str) -> None:
        self.deleted.append(path)


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("space", [0, 3, 100, 1000, -1])
def test_a_full_disk_is_one_line_wherever_it_is_met(
    space: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the first byte, in a row group, and in the footer, which is written when the part is closed; -1 is one byte
    too little."""
    if space < 0:
        with PartWriter(str(tmp_path), "rows", 0, SCHEMA) as enough:
            enough.write(batch(0, 100))
        assert enough.part is not None
        space += enough.part.size
    disk = FullDisk(space)
    monkeypatch.setattr(parts, "filesystem", lambda path: (disk, path))
    writer = PartWriter("/output", "rows", 0, SCHEMA)

    def fill() -> None:
        with writer:
            writer.write(batch(0, 100))

    with pytest.raises(InputError) as caught:
        fill()
    assert writer.part is None
    assert disk.deleted == [writer.path]
    assert str(caught.value).startswith("/output/rows-000000-")
    assert str(caught.value).endswith(": the disk is full: free some space and run the same command again")
    gc.collect()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(errno.ENOSPC, "x"), "x: the disk is full: free"),
        (OSError(errno.EDQUOT, "x"), "x: the disk is full: free"),
        (OSError("IOError: No space left on device"), "x: the disk is full: free"),
        (PermissionError(errno.EACCES, "x"), r"x: cannot be written \(permission denied\): choose"),
        (OSError(errno.EROFS, "x"), r"x: cannot be written \(the file system is read-only\): choose"),
        (NotADirectoryError(errno.ENOTDIR, "x\ny"), r"x: cannot be written \(Not a directory\): choose"),
        (OSError("bucket gone"), r"x: cannot be written \(bucket gone\): choose"),
    ],
)
def test_each_error_of_the_file_system_has_its_line(error: OSError, said: str) -> None:
    with pytest.raises(InputError, match=f"^{said}[^\n]*$"), writing("x"):
        raise error


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(InputError, match=r"^mine$"), writing("x"):
        raise InputError("mine")
    with pytest.raises(ZeroDivisionError), writing("x"):
        raise ZeroDivisionError


def test_a_flipped_bit_is_found_by_who_looks(tmp_path: Path) -> None:
    with PartWriter(str(tmp_path), "rows", 0, SCHEMA) as writer:
        writer.write(batch(0, 5000))
    assert writer.part is not None
    path = Path(writer.part.path)
    data = bytearray(path.read_bytes())
    data[len(data) // 3] ^= 1
    path.write_bytes(data)
    with pq.ParquetFile(path, page_checksum_verification=True) as file, pytest.raises(OSError, match="CRC"):
        file.read()
