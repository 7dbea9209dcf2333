"""The directories of a running stage: parts of the dataset, tables and sorted runs, records of finished steps.

They are named by the fingerprint of the run, so a repeated command finds the finished work of an interrupted one, and
never that of other inputs, options or rules.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.version import package_version
from wikianchor.pipelines.dataset.changes import deciding
from wikianchor.pipelines.dataset.temporary import temporary_root

UNFINISHED = "_unfinished"
# Directory of a workspace with the results of finished steps.
RECORDS = "finished"
# Packages whose version may change rows or files, besides those whose version is in the manifest.
_LIBRARIES = ("apache-beam", "numpy", "pyarrow")


# The type of a field of a record that is a path below the workspace. `resume.load_record` checks it.
WorkPath = Annotated[str, "below the workspace"]


class Workspace(NamedTuple):
    """The directories of one run of a stage.

    Attributes:
        parts: finished Parquet files under temporary names, on the file system of the output.
        scratch: files that only this run reads: tables, sorted runs, records of finished steps, progress. The same as
            `parts`, but on the local disk where all workers share this machine and the output is an object store.
        shuffle: how rows are shuffled: "files" or "beam", or "" where that is not known.
    """

    parts: str
    scratch: str
    shuffle: str


def workspace_of(output: str, fingerprint: str, shuffle: str) -> Workspace:
    """Return the workspace of a run.

    Args:
        output: directory of the dataset.
        fingerprint: that of the run.
        shuffle: how rows are shuffled; by files only where all workers share this machine.
    """
    parts = f"{output}/{UNFINISHED}/{fingerprint}"
    if "://" in output and shuffle == "files":
        return Workspace(parts, f"{scratch_root(output)}/{fingerprint}", shuffle)
    return Workspace(parts, parts, shuffle)


def scratch_root(output: str) -> str:
    """Return the local directory for the runs of an output that is not on a local disk."""
    return f"{private_directory()}/{hashlib.sha256(output.encode()).hexdigest()[:16]}"


def private_directory() -> str:
    """Return a directory for temporary files that no other user can read or write.

    Raises:
        InputError: the path belongs to another user or is no directory.
    """
    path = f"{temporary_root()}/wikianchor-{os.geteuid()}"
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    entry = os.lstat(path)
    if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != os.geteuid() or entry.st_mode & 0o077:
        raise InputError(f"{path}: is no private directory of this user: remove it, or set TMPDIR to another place")
    return path


def fingerprint_of(head: Mapping[str, Any], output: str, **how: Any) -> str:
    """Return the fingerprint of a run, a hash of everything that decides the content of its intermediate files.

    Args:
        head: inputs, options, rules and versions, as in the manifest.
        output: directory of the dataset, as the user wrote it; records of finished steps contain paths below it.
        how: anything else that changes the files of steps, such as the kind of shuffle.
    """
    parts = {
        "head": {**head, "made_with": deciding(head.get("made_with", {}))},
        "output": output,
        "how": how,
        "libraries": {name: package_version(name) for name in _LIBRARIES},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
