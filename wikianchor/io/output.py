"""What reaches the terminal: text of dumps, datasets and file names without the power to control it.

A title may hold ESC or a C1 control character, which a terminal obeys. Everything that is printed goes through
`clean_output`, which shows such characters as escapes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Control characters (C0, DEL, C1) but tab and newline; line and paragraph separators; and the bidirectional embeddings,
# overrides and isolates, which reorder what stands beside them.
_UNSAFE = (*range(0x20), 0x7F, *range(0x80, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _UNSAFE if chr(code) not in "\t\n"}
_IN_JSON = {code: f"\\u{code:04x}" for code in _SHOWN}


def printable(text: str) -> str:
    r"""Return a text with what would control a terminal as visible escapes; tabs and newlines stay.

    >>> printable("a\x1b[31mb\x9bc")
    'a\\x1b[31mb\\x9bc'
    """
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


def printable_json(text: str) -> str:
    """Return JSON whose strings hold the same, with what would control a terminal escaped; without newlines."""
    return text if text.isascii() and text.isprintable() else text.translate(_IN_JSON)


class CleanStream:
    """A text stream that writes `printable` text to another one, in characters that its encoding has.

    All but writing is the other stream's own. `uncleaned` is that stream, for control sequences of ours.
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
    """Write a control sequence of ours, such as one that erases a line."""
    getattr(stream, "uncleaned", stream).write(sequence)


@contextmanager
def clean_output() -> Iterator[None]:
    """Make stdout and stderr of this process clean streams. They stay so after an unexpected error: Python prints its
    traceback through them."""
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
        # It was closed when the process began: what is printed is lost.
        return open(os.devnull, "w", encoding="utf-8")
    return cast(TextIO, stream if isinstance(stream, CleanStream) else CleanStream(stream))
