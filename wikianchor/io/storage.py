"""Files on local disks and in object stores: paths and gs://, s3:// or hdfs:// URIs, by pyarrow's filesystems.

pyarrow is imported by the functions that need it: flags name files, and are read without it.
"""

from __future__ import annotations

import errno
import fnmatch
import glob
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from wikianchor.io.buckets import connect, first_line
from wikianchor.io.errors import InputError

if TYPE_CHECKING:
    from pyarrow import fs

READ_BYTES = 1 << 20
# pyarrow states the errno of some errors in their text.
_ERRNO = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)


def local_path(path: str | os.PathLike[str]) -> str:
    """Return a path or URI as text, with the home directory in place of `~`.

    Raises:
        TypeError: it is neither a text nor a path.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{path!r} must be a text or a path")
    return os.path.expanduser(os.fspath(path))


def is_local(path: str) -> bool:
    """Return whether a path is one of this machine, and no URI."""
    return "://" not in path


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Return the pyarrow filesystem of a local path or a gs://, s3:// or hdfs:// URI, and the path on it.

    Raises:
        InputError: the URI is of another kind, or the store does not answer.
    """
    return (_local_filesystem(), os.path.abspath(path)) if is_local(path) else connect(path)


@cache
def _local_filesystem() -> fs.FileSystem:
    from pyarrow import fs

    return fs.LocalFileSystem()


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn an error of reading into an `InputError` of one line that names the file."""
    try:
        yield
    except _read_errors() as error:
        raise InputError(f"{path}: cannot be read ({reason_of(error)}): check the path and the disk") from error


def _read_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a damaged or missing file causes, or a store that does not answer."""
    loaded = (("pyarrow", "ArrowException"), ("httpx", "HTTPError"), ("httpx2", "HTTPError"))
    return (OSError, *(getattr(sys.modules[module], name) for module, name in loaded if module in sys.modules))


# Why a disk refuses to be written, by errno.
_REFUSALS = {
    **dict.fromkeys((errno.EACCES, errno.EPERM), "permission denied"),
    errno.EROFS: "the file system is read-only",
}


@contextmanager
def writing(path: str, flag: str = "--output") -> Iterator[None]:
    """Turn an error of writing into an `InputError` of one line that says what to do.

    Args:
        path: the file or directory that is written.
        flag: the option that names it.
    """
    try:
        yield
    except _read_errors() as error:
        text, number = str(error), error_number(error) if isinstance(error, OSError) else None
        problem = f"cannot be written ({_REFUSALS.get(number or 0) or reason_of(error)}): choose another {flag}"
        if number in (errno.ENOSPC, errno.EDQUOT) or "No space left" in text or "quota" in text.lower():
            problem = "the disk is full: free some space and run the same command again"
        raise InputError(f"{path}: {problem}") from error


def error_number(error: OSError) -> int | None:
    """Return the errno of an error, which pyarrow states in the text of some."""
    match = _ERRNO.search(str(error)) if error.errno is None else None
    return int(match[1]) if match else error.errno


def reason_of(error: BaseException) -> str:
    """Return why a file cannot be used, in a few words and without the errno."""
    number = error_number(error) if isinstance(error, OSError) else None
    return os.strerror(number) if number else first_line(error)


def exists(path: str) -> bool:
    """Return whether there is a file or a directory."""
    from pyarrow import fs

    return bool(file_info(path).type != fs.FileType.NotFound)


def file_info(path: str) -> fs.FileInfo:
    """Return type, size and time of change of what is at a path."""
    files, inner = filesystem(path)
    with reading(path):
        return files.get_file_info(inner)


def file_size(path: str) -> int:
    """Return the size of a file in bytes.

    Raises:
        InputError: there is no such file.
    """
    return file_version(path)[0]


def file_version(path: str) -> tuple[int, int]:
    """Return the size of a file in bytes, and when it was last written, in nanoseconds.

    Raises:
        InputError: there is no such file.
    """
    info = file_info(path)
    if not info.is_file:
        raise InputError(f"{path}: no such file")
    return int(info.size), int(info.mtime_ns or 0)


