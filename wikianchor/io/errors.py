"""The errors that a user can correct. Each text is one line: what is wrong, where, and what to do."""


class UsageError(Exception):
    """The command line asks for something that cannot be: exit status 2."""


class InputError(Exception):
    """An input is missing or broken, or an output cannot be written: exit status 1."""


class Truncated(InputError):
    """A file ends before its data does. The complete part has been returned."""


class WorkerDied(InputError):
    """A worker process was killed, or ended before its work was done."""
