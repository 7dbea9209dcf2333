"""Steps whose results are kept: a step that finished for an element is not run again by the same command.

A result is a small record: counts, and the paths of the files that the step wrote. It is written atomically, after
these files, below the workspace of the run; the workspace is named by the fingerprint of the run, so a record is valid
wherever it is found. The exception is a record of an earlier boot of the machine that names a small file: small files
are not flushed to the disk, and may be empty after a power failure.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec
from pyarrow import fs

from wikianchor.io.manifests import is_inside
from wikianchor.io.storage import SYNCED_BYTES, boot_id, filesystem, is_local, make_parent, writing
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.workspace import RECORDS, WorkPath, Workspace
from wikianchor.pipelines.engine.worker_status import watched


def order_of(element: Any) -> str:
    """Return what identifies an element among those of a step: its `order`."""
    return f"{element.order:06d}"


class CachedStep:
    """A step whose results are kept on disk: it runs once for each element, over all runs of one command.

    Args:
        step: a function of an element and side inputs; its return annotation is the type of its result, a NamedTuple
            or a composition of plain types.
        work: where results are kept; None where no result is worth keeping.
        name: the name of the step, unique in its stage.
        key: returns what identifies an element among those of the step; "" for one whose result is not worth keeping.
        result: type of the result, where the annotation of `step` does not say it.
        release: called with each element whose result is kept.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        work: Workspace | None,
        name: str,
        key: Callable[[Any], str] = order_of,
        result: Any = None,
        release: Callable[[Any], None] | None = None,
    ) -> None:
        self.step, self._work, self._name, self._key = step, work, name, key
        self._result, self._release = result, release

    def __call__(self, element: Any, *args: Any) -> Any:
        if not (key := self._key(element)):
            return self._run(key, element, *args)
        result = self.find(key)
        if result is None:
            result = self._run(key, element, *args)
            save_record(self._path(key), result)
        if self._release is not None:
            self._release(element)
        return result

    def _run(self, key: str, element: Any, *args: Any) -> Any:
        with watched(f"{self._name}-{key}", element):
            return self.step(element, *args)

    def find(self, key: str) -> Any:
        """Return the result that an earlier run has kept for an element, or None."""
        assert self._work is not None
        # Python takes longer to look at the annotations than to read a record.
        self._result = self._result or result_type(self.step)
        return load_record(self._path(key), self._result, self._work)

    def _path(self, key: str) -> str:
        assert self._work is not None
        return f"{self._work.scratch}/{RECORDS}/{self._name}-{key}"


def result_type(step: Callable[..., Any]) -> Any:
    """Return the type that a step is annotated to return; for a generator the type of its return value."""
    function = step if hasattr(step, "__code__") else getattr(step, "__wrapped__", type(step).__call__)
    kind = get_type_hints(function, include_extras=True)["return"]
    return get_args(kind)[2] if get_origin(kind) is Generator else kind


def save_record(path: str, record: Any) -> None:
    """Write a record atomically. A power failure may lose it, and then its step is repeated.

    Raises:
        InputError: the disk is full or the directory cannot be written.
    """
    files, inner = filesystem(path)
    data = msgspec.msgpack.encode((boot_id(), record))
    with writing(path):
        make_parent(files, inner)
        if not isinstance(files, fs.LocalFileSystem):
            # An object appears as a whole when its stream is closed.
            with files.open_output_stream(inner) as stream:
                stream.write(data)
            return
        unfinished = f"{inner}.{uuid.uuid4().hex}"
        with open(unfinished, "wb") as file:
            file.write(data)
        os.replace(unfinished, inner)


def load_record(path: str, kind: Any, work: Workspace) -> Any:
    """Return the record at a path, or None where there is none that can be used.

    A record counts only if the files that it names are below the workspace, and its parts are there with the size that
    it says. A record of an earlier boot of the machine counts only if all files that it names were flushed to the disk.

    Args:
        path: the path of the record.
        kind: its type.
        work: the workspace of the run.
    """
    files, inner = filesystem(path)
    try:
        with files.open_input_stream(inner) as stream:
            boot, record = msgspec.msgpack.decode(stream.read(), type=tuple[str, kind], strict=False)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    for value in _files_in(kind, record):
        name = value.path if isinstance(value, Part) else value
        if name and not any(is_inside(root, name) for root in (work.parts, work.scratch)):
            return None
        if isinstance(value, Part):
            if not _is_there(value):
                return None
        elif name and boot not in ("", boot_id()) and not _was_synced(name):
            return None
    return record


def _files_in(kind: Any, value: Any) -> Iterator[Any]:
    """Yield the parts and the paths of the workspace in a record of a type."""
    if not _names_files(kind) or value is None:
        return
    if kind is Part or kind == WorkPath:
        yield value
    elif get_origin(kind) is None:
        for name, field in _fields(kind).items():
            yield from _files_in(field, getattr(value, name))
    elif get_origin(kind) is tuple and get_args(kind)[-1] is not Ellipsis:
        for member, item in zip(get_args(kind), value, strict=True):
            yield from _files_in(member, item)
    else:
        # The last argument is the type of the values of a dictionary; `...` and None name no file.
        (member,) = {member for member in get_args(kind) if _names_files(member)}
        values = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        for item in values:
            yield from _files_in(member, item)


@cache
def _names_files(kind: Any) -> bool:
    """Return whether a record of a type can name a file."""
    if kind is Part or kind == WorkPath:
        return True
    return any(map(_names_files, get_args(kind) if get_origin(kind) else _fields(kind).values()))


def _fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a NamedTuple with their types; none of another type."""
    return get_type_hints(kind, include_extras=True) if hasattr(kind, "_fields") else {}


def _was_synced(path: str) -> bool:
    with suppress(OSError):
        return not is_local(path) or os.path.getsize(path) >= SYNCED_BYTES
    return False


def _is_there(part: Part) -> bool:
    files, inner = filesystem(part.path)
    with suppress(OSError):
        return bool(files.get_file_info(inner).size == part.size)
    return False
