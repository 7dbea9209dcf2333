"""The errors that a user can correct. Each text is one line: what is wrong, where, and what to do."""

from wikianchor.io.errors import InputError, UsageError

__all__ = ["InputError", "Truncated", "UsageError", "WorkerDied"]


class Truncated(InputError):
    """A file ends before its data does. What came before has been given out."""


class WorkerDied(InputError):
    """A worker process was killed, or ended before its work was done."""
