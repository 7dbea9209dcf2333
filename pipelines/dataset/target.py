"""Where a fetched file goes: on a disk, where what an earlier attempt left counts, or into an object store."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import READ_BYTES, filesystem, make_parent, reading, writing

PART = ".part"
_DIGESTS: dict[str, Callable[[], Any]] = {
    "sha1": lambda: hashlib.sha1(usedforsecurity=False),
    "sha256": hashlib.sha256,
}


@dataclass(frozen=True)
class RemoteFile:
    """A file as its publisher lists it.

    Attributes:
        name: without directories.
        url: where it is.
        size: in bytes.
        digest: its checksum in hex.
        kind: of the checksum.
        date: of the dump, YYYYMMDD.
    """

    name: str
    url: str
    size: int
    digest: str
    kind: str = "sha1"
    date: str = ""


class Target(Protocol):
    """A file on its way in: written front to back, hashed on the way, with its name in the end."""

    position: int

    def write(self, data: bytes) -> None:
        """Add bytes."""

    def digest(self) -> str:
        """Return the checksum of what is there, in hex."""

    def restart(self) -> None:
        """Forget what is there."""

    def finish(self) -> None:
        """Give the file its name."""

    def __enter__(self) -> Any:
        """Begin."""

    def __exit__(self, *error: object) -> None:
        """Close it."""


def open_target(path: str, file: RemoteFile) -> Target:
    """Return where a file goes."""
    return ObjectTarget(path, file) if "://" in path else LocalTarget(path, file)


class LocalTarget:
    """A file beside its final place; what is there of it from before counts."""

    def __init__(self, path: str, file: RemoteFile) -> None:
        self._path, self._file = path, file
        self.position = 0

    def __enter__(self) -> LocalTarget:
        with writing(self._path + PART):
            self._out = open(self._path + PART, "ab+")
            try:
                fcntl.flock(self._out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._out.close()
                raise UsageError(f"{self._path}{PART}: another run fetches it: wait for it to end") from None
            self._hash = _DIGESTS[self._file.kind]()
            self._out.seek(0)
            while data := self._out.read(READ_BYTES):
                self._hash.update(data)
                self.position += len(data)
            if self.position > self._file.size:
                self.restart()
        return self

    def write(self, data: bytes) -> None:
        with writing(self._path + PART):
            self._out.write(data)
        self._hash.update(data)
        self.position += len(data)

    def digest(self) -> str:
        return str(self._hash.hexdigest())

    def restart(self) -> None:
        with writing(self._path + PART):
            self._out.truncate(0)
        self._hash, self.position = _DIGESTS[self._file.kind](), 0

    def finish(self) -> None:
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


class ObjectTarget:
    """An object in a store: it streams there under another name, and gets its own by a copy inside the store. An
    object cannot be added to, so another run begins it again."""

    def __init__(self, path: str, file: RemoteFile) -> None:
        self._path, self._file = path, file
        self._files, self._inner = filesystem(path)

    def __enter__(self) -> ObjectTarget:
        self._begin()
        return self

    def _begin(self) -> None:
        with writing(self._path + PART):
            make_parent(self._files, self._inner)
            self._out = self._files.open_output_stream(self._inner + PART)
        self._hash, self.position = _DIGESTS[self._file.kind](), 0

    def write(self, data: bytes) -> None:
        with writing(self._path + PART):
            self._out.write(data)
        self._hash.update(data)
        self.position += len(data)

    def digest(self) -> str:
        return str(self._hash.hexdigest())

    def restart(self) -> None:
        with suppress(OSError):
            self._out.close()
        self._begin()

    def finish(self) -> None:
        with writing(self._path):
            self._out.close()
            self._files.move(self._inner + PART, self._inner)

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            if not self._out.closed:
                self._out.close()
                self._files.delete_file(self._inner + PART)


def checksum(path: str, kind: str) -> str:
    """Return the checksum of a file in hex."""
    files, inner = filesystem(path)
    digest = _DIGESTS[kind]()
    with reading(path), files.open_input_file(inner) as stream:
        while data := stream.read(READ_BYTES):
            digest.update(data)
    return str(digest.hexdigest())
