"""Archives of evaluation sets, read without unpacking them: zip, and tar as it is or compressed.

No file gets a name that an archive says, so nothing can be written outside a directory. Sizes are bounded, because a
small archive can hold an endless file.
"""

from __future__ import annotations

import io
import posixpath
import re
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from wikianchor.io.parsing import unreadable
from wikianchor.io.storage import open_file

ENDINGS = re.compile(r"(?i).*\.(?:zip|tar|tgz|tbz2?|txz|tar\.(?:gz|bz2|xz))")
# Of one file, and of all files of a compressed tar, which is decompressed into a temporary file.
MOST_BYTES = 1 << 30
MOST_TAR_BYTES = 1 << 32
_ADVICE = "unpack the archive, or get it again"


def members(path: str, inside: Callable[[], bytes] | None = None) -> dict[str, Callable[[], bytes]]:
    """Return the reader of each regular file of an archive, by its name. Links and devices are left out.

    Args:
        path: the archive.
        inside: reads its bytes where it is a file of another archive.

    Raises:
        InputError: the archive is damaged, encrypted or too large; so do the readers.
    """
    with unreadable(f"{path}: cannot be read", _ADVICE):
        file: Any = io.BytesIO(inside()) if inside else open_file(path)
        readers: dict[str, Callable[[], IO[bytes]]]
        if path.lower().endswith(".zip"):
            packed = zipfile.ZipFile(file)
            readers = {info.filename: partial(packed.open, info) for info in packed.infolist() if not info.is_dir()}
        else:
            tar = tarfile.TarFile(fileobj=file if path.lower().endswith(".tar") else _decompressed(file))
            readers = {info.name: partial(tar.extractfile, info) for info in tar if info.isreg()}  # type: ignore[misc]
    return {posixpath.normpath(name): partial(_read, f"{path}/{name}", read) for name, read in readers.items()}


def _read(path: str, open_member: Callable[[], IO[bytes]]) -> bytes:
    with unreadable(f"{path}: cannot be read", _ADVICE), open_member() as stream:
        content = stream.read(MOST_BYTES + 1)
        _check_size(len(content), MOST_BYTES)
    return content


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise ValueError(f"larger than {most:,} bytes")


def _decompressed(file: IO[bytes]) -> IO[bytes]:
    """Return the decompressed tar as a temporary file, where each member can be read at once."""
    unpacked = tempfile.TemporaryFile()  # noqa: SIM115
    with tarfile.open(fileobj=file) as tar:
        stream: Any = tar.fileobj
        stream.seek(0)
        while data := stream.read(1 << 20):
            unpacked.write(data)
            _check_size(unpacked.tell(), MOST_TAR_BYTES)
    unpacked.seek(0)
    return unpacked
