"""The log on stderr: ours always, Beam's where a cluster runs the job or --verbose asks for it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from wikianchor.pipelines.engine.progress import LogHandler


def log_to_stderr() -> None:
    """Send our own log to stderr, and no other."""
    handler = LogHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("wikianchor")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    # Python gives stderr to a root logger without a handler at the first warning, which Beam logs when it is imported.
    logging.getLogger().addHandler(logging.NullHandler())
    # Beam logs every error of a step with its traceback; the command prints the one line that matters.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)


@contextmanager
def without_beams_log() -> Iterator[None]:
    """Leave out Beam's log, whose warnings are of its own workers; then its level is as before."""
    log = logging.getLogger("apache_beam")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def show_beams_log() -> None:
    """Send Beam's log to stderr as well."""
    log = logging.getLogger("apache_beam")
    log.handlers, log.propagate = list(logging.getLogger("wikianchor").handlers), False
    log.setLevel(logging.INFO)
    logging.getLogger("apache_beam.utils.subprocess_server").addFilter(_is_no_advice)


def _is_no_advice(record: logging.LogRecord) -> bool:
    """Return False for Beam's advice of six lines on downloads; another line of its log names what is fetched."""
    return "downloading dependencies" not in record.getMessage()
