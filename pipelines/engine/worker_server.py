"""Start worker processes by forking a process that has imported what they need, and runs no threads of Python.

Beam takes most of a second to import. A forked worker shares what was imported, in time and in memory, with the others.
It becomes a child of the launcher, which waits for it, watches it and kills it as any other.
"""

from __future__ import annotations

import atexit
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

# The shell ignores SIGINT before Python starts: Ctrl-C reaches every process of a terminal, and a process that is still
# starting would print a traceback. `exec` keeps the process id.
_SHELL = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")
_PR_SET_CHILD_SUBREAPER = 36
# The time that a server has for its imports and a fork, on a machine that is busy too.
ANSWER_SECONDS = 60.0
# Servers that are tried for a worker.
TRIALS = 3
# The time in which it has to end.
END_SECONDS = 2.0
# The name of a worker's process in Linux, which allows 15 characters: its command line is that of the server.
WORKER_NAME = "wikianchor-work"
# Bytes of a number that is sent.
WORD = 8


class Forked:
    """A process that a server has forked, with the methods of `subprocess.Popen` that workers need.

    Attributes:
        pid: its number.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None
        self._lock = threading.Lock()

    def poll(self) -> int | None:
        """Return the exit status as `Popen.poll` does: None while the process runs, -N where signal N ended it."""
        with self._lock:
            if self._status is None:
                try:
                    pid, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:
                    # Another part of this program has waited for all its children.
                    pid, status = self.pid, 0
                self._status = os.waitstatus_to_exitcode(status) if pid else None
            return self._status

    def wait(self, timeout: float) -> int:
        """Return the exit status when the process has ended.

        Raises:
            subprocess.TimeoutExpired: it has not, after these seconds.
        """
        last = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > last:
                raise subprocess.TimeoutExpired("worker", timeout)
            time.sleep(0.005)
        return status

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)


Process = Forked | subprocess.Popen[bytes]


class _Server:
    """The process that is forked: see `worker.py`. It ends with this one, or when nothing is asked for a minute."""

    def __init__(self) -> None:
        self._environment = dict(os.environ)
        self._socket, theirs = socket.socketpair()
        self._socket.settimeout(ANSWER_SECONDS)
        command = [*_SHELL, sys.executable, "-m", "wikianchor.pipelines.engine.worker"]
        with theirs:
            command += [str(os.getpid()), str(theirs.fileno())]
            self.process = subprocess.Popen(command, pass_fds=[theirs.fileno()])

    def end(self) -> None:
        """Let it end, and wait for that: what it took counts for this process then."""
        self._socket.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def is_like_this_process(self) -> bool:
        """Return whether it runs, for this process and in the same environment."""
        return self.process.poll() is None and self._environment == dict(os.environ)

    def start(self, request: bytes, descriptors: Sequence[int]) -> int:
        """Return the number of the process of a new worker, which may be the server itself.

        Raises:
            OSError: it cannot be started.
        """
        socket.send_fds(self._socket, [len(request).to_bytes(WORD, "big")], descriptors)
        self._socket.sendall(request)
        answer = self._socket.recv(WORD)
        if not answer:
            raise BrokenPipeError("the process that starts workers has ended")
        if (pid := int.from_bytes(answer, "big")) == 0:
            raise OSError("a worker process cannot be started: too many processes, or too little memory")
        return pid


_server: _Server | None = None
_turn = threading.Lock()


def prepare() -> None:
    """Start the server, so that its imports take no time of the first worker's."""
    with _turn:
        _running()


def start(told: dict[str, Any], descriptors: Sequence[int]) -> Process:
    """Start a worker process.

    Args:
        told: what it is told, see `worker.py`.
        descriptors: of files, which it gets in this order.

    Raises:
        OSError: it cannot be started.
    """
    global _server
    with _turn:
        forks = _adopt(True)
        request = json.dumps({**told, "forks": forks}).encode()
        try:
            for _ in range(TRIALS):
                server = _running()
                try:
                    pid = server.start(request, descriptors)
                except (BrokenPipeError, ConnectionResetError, TimeoutError):
                    # It was idle for too long, or something has killed or stopped it.
                    end()
                    continue
                if forks:
                    return Forked(pid)
                _server = None
                return server.process
        finally:
            _adopt(False)
    raise OSError("the process that starts workers was killed again and again: run it again, or with --workers=1")


def _running() -> _Server:
    global _server
    if _server is None or not _server.is_like_this_process():
        end()
        _server = _Server()
    return _server


@atexit.register
def end() -> None:
    """End the server, if there is one."""
    global _server
    if _server is not None:
        _server.end()
    _server = None


def _adopt(whether: bool) -> bool:
    """Let this process become the parent of processes that its children leave behind, or no longer; return whether that
    is possible. It is on Linux only; on macOS forking is not safe either, because of the system's libraries."""
    return sys.platform == "linux" and ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, int(whether), 0, 0, 0) == 0
