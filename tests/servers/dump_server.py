"""A stand-in for dumps.wikimedia.org on this machine, which misbehaves as it is told."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DATE, OLDER, UNFINISHED_RUN = "20260101", "20251201", "20260201"


def stall(seconds: float, after: int) -> Fault:
    """Send some bytes and then nothing for a while."""

    def fault(handler: Handler, data: bytes) -> None:
        handler.answer(data, length=len(data), send=after)
        handler.wfile.flush()
        time.sleep(seconds)

    return fault


def truncate(after: int, tell_length: bool = True) -> Fault:
    """End after some bytes, as if that were all or as if the line were cut."""

    def fault(handler: Handler, data: bytes) -> None:
        handler.answer(data, length=len(data) if tell_length else None, send=after)
        handler.close_connection = True

    return fault


def refuse(status: int, **headers: str) -> Fault:
    """Answer with a status."""

    def fault(handler: Handler, data: bytes) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return fault


def other_bytes(handler: Handler, data: bytes) -> None:
    """Send as many bytes, but others."""
    handler.answer(bytes(byte ^ 1 for byte in data))


def no_ranges(handler: Handler, data: bytes) -> None:
    """Send the whole, whatever part was asked for."""
    handler.answer(data, whole=True)


def wrong_part(handler: Handler, data: bytes) -> None:
    """Send another part than was asked for, and say so."""
    handler.send_response(206)
    handler.send_header("Content-Range", f"bytes 0-{len(data) - 1}/{len(data)}")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def hang_up(handler: Handler, data: bytes) -> None:
    """Close the connection without a word."""
    handler.close_connection = True


def endless(handler: Handler, data: bytes) -> None:
    """Send the file and go on and on."""
    handler.send_response(200)
    handler.end_headers()
    try:
        handler.wfile.write(data)
        for _ in range(1000):
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass
    handler.close_connection = True


def packed(handler: Handler, data: bytes) -> None:
    """Claim that the bytes are packed once more, which would change them in a client that unpacks."""
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.send_header("Content-Length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


class Handler(BaseHTTPRequestHandler):
    """Serves the files of its server with ranges, or what a fault makes of them."""

    server: DumpServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        with server.lock:
            server.asked.append((self.path, self.headers.get("Range"), self.headers.get("User-Agent", "")))
            server.open += 1
            server.most_open = max(server.most_open, server.open)
            faults = server.faults.get(self.path)
            fault = faults.pop(0) if faults else None
        try:
            if fault is not None:
                fault(self, server.files.get(self.path, b""))
                with server.lock:
                    server.open -= 1
            elif self.path not in server.files:
                with server.lock:
                    server.open -= 1
                refuse(404)(self, b"")
            else:
                time.sleep(server.pause)
                # Before the client has its answer, and may ask again.
                with server.lock:
                    server.open -= 1
                self.answer(server.files[self.path])
        except OSError:
            self.close_connection = True

    do_HEAD = do_GET

    def answer(self, data: bytes, length: int | None = -1, send: int | None = None, whole: bool = False) -> None:
        """Send a file, or the part asked for."""
        asked = None if whole else self.headers.get("Range")
        begin = int(asked.removeprefix("bytes=").removesuffix("-")) if asked else 0
        body = data[begin:]
        self.send_response(206 if asked else 200)
        if asked:
            self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
        if length is None:
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body[:send])

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


Fault = Callable[[Handler, bytes], None]


class DumpServer(ThreadingHTTPServer):
    """Files by path; faults by path, one for each request until they are used up."""

    daemon_threads = True

    def __init__(self, files: Mapping[str, bytes]) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = dict(files)
        self.faults: dict[str, list[Fault]] = {}
        self.asked: list[tuple[str, str | None, str]] = []
        self.lock = threading.Lock()
        self.open = self.most_open = 0
        self.pause = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def requests(self, path: str) -> list[str | None]:
        """Return the ranges asked for of a path."""
        return [part for asked_path, part, _ in self.asked if asked_path == path]


@contextmanager
def serving(files: Mapping[str, bytes]) -> Iterator[DumpServer]:
    """Serve files until the end of the block."""
    server = DumpServer(files)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def listed(path: str, data: bytes) -> dict[str, object]:
    """A file's entry in dumpstatus.json."""
    return {
        "size": len(data),
        "url": path,
        "md5": hashlib.md5(data).hexdigest(),
        "sha1": hashlib.sha1(data).hexdigest(),
    }


