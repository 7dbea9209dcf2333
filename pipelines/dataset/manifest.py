"""Manifests: a dataset is finished when its `manifest.json` is there, and not before.

A run takes the output directory for itself, writes parts under `_unfinished/`, and `commit` renames them to
`data/<config>/train-00000-of-00064.parquet` and puts the manifest beside them last, in one atomic step.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from pyarrow import fs

from pipelines.dataset.card import card
from pipelines.dataset.parts import UNFINISHED, Part, writing
from pipelines.errors import InputError, UsageError
from pipelines.storage import filesystem, reading

MANIFEST = "manifest.json"
LOCK = "_lock"
CARD = "README.md"
# Of releases (`pipelines.dataset.release`).
CROISSANT, RECIPE = "croissant.json", "release.json"
_OURS = {MANIFEST, LOCK, UNFINISHED, CARD, "data", CROISSANT, RECIPE}
_SHARD = re.compile(r"train-\d{5,}-of-\d{5,}\.parquet")


def read_manifest(directory: str) -> dict[str, Any] | None:
    """Return the manifest of a dataset, or None where there is no finished dataset.

    Raises:
        InputError: the file is there and is no manifest.
    """
    files, inner = filesystem(directory)
    path = f"{inner}/{MANIFEST}"
    with reading(f"{directory}/{MANIFEST}"):
        if files.get_file_info(path).type != fs.FileType.File:
            return None
        with files.open_input_stream(path) as stream:
            text = stream.read()
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise InputError(
            f"{directory}/{MANIFEST}: not JSON ({error}): remove the directory and build it again"
        ) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("configs"), dict) or "dataset" not in manifest:
        raise InputError(f"{directory}/{MANIFEST}: not a manifest of ours: choose another directory")
    return manifest


def damaged_shard(directory: str, manifest: Mapping[str, Any]) -> str | None:
    """Return the path of a shard that is missing or not of the size in the manifest, or None: a check that costs
    nothing, to be made before a dataset counts as done."""
    files, inner = filesystem(directory)
    shards = [shard for config in manifest["configs"].values() for shard in config["shards"]]
    with reading(directory):
        found = files.get_file_info([f"{inner}/{shard['path']}" for shard in shards])
    for shard, info in zip(shards, found, strict=True):
        if info.type != fs.FileType.File or info.size != shard["bytes"]:
            return f"{directory}/{shard['path']}"
    return None


def has_leftovers(directory: str) -> bool:
    """Whether a run that was killed left something in a directory besides its dataset."""
    files, inner = filesystem(directory)
    with reading(directory):
        found = files.get_file_info([f"{inner}/{UNFINISHED}", f"{inner}/{LOCK}"])
    return any(info.type != fs.FileType.NotFound for info in found)


@contextmanager
def claim(directory: str, dataset: str) -> Iterator[None]:
    """Hold an output directory for one run, and leave no unfinished part behind, however the run ends.

    A lock of the operating system ends with its process, so a killed run locks nobody out; what it left is removed
    here. Object stores have no such lock: two runs on one output there are for the user to avoid.

    Raises:
        UsageError: the directory holds something else than a dataset of this name, or another run writes to it.
        InputError: it cannot be written.
    """
    files, inner = filesystem(directory)
    local = isinstance(files, fs.LocalFileSystem)
    if local and os.path.exists(inner) and not os.path.isdir(inner):
        raise UsageError(f"--output={directory} is a file: name a directory")
    with writing(directory):
        files.create_dir(inner, recursive=True)
        _check_ours(files, directory, dataset)
        lock = _lock(directory, inner) if local else None
    try:
        with writing(directory):
            _remove(files, f"{inner}/{UNFINISHED}")
        yield
    finally:
        # What cannot be removed now is left to the next run: the reason why this one ends must come out.
        with suppress(OSError):
            _remove(files, f"{inner}/{UNFINISHED}")
        if lock is not None:
            with suppress(OSError):
                os.unlink(lock.name)
            lock.close()


def _check_ours(files: fs.FileSystem, directory: str, dataset: str) -> None:
    """Refuse a directory in which `clear` could remove what is not ours.

    Raises:
        UsageError: the directory holds something else.
    """
    inner = filesystem(directory)[1]
    foreign = sorted(
        info.base_name for info in files.get_file_info(fs.FileSelector(inner)) if info.base_name not in _OURS
    ) or sorted(
        info.path[len(inner) + 1 :]
        for info in files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True))
        if info.type == fs.FileType.File and not _SHARD.fullmatch(info.base_name)
    )
    if not foreign and not _is_our_card(files, f"{inner}/{CARD}"):
        foreign = [CARD]
    if foreign:
        raise UsageError(f"--output={directory} holds something else ({foreign[0]}): name an empty or a new directory")
    manifest = read_manifest(directory)
    if manifest is not None and manifest["dataset"] != dataset:
        raise UsageError(
            f"--output={directory} holds the dataset {manifest['dataset']!r}, which {dataset!r} must not replace: "
            "name another directory"
        )


def _is_our_card(files: fs.FileSystem, path: str) -> bool:
    """Whether a card may be written over: it is one of ours, or there is none."""
    if files.get_file_info(path).type == fs.FileType.NotFound:
        return True
    with files.open_input_stream(path) as stream:
        return f"`{MANIFEST}`".encode() in stream.read()


def _lock(directory: str, inner: str) -> TextIO:
    """Return the open and locked lock file of a directory.

    Raises:
        UsageError: another run has it.
        OSError: it cannot be written.
    """
    while True:
        lock = open(f"{inner}/{LOCK}", "a")  # noqa: SIM115 held until the run ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A run that ended in between has removed this very file, and another may hold the new one of its name.
            if os.path.exists(lock.name) and os.path.samestat(os.fstat(lock.fileno()), os.stat(lock.name)):
                return lock
        except BlockingIOError:
            lock.close()
            raise UsageError(
                f"--output={directory}: another run is writing there: wait for it, or name another directory"
            ) from None
        except FileNotFoundError:
            pass
        except BaseException:
            lock.close()
            raise
        lock.close()


def _remove(files: fs.FileSystem, path: str) -> None:
    if files.get_file_info(path).type != fs.FileType.Directory:
        return
    for last in (False, False, True):
        try:
            files.delete_dir(path)
            return
        except OSError:
            # A worker that is still ending may have put a file there meanwhile.
            if last:
                raise


def clear(directory: str) -> None:
    """Remove what an earlier, different run finished here; the manifest goes first.

    The old dataset goes before the new one is made, not after: should the new run fail, the next stage must find no
    dataset here, rather than one that is not what the user asked for last.

    Raises:
        InputError: it cannot be removed.
    """
    files, inner = filesystem(directory)
    with writing(directory):
        for name in (MANIFEST, CARD):
            if files.get_file_info(f"{inner}/{name}").type == fs.FileType.File:
                files.delete_file(f"{inner}/{name}")
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
