"""Worker processes of the direct runner, which the launcher checks while the pipeline runs.

Beam's own handler of worker processes waits for ever for a worker that was killed. `LocalRunner` starts each process
itself and keeps it in `LocalWorkers`, so that the launcher sees when one dies.
"""

from __future__ import annotations

import itertools
import logging
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any
from weakref import WeakValueDictionary

from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability.fn_api_runner import FnApiRunner
from apache_beam.runners.portability.fn_api_runner.fn_runner import BundleManager
from apache_beam.runners.portability.fn_api_runner.worker_handlers import GrpcWorkerHandler, WorkerHandler
from apache_beam.transforms.environments import SubprocessSDKEnvironment

from wikianchor.io.rules import modules_of
from wikianchor.io.units import duration, size
from wikianchor.pipelines.engine.machine import private_memory
from wikianchor.pipelines.engine.on_demand import OnDemandBundles
from wikianchor.pipelines.engine.retries import Retries
from wikianchor.pipelines.engine.worker_server import Process, prepare, start
from wikianchor.pipelines.engine.worker_status import NO_LIMITS, Limits, WorkerDied, WorkerStatus, new_status_file

URN = "wikianchor:environment:local_workers:v1"
# The time in which a worker without work has to end before it is killed, and that in which a killed one has to end.
EXIT_SECONDS, KILL_SECONDS = 10.0, 2.0
# A worker without progress is reported after this time.
REPORT_SECONDS = 60.0
# Time between two looks counts as so much at most: the launcher may have been stopped too, or the machine asleep.
LOOK_SECONDS = 1.0
STDERR = 2
# Modules that hold steps.
_STEPS = re.compile(r"wikianchor\.pipelines\..*(steps|transforms)")


@dataclass(eq=False)
class Worker:
    """A worker process.

    Attributes:
        number: 1 for the first worker of a run.
        process: its process.
        file: what its status is in.
        released: whether the runner has no more work for it, so that it may end.
        progress: the sign of its progress that was seen last.
        stalled: seconds since that has changed.
    """

    number: int
    process: Process
    file: IO[bytes] = field(default_factory=new_status_file)
    released: bool = False
    progress: Any = None
    stalled: float = 0.0

    def __post_init__(self) -> None:
        self.status = WorkerStatus(self.file.fileno())

    def ran(self, seconds: float) -> float:
        """Return how long the worker is without progress, when some seconds have passed."""
        if self.progress != (progress := self.status.progress()):
            self.progress, self.stalled = progress, 0.0
        else:
            self.stalled += seconds
        return self.stalled


class LocalWorkers:
    """The worker processes of one run.

    Args:
        count: the number of workers of the run.
        verbose: whether they write Beam's log to stderr.
        limits: what ends them.
        retries: what earlier runs of the same command know.
        dataset: the name of the dataset that they make.
    """

    def __init__(
        self,
        count: int,
        verbose: bool = False,
        limits: Limits = NO_LIMITS,
        retries: Retries | None = None,
        *,
        dataset: str = "",
    ) -> None:
        self._count, self._verbose, self._limits = count, verbose, limits
        self._retries, self._dataset = retries or Retries(), dataset
        self._workers: list[Worker] = []
        self._killed = False
        self._lock = threading.Lock()
        self._turns = tempfile.TemporaryFile()  # noqa: SIM115 open as long as the run
        self._looked = time.monotonic()
        # Called when all workers are killed.
        self.on_kill: list[Callable[[], None]] = []

    def start(self, environment: dict[str, str]) -> Worker:
        """Start a worker process.

        Args:
            environment: variables that it gets besides those of this process.

        Raises:
            RuntimeError: the workers of this run have been killed.
            OSError: the process cannot be started.
        """
        told = {
            "alone": self._retries.alone,
            "bad_pages": self._retries.bad_pages,
            # Imported before a worker is forked. This process may have run other graphs, whose steps it does not need.
            "modules": sorted(filter(_STEPS.fullmatch, modules_of(self._dataset) & sys.modules.keys())),
            "directory": os.getcwd(),
            "environment": environment,
            "verbose": self._verbose,
        }
        file = new_status_file()
        process = start(told, (file.fileno(), self._turns.fileno(), STDERR))
        with self._lock:
            worker = Worker(len(self._workers) + 1, process, file)
            self._workers.append(worker)
            killed = self._killed
        if killed:
            _kill([worker])
            raise RuntimeError("the workers of this run have been killed")
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
        """Check that no worker has died: ended before it was released, or by a signal at any time; that each makes
        progress, and none needs too much memory. To be called again and again.

        Raises:
            WorkerDied: one has, or has to be killed.
        """
        now = time.monotonic()
        seconds, self._looked = min(now - self._looked, LOOK_SECONDS), now
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            status = worker.process.poll()
            if status is None:
                self._check_limits(worker, seconds)
            elif status < 0 or not worker.released:
                cause, advice = _cause(status)
                raise WorkerDied(f"{self._name(worker)} {cause}", worker.status.position(), advice)

    def _check_limits(self, worker: Worker, seconds: float) -> None:
        before, stalled = worker.stalled, worker.ran(seconds)
        position, limit = worker.status.position(), self._limits.stall_seconds
        if stalled >= limit:
            raise WorkerDied(f"{self._name(worker)} made no progress for {duration(stalled)}", position)
        if before < REPORT_SECONDS <= stalled:
            logging.getLogger("wikianchor").warning(
                "%s makes no progress: it is ended after %s", self._name(worker), duration(limit)
            )
        if self._limits.memory < float("inf") and (memory := private_memory(worker.process.pid)) > self._limits.memory:
            raise WorkerDied(
                f"{self._name(worker)} needed {size(memory)} of memory, more than --worker_memory allows",
                position,
                "raise --worker_memory, or ",
            )

    def _name(self, worker: Worker) -> str:
        return f"worker {worker.number} of {self._count} (process {worker.process.pid}){worker.status.position()}"

    def kill(self) -> None:
        """Kill all workers, wait until they have ended, and prevent that others start."""
        with self._lock:
            self._killed = True
            workers = list(self._workers)
        _kill(workers)
        for fail in self.on_kill:
            fail()


def _kill(workers: list[Worker]) -> None:
    for worker in workers:
        worker.process.kill()
    last = time.monotonic() + KILL_SECONDS
    for worker in workers:
        with suppress(subprocess.TimeoutExpired):
            worker.process.wait(max(0.0, last - time.monotonic()))


def _cause(status: int) -> tuple[str, str]:
    """Return how a worker died, and what the user can do against it."""
    if status == -signal.SIGKILL:
        return "was killed by SIGKILL (by the kernel for memory?)", "use fewer workers or more memory, or "
    killed = f"was killed by {signal_name(-status)}"
    return killed if status < 0 else f"ended too early with exit status {status}", ""


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
        workers: the processes.
    """

    def __init__(self, workers: LocalWorkers) -> None:
        self.workers = workers
        prepare()
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
        self._workers.on_kill.append(self._fail)

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

    def _fail(self) -> None:
        """Let Beam's threads, which would wait for ever for a killed worker, end with an error."""
        for future in list(self.control_conn._futures_by_id.values()):
            future.set(beam_fn_api_pb2.InstructionResponse(error="the worker was killed"))

    def stop_worker(self) -> None:
        if self._worker is not None:
            self._workers.wait(self._worker)
