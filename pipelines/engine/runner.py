"""Choose the runner of a graph by the flags for Beam, and watch its run to the end.

Without a flag it is Beam's FnApiRunner in this process, or with worker processes of ours where there is enough work;
`--runner` takes every other runner of Beam's by its name: `PrismRunner`, `PortableRunner`, `FlinkRunner`,
`SparkRunner`, `DataflowRunner`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext, redirect_stderr, suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import unknown_flag
from wikianchor.pipelines.dataset.temporary import beams_temporary_files
from wikianchor.pipelines.engine import dataflow, interrupt
from wikianchor.pipelines.engine.log import show_beams_log
from wikianchor.pipelines.engine.machine import Load, cores, default_workers, most_workers

if TYPE_CHECKING:
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions

    from wikianchor.pipelines.engine.local_workers import LocalWorkers
    from wikianchor.pipelines.engine.retries import Retries

# Beam's DirectRunner may download and start Prism, or start Docker; this one starts nothing.
DIRECT = "FnApiRunner"
# Flags of Beam that decide the number of workers of that runner.
_OF_DIRECT = ("--direct_num_workers", "--direct_running_mode")
NO_LOAD = Load()
LOOK_SECONDS = 0.5
# The time in which the threads of a run have to end whose workers were killed.
ABANDON_SECONDS = 3.0
_abandoned = False


def make_pipeline(
    beam_args: Sequence[str],
    dataset: str,
    wiki: str | None,
    output: str,
    load: Load = NO_LOAD,
    retries: Retries | None = None,
) -> beam.Pipeline:
    """Return an empty pipeline on the runner that the flags name.

    Args:
        beam_args: flags for Beam.
        dataset, wiki: what the pipeline makes, and of which wiki.
        output: directory of the dataset.
        load: the load of the stage; decides the number of worker processes, unless the flags do.
        retries: what earlier runs of this command know about deaths of workers.

    Raises:
        UsageError: a flag that neither we nor Beam know, or one that Beam or Dataflow refuses.
    """
    options, processes = beam_options(beam_args)
    import apache_beam as beam

    from wikianchor.pipelines.engine.options import EngineOptions, limits_of, processes_of

    if dataflow.is_dataflow(runner_of(options)):
        options, _ = beam_options(dataflow.with_defaults(beam_args, dataset, wiki))
        dataflow.check(options, output)
    runner: Any = None
    if processes is None:
        processes = processes_of(default_workers(load), options)
        if processes > 1:
            logging.getLogger("wikianchor").info("%s: %d worker processes, see --workers", output, processes)
    if processes:
        from apache_beam.options.pipeline_options import DirectOptions

        from wikianchor.pipelines.engine.local_workers import LocalRunner, LocalWorkers

        options.view_as(DirectOptions).direct_num_workers = processes
        verbose = options.view_as(EngineOptions).verbose
        workers = LocalWorkers(processes, verbose, limits_of(options), retries, dataset=dataset)
        runner = LocalRunner(workers)
    try:
        pipeline = beam.Pipeline(runner, options)
    except (ValueError, ImportError) as error:
        problem = " ".join(str(error).split())
        raise UsageError(f"Beam refuses its flags: {problem}") from error
    # Only transforms of other languages use it, and a process that is killed would leave it behind.
    with suppress(OSError):
        os.rmdir(pipeline.local_tempdir)
    return pipeline


def run_apart(pipeline: beam.Pipeline, look: Callable[[], None]) -> None:
    """Run a pipeline to its end, and call `look` twice a second.

    The direct runner works in a thread of its own, because an interrupt reaches the main thread only: there it must
    neither be raised in the code of a step, where Beam takes it for an error of the step, nor wait for Beam to end its
    workers, which can take as long as their work. Any other runner gets the graph from the main thread, which those
    that start a server need, and its job is cancelled at an interrupt.

    Raises:
        WorkerDied: a worker process on this machine did; the others have been killed.
    """
    from wikianchor.pipelines.engine.options import EngineOptions

    direct, verbose = is_direct(runner_of(pipeline.options)), pipeline.options.view_as(EngineOptions).verbose
    if verbose or not direct:
        show_beams_log()
    if direct:
        # Beam prints each failure of a worker thread, besides raising it. Our log keeps the real stderr.
        with nullcontext() if verbose else open(os.devnull, "w") as nowhere, redirect_stderr(nowhere or sys.stderr):
            _watched(lambda: pipeline.run().wait_until_finish(), look, getattr(pipeline.runner, "workers", None))
        return
    with beams_temporary_files():
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

    thread = threading.Thread(target=run, name="pipeline", daemon=True)
    try:
        thread.start()
        while not wait([ended], LOOK_SECONDS).done:
            look()
            if workers is not None:
                workers.check()
        if workers is not None:
            # What Beam says of a dead worker, if it says anything, is less clear.
            workers.check()
    except BaseException:
        _abandon(ended, workers)
        raise
    # It frees the shards that it kept open. Arrow aborts the process if Python ends meanwhile.
    thread.join()
    ended.result()


def _abandon(ended: Future[None], workers: LocalWorkers | None) -> None:
    """Abandon a run, and kill its workers. Its threads, which are Beam's, may go on."""
    global _abandoned
    if workers is not None:
        # Each thread that loses its worker would print a traceback.
        threading.excepthook = lambda _: None
        workers.kill()
    if workers is None or not wait([ended], ABANDON_SECONDS).done:
        _abandoned = True


