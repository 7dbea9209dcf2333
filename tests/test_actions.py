"""Actions of the workflows are pinned to the commit that GitHub names, and to nothing else."""

from __future__ import annotations

import doctest
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tools import actions

COMMIT = "0123456789abcdef0123456789abcdef01234567"
ANSWERS = {
    "/repos/actions/checkout/commits/v4": COMMIT,
    "/repos/a/b/commits/release/v1": COMMIT[::-1],
    "/repos/a/b/commits/odd": "<html>",
}
WORKFLOW = """steps:
  - uses: actions/checkout@v4
  - uses: a/b/sub@{old} # release/v1
  - uses: ./own
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = ANSWERS.get(self.path, "").encode()
        self.send_response(200 if body and self.headers["Accept"] == "application/vnd.github.sha" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def api() -> Iterator[str]:
    server = ThreadingHTTPServer(("localhost", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield f"http://localhost:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_tag_gets_its_commit(api: str, tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text(WORKFLOW.format(old="0" * 40))
    pinned = WORKFLOW.format(old=COMMIT[::-1]).replace("checkout@v4", f"checkout@{COMMIT} # v4")
    for _ in range(2):
        assert actions.main([path], api) == 0
        assert path.read_text() == pinned


def test_no_commit_is_taken_from_a_wrong_answer(api: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.yml"
    text = "- uses: a/b@odd\n- uses: a/b@none\n"
    path.write_text(text)
    assert actions.main([path], api) == 1
    assert "a/b@none: 404 Not Found: check the action and its tag" in capsys.readouterr().err
    assert actions.main([path], "http://localhost:1") == 0
    assert "NOT PINNED: a/b@odd: GitHub cannot be reached" in capsys.readouterr().out
    assert path.read_text() == text


def test_every_action_of_the_workflows_can_be_pinned() -> None:
    for path in actions.WORKFLOWS:
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"\buses: (?!\./)", text)) == len(actions.actions(text)) > 0


def test_examples() -> None:
    assert doctest.testmod(actions).failed == 0
