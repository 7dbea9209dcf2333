"""A process with Beam loaded, whose copies are the workers of a run: `python -m tests.forked_workers SOCKET`.

A worker process spends a second on loading Beam, more than its work in most tests. Those of `tests/engine` that are
about the start and the death of workers start them as commands do.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import os
import socket
import subprocess
import sys
import time
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wikianchor.pipelines.engine import worker
from wikianchor.pipelines.engine.beam_import import import_arrow, import_beam, own_process

ROOT = Path(__file__).parents[1]
PR_SET_CHILD_SUBREAPER = 36
# Descriptors of the server's own are below it.
FREE_DESCRIPTOR = 200


@pytest.fixture(scope="session")
def worker_server() -> Iterator[socket.socket | None]:
    """The connection to a server, None where a process cannot adopt workers that another one forks."""
    if sys.platform != "linux":
        yield None
        return
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tests.forked_workers", str(theirs.fileno())]
    with ours, subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()], stdout=subprocess.DEVNULL):
        theirs.close()
        yield ours
        ours.close()


@pytest.fixture
def forked_workers(worker_server: socket.socket | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process start its workers as copies of a process that has loaded Beam."""
    if worker_server is not None:
        # It imports Beam, which `conftest.py` has to do in its own way.
        from wikianchor.pipelines.engine import local_workers

        process = type("ForkedWorker", (ForkedWorker,), {"server": worker_server})
        module = types.SimpleNamespace(**{**vars(subprocess), "Popen": process})
        monkeypatch.setattr(local_workers, "subprocess", module)


class ForkedWorker(subprocess.Popen):
    """A worker that a server has forked and this process has adopted.

    Attributes:
        server: the connection to the server.
    """

    server: socket.socket

    def _execute_child(self, *given: Any) -> None:
        command, pass_fds, environment = given[0], given[4], given[6]
        arguments = command[command.index(worker.__spec__.name) + 1 :]
        call = {"parent": os.getpid(), "fds": pass_fds, "arguments": arguments, "environment": environment}
        with adopting():
            socket.send_fds(self.server, [b"x"], [0, 1, 2, *pass_fds])
            self.server.sendall(json.dumps(call).encode() + b"\n")
            self.pid = int(self.server.recv(16))
        self._child_created = True


@contextmanager
def adopting() -> Iterator[None]:
    """Make this process the parent of processes below it whose parents end."""
    libc = ctypes.CDLL(None)
    assert libc.prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, 0)


def serve(connection: socket.socket) -> None:
    """Load what workers need, and fork one for each call, until the connection ends."""
    own_process()
    import_beam()
    import_arrow()
    from apache_beam.runners.worker import sdk_worker_main  # noqa: F401

    for path in (ROOT / "pipelines").rglob("*.py"):
        if path.stem in ("steps", "transforms"):
            with suppress(ImportError):
                import_module(".".join(("wikianchor", *path.relative_to(ROOT).with_suffix("").parts)))
    gc.freeze()
    while (call := socket.recv_fds(connection, 1, 16))[0]:
        line = b""
        while not line.endswith(b"\n"):
            line += connection.recv(1 << 16)
        # The parent of the worker ends at once, so that the caller adopts it.
        if (child := os.fork()) == 0:
            if os.fork() == 0:
                work(connection, list(call[1]), **json.loads(line))
            os._exit(0)
        os.waitpid(child, 0)
        for fd in call[1]:
            os.close(fd)


def work(
    connection: socket.socket,
    received: list[int],
    parent: int,
    fds: list[int],
    arguments: list[str],
    environment: dict[str, str],
) -> None:
    """Be a worker of a process.

    Args:
        connection: the server's; closed.
        received: descriptors of stdin, stdout, stderr, and of `fds`; closed.
        parent: the process.
        fds: the numbers under which the worker knows its descriptors.
        arguments: those of `wikianchor.pipelines.engine.worker`.
        environment: the worker's variables.
    """
    while os.getppid() != parent:
        time.sleep(0.001)
    connection.sendall(str(os.getpid()).encode())
    connection.close()
    # None of the numbers is that of a descriptor that is still to be moved.
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, FREE_DESCRIPTOR + max(fds)) for fd in received]
    for fd, number in zip(moved, (0, 1, 2, *fds), strict=True):
        os.dup2(fd, number)
    for fd in {*moved, *received} - {0, 1, 2, *fds}:
        os.close(fd)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(worker.__file__), *arguments]
    try:
        worker.main()
    finally:
        os._exit(1)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
