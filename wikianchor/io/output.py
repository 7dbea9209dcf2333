"""Escape control characters in everything that is printed, so that text of dumps cannot control the terminal.

A title may contain ESC or a C1 control character, which a terminal would obey. `clean_output` shows them as escapes.
"""

from __future__ import annotations

import os
import shutil
import sys
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from wikianchor.io.errors import InputError, UsageError

# Control characters (C0, DEL, C1) but tab and newline; line and paragraph separators; and the bidirectional embeddings,
# overrides and isolates, which reorder the text beside them.
_UNSAFE = (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _UNSAFE if chr(code) not in "\t\n"}
_IN_JSON = {code: f"\\u{code:04x}" for code in _SHOWN}


def printable(text: str) -> str:
    r"""Return a text in which characters that control a terminal are visible escapes; tabs and newlines stay.

    >>> printable("a\x1b[31mb\x9bc")
    'a\\x1b[31mb\\x9bc'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def printable_json(text: str) -> str:
    """Return equal JSON in which characters that control a terminal are escaped."""
    return text if text.isascii() and text.isprintable() else text.translate(_IN_JSON)


class CleanStream:
    """A text stream that writes `printable` text to another stream, with escapes for what that cannot encode.

    Everything but writing is passed to the other stream, which is `uncleaned`, for control sequences of the program.
    """

    def __init__(self, stream: TextIO) -> None:
        self.uncleaned = stream

    def write(self, text: str) -> int:
        """Write a text."""
        encoding = self.uncleaned.encoding or "utf-8"
        self.uncleaned.write(printable(text).encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.uncleaned, name)


def control(stream: TextIO, sequence: str) -> None:
    """Write a control sequence of the program, such as one that erases a line, unescaped."""
    getattr(stream, "uncleaned", stream).write(sequence)


@contextmanager
def clean_output() -> Iterator[None]:
    """Context manager: make stdout and stderr clean streams. After an unexpected error they stay clean, because Python
    prints its traceback through them."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (_clean(stream) for stream in streams)
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        sys.stdout, sys.stderr = streams
        raise
    sys.stdout, sys.stderr = streams


def _clean(stream: TextIO | None) -> TextIO:
    if stream is None:
        # The stream was closed when the process began: output is discarded.
        return open(os.devnull, "w", encoding="utf-8")
    return cast(TextIO, stream if isinstance(stream, CleanStream) else CleanStream(stream))


# Styles of lines on a terminal, by the number that selects one (ECMA-48, 8.3.117).
TITLE, GOOD, BAD = 1, 32, 31
# Characters of a word that is not cut.
LONG_WORD = 16


def say(line: str = "", style: int = 0) -> None:
    """Print a line, broken at spaces where it is wider than the terminal, or than $COLUMNS; of no terminal, than 80.

    Args:
        line: the line.
        style: how a terminal shows it, unless $NO_COLOR is set (https://no-color.org).
    """
    style *= sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if style:
        control(sys.stdout, f"\x1b[{style}m")
    print("\n".join(wrapped(line, columns())))
    if style:
        control(sys.stdout, "\x1b[0m")


def columns() -> int:
    """Return the number of columns that a line may have."""
    return shutil.get_terminal_size().columns


def width(text: str) -> int:
    """Return the number of columns that a text takes on a terminal.

    >>> width("Io"), width("水星"), width("e\u0301")
    (2, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)


def fitted(text: str, limit: int) -> str:
    """Return a text, or the words that it begins with and "..." where it takes more columns than there are.

    >>> fitted("a moon of Jupiter", 11), fitted("水星の月", 7)
    ('a moon...', '水星...')
    """
    if width(text) <= limit:
        return text
    cut = text
    while cut and width(cut) > limit - 3:
        cut = cut[:-1]
    words, _, part = cut.rpartition(" ")
    # A word is cut only where it is long, as those of a script without spaces are.
    return f"{(words if words and len(part) <= LONG_WORD and text[len(cut)] != ' ' else cut).rstrip()}..."


def wrapped(line: str, limit: int, hanging: bool = True) -> list[str]:
    """Return a line in several where it takes more columns than there are, broken at spaces. Those after the first are
    indented by four columns more, unless they are not `hanging`. A longer word stays as it is.

    >>> wrapped("  links: 12 seen, 11 kept", 17)
    ['  links: 12 seen,', '      11 kept']
    """
    if width(line) <= limit:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    below = indent + "    " * hanging
    lines, current = list[str](), ""
    for word in line.removeprefix(indent).split(" "):
        longer = f"{current} {word}" if current else f"{below if lines else indent}{word}"
        if current and width(longer) > limit:
            lines.append(current.rstrip())
            longer = f"{below}{word}"
        current = longer
    return [*lines, current]


def fail(name: str, error: UsageError | InputError) -> int:
    """Print an error of a command as one line on stderr, and return the exit status."""
    print(f"{name}:", str(error).replace("\n", "\\n"), file=sys.stderr)
    return 2 if isinstance(error, UsageError) else 1