def open_file(path: str) -> BinaryIO:
    """Open a file for reading at any offset.

    Raises:
        InputError: the file is missing or cannot be read.
    """
    with reading(path):
        if is_local(path):
            return open(path, "rb")
        files, inner = filesystem(path)
        return files.open_input_file(inner)


def read_bytes(path: str) -> bytes:
    """Return the content of a file.

    Raises:
        InputError: the file is missing or cannot be read.
    """
    with open_file(path) as file, reading(path):
        return bytes(file.read())


def checksum(path: str, kind: str) -> str:
    """Return the checksum of a file in hex.

    Args:
        path: the path of the file.
        kind: "sha1" or "sha256".

    Raises:
        InputError: the file is missing or cannot be read.
    """
    digest = hashlib.new(kind, usedforsecurity=False)
    with open_file(path) as file, reading(path):
        while data := file.read(READ_BYTES):
            digest.update(data)
    return digest.hexdigest()


def sha1(path: str) -> str:
    """Return the sha1 of a file in hex, the checksum that Wikimedia publishes beside its dumps."""
    return checksum(path, "sha1")


def free_bytes(directory: str) -> int:
    """Return the free bytes of the disk of a local directory, which need not exist yet."""
    path = Path(directory).absolute()
    return shutil.disk_usage(next(folder for folder in (path, *path.parents) if folder.exists())).free


def expand(patterns: str, flag: str) -> list[str]:
    """Return the files that a comma-separated list of paths and globs names, sorted, each once.

    Raises:
        InputError: a path or glob matches no file; the message names the flag.
    """
    paths: set[str] = set()
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        matches = matching(pattern, directories=False)
        if not matches and matching(pattern, directories=True):
            raise InputError(f"--{flag}={pattern} is a directory: name files, or a glob of them")
        if not matches:
            raise InputError(f"--{flag}={pattern}: no such file")
        paths.update(matches)
    return sorted(paths)


def matching(pattern: str, directories: bool) -> list[str]:
    """Return the files, or else the directories, that a path or a glob matches, sorted. An existing literal path takes
    precedence over a glob.

    Raises:
        InputError: the URI is of an unknown kind, or the store does not answer.
    """
    if is_local(pattern):
        is_wanted = os.path.isdir if directories else os.path.isfile
        return [pattern] if is_wanted(pattern) else sorted(path for path in glob.glob(pattern) if is_wanted(path))
    from pyarrow import fs

    wanted = fs.FileType.Directory if directories else fs.FileType.File
    files, inner = filesystem(pattern)
    scheme = pattern.partition("://")[0]
    with reading(pattern):
        if files.get_file_info(inner).type == wanted:
            return [pattern]
        bucket, *parts = inner.rstrip("/").split("/")
        matches = [fs.FileInfo(bucket)]
        for part in parts:
            if glob.has_magic(part):
                # Each level is listed by itself: a recursive listing of a bucket may be very long.
                children = [info for base in matches for info in list_directory(files, base.path)]
                matches = [info for info in children if fnmatch.fnmatchcase(info.base_name, part)]
            else:
                matches = [fs.FileInfo(f"{base.path}/{part}") for base in matches]
        unknown = [info.path for info in matches if info.type == fs.FileType.Unknown]
        matches += files.get_file_info(unknown)
        return sorted(f"{scheme}://{info.path}" for info in matches if info.type == wanted)


def list_directory(files: fs.FileSystem, base: str) -> list[fs.FileInfo]:
    """Return the files and directories in a directory; none where there is no directory.

    pyarrow's listing of one level of a GCS bucket has only those directories that an object of their own marks, which
    other programs do not write, and which `make_parent` does not write either. So everything below is listed there.
    """
    from pyarrow import fs

    is_gcs = files.type_name == "gcs"
    entries: list[fs.FileInfo] = files.get_file_info(fs.FileSelector(base, allow_not_found=True, recursive=is_gcs))
    if not is_gcs:
        return entries
    level: dict[str, fs.FileInfo] = {}
    for info in entries:
        name, below, _ = info.path.removeprefix(f"{base}/").partition("/")
        if below:
            level[name] = fs.FileInfo(f"{base}/{name}", fs.FileType.Directory)
        else:
            level.setdefault(name, info)
    return list(level.values())


