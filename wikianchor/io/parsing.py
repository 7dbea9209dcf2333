"""Errors of malformed input as one line for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wikianchor.io.errors import InputError, UsageError


@contextmanager
def malformed(message: str) -> Iterator[None]:
    """Turn the exceptions that parsers raise for malformed input into an InputError.

    Args:
        message: the file and what is wrong with it; the parser's own words follow in brackets.

    Raises:
        InputError: the block raises what json, int(), float() and look-ups in parsed values raise. A RecursionError is
            among them: json raises it for brackets that are nested too deeply.

    >>> with malformed("a.json: not JSON"):
    ...     int("x")
    Traceback (most recent call last):
    wikianchor.io.errors.InputError: a.json: not JSON (invalid literal for int() with base 10: 'x')
    """
    try:
        yield
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{message} ({error})") from error


@contextmanager
def unreadable(problem: str, advice: str = "") -> Iterator[None]:
    """Turn the exceptions of libraries that raise many types for damaged files into an InputError.

    Args:
        problem: the file and what it is not; the library's own words follow in brackets.
        advice: what to do.

    Raises:
        InputError: the block raises anything but an error of ours.

    >>> with unreadable("a.pt: a broken checkpoint", "remove it"):
    ...     raise OSError("end of file")
    Traceback (most recent call last):
    wikianchor.io.errors.InputError: a.pt: a broken checkpoint (end of file): remove it
    """
    try:
        yield
    except (UsageError, InputError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"{problem} ({reason}){advice and ': '}{advice}") from error
