"""Our own log on stderr, and how seldom Python looks for garbage."""

from __future__ import annotations

import gc
import logging

from wikianchor.pipelines.engine.progress import LogHandler


def collect_seldom() -> None:
    """Look for objects that refer to each other in circles a hundredth as often as Python does: we make hardly any, and
    looking takes a tenth of the time to start."""
    gc.set_threshold(100_000)


def log_to_stderr() -> None:
    """Send our own log to stderr, and nobody else's."""
    handler = LogHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("wikianchor")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    # Python gives stderr to a root logger without a handler at the first warning, which Beam logs when it is imported.
    logging.getLogger().addHandler(logging.NullHandler())
    # Beam logs every error of a worker with its traceback; the one line that matters is ours to print.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)
