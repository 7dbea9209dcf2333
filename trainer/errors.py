"""The two errors that a user can correct. Each text is one line: what is wrong, where, and what to do."""

from wikianchor.io.errors import InputError, UsageError

__all__ = ["InputError", "UsageError"]
