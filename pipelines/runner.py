"""Which engine runs a graph: flags for Beam in, a pipeline on its runner out, and its run watched to the end.

Without a flag that is Beam's own runner in this process, or with worker processes of ours; every other runner of Beam's
is taken by its name, `--runner=PrismRunner`, `PortableRunner`, `FlinkRunner`, `SparkRunner`, `DataflowRunner`.
"""

from __future__ import annotations

import argparse
import logging
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import redirect_stderr
from typing import TYPE_CHECKING, Any

from command_line.flags import FlagParser, unknown_flag
from pipelines import dataflow
from pipelines.engine import interrupt
from pipelines.errors import UsageError

if TYPE_CHECKING:
    import apache_beam as beam

    from pipelines.engine.local_workers import LocalWorkers

# Prism and Docker are for those who ask for them: the direct runner here is the one that needs nothing started.
DIRECT = "FnApiRunner"
LOOK_SECONDS = 0.5
_abandoned = False


def make_pipeline(beam_args: Sequence[str], dataset: str, wiki: str | None, output: str) -> beam.Pipeline:
    """Return an empty pipeline on the runner that the flags ask for.

    Args:
        beam_args: flags for Beam.
        dataset, wiki: what it is going to make, and of which wiki.
        output: directory of the dataset.

    Raises:
        UsageError: a flag that neither we nor Beam know, or one that Beam or Dataflow refuses.
    """
    import apache_beam as beam

    options, workers = beam_options(beam_args)
    if dataflow.is_dataflow(runner_of(options)):
        options, _ = beam_options(dataflow.with_defaults(beam_args, dataset, wiki))
        dataflow.check(options, output)
    runner: Any = None
    if workers:
        from apache_beam.options.pipeline_options import DirectOptions

        from pipelines.engine.local_workers import LocalRunner

        # Beam takes 0 for as many as there are cores.
        runner = LocalRunner(options.view_as(DirectOptions).direct_num_workers or os.cpu_count() or 1)
    try:
        return beam.Pipeline(runner, options)
    except (ValueError, ImportError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"Beam refuses its flags: {problem}") from error


def run_apart(pipeline: beam.Pipeline, look: Callable[[], None]) -> None:
    """Run a pipeline to its end, and look at it now and then.

    The direct runner works in a thread of its own. An interrupt reaches the main thread only: there it must not land in
    a worker's code, where Beam takes it for an error of ours, nor wait for Beam to end its workers, which can take as
    long as their work. Any other engine is given the graph from the main thread, as those that start a server want
    it, and has its job cancelled where we are interrupted.

    Raises:
        WorkerDied: a worker process on this machine did; the others have been killed.
    """
    if is_direct(runner_of(pipeline.options)):
        # Beam prints each failure of a worker thread on its own, besides handing it on. Our log keeps the real stderr.
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            _watched(lambda: pipeline.run().wait_until_finish(), look, getattr(pipeline.runner, "workers", None))
        return
    show_beams_log()
    result = pipeline.run()
    with interrupt.cancelling(result.cancel):
        _watched(result.wait_until_finish, look)


def _watched(work: Callable[[], object], look: Callable[[], None], workers: LocalWorkers | None = None) -> None:
    ended: Future[None] = Future()

    def run() -> None:
        try:
            work()
        except BaseException as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)

    try:
        threading.Thread(target=run, name="pipeline", daemon=True).start()
        while not wait([ended], LOOK_SECONDS).done:
            look()
            if workers is not None:
                workers.check()
        if workers is not None:
            # What Beam says of a dead worker, if it says anything, is less clear.
            workers.check()
    except BaseException:
        _abandon(workers)
        raise
    ended.result()


def _abandon(workers: LocalWorkers | None) -> None:
    """Give up a run that goes on in threads of Beam's, and kill its workers."""
    global _abandoned
    _abandoned = True
    if workers is not None:
        # Each thread that loses its worker would print a traceback.
        threading.excepthook = lambda _: None
        workers.kill()


def abandoned() -> bool:
    """Return whether a run was given up: its threads may wait for ever, so the process has to end by `os._exit`."""
    return _abandoned


def show_beams_log() -> None:
    """Show what Beam says of an engine that is not ours: where its job can be seen, and what it waits for."""
    log = logging.getLogger("apache_beam")
    log.handlers, log.propagate = list(logging.getLogger("wikianchor").handlers), False
    log.setLevel(logging.INFO)
    logging.getLogger("apache_beam.utils.subprocess_server").addFilter(_is_no_advice)


def _is_no_advice(record: logging.LogRecord) -> bool:
    """Whether a line of Beam's log is not its advice of six lines on downloads; another line names what is fetched."""
    return "downloading dependencies" not in record.getMessage()


def beam_options(args: Sequence[str], ours: Iterable[str] = ()) -> tuple[Any, bool]:
    """Return Beam's options, and whether the direct runner is to have worker processes.

    Args:
        args: flags for Beam.
        ours: the flags of the command, one of which a wrong flag may stand for.

    Raises:
        UsageError: a flag that neither we nor Beam know.
    """
    from apache_beam.options.pipeline_options import DirectOptions, PipelineOptions

    # Declares our flags to Beam.
    import pipelines.engine.options  # noqa: F401

    parser = FlagParser(add_help=False, passes_on=True)
    for options in PipelineOptions.__subclasses__():
        try:
            options._add_argparse_args(parser)
        except argparse.ArgumentError:
            continue
    known, unknown = parser.parse_known_args(list(args))
    if unknown:
        raise UsageError(unknown_flag(unknown[0], [*ours, *parser.flags()]))
    direct = is_direct(known.runner)
    found = PipelineOptions([*args, f"--runner={DIRECT}"] if direct else list(args))
    mode = found.view_as(DirectOptions)
    workers = direct and mode.direct_running_mode == "multi_processing"
    if workers:
        mode.direct_running_mode = "in_memory"
    return found, workers


def workers_of(args: Sequence[str]) -> int | None:
    """Return how many workers share a stage on this machine, or None on a cluster.

    Raises:
        UsageError: a flag that neither we nor Beam know.
    """
    from apache_beam.options.pipeline_options import DirectOptions

    options, workers = beam_options(args)
    if not is_direct(runner_of(options)):
        return None
    return max(1, int(options.view_as(DirectOptions).direct_num_workers)) if workers else 1


def runner_of(options: Any) -> str | None:
    """Return the name of the runner in Beam's options."""
    return options.get_all_options().get("runner")


def is_direct(runner: str | None) -> bool:
    """Whether a runner is the one in this process, as it is where none is named."""
    return (runner or DIRECT).lower() in ("directrunner", DIRECT.lower())
