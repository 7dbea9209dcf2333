"""Files wherever they are: local paths and gs://, s3:// or hdfs:// URIs, by pyarrow's filesystems.

pyarrow is imported by the functions that need it: flags name files, and are read without it.
"""

from __future__ import annotations

import fnmatch
import glob
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from wikianchor.io.errors import InputError

if TYPE_CHECKING:
    from pyarrow import fs

READ_BYTES = 1 << 20
# The time for the first answer of a store, which includes looking up credentials.
CONNECT_SECONDS = 30.0
# GCS's client repeats a request that fails for 15 minutes, unless it has a limit. The limit for the first request is
# below CONNECT_SECONDS, so that the client gives its own reason. S3's client repeats a request ten times at most.
FIRST_RETRY_SECONDS, RETRY_SECONDS = 20, 50
_BUCKET_URI = re.compile(
    r"(?P<scheme>gs|gcs|s3)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(\?(?P<query>[^#]*))?(#.*)?", re.DOTALL
)
# Paths that are the same in a URI and on the filesystem. pyarrow decodes or refuses other characters.
_PLAIN_PATH = re.compile(r"(/[\w.=,~+@:*()-]+)*/?", re.ASCII)
_ERRNO = re.compile(r"\[errno (\d+)\]", re.IGNORECASE)
# How the clients of S3 and GCS report a server or a credential service that gives no answer.
_NO_ANSWER = re.compile(r"NETWORK_CONNECTION|UNAVAILABLE|DEADLINE_EXCEEDED|Could not create a OAuth2 access token")
# What GCS's client says besides the reason.
_VERBOSE = re.compile(
    r"google::cloud::Status\(|Retry policy exhausted, with a last message of | error_info=.*"
    r"|The request was not sent,.*The underlying error message was: "
)
# The variables that decide which store a bucket is in, and as whom it is opened.
_VARIABLES = (
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "CLOUD_STORAGE_EMULATOR_ENDPOINT",
    "GOOGLE_APPLICATION_CREDENTIALS",
)


class _Bucket(NamedTuple):
    """A bucket and the options of its client: a URI without its path."""

    scheme: str
    authority: str
    query: str

    @property
    def name(self) -> str:
        return self.authority.rpartition("@")[2].partition(":")[0]

    def uri(self, retry_seconds: int) -> str:
        """Return the URI of the bucket, with a limit on repeated requests where its client takes one."""
        options = [self.query] if self.query else []
        if self.scheme != "s3" and "retry_limit_seconds=" not in self.query:
            options.append(f"retry_limit_seconds={retry_seconds}")
        return f"{self.scheme}://{self.authority}/?{'&'.join(options)}"

    def connect(self) -> fs.FileSystem:
        """Return the filesystem of the bucket after the store has answered once.

        Raises:
            OSError: there is no answer.
            ValueError: an option is wrong.
        """
        from pyarrow import fs

        files, _ = fs.FileSystem.from_uri(self.uri(FIRST_RETRY_SECONDS))
        try:
            files.get_file_info(self.name)
        except OSError as error:
            # A refusal is an answer: who may read objects may still not ask for their bucket.
            if _NO_ANSWER.search(str(error)):
                raise
        return files if self.scheme == "s3" else fs.FileSystem.from_uri(self.uri(RETRY_SECONDS))[0]


class _Call(threading.Thread):
    """A call of a store's client in its own thread, because a client that hangs cannot be interrupted."""

    def __init__(self, action: Callable[[], Any]) -> None:
        super().__init__(name="store", daemon=True)
        self._action = action
        self._value: Any = None
        self._error: Exception | None = None
        self.start()

    def run(self) -> None:
        """Run the call."""
        try:
            self._value = self._action()
        except Exception as error:
            self._error = error

    def result(self, path: str) -> Any:
        """Wait for the call and return its value.

        Raises:
            InputError: it takes too long, or it fails.
        """
        self.join(CONNECT_SECONDS)
        if self.is_alive():
            _hanging.add(self)
            raise InputError(_unreachable(path, f"no answer within {CONNECT_SECONDS:g} s"))
        if self._error is None:
            return self._value
        reason = _first_line(self._error)
        if _NO_ANSWER.search(reason):
            raise InputError(_unreachable(path, _VERBOSE.sub("", reason))) from self._error
        if isinstance(self._error, (ValueError, OSError)):
            raise InputError(
                f"{path}: cannot be opened ({reason}): give a path, or a gs:// or s3:// URI"
            ) from self._error
        raise self._error


