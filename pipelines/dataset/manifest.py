"""Manifests: `manifest.json` names the files of a dataset, and replacing it is the commit.

A run locks the output directory and writes parts under `_unfinished/<fingerprint>/`. `commit` links or copies them to
`data/<config>/<split>-00000-of-00064-<sha256>.parquet`, beside the shards of an older dataset: the start of a shard's
sha256 in its name keeps the two apart. Then it replaces the manifest, by one atomic rename or one PUT (on GCS the one
that ends an upload), and deletes the files that the manifest does not name. A run that is killed leaves the old
manifest or the new one, each with all of its files; the next run on the directory deletes the other files.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from typing import Any, TextIO

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.manifests import MANIFEST, is_inside
from wikianchor.io.storage import (
    checksum,
    duplicate,
    exists,
    filesystem,
    is_link,
    list_directory,
    reading,
    remove_directory,
    replacing,
    sync_file,
    writing,
)
from wikianchor.pipelines.dataset.card import card
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.split_configs import split_of
from wikianchor.pipelines.dataset.workspace import RECORDS, UNFINISHED, Workspace, scratch_root

LOCK = "_lock"
CARD = "README.md"
# Replaces the workspace of a failed run that has no work for a repetition to use.
FAILED = "failed"
# Of releases (`wikianchor.pipelines.dataset.release`).
CROISSANT, RECIPE = "croissant.json", "release.json"
_OURS = {MANIFEST, LOCK, UNFINISHED, CARD, "data", CROISSANT, RECIPE}
# Hex digits of a shard's sha256 in its name. Older datasets have none.
_NAME_DIGITS = 16
_SHARD_PATH = re.compile(
    rf"data/[\w.-]+/(?:train|dev|test)-\d{{5,}}-of-\d{{5,}}(?:-[0-9a-f]{{{_NAME_DIGITS}}})?\.(?:parquet|jsonl\.gz|csv\.gz)"
)
_HEX = re.compile(r"[0-9a-f]{64}")


def read_manifest(directory: str, is_output: bool = False) -> dict[str, Any] | None:
    """Return the manifest of a dataset, or None where there is no finished dataset.

    Args:
        directory: that of the dataset.
        is_output: whether the caller writes to the directory, for the error.

    Raises:
        InputError: the file cannot be read, or is no manifest.
    """
    files, inner = filesystem(directory)
    path = f"{inner}/{MANIFEST}"
    with writing(directory) if is_output else reading(f"{directory}/{MANIFEST}"):
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
    if not (
        isinstance(manifest, dict)
        and isinstance(manifest.get("configs"), dict)
        and isinstance(manifest.get("dataset"), str)
    ):
        raise InputError(f"{directory}/{MANIFEST}: not a manifest of ours: choose another directory")
    if (foreign := _foreign_path(manifest)) is not None:
        raise InputError(f"{directory}/{MANIFEST}: {foreign!r:.200} is no path of a shard: build the dataset again")
    return manifest


def _foreign_path(manifest: Mapping[str, Any]) -> str | None:
    """Return a path of a manifest that is not one of a shard within its dataset, or None."""
    for config in manifest["configs"].values():
        shards = config.get("shards") if isinstance(config, dict) else None
        for shard in shards if isinstance(shards, list) else ():
            if isinstance(shard, dict) and not is_shard_path(shard.get("path")):
                return str(shard.get("path"))
    return None


def manifest_problems(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the shape of a manifest. The other checks need a manifest without problems."""
    for key in ("inputs", "options", "ledger", "schema_version"):
        if key not in manifest:
            yield f"manifest.json: {key!r} is missing"
    for key, shape in _SHAPES.items():
        if key in manifest and not _has_shape(manifest[key], shape):
            yield f"manifest.json: {key!r} has another form than in a manifest of ours: {manifest[key]!r:.200}"
    for name, config in manifest["configs"].items():
        shards = config.get("shards") if isinstance(config, dict) else None
        if not isinstance(shards, list) or not isinstance(config.get("rows"), int):
            yield f"manifest.json: the config {name!r} has no rows or no shards"
            continue
        for shard in shards:
            if not isinstance(shard, dict) or not _is_shard_entry(shard):
                yield f"manifest.json: {name!r} has a wrong entry for a shard: {shard!r:.200}"
                return
        if sum(shard["rows"] for shard in shards) != config["rows"]:
            yield f"manifest.json: the rows of the shards of {name!r} do not add up to {config['rows']}"


# What the values of a manifest are: of a type, lists of what a list has, and dictionaries with a shape for each key, ""
# for all others.
_INPUTS = [{"path": str, "dataset": str, "": object}]
_SHAPES: Mapping[str, Any] = {
    "schema_version": str,
    "options": dict,
    "inputs": _INPUTS,
    "made_with": {"": str},
    "made_of": [{"dataset": str, "inputs": _INPUTS, "options": dict, "made_with": {"": str}, "": object}],
    "languages": {"": str},
    "ledger": {"": dict},
}


