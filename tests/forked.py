"""Processes that start at once: copies of a process that has loaded Beam, which takes a second or two of CPU.

`install` lets the runs of this process have copies as workers, which `local_workers.py` starts as new Pythons;
`start_python` runs code in a copy. The server, `python -m tests.forked SOCKET`, makes them with clone(CLONE_PARENT), so
that they are children of this process, which waits for them as for any other. Where the system has no such call, new
Pythons are started. Commands that tests start by `python -m wikianchor` start, with their workers, as those of users.
"""

from __future__ import annotations

import array
import atexit
import ctypes
import fcntl
import gc
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
WORKER = "wikianchor.pipelines.engine.worker"
CLONE_PARENT = 0x00008000
# The number of clone by the machine, on Linux.
CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine()) if sys.platform == "linux" else None


class Forked(subprocess.Popen[str]):
    """A copy of the server, with the methods of a process that was started here.

    Args:
        command: ["-c", code, ...] or [WORKER, ...]: what it runs, and its arguments.
        environment: all of its variables.
        files: open files of this process by the numbers that they get.
        session: whether it leads a session of its own.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], files: Mapping[int, int], session: bool = False
    ) -> None:
        self.args, self.returncode = command, None
        self.stdin = self.stdout = self.stderr = None
        self._waitpid_lock, self._child_created = threading.Lock(), True
        # Of `communicate`.
        self._communication_started, self._input, self.text_mode = False, None, True
        self.pid = _server().fork(command, environment, files, session)


class Server:
    """The process that is copied."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.forked", str(theirs.fileno())]
        self._process = subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()])
        theirs.close()
        atexit.register(self._end)

    def fork(
        self, command: Sequence[str], environment: Mapping[str, str], files: Mapping[int, int], session: bool
    ) -> int:
        """Start a copy and return its process id; see `Forked`."""
        message = json.dumps([list(command), dict(environment), os.getcwd(), list(files), session]).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files.values()))]
        with self._lock:
            self._channel.sendmsg([message], rights)
            answer = self._channel.recv(16)
        if not answer:
            raise OSError("the server of forks has ended")
        return int(answer)

    def _end(self) -> None:
        self._channel.close()
        self._process.wait()


_first = threading.Lock()


def _server() -> Server:
    with _first:
        return _only_server()


@cache
def _only_server() -> Server:
    return Server()


def install() -> None:
    """Let the workers of this process's runs be copies."""
    from wikianchor.pipelines.engine import local_workers

    def start(command: Sequence[str], env: Mapping[str, str], pass_fds: Sequence[int]) -> Forked:
        return Forked(command[command.index(WORKER) :], env, {number: number for number in (0, 1, 2, *pass_fds)})

    if CLONE is not None:
        names = {"Popen": start, "TimeoutExpired": subprocess.TimeoutExpired}
        patch.object(local_workers, "subprocess", types.SimpleNamespace(**names)).start()


def start_python(code: str, *arguments: str, **variables: str) -> subprocess.Popen[str]:
    """Run code as `python -c` does, in a session of its own; what it says on stderr can be read."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    if CLONE is None:
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=environment,
        )
    reading, writing = os.pipe()
    with open(os.devnull, "r+b") as nothing:
        files = {0: 0, 1: nothing.fileno(), 2: writing}
        process = Forked(["-c", code, *arguments], environment, files, session=True)
    os.close(writing)
    process.stderr = os.fdopen(reading, encoding="utf-8")
    return process


def serve(descriptor: int) -> None:
    """Load what commands and workers need, and make a copy for each message, until the tests have ended."""
    from wikianchor.pipelines.engine.beam_import import import_beam, own_process

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own_process()
    import_beam()
    import pyarrow.parquet
    from apache_beam.runners.worker import sdk_worker_main

    from wikianchor.pipelines.cli.commands import COMMANDS
    from wikianchor.pipelines.engine import worker

    # Steps are unpickled by name.
    loaded = [pyarrow.parquet, sdk_worker_main, worker]
    loaded += [command.code for command in COMMANDS.values() if command.is_pipeline]
    # Copies would copy the memory of all objects that the collector looks at.
    gc.freeze()
    channel = socket.socket(fileno=descriptor)
    space = socket.CMSG_SPACE(16 * array.array("i").itemsize)
    while True:
        message, ancillary, _, _ = channel.recvmsg(1 << 20, space)
        if not message:
            return
        received = array.array("i")
        received.frombytes(ancillary[0][2])
        if (child := _clone()) == 0:
            channel.close()
            _work(message, received)
            return
        for number in received:
            os.close(number)
        channel.send(b"%d" % child)


def _clone() -> int:
    """Fork, with the parent of this process as the parent of the new one."""
    python = ctypes.pythonapi
    python.PyOS_BeforeFork()
    # PyDLL keeps the lock of the interpreter, as os.fork does.
    child = int(ctypes.PyDLL(None).syscall(CLONE, CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0))
    if child == 0:
        python.PyOS_AfterFork_Child()
    else:
        python.PyOS_AfterFork_Parent()
    return child


def _work(message: bytes, received: Sequence[int]) -> None:
    """Be a worker, or run the code of a message."""
    command, environment, directory, numbers, session = json.loads(message)
    # Out of the way of the numbers that they get.
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, max(numbers) + 1) for number in received]
    for number in received:
        os.close(number)
    for descriptor, number in zip(moved, numbers, strict=True):
        os.dup2(descriptor, number)
        os.close(descriptor)
    if session:
        os.setsid()
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    # Asked for when it was loaded.
    tempfile.tempdir = None
    if command[0] == WORKER:
        from wikianchor.pipelines.engine import worker

        try:
            sys.argv = command
            worker.main()
        except BaseException:
            traceback.print_exc()
        os._exit(1)
    sys.argv = ["-c", *command[2:]]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(compile(command[1], "<string>", "exec"), vars(main))


if __name__ == "__main__":
    serve(int(sys.argv[1]))
