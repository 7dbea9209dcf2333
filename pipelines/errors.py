"""The two errors a user can mend. Their text is one line that names the file, the place and the mend."""


class UsageError(Exception):
    """The command line asks for something that cannot be: exit status 2."""


class InputError(Exception):
    """An input is missing or broken, or an output cannot be written: exit status 1."""


class Truncated(InputError):
    """A file ends before its data does. What came before has been given out."""


class WorkerDied(InputError):
    """A worker process was killed, or ended before its work was done."""
