"""Base images are pinned to the digest of what a registry really serves, and to nothing else."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tools.base_images import main, parse

MANIFEST = json.dumps({"schemaVersion": 2, "manifests": []}).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"


class Registry(ThreadingHTTPServer):
    """A registry of one image, `base/python:3.11`, that wants a token as Docker Hub does.

    Attributes:
        shown: the digest that it claims for the manifest.
        needs_token: whether it refuses requests without one.
    """

    shown = DIGEST
    needs_token = True

    @property
    def host(self) -> str:
        return f"localhost:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == "/token":
            scope = parse_qs(url.query)["scope"][0]
            self.answer(200, json.dumps({"token": f"may {scope}"}).encode())
        elif self.server.needs_token and self.headers["Authorization"] != "Bearer may repository:base/python:pull":
            realm = (
                f'Bearer realm="http://{self.server.host}/token",service="registry",scope="repository:base/python:pull"'
            )
            self.answer(401, b"{}", {"WWW-Authenticate": realm})
        elif url.path == "/v2/base/python/manifests/3.11" and "image.index" in self.headers["Accept"]:
            self.answer(200, MANIFEST, {"Docker-Content-Digest": self.server.shown})
        else:
            self.answer(404, b"{}")

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def registry() -> Iterator[Registry]:
    server = Registry(("localhost", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def dockerfile(directory: Path, *images: str) -> Path:
    path = directory / "worker.Dockerfile"
    path.write_text("".join(f"FROM {image} AS stage{number}\n" for number, image in enumerate(images)) + "USER 0\n")
    return path


@pytest.mark.parametrize("needs_token", [True, False])
def test_a_tag_gets_the_digest_of_its_manifest(registry: Registry, needs_token: bool, tmp_path: Path) -> None:
    registry.needs_token = needs_token
    name = f"{registry.host}/base/python:3.11"
    path = dockerfile(tmp_path, name, f"{name}@sha256:{'0' * 64}")
    for _ in range(2):
        assert main([path]) == 0
        assert path.read_text() == f"FROM {name}@{DIGEST} AS stage0\nFROM {name}@{DIGEST} AS stage1\nUSER 0\n"


def test_a_registry_that_cannot_be_reached_leaves_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        # Bound, but nobody listens.
        unused.bind(("localhost", 0))
        path = dockerfile(tmp_path, f"localhost:{unused.getsockname()[1]}/base/python:3.11@sha256:{'0' * 64}")
        before = path.read_text()
        assert main([path]) == 0
    assert path.read_text() == before
    assert capsys.readouterr().out.startswith("NOT PINNED: localhost:")


def test_no_digest_is_taken_from_a_wrong_answer(
    registry: Registry, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing = dockerfile(tmp_path, f"{registry.host}/base/python:none")
    assert main([missing]) == 1
    assert missing.read_text().startswith(f"FROM {registry.host}/base/python:none AS")
    assert "404 Not Found: check the image and its tag" in capsys.readouterr().err
    registry.shown = f"sha256:{'1' * 64}"
    other = dockerfile(tmp_path, f"{registry.host}/base/python:3.11")
    assert main([other]) == 1
    assert "@" not in other.read_text()
    assert "does not match its digest" in capsys.readouterr().err


def test_short_names_mean_docker_hub() -> None:
    assert parse("python:3.11").manifest_url == "https://registry-1.docker.io/v2/library/python/manifests/3.11"
    assert parse("apache/beam:2").manifest_url == "https://registry-1.docker.io/v2/apache/beam/manifests/2"
    assert parse("gcr.io/a/b:1").manifest_url == "https://gcr.io/v2/a/b/manifests/1"
