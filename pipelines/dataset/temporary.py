"""The directory for temporary files, and one for those of Beam.

Beam's clients of other engines make temporary directories for the files that they send, and do not remove them. Here
they are made in one directory, which is removed when the process ends.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_root = ""
_of_beam: tempfile.TemporaryDirectory[str] | None = None


def temporary_root() -> str:
    """Return the directory for temporary files: `$TMPDIR`, or the default of the system."""
    return _root or tempfile.gettempdir()


@contextmanager
def beams_temporary_files() -> Iterator[None]:
    """Context manager: put the temporary files that Beam makes into a directory that is removed at exit."""
    global _root, _of_beam
    # Exit handlers run in reverse order: Beam's job servers are registered later, and stop before it is removed.
    _of_beam = _of_beam or tempfile.TemporaryDirectory(prefix="wikianchor-beam-", ignore_cleanup_errors=True)
    before = _root, tempfile.tempdir
    _root, tempfile.tempdir = temporary_root(), _of_beam.name
    try:
        yield
    finally:
        _root, tempfile.tempdir = before


def remove_beams_temporary_files() -> None:
    """Remove the temporary files of Beam. Call it before `os._exit`, which runs no exit handlers."""
    global _of_beam
    if _of_beam is not None:
        _of_beam.cleanup()
        _of_beam = None
