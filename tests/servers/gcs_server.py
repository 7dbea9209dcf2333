"""A stand-in for Google Cloud Storage on this machine: the requests of pyarrow's client, in its JSON API.

https://cloud.google.com/storage/docs/json_api/v1
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

# Objects in an answer to a listing: few, so that a client has to ask for the next page.
PAGE = 3


class Handler(BaseHTTPRequestHandler):
    """Answers; every bucket exists."""

    server: GcsServer
    protocol_version = "HTTP/1.1"

    def parse(self) -> tuple[str, dict[str, str], bytes]:
        """Return the path below /storage/v1/b/, decoded options and body of a request."""
        url = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        return re.sub(r"^(/download|/upload)?/storage/v1/b/", "", url.path), query, body

    def answer(self, value: object, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(value).encode(), status, Content_Type="application/json", **headers)

    def send(self, data: bytes, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def missing(self) -> None:
        self.answer({"error": {"code": 404, "message": "Not Found"}}, 404)

    def metadata(self, key: str) -> dict[str, Any]:
        bucket, _, name = key.partition("/")
        time = "2020-01-01T00:00:00.000Z"
        size = str(len(self.server.objects[key]))
        return {
            **{"kind": "storage#object", "bucket": bucket, "name": name, "size": size, "generation": "1"},
            **{"timeCreated": time, "updated": time, "metageneration": "1"},
            "metadata": self.server.marks.get(key, {}),
        }

    def do_GET(self) -> None:
        path, query, _ = self.parse()
        bucket, _, rest = path.partition("/")
        objects = self.server.objects
        if rest == "o":
            self.list_objects(bucket, query)
        elif not rest:
            self.answer({"kind": "storage#bucket", "name": bucket})
        elif (key := object_key(path)) not in objects:
            self.missing()
        elif query.get("alt") != "media":
            self.answer(self.metadata(key))
        elif match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            data = objects[key]
            start, stop = int(match[1]), min(len(data), int(match[2] or len(data)) + 1)
            content_range = f"bytes {start}-{stop - 1}/{len(data)}"
            self.send(data[start:stop], 206, Content_Range=content_range, x_goog_generation="1")
        else:
            self.send(objects[key], 200, x_goog_generation="1")

    def list_objects(self, bucket: str, query: dict[str, str]) -> None:
        prefix, delimiter, token = (query.get(name, "") for name in ("prefix", "delimiter", "pageToken"))
        names = sorted(key.removeprefix(f"{bucket}/") for key in self.server.objects if key.startswith(f"{bucket}/"))
        names = [name for name in names if name.startswith(prefix)]
        below = {name: name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "") for name in names}
        items = [name for name in names if not below[name][1]]
        directories = {prefix + first + delimiter for first, has_more, _ in below.values() if has_more}
        entries = [name for name in sorted({*items, *directories}) if name > token]
        page = entries[:PAGE]
        answer: dict[str, Any] = {
            "kind": "storage#objects",
            "items": [self.metadata(f"{bucket}/{name}") for name in page if name in items],
            "prefixes": [name for name in page if name in directories],
        }
        if entries[PAGE:]:
            answer["nextPageToken"] = page[-1]
        self.answer(answer)

    def do_POST(self) -> None:
        path, query, body = self.parse()
        objects = self.server.objects
        if copy := re.fullmatch(r"(.+)/(?:rewriteTo|copyTo)/b/(.+)", path):
            source, target = object_key(copy[1]), object_key(copy[2])
            if source not in objects:
                self.missing()
                return
            objects[target] = objects[source]
            self.answer({"kind": "storage#rewriteResponse", "done": True, "resource": self.metadata(target)})
        elif query.get("uploadType") == "resumable":
            name = query.get("name") or json.loads(body)["name"]
            key = f"{path.partition('/')[0]}/{name}"
            self.server.uploads[key] = b""
            self.answer({}, Location=f"{self.server.url}/upload/storage/v1/b/-/resumable?key={quote(key)}")
        elif query.get("uploadType") == "multipart":
            boundary = self.headers["Content-Type"].partition("boundary=")[2].strip('"').encode()
            _, about, content, _ = body.split(b"--" + boundary)
            resource = json.loads(about.partition(b"\r\n\r\n")[2])
            key = f"{path.partition('/')[0]}/{query.get('name') or resource['name']}"
            self.server.marks[key] = resource.get("metadata", {})
            self.store(key, content.partition(b"\r\n\r\n")[2][:-2])
        else:
            self.store(f"{path.partition('/')[0]}/{query['name']}", body)

    def store(self, key: str, data: bytes) -> None:
        self.server.objects[key] = data
        self.answer(self.metadata(key))

    def do_PUT(self) -> None:
        _, query, body = self.parse()
        key, uploads = query["key"], self.server.uploads
        uploads[key] += body
        if self.headers["Content-Range"].endswith("/*"):
            self.send(b"", 308, Range=f"bytes=0-{len(uploads[key]) - 1}")
        else:
            self.store(key, uploads.pop(key))

    def do_DELETE(self) -> None:
        path, _, _ = self.parse()
        if self.server.objects.pop(object_key(path), None) is None:
            self.missing()
        else:
            self.send(b"", 204)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing."""


def object_key(path: str) -> str:
    """Return BUCKET/OBJECT of a path BUCKET/o/OBJECT, in which the object's name is percent-encoded."""
    bucket, _, name = path.partition("/o/")
    return f"{bucket}/{unquote(name)}"


class GcsServer(ThreadingHTTPServer):
    """The server.

    Attributes:
        objects: their contents by BUCKET/NAME.
        marks: metadata that clients gave them; pyarrow marks directories so.
        uploads: what has come of unfinished ones.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        self.marks: dict[str, dict[str, str]] = {}
        self.uploads: dict[str, bytes] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(directory: Path) -> Iterator[dict[str, str]]:
    """Serve in a process of its own; yield the environment in which pyarrow's client uses it.

    pyarrow keeps Python's lock in some calls, such as the first read of a file, so a server in the same process could
    not answer.

    Args:
        directory: for a key of a service account that does not exist. With it the client signs its tokens itself;
            without one it asks Google for a token, also for an emulator.
    """
    key = directory / "service-account.json"
    key.write_text(json.dumps(service_account()))
    process = subprocess.Popen([sys.executable, "-m", "tests.servers.gcs_server"], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        yield {"CLOUD_STORAGE_EMULATOR_ENDPOINT": url, "GOOGLE_APPLICATION_CREDENTIALS": str(key)}
    finally:
        process.kill()
        process.communicate()


def service_account() -> dict[str, str]:
    """Return the content of a service account's key file, with a new key."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65_537, 2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "type": "service_account",
        "project_id": "toy",
        "private_key_id": "1",
        "private_key": key.decode(),
        "client_email": "somebody@example.org",
        "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }


def main() -> None:
    """Serve until the process is killed."""
    with GcsServer() as server:
        print(server.url, flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
