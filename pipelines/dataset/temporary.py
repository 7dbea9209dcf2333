"""Where temporary files go, and a directory for those that Beam leaves behind.

Beam's clients of other engines make directories for the files that they send, and do not remove them. Here they lie in
one directory, which is removed when the process ends.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

_root = ""
_of_beam = ""


def temporary_root() -> str:
    """Return the directory for temporary files, `$TMPDIR` or the system's."""
    return _root or tempfile.gettempdir()


@contextmanager
def beams_temporary_files() -> Iterator[None]:
    """Keep the temporary files that are made in the body until the process ends, and no longer."""
    global _root, _of_beam
    if not _of_beam:
        _of_beam = tempfile.mkdtemp(prefix="wikianchor-beam-")
        # Beam's job servers stop, and remove their own files, after what was registered later.
        atexit.register(remove_beams_temporary_files)
    before = _root, tempfile.tempdir
    _root, tempfile.tempdir = temporary_root(), _of_beam
    try:
        yield
    finally:
        _root, tempfile.tempdir = before


def remove_beams_temporary_files() -> None:
    """Remove them; to be called where a process ends without its exit handlers."""
    global _of_beam
    if _of_beam:
        shutil.rmtree(_of_beam, ignore_errors=True)
        _of_beam = ""
