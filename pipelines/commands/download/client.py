"""Fetch files over HTTP from servers that stall, drop connections, ask for pauses or send wrong bytes.

A file is complete when its size and its checksum are those that were published. Until then it is `NAME.part`, and the
next attempt continues there.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

import requests
import urllib3

from wikianchor.io.buckets import first_line
from wikianchor.io.errors import InputError
from wikianchor.io.storage import READ_BYTES
from wikianchor.io.units import duration
from wikianchor.pipelines.commands.download.target import Download, RemoteFile, open_download

# The largest list of files that is read; real ones have a few hundred kilobytes.
LIST_BYTES = 32 << 20
# An attempt that brings fewer bytes counts as failed.
PROGRESS_BYTES = 1 << 20
T = TypeVar("T")
log = logging.getLogger("wikianchor")
# How urllib3 begins an error of a connection.
_CONNECTION = re.compile(r"^<?[\w.]+\(.*?\)>?: ")


@dataclass(frozen=True)
class Patience:
    """How long to wait for a server.

    Attributes:
        timeout: seconds without a byte after which a connection counts as dead.
        attempts: failed attempts in a row before giving up.
        pause: seconds before the second attempt; each pause is twice the one before.
        longest_pause: limit of the pause, also of one that the server asks for.
    """

    timeout: float = 60.0
    attempts: int = 8
    pause: float = 1.0
    longest_pause: float = 300.0


class _Retry(Exception):
    """An attempt failed and another may succeed; `pause` is what the server asks for, in seconds."""

    def __init__(self, problem: str, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.pause = pause


class Stopped(Exception):
    """The user has interrupted the download."""


class Client:
    """Asks servers for lists and files, at the pace they allow. It is thread-safe.

    Args:
        user_agent: the name of the program, with an address; Wikimedia refuses clients without one.
        patience: how long to wait for a server.
        stop: set to end all downloads.
    """

    def __init__(self, user_agent: str, patience: Patience | None = None, stop: threading.Event | None = None) -> None:
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._patience = patience or Patience()
        self._stop = stop or threading.Event()

    def read(self, url: str) -> bytes | None:
        """Return a list, or None where the server has no such file.

        Raises:
            InputError: the server does not answer, or sends something else.
        """
        return self._repeat(url, lambda: self._read(url))

    def _read(self, url: str) -> bytes | None:
        with self._request(url) as response:
            if response is None:
                return None
            data = b"".join(self._bytes(response, LIST_BYTES + 1))
            length = response.headers.get("Content-Length", "")
        if len(data) > LIST_BYTES:
            raise InputError(f"{url}: more than {LIST_BYTES >> 20} MB, which is no list of files")
        if length.isdigit() and len(data) < int(length):
            raise _Retry("the answer is cut off")
        return data

    def length(self, url: str) -> int | None:
        """Return the size of a file in bytes, or None where the server has no such file.

        Raises:
            InputError: the server does not answer, or does not state the size.
        """
        return self._repeat(url, lambda: self._length(url))

    def _length(self, url: str) -> int | None:
        with self._request(url, method="HEAD") as response:
            if response is None:
                return None
            length = response.headers.get("Content-Length", "")
        if not length.isdigit():
            raise InputError(f"{url}: the server does not tell its size")
        return int(length)

    def fetch(self, file: RemoteFile, directory: str, arrived: Callable[[int], None]) -> None:
        """Download a file into a directory, continuing an earlier attempt.

        Args:
            file: a file of the server.
            directory: local, or gs:// or s3://.
            arrived: called with the number of bytes that arrived, negative where bytes are discarded.

        Raises:
            InputError: the server does not send what was published; or the file cannot be written.
            Stopped: the user has interrupted the download.
        """
        with open_download(f"{directory}/{file.name}", file) as target:
            arrived(target.position)
            # The beginning may be from another version of the file, so all of it is fetched once more.
            for _ in range(2):
                self._fill(file, target, arrived)
                if (digest := target.digest()) == file.digest:
                    target.finish()
                    return
                arrived(-target.position)
                target.restart()
        raise InputError(
            f"{file.url}: its {file.kind} is {digest}, published is {file.digest}: "
            "the server has other bytes; try another --mirror"
        )

    def _fill(self, file: RemoteFile, target: Download, arrived: Callable[[int], None]) -> None:
        """Append the rest of a file."""

        def append() -> None:
            for data in self._from(file, target.position):
                target.write(data)
                arrived(len(data))
            if target.position < file.size:
                raise _Retry(f"the connection ended at byte {target.position} of {file.size}")

        if target.position < file.size:
            self._repeat(file.url, append, lambda: target.position)

    def _from(self, file: RemoteFile, begin: int) -> Iterator[bytes]:
        """Yield the bytes of a file from an offset to its end."""
        with self._request(file.url, {"Range": f"bytes={begin}-"} if begin else {}) as response:
            if response is None:
                raise InputError(f"{file.url}: the server has no such file: see --date, --source and --mirror")
            is_part = response.status_code == 206
            extent = response.headers.get("Content-Range" if is_part else "Content-Length", "")
            if is_part and not extent.startswith(f"bytes {begin}-"):
                raise _Retry("the server sent another part than was asked for")
            total = extent.rpartition("/")[2]
            if total.isdigit() and int(total) != file.size:
                raise InputError(
                    f"{file.url}: has {total} bytes, published are {file.size}: "
                    "the dump was replaced or the mirror lags behind; try again, or another --mirror"
                )
            # A server without ranges sends the file from its start: the bytes that are there already are skipped.
            skip = 0 if is_part else begin
            for data in self._bytes(response, skip + file.size - begin):
                if len(data) > skip:
                    yield data[skip:]
                skip = max(0, skip - len(data))

    def _bytes(self, response: requests.Response, limit: int) -> Iterator[bytes]:
        """Yield the bytes of an answer as they were sent, no more than `limit`."""
        try:
            while limit > 0 and (data := response.raw.read1(min(READ_BYTES, limit), decode_content=False)):
                self._check_stop()
                limit -= len(data)
                yield data
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _Retry(first_line(error)) from error

    @contextmanager
    def _request(
        self, url: str, headers: dict[str, str] | None = None, method: str = "GET"
    ) -> Iterator[requests.Response | None]:
        """Open an answer, None where the server has no such file. What was not read of it is dropped."""
        self._check_stop()
        with requests.Session() as session:
            try:
                response = session.request(
                    method,
                    url,
                    headers={**self._headers, **(headers or {})},
                    stream=True,
                    timeout=self._patience.timeout,
                    allow_redirects=True,
                )
            except (requests.ConnectionError, requests.Timeout) as error:
                # What the libraries around the reason say of it is long.
                reason = getattr(error.args[0] if error.args else error, "reason", error)
                raise _Retry(_CONNECTION.sub("", first_line(reason))) from error
            except (requests.RequestException, UnicodeError) as error:
                raise InputError(f"{url}: {first_line(error)}") from error
            with response:
                yield _checked(url, response)

    def _check_stop(self) -> None:
        if self._stop.is_set():
            raise Stopped

    def _repeat(self, url: str, action: Callable[[], T], position: Callable[[], int] = lambda: 0) -> T:
        """Repeat an action until it succeeds.

        Args:
            url: the address, for errors.
            action: raises `_Retry` where another attempt may succeed.
            position: the number of bytes that have arrived; attempts that bring many do not count as failures in a row.

        Raises:
            InputError: too many attempts in a row failed.
        """
        patience, failures, before = self._patience, 0, position()
        while True:
            try:
                return action()
            except _Retry as error:
                failures = 1 if position() - before >= PROGRESS_BYTES else failures + 1
                before = position()
                if failures >= patience.attempts:
                    raise InputError(
                        f"{url}: {failures} attempts in a row failed, the last with: {error}: "
                        "run the same command again to go on, or try another --mirror"
                    ) from error
                pause = min(max(error.pause, patience.pause * 2.0 ** (failures - 1)), patience.longest_pause)
                log.warning(
                    "%s: %s: attempt %d of %d in %s", url, error, failures + 1, patience.attempts, duration(pause)
                )
                self._stop.wait(pause)
                self._check_stop()


def _checked(url: str, response: requests.Response) -> requests.Response | None:
    """Return an answer, or None where there is no such file.

    Raises:
        InputError: the server refuses the request.
        _Retry: the server is busy.
    """
    status = response.status_code
    if url.startswith("https:") and not response.url.startswith("https:"):
        raise InputError(f"{url}: leads to {response.url}, which is not encrypted: try another --mirror")
    if status in (200, 206):
        return response
    if status in (404, 410):
        return None
    if status == 403:
        raise InputError(f"{url}: refused (403): say how you can be reached, with --contact=you@example.org")
    if status in (408, 416, 425, 429) or status >= 500:
        raise _Retry(f"the server answers {status}", _asked_pause(response.headers.get("Retry-After", "")))
    raise InputError(f"{url}: the server answers {status}")


def _asked_pause(value: str) -> float:
    """Return the seconds of a Retry-After header, which is a number or a date (RFC 9110, 10.2.3)."""
    with suppress(urllib3.exceptions.InvalidHeader):
        return float(urllib3.Retry().parse_retry_after(value))
    return 0.0
