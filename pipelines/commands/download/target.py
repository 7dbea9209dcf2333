"""The local file or the object in a store that a download is written to.

A file has its final name only when it is complete and its checksum is right; until then it is `NAME.part`.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import READ_BYTES, filesystem, is_local, make_parent, writing

if TYPE_CHECKING:
    from typing_extensions import Self

PART = ".part"


@dataclass(frozen=True)
class RemoteFile:
    """A file as its publisher lists it.

    Attributes:
        name: its name, without directories.
        url: where it is.
        size: its bytes.
        digest: its checksum in hex.
        kind: the kind of checksum, "sha1" or "sha256".
        date: the date of the dump, YYYYMMDD.
    """

    name: str
    url: str
    size: int
    digest: str
    kind: str = "sha1"
    date: str = ""


class Download:
    """A local file that is written front to back and hashed on the way. It continues what an earlier attempt left.

    Use it as a context manager.

    Attributes:
        position: bytes that are written.
    """

    def __init__(self, path: str, file: RemoteFile) -> None:
        self._path, self._file = path, file
        self._out: Any = None
        self._reset()

    def _reset(self) -> None:
        self._hash, self.position = hashlib.new(self._file.kind, usedforsecurity=False), 0

    def __enter__(self) -> Self:
        with writing(self._path + PART):
            self._open()
        return self

    def _open(self) -> None:
        self._out = open(self._path + PART, "ab+")  # noqa: SIM115 closed by `__exit__`
        try:
            fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._out.close()
            raise UsageError(f"{self._path}{PART}: another run fetches it: wait for it to end") from None
        self._out.seek(0)
        while data := self._out.read(READ_BYTES):
            self._add(data)
        if self.position > self._file.size:
            self.restart()

    def _add(self, data: bytes) -> None:
        self._hash.update(data)
        self.position += len(data)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        with writing(self._path + PART):
            self._out.write(data)
        self._add(data)

    def digest(self) -> str:
        """Return the checksum of the bytes that are written, in hex."""
        return self._hash.hexdigest()

    def restart(self) -> None:
        """Discard the bytes that are written."""
        with writing(self._path + PART):
            self._out.truncate(0)
        self._reset()

    def finish(self) -> None:
        """Give the file its final name."""
        with writing(self._path):
            self._out.flush()
            os.fsync(self._out.fileno())
            os.replace(self._path + PART, self._path)

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._out.close()
        if not self.position:
            with suppress(OSError):
                os.unlink(self._path + PART)


class ObjectDownload(Download):
    """An object in a store, which is renamed by a copy within the store. Nothing can be appended to an object, so
    another run starts again."""

    def _open(self) -> None:
        self._files, self._inner = filesystem(self._path)
        make_parent(self._files, self._inner)
        self._out = self._files.open_output_stream(self._inner + PART)

    def restart(self) -> None:
        with suppress(OSError):
            self._out.close()
        self._reset()
        self.__enter__()

    def finish(self) -> None:
        with writing(self._path):
            self._out.close()
            self._files.move(self._inner + PART, self._inner)

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            if not self._out.closed:
                self._out.close()
                self._files.delete_file(self._inner + PART)


def open_download(path: str, file: RemoteFile) -> Download:
    """Return the download to a path or URI."""
    return Download(path, file) if is_local(path) else ObjectDownload(path, file)
