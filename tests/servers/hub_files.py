"""A stand-in on this machine for files on the Hugging Face Hub: what a reader of datasets needs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit


class ObjectServer(ThreadingHTTPServer):
    """Holds files by name, OWNER/NAME/PATH, and the requests that came."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[ObjectServer]:
    """Serve until the block ends."""
    server = ObjectServer(handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """Answers as JSON, or with the bytes of an object."""

    server: ObjectServer
    protocol_version = "HTTP/1.0"

    def log_message(self, format: str, *args: object) -> None:
        self.server.requests.append(f"{self.command} {self.path}")

    def answer(self, value: object, status: int = 200, **headers: str) -> None:
        self.send(json.dumps(value).encode(), status, Content_Type="application/json", **headers)

    def send(self, data: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", headers.pop("Size", str(len(data))))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def send_range(self, data: bytes, **headers: str) -> None:
        """Send an object, or the bytes of it that were asked for."""
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if match is None:
            self.send(data, Accept_Ranges="bytes", **headers)
            return
        first, last = int(match[1]), min(int(match[2] or len(data)), len(data) - 1)
        self.send(data[first : last + 1], 206, Content_Range=f"bytes {first}-{last}/{len(data)}", **headers)


class HubHandler(Handler):
    """Files of one revision of datasets on the Hub."""

    def entry(self, repo: str, path: str) -> dict[str, object]:
        data = self.server.objects.get(f"{repo}/{path}")
        if data is None:
            return {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
        return {"type": "file", "path": path, "oid": sha1(data).hexdigest(), "size": len(data)}

    def has(self, repo: str, path: str) -> bool:
        begin = f"{repo}/{path}/"
        return f"{repo}/{path}" in self.server.objects or any(name.startswith(begin) for name in self.server.objects)

    def do_POST(self) -> None:
        repo = "/".join(self.path.split("/")[3:5])
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        paths = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
        self.answer([self.entry(repo, path) for path in paths if self.has(repo, path)])

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/[^/]+/(.*)", path):
            name = f"{match[1]}/{match[2]}"
            data = self.server.objects.get(name)
            if data is None:
                self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
            else:
                self.send_range(data, ETag=f'"{sha1(data).hexdigest()}"', X_Repo_Commit="0" * 40)
        elif match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/[^/]+/?(.*)", path):
            repo, folder = match[1], match[2]
            begin = f"{repo}/{folder}/" if folder else f"{repo}/"
            inside = [name[len(repo) + 1 :] for name in sorted(self.server.objects) if name.startswith(begin)]
            if "recursive=true" not in self.path.lower():
                depth = folder.count("/") + 2 if folder else 1
                inside = list(dict.fromkeys("/".join(name.split("/")[:depth]) for name in inside))
            if not inside:
                self.answer({"error": "Entry not found"}, 404, X_Error_Code="EntryNotFound")
            else:
                self.answer([self.entry(repo, name) for name in inside])
        elif match := re.match(r"/api/datasets/([^/]+/[^/]+)", path):
            self.answer({"id": match[1], "sha": "0" * 40, "siblings": [], "private": False})
        else:
            self.answer({"error": "not found"}, 404)
