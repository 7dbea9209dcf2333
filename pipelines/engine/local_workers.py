"""Worker processes of the direct runner, which the launcher checks while the pipeline runs.

Beam's own handler of worker processes waits for ever for a worker that was killed. `LocalRunner` starts each process
itself and keeps it in `LocalWorkers`, so that the launcher sees when one dies.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager
from apache_beam.runners.portability.fn_api_runner.worker_handlers import GrpcWorkerHandler, WorkerHandler
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from wikianchor.io.errors import WorkerDied
from wikianchor.pipelines.engine.on_demand import OnDemandBundles

URN = "wikianchor:environment:local_workers:v1"
# The time in which a worker without work has to end before it is killed, and that in which a killed one has to end.
EXIT_SECONDS, KILL_SECONDS = 10.0, 2.0
# The shell ignores SIGINT before Python starts: Ctrl-C reaches every process of a terminal, and a worker that is still
# starting would print a traceback. `exec` keeps the process id.
_SHELL = ("/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh")


@dataclass(eq=False)
class Worker:
    """A worker process.

    Attributes:
        number: 1 for the first worker of a run.
        process: its process.
        released: whether the runner has no more work for it, so that it may end.
    """

    number: int
    process: subprocess.Popen[bytes]
    released: bool = False


class LocalWorkers:
    """The worker processes of one run.

    Args:
        count: the number of workers of the run.
        verbose: whether they write Beam's log to stderr.
    """

    def __init__(self, count: int, verbose: bool = False) -> None:
        self._count, self._verbose = count, verbose
        self._workers: list[Worker] = []
        self._killed = False
        self._lock = threading.Lock()

    def start(self, environment: Mapping[str, str]) -> Worker:
        """Start a worker process.

        Args:
            environment: variables that it gets besides those of this process.

        Raises:
            RuntimeError: the workers of this run have been killed.
            OSError: the process cannot be started.
        """
        command = [*_SHELL, sys.executable, "-m", "wikianchor.pipelines.engine.worker", str(os.getpid())]
        command += ["--verbose"] * self._verbose
        with self._lock:
            if self._killed:
                raise RuntimeError("the workers of this run have been killed")
            process = subprocess.Popen(command, env={**os.environ, **environment})
            worker = Worker(len(self._workers) + 1, process)
            self._workers.append(worker)
        return worker

    def release(self, worker: Worker) -> None:
        """Let a worker end from now on; a worker that ended before that has died."""
        worker.released = worker.process.poll() is None

    def wait(self, worker: Worker) -> None:
        """Wait until a released worker has ended, and kill it if it does not end in time."""
        try:
            worker.process.wait(EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            # It connected after Beam had sent the request to end, or still works for a run that has failed.
            with self._lock:
                self._workers.remove(worker)
            _kill([worker])

    def check(self) -> None:
        """Check that no worker has died: ended before it was released, or by a signal at any time.

        Raises:
            WorkerDied: one has.
        """
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            status = worker.process.poll()
            if status is not None and (status < 0 or not worker.released):
                raise WorkerDied(_explain(worker, self._count, status))

    def kill(self) -> None:
        """Kill all workers, wait until they have ended, and prevent that others start."""
        with self._lock:
            self._killed = True
            workers = list(self._workers)
        _kill(workers)


def _kill(workers: list[Worker]) -> None:
    for worker in workers:
        worker.process.kill()
    last = time.monotonic() + KILL_SECONDS
    for worker in workers:
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(max(0.0, last - time.monotonic()))


def _explain(worker: Worker, count: int, status: int) -> str:
    """Return the line for the user about a worker that died."""
    name = f"worker {worker.number} of {count} (process {worker.process.pid})"
    if status == -signal.SIGKILL:
        cause, advice = "was killed by SIGKILL (by the kernel for memory?)", "use fewer workers or more memory, and "
    elif status < 0:
        cause, advice = f"was killed by {signal_name(-status)}", ""
    else:
        cause, advice = f"ended too early with exit status {status}", ""
    return f"{name} {cause}: {advice}run the same command again: finished work is kept"


def signal_name(number: int) -> str:
    """Return the name of a signal.

    >>> signal_name(15), signal_name(36)
    ('SIGTERM', 'signal 36')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# Beam creates the handler of a worker from an environment's payload, which is bytes: they name the run.
_runs: WeakValueDictionary[str, LocalWorkers] = WeakValueDictionary()
_run_numbers = itertools.count()


class LocalRunner(FnApiRunner):
    """Beam's direct runner, with worker processes that its caller can check.

    Args:
        count: number of worker processes.
        verbose: whether they write Beam's log to stderr.

    Attributes:
        workers: the processes.
    """

    def __init__(self, count: int, verbose: bool = False) -> None:
        self.workers = LocalWorkers(count, verbose)
        run = str(next(_run_numbers))
        _runs[run] = self.workers
        super().__init__(_LocalEnvironment.from_command_string(run))

    def _get_bundle_manager(self, bundle_context_manager: Any) -> BundleManager:
        if bundle_context_manager.num_workers == 1 or bundle_context_manager.stage.is_stateful():
            return super()._get_bundle_manager(bundle_context_manager)
        tokens = self.get_cache_token_generator(static=False)
        return OnDemandBundles(bundle_context_manager, self._progress_frequency, tokens)


class _LocalEnvironment(SubprocessSDKEnvironment):
    """Names `_LocalWorkerHandler` in a pipeline, and the run as what Beam calls the command."""

    def to_runner_api_parameter(self, context: Any) -> tuple[str, bytes]:
        return URN, self.command_string.encode()


@WorkerHandler.register_environment(URN, bytes)
class _LocalWorkerHandler(GrpcWorkerHandler):
    """Starts one worker for Beam's runner, and waits for its end."""

    def __init__(self, run: bytes, state: Any, provision_info: Any, grpc_server: Any) -> None:
        super().__init__(state, provision_info, grpc_server)
        self._workers = _runs[run.decode()]
        self._worker: Worker | None = None

    def start_worker(self) -> None:
        # No address of a log service: errors come back with the results, and --verbose writes to stderr.
        self._worker = self._workers.start(
            {
                "WORKER_ID": self.worker_id,
                "CONTROL_API_SERVICE_DESCRIPTOR": f'url: "{self.control_address}"',
                "PIPELINE_OPTIONS": "{}",
            }
        )

    def close(self) -> None:
        if self._worker is not None:
            self._workers.release(self._worker)
        super().close()

    def stop_worker(self) -> None:
        if self._worker is not None:
            self._workers.wait(self._worker)
