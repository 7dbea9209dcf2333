"""Our errors on their way through a runner.

A runner returns the exception of a step as a formatted traceback, of which only the text is the same everywhere. So
each step runs under `mark_errors`, which writes an error that a user can correct as one line of JSON behind a marker,
and the launcher reads that line with `find_error`.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import error_number, reason_of

MARKER = "WIKIANCHOR_ERROR"
_KINDS = {kind.__name__: kind for kind in (InputError, UsageError)}
# Errors of the machine and none of the program, wherever they are raised.
_OF_THE_DISK = {errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS}
_MARKED = re.compile(rf"{MARKER} (?=\{{)")


class StepError(Exception):
    """An error that a user can correct, as `find_error` reads it."""


@contextmanager
def mark_errors() -> Iterator[None]:
    """Write errors that a user can correct so that `find_error` finds them in a runner's traceback.

    Raises:
        StepError: the body raised an InputError or a UsageError, or the disk has failed.
    """
    try:
        yield
    except OSError as error:
        if error_number(error) not in _OF_THE_DISK:
            raise
        where = error.filename or "a file of this run"
        message = (
            f"{where}: cannot be read or written ({reason_of(error)}): check the disk and run the same command again"
        )
        raise StepError(f"{MARKER} {json.dumps({'kind': InputError.__name__, 'message': message})}") from error
    except tuple(_KINDS.values()) as error:
        kind = next(name for name, kind in _KINDS.items() if isinstance(error, kind))
        raise StepError(f"{MARKER} {json.dumps({'kind': kind, 'message': str(error)})}") from error


def find_error(text: str) -> Exception | None:
    """Return the last error that a step marked in a text, such as a traceback; None where there is none.

    >>> find_error('StepError: WIKIANCHOR_ERROR {"kind": "InputError", "message": "a: empty"} [while running Read]')
    InputError('a: empty')
    """
    error = None
    for match in _MARKED.finditer(text):
        # A runner may add words to the line, so JSON ends where its object does.
        with suppress(ValueError, LookupError):
            record, _ = json.JSONDecoder().raw_decode(text, match.end())
            error = _KINDS[record["kind"]](record["message"])
    return error
