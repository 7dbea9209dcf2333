"""The errors that a user can correct. Each message is one line: what is wrong, where, and what to do."""


class UsageError(Exception):
    """The command line is wrong: exit status 2."""


class InputError(Exception):
    """An input is missing or broken, or an output cannot be written: exit status 1."""


class Truncated(InputError):
    """A file is truncated. Its complete part has been returned."""
