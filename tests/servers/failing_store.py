"""S3 (moto) or Google Cloud Storage (gcs_server) in a process of its own, behind a proxy that lets a request fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from tests.servers import gcs_server, s3_server

# What becomes of a failing request: an answer that a client does not repeat, the same after the request has had its
# effect, and an answer that it repeats.
FAILURES = ("refused", "lost", "busy")
_ERRORS = {
    "s3": b"<Error><Code>%s</Code><Message>on request</Message></Error>",
    "gs": b'{"error": {"code": %d, "message": "on request"}}',
}
_OF_A_CONNECTION = ("connection", "content-length", "date", "expect", "server", "transfer-encoding")
_CONTROL = "/_fail/"


class Proxy(BaseHTTPRequestHandler):
    """Hands requests on. `PUT /_fail/HOW/N` begins a count of them, of which the N-th fails; its answer is the list of
    those that were counted before."""

    server: ProxyServer
    protocol_version = "HTTP/1.1"
    # Headers and body in one packet: the client's next request would wait for the acknowledgement of the first of two.
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        body, server = self.body(), self.server
        if self.path.startswith(_CONTROL):
            requests = json.dumps(server.requests).encode()
            how, number = self.path.removeprefix(_CONTROL).split("/")
            server.requests, server.how, server.number = [], how, int(number)
            self.send(200, {}, requests)
            return
        with server.lock:
            server.requests.append(f"{self.command} {self.path}")
            how = server.how if len(server.requests) == server.number else ""
        status, headers, answer = (0, {}, b"") if how in ("refused", "busy") else self.hand_on(body)
        if how:
            code = 503 if how == "busy" else 403
            named = b"SlowDown" if how == "busy" else b"AccessDenied"
            status, headers = code, {"Content-Type": "application/xml"}
            answer = _ERRORS[server.kind] % (code if server.kind == "gs" else named)
        self.send(status, headers, answer)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET

    def handle_expect_100(self) -> bool:
        """Answer at once, which S3's client waits a second for before it sends a body."""
        proceed = super().handle_expect_100()
        self.wfile.flush()
        return proceed

    def body(self) -> bytes:
        """Return the body of the request; S3's client sends it in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        chunks = []
        while chunk := self.rfile.read(int(self.rfile.readline(), 16)):
            chunks.append(chunk)
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def hand_on(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of the answer of the store."""
        connection = HTTPConnection("127.0.0.1", self.server.store)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
        connection.request(self.command, self.path, body, headers)
        answer = connection.getresponse()
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in _OF_A_CONNECTION}
        if "Location" in headers:
            headers["Location"] = headers["Location"].replace(f":{self.server.store}/", f":{self.server.server_port}/")
        if self.command == "HEAD":
            # The length of the object, which its client wants to know.
            headers["Content-Length"] = answer.getheader("Content-Length", "0")
        content = answer.read()
        connection.close()
        return answer.status, headers, content

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


class ProxyServer(ThreadingHTTPServer):
    """The proxy of a store.

    Attributes:
        kind: "s3" or "gs".
        store: port of the store.
        requests: since the count began.
        how: one of `FAILURES`.
        number: the number of the request that fails, 0 for none.
    """

    daemon_threads = True

    def __init__(self, kind: str, store: int) -> None:
        super().__init__(("127.0.0.1", 0), Proxy)
        self.kind, self.store = kind, store
        self.requests: list[str] = []
        self.how, self.number = "", 0
        self.lock = threading.Lock()


class FailingStore:
    """A store.

    Args:
        kind: "s3" or "gs".
        port: the port of its proxy.
    """

    def __init__(self, kind: str, port: int) -> None:
        self.kind, self._port = kind, port
        self.uri = f"{kind}://bucket"

    def fail(self, how: str = "", number: int = 0) -> list[str]:
        """Let a request fail, and return the requests since the last call."""
        connection = HTTPConnection("127.0.0.1", self._port)
        connection.request("PUT", f"{_CONTROL}{how or 'no'}/{number}")
        requests: list[str] = json.loads(connection.getresponse().read())
        connection.close()
        return requests


@contextmanager
def serving(kind: str, directory: Path) -> Iterator[FailingStore]:
    """Serve a store with a bucket, and let pyarrow's clients use it.

    Args:
        kind: "s3" or "gs".
        directory: for a key.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.servers.failing_store", kind], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        url = f"http://127.0.0.1:{port}"
        key = directory / "service-account.json"
        key.write_text(json.dumps(gcs_server.service_account()))
        environment = {
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": url,
            "CLOUD_STORAGE_EMULATOR_ENDPOINT": url,
            "GOOGLE_APPLICATION_CREDENTIALS": str(key),
        }
        with mock.patch.dict(os.environ, environment):
            yield FailingStore(kind, port)
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _store(kind: str) -> Iterator[int]:
    """Serve a store, with a bucket where it needs one, in this process; yield its port."""
    if kind == "gs":
        store = gcs_server.GcsServer()
        threading.Thread(target=store.serve_forever, daemon=True).start()
        yield store.server_port
        return
    with s3_server.serving() as environment:
        port = int(environment["AWS_ENDPOINT_URL"].rpartition(":")[2])
        connection = HTTPConnection("127.0.0.1", port)
        connection.request("PUT", "/bucket")
        assert connection.getresponse().status == 200
        yield port


def main(kind: str) -> None:
    """Serve until the process is killed."""
    with _store(kind) as port, ProxyServer(kind, port) as proxy:
        print(proxy.server_port, flush=True)
        proxy.serve_forever()


if __name__ == "__main__":
    main(sys.argv[1])