def files_in(directory: str) -> list[str]:
    """Return the files in a directory and below it, sorted; hidden files of a local directory are left out.

    Raises:
        InputError: the directory cannot be read.
    """
    if is_local(directory):
        paths = glob.glob(f"{glob.escape(directory)}/**", recursive=True)
        return sorted(path for path in paths if os.path.isfile(path))
    from pyarrow import fs

    files, inner = filesystem(directory)
    with reading(directory):
        entries = files.get_file_info(fs.FileSelector(inner, recursive=True))
    scheme = directory.partition("://")[0]
    return sorted(f"{scheme}://{info.path}" for info in entries if info.type == fs.FileType.File)


def list_directories(path: str) -> list[str]:
    """Return the names of the directories in a directory, sorted; none where there is no directory."""
    from pyarrow import fs

    files, inner = filesystem(path)
    with reading(path):
        entries = list_directory(files, inner)
    return sorted(info.base_name for info in entries if info.type == fs.FileType.Directory)


def write_text(path: str, text: str) -> None:
    """Write a local text file in UTF-8, and the directories above it; lone surrogates become question marks.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        Path(path).write_text(text, "utf-8", "replace")


def check_writable(directory: str, flag: str = "--output") -> None:
    """Check that files can be written in a local directory.

    Args:
        directory: its path.
        flag: the option that names it.

    Raises:
        InputError: they cannot.
    """
    with writing(directory, flag), tempfile.TemporaryFile(dir=directory):
        pass


def make_parent(files: fs.FileSystem, path: str) -> None:
    """Make the directory of a file that is about to be written, where a filesystem has directories.

    In a bucket this would write an empty object for each level of the path, and GCS limits how often one object is
    written.
    """
    if files.type_name not in ("s3", "gcs"):
        files.create_dir(path.rpartition("/")[0], recursive=True)


def sync_file(path: str) -> None:
    """Wait until a local file is on the disk; an object store has it when the file is closed.

    Raises:
        InputError: the disk reports an error.
    """
    if is_local(path):
        with writing(path):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


# Bytes from which on a file is flushed. Writing a smaller one again is cheaper than waiting for the disk.
SYNCED_BYTES = 1 << 20


def sync_scratch(path: str) -> None:
    """Flush a large file of a run's scratch directory to the disk, and leave a small one to the system.

    After a power failure small files may be empty, and are made again: a record of an earlier boot that names one is
    not used (`pipelines.engine.resume.load_record`). Where `boot_id` is unknown, all files are flushed.

    Raises:
        InputError: the disk reports an error.
    """
    if is_local(path) and (os.path.getsize(path) >= SYNCED_BYTES or not boot_id()):
        sync_file(path)


@cache
def boot_id() -> str:
    """Return the id of this boot of the machine, as Linux gives it; "" on other systems."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""


@contextmanager
def replacing(files: fs.FileSystem, path: str, temporary: str) -> Iterator[BinaryIO]:
    """Yield a stream whose bytes replace a file in one moment, at the end of the block.

    On a local disk this is an atomic rename, with fsync; in a bucket an object becomes visible when its stream is
    closed.

    Args:
        files: the filesystem.
        path: the path of the file on it; its directory exists.
        temporary: where the bytes are on a local disk until then; a file that a killed run left there is replaced.
    """
    if files.type_name != "local":
        with files.open_output_stream(path) as stream:
            yield stream
        return
    os.makedirs(os.path.dirname(temporary), exist_ok=True)
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    sync_file(os.path.dirname(path))