# pyarrow's filesystems are thread-safe, so that one for each bucket is enough for a process.
_connections: dict[tuple[str | None, ...], _Call] = {}
_connections_lock = threading.Lock()
_hanging: set[_Call] = set()


def hanging() -> bool:
    """Return whether a call of a store's client never returned, so that only `os._exit` ends the process."""
    return any(call.is_alive() for call in _hanging)


def filesystem(path: str) -> tuple[fs.FileSystem, str]:
    """Return the pyarrow filesystem of a local path or a gs://, s3:// or hdfs:// URI, and the path on it.

    Raises:
        InputError: a URI of something else, or a store that does not answer.
    """
    from pyarrow import fs

    if "://" not in path:
        return fs.LocalFileSystem(), os.path.abspath(path)
    match = _BUCKET_URI.fullmatch(path)
    if match is None:
        return _Call(lambda: fs.FileSystem.from_uri(path)).result(path)
    bucket = _Bucket(match["scheme"], match["authority"], match["query"] or "")
    if not bucket.authority:
        # pyarrow asks for a bucket without a name until the end of days.
        raise InputError(f"{path}: names no bucket: give {bucket.scheme}://BUCKET/PATH")
    inner = match["path"] or ""
    if _PLAIN_PATH.fullmatch(inner):
        return _connected(bucket, path), (bucket.name + inner).rstrip("/")
    return _connected(bucket, path), _Call(lambda: fs.FileSystem.from_uri(path)[1]).result(path)


def make_parent(files: fs.FileSystem, path: str) -> None:
    """Make the directory of a file that is about to be written, where a filesystem has directories.

    In a bucket that would write an empty object for each level of the path. These are requests for nothing, and GCS
    limits how often one object is written.
    """
    if files.type_name not in ("s3", "gcs"):
        files.create_dir(path.rpartition("/")[0], recursive=True)


def _connected(bucket: _Bucket, path: str) -> fs.FileSystem:
    """Return the filesystem of a bucket, the same one for every call in a process.

    Raises:
        InputError: the store does not answer; a later call tries again.
    """
    key = (*bucket, *map(os.environ.get, _VARIABLES))
    with _connections_lock:
        call = _connections.get(key)
        if call is None:
            call = _connections[key] = _Call(bucket.connect)
    try:
        return call.result(path)
    except InputError:
        with _connections_lock:
            if _connections.get(key) is call:
                del _connections[key]
        raise


def _unreachable(path: str, reason: str) -> str:
    return f"{path}: the store cannot be reached ({reason}): check the network, the address and the credentials"


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn an error of the file system into one line that names the file and the mend."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason_of(error)}): check the path and the disk") from error


def error_number(error: OSError) -> int | None:
    """Return the errno of an error, which pyarrow states in the text of some."""
    if error.errno is None and (match := _ERRNO.search(str(error))):
        return int(match[1])
    return error.errno


def reason_of(error: OSError) -> str:
    """Return why a file cannot be used, in a few words."""
    number = error_number(error)
    return os.strerror(number) if number else _first_line(error)


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
        if not matches and matching(pattern, directories=True):
            raise InputError(f"--{flag}={pattern} is a directory: name files, or a glob of them")
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
        if not glob.has_magic(inner):
            return []
        bucket, *parts = inner.rstrip("/").split("/")
        matches = [fs.FileInfo(bucket)]
        for part in parts:
            # Each level is listed by itself: a bucket may hold more than anyone wants to list.
            matches = [info for base in matches for info in _children(files, base.path, part)]
        unknown = [info.path for info in matches if info.type == fs.FileType.Unknown]
        matches += files.get_file_info(unknown)
        return sorted(f"{scheme}://{info.path}" for info in matches if info.type == wanted)


def _children(files: fs.FileSystem, base: str, part: str) -> list[fs.FileInfo]:
    """Return what a part of a glob matches in a directory; a name without magic is not asked for."""
    from pyarrow import fs

    if not glob.has_magic(part):
        return [fs.FileInfo(f"{base}/{part}")]
    listed = files.get_file_info(fs.FileSelector(base, allow_not_found=True))
    return [info for info in listed if fnmatch.fnmatchcase(info.base_name, part)]


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


def free_bytes(directory: str) -> int:
    """Return the bytes that are free where a directory is or will be."""
    there = Path(directory).absolute()
    while not there.exists():
        there = there.parent
    return shutil.disk_usage(there).free
