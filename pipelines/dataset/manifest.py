"""Manifests: a dataset is finished when its `manifest.json` is there, and not before.

A run takes the output directory for itself, writes parts under `_unfinished/`, and `commit` renames them to
`data/<config>/train-00000-of-00064.parquet` and puts the manifest beside them last, in one atomic step.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyarrow import fs

from pipelines.dataset.card import card
from pipelines.dataset.parts import UNFINISHED, Part, writing
from pipelines.errors import InputError, UsageError
from pipelines.wikimedia.dumps import filesystem

MANIFEST = "manifest.json"
LOCK = "_lock"
CARD = "README.md"
_OURS = {MANIFEST, LOCK, UNFINISHED, CARD, "data"}


def read_manifest(directory: str) -> dict[str, Any] | None:
    """Return the manifest of a dataset, or None where there is no finished dataset.

    Raises:
        InputError: the file is there and is no manifest.
    """
    files, inner = filesystem(directory)
    path = f"{inner}/{MANIFEST}"
    if files.get_file_info(path).type != fs.FileType.File:
        return None
    with files.open_input_stream(path) as stream:
        try:
            manifest = json.loads(stream.read())
        except ValueError as error:
            raise InputError(
                f"{directory}/{MANIFEST}: not JSON ({error}): remove the directory and build it again"
            ) from error
    if not isinstance(manifest, dict) or "dataset" not in manifest:
        raise InputError(f"{directory}/{MANIFEST}: not a manifest of ours: choose another directory")
    return manifest


@contextmanager
def claim(directory: str) -> Iterator[None]:
    """Hold an output directory for one run, and leave no unfinished part behind, however the run ends.

    A lock of the operating system ends with its process, so a killed run locks nobody out; what it left is removed
    here.

    Raises:
        UsageError: the directory holds something else, or another run writes to it.
        InputError: it cannot be written.
    """
    files, inner = filesystem(directory)
    local = isinstance(files, fs.LocalFileSystem)
    with writing(directory):
        if local and os.path.exists(inner) and not os.path.isdir(inner):
            raise UsageError(f"--output={directory} is a file: name a directory")
        files.create_dir(inner, recursive=True)
        present = {info.base_name for info in files.get_file_info(fs.FileSelector(inner))}
    if foreign := sorted(present - _OURS):
        raise UsageError(f"--output={directory} holds something else ({foreign[0]}): name an empty or a new directory")
    lock = None
    if local:
        with writing(directory):
            lock = open(f"{inner}/{LOCK}", "a")  # noqa: SIM115 held until the run ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise UsageError(
                f"--output={directory}: another run is writing there: wait for it, or name another directory"
            ) from None
    try:
        _remove(files, f"{inner}/{UNFINISHED}")
        yield
    finally:
        _remove(files, f"{inner}/{UNFINISHED}")
        if lock is not None:
            os.unlink(lock.name)
            lock.close()


def _remove(files: fs.FileSystem, path: str) -> None:
    if files.get_file_info(path).type == fs.FileType.Directory:
        files.delete_dir(path)


def clear(directory: str) -> None:
    """Remove what an earlier, different run finished here; the manifest goes first."""
    files, inner = filesystem(directory)
    if files.get_file_info(f"{inner}/{MANIFEST}").type == fs.FileType.File:
        files.delete_file(f"{inner}/{MANIFEST}")
    _remove(files, f"{inner}/data")


def commit(directory: str, parts: Iterable[Part], head: Mapping[str, Any]) -> dict[str, Any]:
    """Give parts their final names, in their order, and write the manifest. A second call with the same parts changes
    nothing.

    Args:
        directory: of the dataset.
        parts: the parts that count, in any order.
        head: what the manifest says besides its files.

    Returns:
        The manifest.
    """
    files, inner = filesystem(directory)
    by_config: dict[str, list[Part]] = {}
    for part in parts:
        by_config.setdefault(part.config, []).append(part)
    configs: dict[str, Any] = {}
    with writing(directory):
        for config, members in sorted(by_config.items()):
            members.sort(key=lambda part: part.order)
            files.create_dir(f"{inner}/data/{config}", recursive=True)
            shards = []
            for number, part in enumerate(members):
                name = f"data/{config}/train-{number:05d}-of-{len(members):05d}.parquet"
                _move(files, filesystem(part.path)[1], f"{inner}/{name}")
                shards.append({"path": name, "rows": part.rows, "bytes": part.size, "sha256": part.sha256})
            configs[config] = {"rows": sum(part.rows for part in members), "shards": shards}
        manifest = {**head, "configs": configs}
        files.create_dir(f"{inner}/{UNFINISHED}", recursive=True)
        text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
        for name, content in ((CARD, card(manifest)), (MANIFEST, text)):
            with files.open_output_stream(f"{inner}/{UNFINISHED}/{name}") as stream:
                stream.write(content.encode())
            files.move(f"{inner}/{UNFINISHED}/{name}", f"{inner}/{name}")
    return manifest


def _move(files: fs.FileSystem, source: str, target: str) -> None:
    if files.get_file_info(source).type == fs.FileType.File:
        files.move(source, target)
    elif files.get_file_info(target).type != fs.FileType.File:
        raise InputError(f"{source}: a finished part has vanished: is something else writing there?")
