"""Errors of malformed input as one line for the user."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from wikianchor.io.errors import InputError


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
