"""The worker processes of runs on one machine: Beam's workers, which print nothing, and end when their launcher ends.

`worker_server.py` starts `python -m wikianchor.pipelines.engine.worker LAUNCHER SOCKET`, with the process id of the
launcher. For each request that comes from the socket, this process forks a worker. A request is JSON: what
`worker_status.join` is told, the modules that hold the steps, the working directory, and Beam's settings for the
environment; with it come descriptors of the files for status and lock, and of stderr.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import traceback
import warnings
from contextlib import redirect_stderr, suppress
from importlib import import_module
from typing import Any

from wikianchor.pipelines.engine.beam_import import import_arrow, own_process
from wikianchor.pipelines.engine.log import log_to_stderr, show_beams_log
from wikianchor.pipelines.engine.machine import raise_gc_threshold
from wikianchor.pipelines.engine.worker_server import WORD, WORKER_NAME
from wikianchor.pipelines.engine.worker_status import WorkerStatus, join

LOOK_SECONDS = 0.2
# Without a request for so long this process ends. The launcher starts another one if it has to.
IDLE_SECONDS = 60.0
# Descriptors that come with a request.
_DESCRIPTORS = 3


def main() -> None:
    """Import what workers need, and fork one for each request of the launcher."""
    # A terminal sends Ctrl-C to every process of a job; the launcher acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not os.getppid(): the launcher may have been killed before this line.
    launcher = int(sys.argv[1])
    log_to_stderr()
    # The launcher has said which engine reads pages, and why (`pipelines.wikimedia.core`).
    logging.getLogger("wikianchor.core").setLevel(logging.ERROR)
    # Python warns where a process with threads is forked; those of libraries for matrices and memory allow it.
    warnings.simplefilter("ignore", DeprecationWarning)
    raise_gc_threshold()
    own_process()
    import_arrow()
    import_module("apache_beam.runners.worker.sdk_worker_main")
    with socket.socket(fileno=int(sys.argv[2])) as connection:
        try:
            told, descriptors = _next_worker(connection)
        except (TimeoutError, ConnectionError):
            # Nothing was asked for a while, or the launcher has been killed.
            os._exit(0)
    work(launcher, told, *descriptors)


def _next_worker(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Serve the launcher, and return in the process of a worker: what it is told, and its descriptors."""
    connection.settimeout(IDLE_SECONDS)
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, WORD, _DESCRIPTORS)
        length = int.from_bytes(head, "big")
        with connection.makefile("rb") as file:
            request = file.read(length)
        if not head or len(request) < length:
            os._exit(0)
        told = json.loads(request)
        for module in told["modules"]:
            import_module(module)
        gc.freeze()
        if not told["forks"] or _is_forked(connection):
            connection.sendall(os.getpid().to_bytes(WORD, "big"))
            return told, descriptors
        for descriptor in descriptors:
            os.close(descriptor)


def _is_forked(connection: socket.socket) -> bool:
    """Fork a process that the launcher adopts, because its parent ends at once. Return whether this is the new one."""
    server = os.getpid()
    try:
        if (child := os.fork()) == 0:
            between = os.getpid()
            if os.fork():
                os._exit(0)
            while os.getppid() == between:
                time.sleep(0.001)
            return True
        failed = os.waitpid(child, 0)[1] != 0
    except OSError:
        if os.getpid() != server:
            os._exit(1)
        failed = True
    if failed:
        connection.sendall(bytes(WORD))
    return False


def work(launcher: int, told: dict[str, Any], status_file: int, lock: int, stderr: int) -> None:
    """Serve the launcher until it has no more work or has ended."""
    with suppress(OSError), open("/proc/self/comm", "w") as name:
        # Tools that show processes show which of them work.
        name.write(WORKER_NAME)
    os.dup2(stderr, 2)
    os.chdir(told["directory"])
    os.environ.update(told["environment"])
    status = WorkerStatus(status_file)
    join(status, lock, told["alone"], [(unit, page) for unit, page in told["bad_pages"]])
    threading.Thread(target=_end_with, args=(launcher, status), daemon=True).start()
    verbose = told["verbose"]
    if verbose:
        show_beams_log()
    from apache_beam.runners.worker import sdk_worker_main

    # Beam prints each failure, besides returning it to the launcher, and every loss of the connection.
    with open(os.devnull, "w") as nowhere, redirect_stderr(sys.stderr if verbose else nowhere):
        try:
            sdk_worker_main.main(sys.argv)
        except Exception:
            # The connection to a launcher that is being killed breaks before its process has ended.
            time.sleep(2 * LOOK_SECONDS)
            if os.getppid() == launcher:
                traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
    # All files are closed. Python would free each object first, and wait for a client of a store that hangs.
    os._exit(0)


def _end_with(launcher: int, status: WorkerStatus) -> None:
    while os.getppid() == launcher:
        status.beat()
        time.sleep(LOOK_SECONDS)
    os._exit(1)


if __name__ == "__main__":
    main()
