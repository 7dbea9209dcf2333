"""A process with Beam loaded, which runs commands in copies of itself: `python -m tests.fork_server SOCKET USER`.

The pages of the documentation start seventy commands, and half of what these take is loading packages. `start` puts
programs called `wikianchor` and `python` into a directory; they hand arguments, environment, working directory and open
files to the server, which forks, and signals to the copy. `python` does so for `python -c` and for modules of ours and
of Beam, and is the real one otherwise. A program that is killed leaves its copy behind.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import types
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 120
CLIENT = """\
#!{python} -IS
import array, json, os, signal, socket, sys
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
is_ours = words[:1] == ["-c"] or words[:1] == ["-m"] and words[1].startswith(("apache_beam.", "wikianchor."))
if name == "python" and not is_ours:
    os.execv({python!r}, [{python!r}, *words])
call = socket.socket(socket.AF_UNIX)
call.connect({server!r})
fds = array.array("i", [0, 1, 2])
call.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
call.sendall(json.dumps([name, words, os.getcwd(), dict(os.environ)]).encode())
call.shutdown(socket.SHUT_WR)
answers = call.makefile()
copy = int(answers.readline())
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, lambda number, frame: os.kill(copy, number))
sys.exit(int(answers.readline() or 70))
"""


def start(folder: Path, environment: Mapping[str, str], *packages: str) -> Path:
    """Start a server and return the directory of the programs that use it.

    Args:
        folder: an empty directory.
        environment: what packages read when they are loaded.
        packages: "models" to load torch, too.
    """
    # The process with which the server ends.
    user = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
    path = str(folder / "server")
    (folder / "bin").mkdir()
    for name in ("wikianchor", "python"):
        program = folder / "bin" / name
        program.write_text(CLIENT.format(python=sys.executable, server=path))
        program.chmod(0o755)
    command = [sys.executable, "-m", "tests.fork_server", path, str(user), *packages]
    server = subprocess.Popen(command, cwd=Path(__file__).parents[1], env={**os.environ, **environment})
    end = time.monotonic() + PATIENCE_SECONDS
    while not os.path.exists(path):
        assert server.poll() is None, "the server did not start"
        assert time.monotonic() < end, "the server takes too long to start"
        time.sleep(0.05)
    # It outlives this worker of pytest.
    server.returncode = 0
    return folder / "bin"


def serve(path: str, user: int, *packages: str) -> None:
    """Load what commands need, and fork for each call, until the user has ended."""
    import pyarrow.parquet  # noqa: F401

    import wikianchor.pipelines.commands.build.command
    import wikianchor.pipelines.commands.report.command
    from wikianchor.pipelines.commands.release import command as release
    from wikianchor.pipelines.engine.beam_import import tune_beam

    if packages:
        with suppress(ImportError):
            import torch  # noqa: F401
            import transformers  # noqa: F401

            import wikianchor.trainer.evaluate.command
            import wikianchor.trainer.task  # noqa: F401
    # What starts the commands of its steps starts them here too.
    release.call = lambda words: subprocess.run(["wikianchor", *words]).returncode
    # As in a process of a command that loads Beam itself.
    tune_beam()
    # Copies would copy the memory of all objects that the collector looks at.
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{path}.new")
    listener.listen()
    os.rename(f"{path}.new", path)
    listener.settimeout(1.0)
    while is_there(user):
        try:
            call, _ = listener.accept()
        except TimeoutError:
            continue
        if os.fork() == 0:
            listener.close()
            answer(call)
        call.close()


def is_there(process: int) -> bool:
    """Return whether a process has not ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def answer(call: socket.socket) -> None:
    """Run the command of a call, tell its exit status, and end this process."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    fds = array.array("i")
    _, ancillary, _, _ = call.recvmsg(1, socket.CMSG_SPACE(3 * fds.itemsize))
    fds.frombytes(ancillary[0][2])
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)
    data = b""
    while part := call.recv(1 << 16):
        data += part
    if copy := os.fork():
        call.sendall(b"%d\n" % copy)
        call.sendall(b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
        os._exit(0)
    call.close()
    name, words, directory, environment = json.loads(data)
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    # Packages have asked for the directory of temporary files when they were loaded.
    tempfile.tempdir = None
    status: object = 1
    try:
        if name == "wikianchor":
            from wikianchor.__main__ import main

            sys.argv = [name, *words]
            status = main()
        elif words[0] == "-c":
            sys.argv, status = ["-c", *words[2:]], 0
            main = types.ModuleType("__main__")
            sys.modules["__main__"] = main
            sys.path.insert(0, "")
            exec(compile(words[1], "<string>", "exec"), vars(main))
        else:
            sys.argv = words[1:]
            status = 0
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code
        if isinstance(status, str):
            print(status, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
