"""Workers are forked by a process that has imported what they need, and are children of the launcher."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.kills import digest
from wikianchor.pipelines.engine import worker_server
from wikianchor.pipelines.engine.local_workers import LocalWorkers, Worker
from wikianchor.pipelines.engine.worker_server import Forked

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")


@pytest.fixture
def workers() -> Iterator[LocalWorkers]:
    """Workers that find nobody who gives them work."""
    workers = LocalWorkers(2)
    yield workers
    workers.kill()


def start(workers: LocalWorkers) -> Worker:
    """Start a worker."""
    return workers.start({"WORKER_ID": "1", "CONTROL_API_SERVICE_DESCRIPTOR": 'url: "localhost:1"'})


def parent_of(process: int) -> int:
    """Return the number of the parent of a process."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_workers_are_children_of_the_launcher_and_forked_by_one_process(workers: LocalWorkers) -> None:
    first, second = start(workers), start(workers)
    assert parent_of(first.process.pid) == parent_of(second.process.pid) == os.getpid()
    assert isinstance(first.process, Forked)
    assert Path(f"/proc/{second.process.pid}/comm").read_text().strip() in (worker_server.WORKER_NAME, "python")
    os.kill(second.process.pid, signal.SIGSEGV)
    assert second.process.wait(10) == -signal.SIGSEGV
    assert first.process.poll() is None


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_that_was_killed_is_replaced(workers: LocalWorkers, number: int) -> None:
    first = start(workers)
    server = worker_server._server
    assert server is not None
    server.process.send_signal(number)
    server.process.wait(10)
    # The worker goes on, because the launcher is its parent.
    assert parent_of(first.process.pid) == os.getpid()
    assert start(workers).process.poll() is None


def test_a_server_that_ends_while_it_is_asked_is_replaced(workers: LocalWorkers) -> None:
    start(workers)
    server = worker_server._server
    assert server is not None
    server.process.send_signal(signal.SIGSTOP)
    server.process.kill()
    assert start(workers).process.poll() is None
    assert worker_server._server is not server


def test_a_server_that_stands_still_is_replaced(workers: LocalWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_server, "END_SECONDS", 0.1)
    start(workers)
    server = worker_server._server
    assert server is not None
    server._socket.settimeout(0.1)
    server.process.send_signal(signal.SIGSTOP)
    assert start(workers).process.poll() is None
    assert server.process.wait(10) == -signal.SIGKILL


def test_servers_that_end_again_and_again_are_an_error(workers: LocalWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_server.sys, "executable", "/bin/true")
    worker_server.end()
    with pytest.raises(OSError, match="killed again and again: run it again, or with --workers=1"):
        start(workers)
    worker_server.end()


def test_another_environment_gets_another_server(workers: LocalWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    start(workers)
    before = worker_server._server
    monkeypatch.setenv("LC_TIME", "C")
    start(workers)
    assert worker_server._server is not before


def test_what_cannot_be_forked_is_an_error(workers: LocalWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    worker_server.prepare()
    server = worker_server._server
    assert server is not None
    monkeypatch.setattr(server, "_socket", Answers(bytes(worker_server.WORD)))
    with pytest.raises(OSError, match="cannot be started"):
        start(workers)


class Answers:
    """A socket to a server with one answer."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer

    def sendmsg(self, *given: Any) -> int:
        return 0

    def sendall(self, data: bytes) -> None:
        pass

    def recv(self, size: int) -> bytes:
        return self.answer


def test_a_machine_without_adoption_makes_the_same_bytes(
    tmp_path: Path, wikianchor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("forked", "apart"):
        flags = (f"--dumps={DEMO}/jawiki-*multistream.xml.bz2", f"--output={tmp_path / name}/out", "--workers=2")
        ended = wikianchor("sentences", *flags)
        assert ended.status == 0, ended.said
        monkeypatch.setattr(worker_server, "_adopt", lambda whether: False)
    assert digest(tmp_path / "forked/out/data") == digest(tmp_path / "apart/out/data")
