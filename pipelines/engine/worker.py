"""A worker process of a run on one machine: Beam's worker, which prints nothing, and ends when its launcher ends.

`local_workers.py` starts it by `python -m wikianchor.pipelines.engine.worker LAUNCHER STATUS [--verbose]`, with the
process id of the launcher, and JSON: for `worker_status.join`, and the modules that hold the steps. The settings of
Beam's worker are in the environment.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import threading
import time
import traceback
from contextlib import redirect_stderr
from importlib import import_module

from wikianchor.pipelines.engine.beam_import import import_arrow, own_process
from wikianchor.pipelines.engine.log import log_to_stderr, show_beams_log
from wikianchor.pipelines.engine.machine import raise_gc_threshold
from wikianchor.pipelines.engine.worker_status import WorkerStatus, join

LOOK_SECONDS = 0.2


def main() -> None:
    """Serve the launcher until it has no more work or has ended."""
    # A terminal sends Ctrl-C to every process of a job; the launcher acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not os.getppid(): the launcher may have been killed before this line.
    launcher = int(sys.argv[1])
    told = json.loads(sys.argv[2])
    status = WorkerStatus(told["status"])
    join(status, told["lock"], told["alone"], [(unit, page) for unit, page in told["bad_pages"]])
    threading.Thread(target=_end_with, args=(launcher, status), daemon=True).start()
    log_to_stderr()
    # The launcher has said which engine reads pages, and why (`pipelines.wikimedia.core`).
    logging.getLogger("wikianchor.core").setLevel(logging.ERROR)
    raise_gc_threshold()
    verbose = "--verbose" in sys.argv
    if verbose:
        show_beams_log()
    own_process()
    import_arrow()
    for module in told["modules"]:
        import_module(module)
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
