"""A stand-in for the Hub on this machine: as much of its API as an upload of a dataset needs."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

REPO = "somebody/toy"


class Handler(BaseHTTPRequestHandler):
    """Answers for one repository."""

    server: HubServer
    protocol_version = "HTTP/1.1"

    def body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, value: object, status: int = 200, **headers: str) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, file_entry in headers.items():
            self.send_header(name.replace("_", "-"), file_entry)
        self.end_headers()
        self.wfile.write(data)

    def refused(self) -> bool:
        """Whether this request is refused: without a token, or where a fault was asked for."""
        server = self.server
        server.asked.append(f"{self.command} {self.path}")
        server.tokens.add(self.headers.get("Authorization", ""))
        fault = next((item for item in server.faults if re.search(item, f"{self.command} {self.path}")), None)
        if fault is not None:
            server.faults.remove(fault)
            self.body()
            self.answer({"error": "not now"}, 500)
        elif self.path.startswith("/api") and self.headers.get("Authorization") != "Bearer hf_secret":
            self.body()
            self.answer({"error": "who are you"}, 401)
        else:
            return False
        return True

    def do_GET(self) -> None:
        server = self.server
        if self.refused():
            return
        if not server.made:
            self.answer({"error": "Repository not found"}, 404, X_Error_Code="RepoNotFound")
        elif "/tree/" in self.path:
            self.answer([server.entry(name) for name in sorted(server.files)])
        else:
            self.answer({"id": REPO, "sha": "0" * 40, "siblings": [], "private": False})

    def do_POST(self) -> None:
        server = self.server
        if self.refused():
            return
        body = self.body()
        if self.path == "/api/repos/create":
            server.made = True
            server.private = json.loads(body).get("private") or json.loads(body).get("visibility") == "private"
            self.answer({"url": f"{server.url}/datasets/{REPO}"})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            modes = [
                {
                    "path": item["path"],
                    "uploadMode": "lfs" if item["path"].endswith(".parquet") else "regular",
                    "shouldIgnore": False,
                    "oid": server.oid(item["path"]),
                }
                for item in json.loads(body)["files"]
            ]
            self.answer({"files": modes})
        elif self.path.endswith("/objects/batch"):
            objects = [
                item
                if item["oid"] in server.objects
                else {**item, "actions": {"upload": {"href": f"{server.url}/lfs/{item['oid']}"}}}
                for item in json.loads(body)["objects"]
            ]
            self.answer({"transfer": "basic", "objects": objects})
        elif "/commit/" in self.path:
            self.commit([json.loads(line) for line in body.splitlines()])
        else:
            self.answer({"error": self.path}, 404)

    def commit(self, lines: list[dict[str, Any]]) -> None:
        server = self.server
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                server.files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                server.files[value["path"]] = server.objects[value["oid"]]
                server.large.add(value["path"])
            elif line["key"] == "deletedFile":
                del server.files[value["path"]]
        server.commits.append(sorted(server.files))
        self.answer(
            {"success": True, "commitOid": "0" * 40, "commitUrl": f"{server.url}/{REPO}/commit/0", "hookOutput": ""}
        )

    def do_PUT(self) -> None:
        if self.refused():
            return
        data = self.body()
        oid = self.path.rpartition("/")[2]
        assert hashlib.sha256(data).hexdigest() == oid
        self.server.objects[oid] = data
        self.server.uploads.append(oid)
        self.answer({})

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


class HubServer(ThreadingHTTPServer):
    """One repository, what was asked of it, and requests (as patterns) that are to fail once each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.large: set[str] = set()
        self.objects: dict[str, bytes] = {}
        self.uploads: list[str] = []
        self.commits: list[list[str]] = []
        self.asked: list[str] = []
        self.faults: list[str] = []
        self.tokens: set[str] = set()
        self.made, self.private = False, False

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def oid(self, name: str) -> str | None:
        """What the Hub answers about a file before an upload: the hash of its content, None where there is no file."""
        if name not in self.files:
            return None
        entry = self.entry(name)
        return str(entry.get("lfs", entry)["oid"])

    def entry(self, name: str) -> dict[str, Any]:
        """A file as a listing has it."""
        data = self.files[name]
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        file_entry: dict[str, Any] = {"type": "file", "path": name, "size": len(data), "oid": blob}
        if name in self.large:
            file_entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
        return file_entry


@contextmanager
def serving() -> Iterator[HubServer]:
    """Serve until the end of the block."""
    server = HubServer()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