def abandoned() -> bool:
    """Return whether a run was abandoned: its threads may wait for ever, so the process has to end by `os._exit`."""
    return _abandoned


def beam_options(args: Sequence[str], ours: Iterable[str] = ()) -> tuple[Any, int | None]:
    """Return Beam's options, and the number of worker processes that the flags set: 0 for none, which is also that of
    other runners; None where no flag sets it.

    Args:
        args: flags for Beam.
        ours: the flags of the command, which are suggested for a flag that does not exist.

    Raises:
        UsageError: a flag that neither we nor Beam know, a number of workers out of range, or two flags that decide it.
    """
    from apache_beam.options.pipeline_options import DirectOptions

    from wikianchor.pipelines.engine.options import OF_PROCESSES, ParsedOptions, flag_parser, processes_of

    parser = flag_parser()
    known, unknown = parser.parse_known_args(list(args))
    if unknown:
        raise UsageError(unknown_flag(unknown[0], [*ours, *parser.flags()]))
    direct = is_direct(known.runner)
    of_beam = [flag for flag in _OF_DIRECT if any(arg.partition("=")[0] == flag for arg in args)]
    if known.workers is not None:
        _check_workers(known.workers, None if direct else known.runner, of_beam)
    for name in OF_PROCESSES:
        value = getattr(known, name)
        if value and not direct:
            raise UsageError(f"--{name} is about processes on this machine, and --runner={known.runner} has none")
        if value is not None and value is not False and value < 1:
            raise UsageError(f"--{name}={value}: must be at least 1")
    options = ParsedOptions([*args, f"--runner={DIRECT}"] if direct else list(args))
    if not direct:
        return options, 0
    mode = options.view_as(DirectOptions)
    if mode.direct_running_mode == "multi_processing":
        mode.direct_running_mode = "in_memory"
        # For Beam 0 means one for each core.
        return options, mode.direct_num_workers or cores()
    if known.workers is not None:
        return options, processes_of(known.workers, options)
    return options, 0 if of_beam else None


def _check_workers(workers: int, runner: str | None, of_beam: Sequence[str]) -> None:
    """Check what --workers says.

    Args:
        workers: the number.
        runner: the value of --runner; None for the direct runner.
        of_beam: flags of Beam that decide the same.

    Raises:
        UsageError: it is out of range, or something else decides it.
    """
    if of_beam:
        raise UsageError(f"--workers={workers} and {of_beam[0]} decide the same: leave one of them out")
    if runner is not None:
        raise UsageError(
            f"--workers={workers} starts processes on this machine, and --runner={runner} does not use them: "
            "leave --workers out, and see docs/how-to/engines.md for the flags of that runner"
        )
    if not 1 <= workers <= most_workers():
        raise UsageError(f"--workers={workers}: must be between 1 and {most_workers()}, for {cores()} cores here")


def workers_of(args: Sequence[str], load: Load = NO_LOAD) -> int | None:
    """Return how many workers share a stage on this machine, or None on a cluster.

    Raises:
        UsageError: see `beam_options`.
    """
    direct, processes = _processes_of(tuple(args))
    workers = default_workers(load) if processes is None else max(1, processes)
    return workers if direct else None


# A build with hundreds of stages asks for each of them.
@lru_cache(maxsize=1)
def _processes_of(args: tuple[str, ...]) -> tuple[bool, int | None]:
    """Return whether the runner works on this machine, and the number of processes of `beam_options`."""
    options, processes = beam_options(args)
    return is_direct(runner_of(options)), processes


def with_workers(args: Sequence[str], load: Load) -> list[str]:
    """Return the flags for Beam with the number of workers that the plan of a build shows for a stage."""
    return [*args, *([f"--workers={default_workers(load)}"] if _processes_of(tuple(args))[1] is None else ())]


def runner_of(options: PipelineOptions) -> str | None:
    """Return the name of the runner in Beam's options."""
    from apache_beam.options.pipeline_options import StandardOptions

    return options.view_as(StandardOptions).runner


def is_direct(runner: str | None) -> bool:
    """Return whether a runner is the one in this process, which is the default."""
    return (runner or DIRECT).lower() in ("directrunner", DIRECT.lower())
