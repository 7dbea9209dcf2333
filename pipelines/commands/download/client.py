"""Fetching files over HTTP from servers that stall, drop connections, ask for patience or serve wrong bytes.

A file has arrived when its size and its checksum are those that were published, and has its name only then. Until then
it is `NAME.part`, and the next attempt goes on where it ends.
"""

from __future__ import annotations

import email.utils
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import requests
import urllib3

from wikianchor.io.errors import InputError
from wikianchor.io.storage import READ_BYTES
from wikianchor.pipelines.dataset.target import RemoteFile, Target, open_target

# Lists are a few hundred kilobytes; what goes on for longer is none.
LIST_BYTES = 32 << 20
# An attempt that brought less than this was in vain.
HEADWAY_BYTES = 1 << 20


@dataclass(frozen=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        timeout: seconds without a byte after which a connection counts as dead.
        attempts: how many in a row may be in vain.
        pause: seconds before the second attempt; each pause is twice the one before.
        longest_pause: where the doubling ends, and what a server may ask for at most.
    """

    timeout: float = 60.0
    attempts: int = 8
    pause: float = 1.0
    longest_pause: float = 300.0


class _TryAgain(Exception):
    """An attempt failed and another may succeed; `pause` is what the server asks for, in seconds."""

    def __init__(self, problem: str, pause: float = 0.0) -> None:
        super().__init__(problem)
        self.pause = pause


class Stopped(Exception):
    """The user does not want the file any more."""


class Client:
    """Asks servers for lists and files, at the pace they allow. Threads may share it.

    Args:
        user_agent: what it calls itself; Wikimedia turns away clients that name nobody to turn to.
        patience: how long a server is waited for.
        stop: set when the user wants no more.
    """

    def __init__(self, user_agent: str, patience: Patience | None = None, stop: threading.Event | None = None) -> None:
        self._headers = {"User-Agent": user_agent, "Accept-Encoding": "identity"}
        self._patience = patience or Patience()
        self._stop = stop or threading.Event()

    def read(self, url: str) -> bytes | None:
        """Return a list, or None where the server has none of that name.

        Raises:
            InputError: the server does not answer, or with something else.
        """
        failures = 0
        while True:
            try:
                with self._ask(url) as response:
                    if response is None:
                        return None
                    data = b"".join(self._bytes(response, LIST_BYTES + 1))
                    length = response.headers.get("Content-Length")
                if len(data) > LIST_BYTES:
                    raise InputError(f"{url}: more than {LIST_BYTES >> 20} MB, which is no list of files")
                if length is not None and length.isdigit() and len(data) < int(length):
                    raise _TryAgain("the answer is cut off")
                return data
            except _TryAgain as error:
                failures += 1
                self._wait(url, failures, error)

    def length(self, url: str) -> int | None:
        """Return the size of a file in bytes as its server tells it, or None where there is no such file.

        Raises:
            InputError: the server does not answer, or does not tell.
        """
        failures = 0
        while True:
            try:
                with self._ask(url, method="HEAD") as response:
                    if response is None:
                        return None
                    length = response.headers.get("Content-Length", "")
                if not length.isdigit():
                    raise InputError(f"{url}: the server does not tell its size")
                return int(length)
            except _TryAgain as error:
                failures += 1
                self._wait(url, failures, error)

    def fetch(self, file: RemoteFile, directory: str, arrived: Callable[[int], None]) -> None:
        """Bring a file into a directory, going on with what an earlier attempt left there.

        Args:
            file: which.
            directory: local, or gs:// or s3://.
            arrived: told of bytes as they come; of a negative number where some were in vain.

        Raises:
            InputError: the server does not give what was published; or it cannot be written.
            Stopped: the user does not want it any more.
        """
        target = open_target(f"{directory}/{file.name}", file)
        with target:
            arrived(target.position)
            self._fill(file, target, arrived)
            if target.digest() != file.digest:
                # The beginning may be an older attempt's; so once more, all of it.
                arrived(-target.position)
                target.restart()
                self._fill(file, target, arrived)
                if (found := target.digest()) != file.digest:
                    target.restart()
                    raise InputError(
                        f"{file.url}: its {file.kind} is {found}, published is {file.digest}: "
                        "the server has other bytes; try another --mirror"
                    )
            target.finish()

    def _fill(self, file: RemoteFile, target: Target, arrived: Callable[[int], None]) -> None:
        failures = 0
        while target.position < file.size:
            begin = target.position
            try:
                for data in self._from(file, begin):
                    target.write(data)
                    arrived(len(data))
                if target.position < file.size:
                    raise _TryAgain(f"the connection ended at byte {target.position} of {file.size}")
            except _TryAgain as error:
                failures = 1 if target.position - begin >= HEADWAY_BYTES else failures + 1
                self._wait(file.url, failures, error)

    def _from(self, file: RemoteFile, begin: int) -> Iterator[bytes]:
        """Yield the bytes of a file from one on, at most to its end."""
        with self._ask(file.url, {"Range": f"bytes={begin}-"} if begin else {}) as response:
            if response is None:
                raise InputError(f"{file.url}: the server has no such file: see --date, --source and --mirror")
            skip = begin
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdigit() and response.status_code == 200 else file.size
            if response.status_code == 206:
                unit, _, place = response.headers.get("Content-Range", "").partition(" ")
                start, _, whole = place.replace("/", "-").partition("-")
                if unit != "bytes" or start != str(begin):
                    raise _TryAgain("the server sent another part than was asked for")
                skip, whole = 0, whole.rpartition("-")[2]
                total = int(whole) if whole.isdigit() else file.size
            if total != file.size:
                raise InputError(
                    f"{file.url}: has {total} bytes, published are {file.size}: "
                    "the dump was replaced or the mirror lags behind; try again, or another --mirror"
                )
            # A server that cannot begin in the middle begins at the start: what is there already is passed over.
            for data in self._bytes(response, skip + file.size - begin):
                passed = min(skip, len(data))
                skip -= passed
                if len(data) > passed:
                    yield data[passed:]

    def _ask(self, url: str, headers: dict[str, str] | None = None, method: str = "GET") -> _Answer:
        if self._stop.is_set():
            raise Stopped
        return _Answer(url, {**self._headers, **(headers or {})}, method, self._patience)

    def _bytes(self, response: requests.Response, limit: int) -> Iterator[bytes]:
        """Yield the bytes of an answer as they were sent, no more than `limit`."""
        try:
            while limit > 0:
                data = response.raw.read1(min(READ_BYTES, limit), decode_content=False)
                if self._stop.is_set():
                    raise Stopped
                if not data:
                    return
                limit -= len(data)
                yield data
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise _TryAgain(_first_line(error)) from error

    def _wait(self, url: str, failures: int, error: _TryAgain) -> None:
        patience = self._patience
        if failures >= patience.attempts:
            raise InputError(
                f"{url}: {failures} attempts in a row failed, the last with: {error}: "
                "run the same command again to go on, or try another --mirror"
            ) from error
        pause = min(max(error.pause, patience.pause * 2.0 ** (failures - 1)), patience.longest_pause)
        if self._stop.wait(pause):
            raise Stopped


class _Answer:
    """The answer of a server, checked; None in its place where the server has no such file."""

    def __init__(self, url: str, headers: dict[str, str], method: str, patience: Patience) -> None:
        self._url, self._headers, self._method, self._patience = url, headers, method, patience
        self._session = requests.Session()
        self._response: requests.Response | None = None

    def __enter__(self) -> requests.Response | None:
        try:
            self._response = response = self._session.request(
                self._method,
                self._url,
                headers=self._headers,
                stream=True,
                timeout=self._patience.timeout,
                allow_redirects=True,
            )
        except (requests.ConnectionError, requests.Timeout) as error:
            self._session.close()
            raise _TryAgain(_first_line(error)) from error
        except (requests.RequestException, UnicodeError) as error:
            self._session.close()
            raise InputError(f"{self._url}: {_first_line(error)}") from error
        try:
            return self._checked(response)
        except BaseException:
            self.__exit__()
            raise

    def _checked(self, response: requests.Response) -> requests.Response | None:
        url, status = self._url, response.status_code
        if url.startswith("https:") and not response.url.startswith("https:"):
            raise InputError(f"{url}: leads to {response.url}, which is not encrypted: try another --mirror")
        if status in (200, 206):
            return response
        if status in (404, 410):
            return None
        if status == 403:
            raise InputError(f"{url}: refused (403): say how you can be reached, with --contact=you@example.org")
        if status in (408, 416, 425, 429) or status >= 500:
            raise _TryAgain(f"the server answers {status}", _asked_pause(response.headers.get("Retry-After", "")))
        raise InputError(f"{url}: the server answers {status}")

    def __exit__(self, *error: object) -> None:
        # What was not read of an answer is not waited for.
        if self._response is not None:
            self._response.close()
        self._session.close()


def _asked_pause(value: str) -> float:
    """Return the seconds that a Retry-After asks for, given as a number or as a date."""
    if value.strip().isdigit():
        return float(value)
    with suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return 0.0


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else type(error).__name__
