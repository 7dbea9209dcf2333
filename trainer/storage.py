"""Places that are a local directory or a bucket: what the trainer reads and writes there."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow import ArrowException, fs

from wikianchor.io.errors import InputError

# pyarrow states the number of some errors in their text.
_ERRNO = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Return the filesystem of a path or URI, and the path within it."""
    try:
        if "://" in path:
            return fs.FileSystem.from_uri(path)
        return fs.LocalFileSystem(), os.path.abspath(path)
    except (ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be opened ({reason_of(error)})") from error


def is_local(path: str) -> bool:
    return "://" not in path


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn what fails while `path` is read into an InputError of one line."""
    try:
        yield
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be read ({reason_of(error)}): check the path and the disk") from error


@contextmanager
def writing(path: str, flag: str = "--output") -> Iterator[None]:
    """Turn what fails while `path` is written into an InputError of one line.

    Args:
        path: a file or a directory.
        flag: that names it.
    """
    try:
        yield
    except (ArrowException, OSError) as error:
        raise InputError(f"{path}: cannot be written ({reason_of(error)}): choose another {flag}") from error


def exists(path: str) -> bool:
    files, inner = filesystem(path)
    with reading(path):
        return bool(files.get_file_info(inner).type != fs.FileType.NotFound)


def read_bytes(path: str) -> bytes:
    files, inner = filesystem(path)
    with reading(path), files.open_input_stream(inner) as stream:
        return bytes(stream.read())


def list_directories(path: str) -> list[str]:
    """Return the names of the directories in a directory, sorted; none where there is no directory."""
    files, inner = filesystem(path)
    with reading(path):
        infos = files.get_file_info(fs.FileSelector(inner, allow_not_found=True))
    return sorted(info.base_name for info in infos if info.type == fs.FileType.Directory)


def publish(local: str, target: str) -> None:
    """Put a finished local directory at `target`, in place of what is there.

    On a local disk that is one rename, so a reader sees the old or the new. In a bucket `state.json` goes last, where
    there is one: it is what says that the rest is whole.
    """
    with writing(target):
        if is_local(target):
            _make_readable(local)
            _swap(local, target)
        else:
            _upload(local, target)


def _make_readable(local: str) -> None:
    """Give files the mode of others that the user makes: safetensors writes them for the owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    for folder, _, names in os.walk(local):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o666 & ~mask)


def _swap(local: str, target: str) -> None:
    os.makedirs(os.path.dirname(os.path.abspath(target)), exist_ok=True)
    old = f"{target}.old"
    shutil.rmtree(old, ignore_errors=True)
    if os.path.isdir(target):
        os.rename(target, old)
    os.rename(local, target)
    shutil.rmtree(old, ignore_errors=True)


def _upload(local: str, target: str) -> None:
    files, inner = filesystem(target)
    names = [os.path.join(folder, name) for folder, _, found in os.walk(local) for name in found]
    names.sort(key=lambda name: (os.path.basename(name) == "state.json", name))
    for name in names:
        place = f"{inner}/{os.path.relpath(name, local)}"
        files.create_dir(os.path.dirname(place), recursive=True)
        fs.copy_files(name, place, source_filesystem=fs.LocalFileSystem(), destination_filesystem=files)
    shutil.rmtree(local)


def fetch(source: str, local: str) -> str:
    """Return a local directory with what is at `source`: itself, or a copy at `local`."""
    if is_local(source):
        return source
    files, inner = filesystem(source)
    with reading(source):
        shutil.rmtree(local, ignore_errors=True)
        os.makedirs(local)
        fs.copy_files(inner, local, source_filesystem=files, destination_filesystem=fs.LocalFileSystem())
    return local


def fetch_file(path: str, folder: str) -> str:
    """Return a local file with what is at `path`: itself, or a copy in a folder."""
    if is_local(path):
        return path
    files, inner = filesystem(path)
    local = os.path.join(folder, os.path.basename(inner))
    with reading(path):
        fs.copy_files(inner, local, source_filesystem=files, destination_filesystem=fs.LocalFileSystem())
    return local


def put_file(local: str, path: str) -> None:
    """Move a finished local file to `path`, in place of what is there; both lie on one disk where `path` is local."""
    with writing(path):
        if is_local(path):
            os.replace(local, path)
            return
        files, inner = filesystem(path)
        fs.copy_files(local, inner, source_filesystem=fs.LocalFileSystem(), destination_filesystem=files)
        os.remove(local)


def remove(path: str) -> None:
    """Remove a directory and what is in it; no error where there is none."""
    files, inner = filesystem(path)
    with writing(path):
        if files.get_file_info(inner).type == fs.FileType.Directory:
            files.delete_dir(inner)


def reason_of(error: BaseException) -> str:
    """Return why something failed, without the number that the system has for it."""
    number = _ERRNO.search(str(error))
    if isinstance(error, OSError) and (error.errno or number):
        return os.strerror(error.errno or int(number[1] if number else 0))
    return " ".join(str(error).split())[:300] or type(error).__name__
