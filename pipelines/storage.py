"""Files wherever they are: local paths and gs://, s3:// or hdfs:// URIs, by pyarrow's filesystems.

pyarrow is imported by the functions that need it: flags name files, and are read without it.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from pipelines.errors import InputError

if TYPE_CHECKING:
    from pyarrow import fs

READ_BYTES = 1 << 20
_IN_BUCKETS = frozenset(("gs", "gcs", "s3"))


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Return the pyarrow filesystem of a local path or a gs://, s3:// or hdfs:// URI, and the path on it.

    Raises:
        InputError: a URI of something else, or a store that does not answer.
    """
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    scheme, _, place = path.partition("://")
    if scheme in _IN_BUCKETS and not place.split("/")[0]:
        # pyarrow asks for a bucket without a name until the end of days.
        raise InputError(f"{path}: names no bucket: give {scheme}://BUCKET/PATH")
    try:
        return fs.FileSystem.from_uri(path)
    except (ValueError, OSError) as error:
        raise InputError(
            f"{path}: cannot be opened ({_first_line(error)}): give a path, or a gs:// or s3:// URI"
        ) from error


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn an error of the file system into one line that names the file and the mend."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror or _first_line(error)}): check the path and the disk"
        ) from error


def open_file(path: str) -> BinaryIO:
    """Open a file for reading at any offset.

    Raises:
        InputError: it is missing or cannot be read.
    """
    with reading(path):
        if "://" not in path:
            return open(path, "rb")
        files, inner = filesystem(path)
        return files.open_input_file(inner)


def expand(patterns: str, flag: str) -> list[str]:
    """Return the files that a comma-separated list of paths and globs names, sorted, each once.

    Raises:
        InputError: a path or glob matches no file; the message names the flag.
    """
    found: dict[str, None] = {}
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        matches = matching(pattern, directories=False)
        if not matches:
            raise InputError(f"--{flag}={pattern}: no such file")
        found.update(dict.fromkeys(matches))
    return sorted(found)


def matching(pattern: str, directories: bool) -> list[str]:
    """Return the files, or else the directories, that a path or a glob matches, sorted. A name may itself hold the
    characters of a glob: what is there under it is meant.

    Raises:
        InputError: a URI of something unknown, or a store that does not answer.
    """
    if "://" not in pattern:
        is_wanted = os.path.isdir if directories else os.path.isfile
        return [pattern] if is_wanted(pattern) else sorted(path for path in glob.glob(pattern) if is_wanted(path))
    from pyarrow import fs

    wanted = fs.FileType.Directory if directories else fs.FileType.File
    files, inner = filesystem(pattern)
    scheme = pattern.partition("://")[0]
    with reading(pattern):
        if files.get_file_info(inner).type == wanted:
            return [pattern]
        found = [inner.rstrip("/").split("/")[0]]
        for part in inner.rstrip("/").split("/")[1:]:
            # Each level is listed by itself: a bucket may hold more than anyone wants to list.
            found = [path for base in found for path in _children(files, base, part)]
        return [f"{scheme}://{path}" for path in sorted(found) if files.get_file_info(path).type == wanted]


def _children(files: fs.FileSystem, base: str, part: str) -> list[str]:
    if not glob.has_magic(part):
        return [f"{base}/{part}"]
    from pyarrow import fs

    listed = files.get_file_info(fs.FileSelector(base, allow_not_found=True))
    return [info.path for info in listed if fnmatch.fnmatchcase(info.base_name, part)]


def files_in(directory: str) -> list[str]:
    """Return the files in a directory and all below it, sorted, less hidden ones.

    Raises:
        InputError: it cannot be read.
    """
    if "://" not in directory:
        found = glob.glob(f"{glob.escape(directory)}/**", recursive=True)
        return sorted(path for path in found if os.path.isfile(path))
    from pyarrow import fs

    files, inner = filesystem(directory)
    with reading(directory):
        listed = files.get_file_info(fs.FileSelector(inner, recursive=True))
    scheme = directory.partition("://")[0]
    return sorted(f"{scheme}://{info.path}" for info in listed if info.type == fs.FileType.File)


def file_size(path: str) -> int:
    """Return the size of a file in bytes.

    Raises:
        InputError: it is missing, or no file.
    """
    from pyarrow import fs

    files, inner = filesystem(path)
    with reading(path):
        info = files.get_file_info(inner)
    if info.type != fs.FileType.File:
        raise InputError(f"{path}: no such file")
    return int(info.size)


def sha1(path: str) -> str:
    """Return the sha1 of a file in hex, the checksum that Wikimedia publishes beside its dumps."""
    digest = hashlib.sha1(usedforsecurity=False)
    with open_file(path) as file, reading(path):
        while data := file.read(READ_BYTES):
            digest.update(data)
    return digest.hexdigest()
