"""Connections to object stores (gs://, s3://) and other remote filesystems, by pyarrow.

Each bucket is connected to once per process. The first request has a time limit, because the clients of S3 and GCS
repeat a request that fails for minutes, and cannot be interrupted.

pyarrow is imported by the functions that need it: importing it takes longer than reading a command line.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from wikianchor.io.errors import InputError

if TYPE_CHECKING:
    from pyarrow import fs

# The time limit for the first answer of a store, which includes looking up credentials.
CONNECT_SECONDS = 30.0
# GCS's client repeats a request that fails for 15 minutes, unless it has a limit. The limit for the first request is
# below CONNECT_SECONDS, so that the client gives its own reason. S3's client repeats a request ten times at most.
FIRST_RETRY_SECONDS, RETRY_SECONDS = 20, 50
_BUCKET_URI = re.compile(
    r"(?P<scheme>gs|gcs|s3)://(?P<authority>[^/?#]*)(?P<path>/[^?#]*)?(\?(?P<query>[^#]*))?(#.*)?", re.DOTALL
)
# Paths that are the same in a URI and on the filesystem. pyarrow decodes or refuses other characters.
_PLAIN_PATH = re.compile(r"(/[\w.=,~+@:*()-]+)*/?", re.ASCII)
# How the clients of S3 and GCS report a server or a credential service that does not answer.
_NO_ANSWER = re.compile(r"NETWORK_CONNECTION|UNAVAILABLE|DEADLINE_EXCEEDED|Could not create a OAuth2 access token")
# Words of GCS's client around the reason.
_VERBOSE = re.compile(
    r"google::cloud::Status\(|Retry policy exhausted, with a last message of | error_info=.*"
    r"|The request was not sent,.*The underlying error message was: "
)
# Environment variables that select the store of a bucket and the account.
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
        """Return the URI of the bucket, with a limit on repeated requests where its client takes one.

        S3's client writes a file of less than 10 MB by one PUT only if opening the file makes no request.
        """
        options = [self.query] if self.query else []
        option = "allow_delayed_open=true" if self.scheme == "s3" else f"retry_limit_seconds={retry_seconds}"
        if option.partition("=")[0] not in self.query:
            options.append(option)
        return f"{self.scheme}://{self.authority}/?{'&'.join(options)}"

    def connect(self) -> fs.FileSystem:
        """Return the filesystem of the bucket after the store has answered once.

        Raises:
            OSError: the store does not answer.
            ValueError: an option in the URI is wrong.
        """
        from pyarrow import fs

        files, _ = fs.FileSystem.from_uri(self.uri(FIRST_RETRY_SECONDS))
        try:
            files.get_file_info(self.name)
        except OSError as error:
            # A refusal is an answer: an account that may read objects may still not list their bucket.
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

    @property
    def failed(self) -> bool:
        """Whether it ended in an error, or did not end in time."""
        return self._error is not None or self in _hanging

    def run(self) -> None:
        """Run the call."""
        try:
            self._value = self._action()
        except Exception as error:
            self._error = error

    def result(self, uri: str) -> Any:
        """Wait for the call and return its value.

        Raises:
            InputError: the call takes too long, or it fails.
        """
        self.join(CONNECT_SECONDS)
        if self.is_alive():
            _hanging.add(self)
            raise InputError(_unreachable(uri, f"no answer within {CONNECT_SECONDS:g} s"))
        if self._error is None:
            return self._value
        reason = first_line(self._error)
        if _NO_ANSWER.search(reason):
            raise InputError(_unreachable(uri, _VERBOSE.sub("", reason))) from self._error
        # Clients of other schemes (hf://, abfs://) raise errors of their own.
        raise InputError(f"{uri}: cannot be opened ({reason}): give a path, or a gs:// or s3:// URI") from self._error


# pyarrow's filesystems are thread-safe, so a process needs one for each bucket.
_connections: dict[tuple[str | None, ...], _Call] = {}
_connections_lock = threading.Lock()
_hanging: set[_Call] = set()


def hanging() -> bool:
    """Return whether a call of a store's client never returned, so that only `os._exit` ends the process."""
    return any(call.is_alive() for call in _hanging)


def connect(uri: str) -> tuple[fs.FileSystem, str]:
    """Return the pyarrow filesystem of a URI, and the path on it.

    Raises:
        InputError: the scheme is unknown, an option is wrong, or the store does not answer.
    """
    from pyarrow import fs

    match = _BUCKET_URI.fullmatch(uri)
    if match is None:
        return _Call(lambda: fs.FileSystem.from_uri(uri)).result(uri)
    bucket = _Bucket(match["scheme"], match["authority"], match["query"] or "")
    if not bucket.authority:
        # pyarrow would ask for a bucket without a name for ever.
        raise InputError(f"{uri}: names no bucket: give {bucket.scheme}://BUCKET/PATH")
    path = match["path"] or ""
    if _PLAIN_PATH.fullmatch(path):
        return _connected(bucket, uri), (bucket.name + path).rstrip("/")
    return _connected(bucket, uri), _Call(lambda: fs.FileSystem.from_uri(uri)[1]).result(uri)


def _connected(bucket: _Bucket, uri: str) -> fs.FileSystem:
    """Return the filesystem of a bucket, the same one for every call in a process.

    Raises:
        InputError: the store does not answer; a later call tries again.
    """
    key = (*bucket, *map(os.environ.get, _VARIABLES))
    with _connections_lock:
        call = _connections.get(key)
        if call is None or call.failed:
            call = _connections[key] = _Call(bucket.connect)
    return call.result(uri)


def _unreachable(uri: str, reason: str) -> str:
    return f"{uri}: the store cannot be reached ({reason}): check the network, the address and the credentials"


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its type where it has no text."""
    return next(iter(str(error).splitlines()), type(error).__name__)