def publish(local: str, target: str) -> None:
    """Move a finished local directory to `target`, replacing what is there.

    On a local disk this is one rename, so a reader sees the old directory or the new one. In a bucket `state.json` is
    written last, where there is one: it marks the directory as complete.

    Raises:
        InputError: the target cannot be written.
    """
    with writing(target):
        if is_local(target):
            _apply_umask(local)
            os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
            old = f"{target}.old"
            shutil.rmtree(old, ignore_errors=True)
            if os.path.isdir(target):
                os.rename(target, old)
            os.rename(local, target)
            shutil.rmtree(old, ignore_errors=True)
        else:
            _upload(local, target)


def _apply_umask(local: str) -> None:
    """Give files the default mode of the user: safetensors writes them readable by their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    for folder, _, names in os.walk(local):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o666 & ~mask)


def _upload(local: str, target: str) -> None:
    files, inner = filesystem(target)
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(local) for name in names]
    for path in sorted(paths, key=lambda path: (os.path.basename(path) == "state.json", path)):
        _send(path, files, f"{inner}/{os.path.relpath(path, local)}")
    shutil.rmtree(local)


def _send(local: str, files: fs.FileSystem, path: str) -> None:
    from pyarrow import fs

    make_parent(files, path)
    fs.copy_files(local, path, source_filesystem=fs.LocalFileSystem(), destination_filesystem=files)


def _receive(source: str, local: str) -> None:
    """Copy a file, or a directory with everything in it."""
    from pyarrow import fs

    files, inner = filesystem(source)
    with reading(source):
        if files.type_name == "gcs" and files.get_file_info(inner).type == fs.FileType.Directory:
            # GCS has no directories, and pyarrow makes only those that it is told of.
            for info in files.get_file_info(fs.FileSelector(inner, recursive=True)):
                os.makedirs(os.path.dirname(local + info.path.removeprefix(inner)), exist_ok=True)
        fs.copy_files(inner, local, source_filesystem=files, destination_filesystem=fs.LocalFileSystem())


def fetch(source: str, local: str) -> str:
    """Return a local directory with the content of `source`: itself, or a copy at `local`.

    Raises:
        InputError: the source cannot be read.
    """
    if is_local(source):
        return source
    shutil.rmtree(local, ignore_errors=True)
    with writing(local):
        os.makedirs(local)
    _receive(source, local)
    return local


def fetch_file(path: str, folder: str) -> str:
    """Return a local file with the content of `path`: itself, or a copy in a folder.

    Raises:
        InputError: the file cannot be read.
    """
    if is_local(path):
        return path
    local = os.path.join(folder, os.path.basename(filesystem(path)[1]))
    _receive(path, local)
    return local


def put_file(local: str, path: str) -> None:
    """Move a finished local file to `path`, replacing what is there; a local `path` is on the same disk.

    Raises:
        InputError: the file cannot be written.
    """
    with writing(path):
        if is_local(path):
            os.replace(local, path)
        else:
            _send(local, *filesystem(path))
            os.remove(local)


def remove(path: str) -> None:
    """Remove a directory and everything in it; no error where there is none.

    Raises:
        InputError: the directory cannot be removed.
    """
    from pyarrow import fs

    files, inner = filesystem(path)
    with writing(path):
        if files.get_file_info(inner).type == fs.FileType.Directory:
            remove_directory(files, inner)


def remove_directory(files: fs.FileSystem, path: str) -> None:
    """Remove a directory and everything in it. Links are removed and not followed."""
    if is_link(files, path):
        os.unlink(path)
    elif files.type_name == "local":
        # pyarrow would remove what is behind a link.
        shutil.rmtree(path)
    else:
        # On GCS pyarrow removes what is in it, and then fails if no object of its own marks the directory.
        with suppress(FileNotFoundError):
            files.delete_dir(path)


def is_link(files: fs.FileSystem, path: str) -> bool:
    """Return whether there is a symbolic link at a path of a filesystem."""
    return bool(files.type_name == "local" and os.path.islink(path))


def duplicate(source: str, target: str) -> None:
    """Put a local file at a second path, replacing what is there: by a hard link, or by a copy where there are none.

    Raises:
        OSError: the file cannot be read or written.
    """
    with suppress(FileNotFoundError):
        os.unlink(target)
    try:
        # A link to a symbolic link would be one itself.
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copyfile(source, target)
        sync_file(target)
