"""The errors that a user can correct. Each message is one line: what is wrong, where, and what to do."""


class UsageError(Exception):
    """The command line is wrong: exit status 2."""


class InputError(Exception):
    """An input is missing or broken, or an output cannot be written: exit status 1.

    Args:
        message: one line.
        results: what the command has found out in spite of it, None for nothing.
    """

    def __init__(self, message: str = "", results: object = None) -> None:
        super().__init__(message)
        self.results = results


class Truncated(InputError):
    """A file is truncated. Its complete part has been returned."""