def run_of(wiki: str, date: str, dumps: Mapping[str, bytes], status: str = "done") -> dict[str, bytes]:
    """A wiki's run: its files under their paths, and the list of them."""
    names = {"articlesmultistreamdump": "pages-articles-multistream", "pagepropstable": "page_props"}
    tables = {"categorylinkstable": "categorylinks", "linktargettable": "linktarget"}
    names |= {job: word for job, word in tables.items() if any(word in name for name in dumps)}
    jobs: dict[str, dict[str, Any]] = {
        job: {"status": status, "updated": "2026-01-02 03:04:05", "files": {}} for job in names
    }
    files = {}
    for name, data in dumps.items():
        path = f"/{wiki}/{date}/{name}"
        files[path] = data
        for job, word in names.items():
            if word in name:
                jobs[job]["files"][name] = listed(path, data)
    return {**files, f"/{wiki}/{date}/dumpstatus.json": json.dumps({"version": "0.8", "jobs": jobs}).encode()}


def export_of(
    wiki: str, date: str, parts: Mapping[str, bytes], left_out: Collection[str] = (), **changed: bytes
) -> dict[str, bytes]:
    """A MediaWiki Content File Export: its files under their paths, their checksums and the mark of a complete run.

    Args:
        date: YYYY-MM-DD.
        parts: XML by page ranges such as "p1p9".
        left_out: files that a run in progress does not have yet.
        changed: `SHA256SUMS` with other bytes.
    """
    folder = f"/other/mediawiki_content_current/{wiki}/{date}/xml/bzip2/"
    files = {f"{wiki}-{date}-{pages}.xml.bz2": data for pages, data in parts.items()}
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in files.items())
    files |= {"SHA256SUMS": sums.encode(), "_SUCCESS": b"", **changed}
    there = {name: data for name, data in files.items() if name not in left_out}
    return {folder: directory(*there), **{folder + name: data for name, data in there.items()}}


def directory(*names: str) -> bytes:
    """A directory as the server lists it."""
    links = "".join(f'<a href="{name}">{name}</a>   01-Jan-2026 00:00   -\n' for name in ("../", *names))
    return f"<html><head><title>Index of /</title></head><body><pre>{links}</pre></body></html>".encode()


def site(wikis: Mapping[str, Mapping[str, bytes]], wikidata: bytes | None = None) -> dict[str, bytes]:
    """A whole site: each wiki has the run of DATE, one before it, and one after it that is not done."""
    files: dict[str, bytes] = {}
    for wiki, dumps in wikis.items():
        files |= run_of(wiki, DATE, dumps)
        files |= run_of(wiki, OLDER, {name.replace(DATE, OLDER): data for name, data in dumps.items()})
        files |= run_of(wiki, UNFINISHED_RUN, {}, "waiting")
        files[f"/{wiki}/"] = directory(f"{OLDER}/", f"{DATE}/", f"{UNFINISHED_RUN}/", "latest/")
    if wikidata is not None:
        folder, date = "/wikidatawiki/entities/", "20251229"
        name = f"wikidata-{date}-all.json.gz"
        sums = f"{hashlib.sha1(wikidata).hexdigest()}  {name}\n".encode()
        files[folder] = directory(f"{date}/", "20260202/", "latest-all.json.gz")
        files[f"{folder}20260202/"] = directory("wikidata-20260202-all.json.gz")
        files[f"{folder}{date}/"] = directory(name, f"wikidata-{date}-sha1sums.txt", f"wikidata-{date}-md5sums.txt")
        files[f"{folder}{date}/wikidata-{date}-sha1sums.txt"] = sums
        files[f"{folder}{date}/{name}"] = wikidata
    return files
