"""Keep the decompressed bytes of a range on disk, for a step that reads the range once more.

Writing the bytes with a fast compression and reading them back takes a small part of the CPU of decompressing bz2.
The file need not be on the disk at once: its name says in which boot of the machine it was written, and after a power
failure, which may leave a part of it, the dump is read again.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import ipc

from wikianchor.io.storage import boot_id, sync_file
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, compression, read_range

if TYPE_CHECKING:
    from typing_extensions import Self

_SCHEMA = pa.schema([("data", pa.binary()), ("offset", pa.int64()), ("owned", pa.bool_()), ("exact", pa.bool_())])


def is_slow(path: str) -> bool:
    """Return whether decompressing a file takes longer than copying what comes out."""
    return compression(path) in ("bz2", "xz")


class ChunkCopy:
    """Copies the chunks of a range to a local file while they are read.

    Use it as a context manager: the file appears when the block ends without an error. It is best effort: where it
    cannot be written, there is none.

    Args:
        path: where it is, less the boot.
        codec: "zstd", or "none", which takes ten times the size of a dump, and a tenth of the CPU.
    """

    def __init__(self, path: str, codec: str = "zstd") -> None:
        self._codec, self._path, self._unfinished = codec, _of_this_boot(path), f"{path}.{uuid.uuid4().hex}"
        self._writer: ipc.RecordBatchStreamWriter | None = None

    def __enter__(self) -> Self:
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), exist_ok=True)
            options = ipc.IpcWriteOptions(
                compression=None if self._codec == "none" else pa.Codec(self._codec, compression_level=1)
            )
            self._writer = ipc.new_stream(self._unfinished, _SCHEMA, options=options)
        return self

    def copied(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """Yield chunks, and copy them."""
        for chunk in chunks:
            if self._writer is not None:
                try:
                    self._writer.write_batch(pa.record_batch([[value] for value in chunk], _SCHEMA))
                except OSError:
                    self._discard()
            yield chunk

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is None:
            return
        with suppress(OSError):
            self._writer.close()
            if kind is None:
                if not boot_id():
                    sync_file(self._unfinished)
                os.replace(self._unfinished, self._path)
                return
        self._discard()

    def _discard(self) -> None:
        self._writer = None
        with suppress(OSError):
            os.remove(self._unfinished)


def read_copy(path: str, part: Range) -> Iterator[Chunk]:
    """Yield the chunks of a range from the copy at a path, or from the dump where there is no copy."""
    if not os.path.exists(copy := _of_this_boot(path)):
        yield from read_range(part)
        return
    # By its path alone it would be memory-mapped, and all of it would count as memory of the process.
    with pa.OSFile(copy) as file, ipc.open_stream(file) as reader:
        for batch in reader:
            yield Chunk(*(column[0].as_py() for column in batch.columns))


def _of_this_boot(path: str) -> str:
    return f"{path}-{boot_id()}"