def _has_shape(value: object, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and all(_has_shape(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            _has_shape(item, shape.get(key, shape[""])) for key, item in value.items()
        )
    return isinstance(value, shape)


def _is_shard_entry(shard: dict[str, object]) -> bool:
    return (
        all(isinstance(shard.get(key), int) for key in ("rows", "bytes"))
        and _HEX.fullmatch(str(shard.get("sha256"))) is not None
    )


def is_shard_path(path: object) -> bool:
    """Return whether a value is the path of a shard within a dataset."""
    return isinstance(path, str) and is_inside("data", path) and _SHARD_PATH.fullmatch(path) is not None


def damaged_shard(directory: str, manifest: Mapping[str, Any]) -> str | None:
    """Return the path of a shard that is missing or has another size than the manifest says, or None. No shard is
    read."""
    files, inner = filesystem(directory)
    shards = [shard for config in manifest["configs"].values() for shard in config["shards"]]
    with reading(directory):
        infos = files.get_file_info([f"{inner}/{shard['path']}" for shard in shards])
    for shard, info in zip(shards, infos, strict=True):
        if info.type != fs.FileType.File or info.size != shard["bytes"]:
            return f"{directory}/{shard['path']}"
    return None


def file_problems(directory: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield the shards that are missing, damaged or not in the manifest, by reading every byte."""
    files, inner = filesystem(directory)
    with reading(directory):
        entries = _list_data(files, inner)
    present = {entry.path[len(inner) + 1 :]: entry for entry in entries if entry.type == fs.FileType.File}
    listed = {shard["path"]: shard for config in manifest["configs"].values() for shard in config["shards"]}
    for path in sorted(present.keys() - listed.keys()):
        yield f"{directory}/{path}: is not in the manifest"
    for path, shard in sorted(listed.items()):
        where = f"{directory}/{path}"
        if path not in present:
            yield f"{where}: is missing"
        elif present[path].size != shard["bytes"]:
            yield f"{where}: has {present[path].size} bytes, the manifest says {shard['bytes']}"
        else:
            try:
                digest = checksum(where, "sha256")
            except InputError as error:
                yield str(error)
                continue
            if digest != shard["sha256"]:
                yield f"{where}: its sha256 is {digest}, the manifest says {shard['sha256']}"


def has_leftovers(directory: str) -> bool:
    """Return whether a killed run left files in a directory besides its dataset."""
    return exists(f"{directory}/{LOCK}") or has_unfinished_work(directory)


def has_unfinished_work(directory: str) -> bool:
    """Return whether a run on a directory was interrupted or is running."""
    with reading(directory):
        return any(files.get_file_info(root).type != fs.FileType.NotFound for files, root in _work_roots(directory))


@contextmanager
def claim(directory: str, dataset: str, keep: str = "", flag: str = "--output") -> Iterator[None]:
    """Lock an output directory for one run.

    The lock is one of the operating system, so it ends with its process. Object stores have no such lock: there, the
    user must not start two runs on one output. First, what a killed run has left is removed: its work, and files that
    the manifest does not name.

    Args:
        directory: that of the dataset.
        dataset: its name.
        keep: fingerprint of the run, whose unfinished work is kept until its dataset is finished.
        flag: the option that names the directory.

    Raises:
        UsageError: the directory contains something else than a dataset of this name, or another run writes to it.
        InputError: the directory cannot be written.
    """
    files, inner = filesystem(directory)
    local = isinstance(files, fs.LocalFileSystem)
    if local and os.path.exists(inner) and not os.path.isdir(inner):
        raise UsageError(f"{flag}={directory} is a file: name a directory")
    with writing(directory, flag):
        files.create_dir(inner, recursive=True)
        _check_ours(files, directory, dataset, flag)
        lock = _lock(directory, inner, flag) if local else None
    try:
        with writing(directory, flag):
            if has_unfinished_work(directory):
                tidy(directory, read_manifest(directory))
            _remove_work(directory, keep)
        try:
            yield
        except BaseException:
            _leave_work(directory, keep)
            raise
        _remove_work(directory)
    finally:
        if lock is not None:
            with suppress(OSError):
                os.unlink(lock.name)
            lock.close()


def _leave_work(directory: str, keep: str) -> None:
    """Keep the work of a run that failed if a repetition can use it: results of steps.

    Otherwise leave a mark beside an older dataset, so that those who read that dataset are warned. Files that the
    failed run has put beside those of a dataset are removed.
    """
    with suppress(OSError, InputError):
        kept = [files for files, root in _work_roots(directory) if keep and _exists(files, f"{root}/{keep}/{RECORDS}")]
        tidy(directory, read_manifest(directory))
    with suppress(OSError, InputError):
        _remove_work(directory, keep if kept else "")
        if not kept and read_manifest(directory) is not None:
            files, inner = filesystem(directory)
            files.create_dir(f"{inner}/{UNFINISHED}/{FAILED}", recursive=True)


def _exists(files: fs.FileSystem, path: str) -> bool:
    return bool(files.get_file_info(path).type != fs.FileType.NotFound)


def _remove_work(directory: str, keep: str = "") -> None:
    """Remove the workspaces of all runs but one; what cannot be removed is left to the next run."""
    for files, root in _work_roots(directory):
        with suppress(OSError):
            entries = [] if is_link(files, root) else list_directory(files, root)
            kept = [entry for entry in entries if entry.base_name == keep and not is_link(files, entry.path)]
            for entry in entries:
                if entry not in kept:
                    _remove(files, entry.path)
            if not kept:
                _remove(files, root)


def _work_roots(directory: str) -> Iterator[tuple[fs.FileSystem, str]]:
    """Yield the filesystems and paths below which the workspaces of runs on a directory are."""
    files, inner = filesystem(directory)
    yield files, f"{inner}/{UNFINISHED}"
    if not isinstance(files, fs.LocalFileSystem):
        yield filesystem(scratch_root(directory))


def discard(work: Workspace) -> None:
    """Remove the workspace of a run that a repetition cannot use; what cannot be removed is left to the next run."""
    for path in {work.parts, work.scratch}:
        files, inner = filesystem(path)
        with suppress(OSError):
            _remove(files, inner)


def _check_ours(files: fs.FileSystem, directory: str, dataset: str, flag: str) -> None:
    """Check that a directory contains nothing but a dataset of this name.

    Raises:
        UsageError: it contains something else, which a commit could remove, or a symbolic link to a directory.
    """
    inner = filesystem(directory)[1]
    entries = list_directory(files, inner)
    foreign = sorted(info.base_name for info in entries if info.base_name not in _OURS)
    # What is behind a link is not ours to write or to delete.
    data = [] if foreign or is_link(files, f"{inner}/data") else _list_data(files, inner)
    foreign = foreign or sorted(
        info.path[len(inner) + 1 :]
        for info in data
        if info.type == fs.FileType.File and not is_shard_path(info.path[len(inner) + 1 :])
    )
    for info in (*entries, *data):
        if is_link(files, info.path) and (info.type != fs.FileType.File or info in entries):
            raise UsageError(f"{flag}={directory}: {info.path[len(inner) + 1 :]} is a symbolic link: remove it")
    if not foreign and not _is_our_card(files, f"{inner}/{CARD}"):
        foreign = [CARD]
    if foreign:
        raise UsageError(f"{flag}={directory} holds something else ({foreign[0]}): name an empty or a new directory")
    manifest = read_manifest(directory)
    if manifest is not None and manifest["dataset"] != dataset:
        raise UsageError(
            f"{flag}={directory} holds the dataset {manifest['dataset']!r}, which {dataset!r} must not replace: "
            "name another directory"
        )


def _is_our_card(files: fs.FileSystem, path: str) -> bool:
    """Return whether a card may be replaced: it is one of wikianchor, or there is none."""
    if files.get_file_info(path).type == fs.FileType.NotFound:
        return True
    with files.open_input_stream(path) as stream:
        return f"`{MANIFEST}`".encode() in stream.read()


def _lock(directory: str, inner: str, flag: str) -> TextIO:
    """Return the open and locked lock file of a directory.

    Raises:
        UsageError: another run has it.
        OSError: it cannot be written.
    """
    while True:
        lock = open(f"{inner}/{LOCK}", "a")  # noqa: SIM115 held until the run ends
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # A run that ended in between has removed this file, and another run may have locked a new file of its name.
            if os.path.exists(lock.name) and os.path.samestat(os.fstat(lock.fileno()), os.stat(lock.name)):
                return lock
        except BlockingIOError:
            lock.close()
            raise UsageError(
                f"{flag}={directory}: another run is writing there: wait for it, or name another directory"
            ) from None
        except FileNotFoundError:
            pass
        except BaseException:
            lock.close()
            raise
        lock.close()


def _remove(files: fs.FileSystem, path: str) -> None:
    if is_link(files, path):
        os.unlink(path)
        return
    kind = files.get_file_info(path).type
    if kind == fs.FileType.File:
        files.delete_file(path)
    if kind != fs.FileType.Directory:
        return
    for last in (False, False, True):
        try:
            remove_directory(files, path)
            return
        except OSError:
            # A worker that is still ending may have put a file there meanwhile.
            if last:
                raise


def commit(directory: str, work: str, parts: Iterable[Part], head: Mapping[str, Any]) -> dict[str, Any]:
    """Put parts under their final names, and replace the manifest. Idempotent.

    Args:
        directory: that of the dataset.
        work: directory of the run's parts, which stay there.
        parts: the parts of the dataset, in any order.
        head: the manifest without its files.

    Returns:
        The manifest.

    Raises:
        InputError: the directory cannot be written, or a part has vanished.
    """
    files, inner = filesystem(directory)
    ordered = sorted(parts, key=attrgetter("config", "order"))
    configs: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for config, group in groupby(ordered, attrgetter("config")):
        members, shards = list(group), []
        for number, part in enumerate(members):
            shard = f"{split_of(config)[1]}-{number:05d}-of-{len(members):05d}-{part.sha256[:_NAME_DIGITS]}"
            name = f"data/{config}/{shard}.{part.path.rpartition('/')[2].partition('.')[2]}"
            sources[name] = part.path
            shards.append({"path": name, "rows": part.rows, "bytes": part.size, "sha256": part.sha256})
        configs[config] = {"rows": sum(part.rows for part in members), "shards": shards}
    manifest = {**head, "configs": configs}
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    with writing(directory):
        _check_parts(sources.values(), work)
        directories = sorted({f"{inner}/{name.rpartition('/')[0]}" for name in sources})
        for path in directories:
            files.create_dir(path, recursive=True)
        for name, source in sources.items():
            _put_shard(files, filesystem(source)[1], f"{inner}/{name}", f"{filesystem(work)[1]}/new")
        for path in (*directories, f"{inner}/data", inner):
            _sync_directory(files, path)
        _write_file(files, inner, MANIFEST, text)
        tidy(directory, manifest)
    return manifest


def _check_parts(paths: Iterable[str], work: str) -> None:
    """Check that each part exists, and is one of this run.

    Raises:
        InputError: a part is not there, or outside of the run's workspace.
    """
    needed = set(paths)
    if outside := sorted(path for path in needed if not is_inside(work, path)):
        raise InputError(f"{outside[0]}: a part outside of {work}: remove {work} and run the same command again")
    if missing := sorted(needed - _existing(needed)):
        raise InputError(f"{missing[0]}: a finished part has vanished: is something else writing there?")


def _existing(paths: set[str]) -> set[str]:
    """Return the paths at which there is a file, by listing their directories."""
    listed: set[str] = set()
    for directory in {path.rpartition("/")[0] for path in paths}:
        files, inner = filesystem(directory)
        entries = files.get_file_info(fs.FileSelector(inner, allow_not_found=True))
        listed.update(f"{directory}/{entry.base_name}" for entry in entries if entry.type == fs.FileType.File)
    return listed & paths


def _put_shard(files: fs.FileSystem, source: str, target: str, temporary: str) -> None:
    """Put a part under its final name, atomically. The part stays, so a run that is killed need not write it again."""
    if isinstance(files, fs.LocalFileSystem):
        duplicate(source, temporary)
        os.replace(temporary, target)
    else:
        files.copy_file(source, target)


def tidy(directory: str, manifest: Mapping[str, Any] | None) -> None:
    """Delete the shards that a manifest does not name, and the directories that become empty, and write its card."""
    files, inner = filesystem(directory)
    configs = manifest["configs"].values() if manifest else ()
    names = {f"{inner}/{shard['path']}" for config in configs for shard in config["shards"]}
    directories = {name.rpartition("/")[0] for name in names}
    entries = _list_data(files, inner)
    for entry in entries:
        if entry.type == fs.FileType.File and entry.path not in names:
            _remove(files, entry.path)
    for entry in entries:
        if entry.type == fs.FileType.Directory and entry.path not in directories:
            _remove(files, entry.path)
    if manifest is not None:
        _write_card(files, inner, card(manifest))


def _list_data(files: fs.FileSystem, inner: str) -> list[fs.FileInfo]:
    """Return the files and directories of the shards in a dataset's directory."""
    return list(files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True)))


def _write_card(files: fs.FileSystem, inner: str, text: str) -> None:
    path = f"{inner}/{CARD}"
    if _exists(files, path):
        with files.open_input_stream(path) as stream:
            if stream.read() == text.encode():
                return
    _write_file(files, inner, CARD, text)


def _write_file(files: fs.FileSystem, inner: str, name: str, text: str) -> None:
    """Replace a file of a dataset atomically and durably."""
    with replacing(files, f"{inner}/{name}", f"{inner}/{UNFINISHED}/{name}.new") as stream:
        stream.write(text.encode())


def _sync_directory(files: fs.FileSystem, path: str) -> None:
    """Wait until the renames in a local directory are on the disk."""
    if isinstance(files, fs.LocalFileSystem) and os.path.isdir(path):
        sync_file(path)
