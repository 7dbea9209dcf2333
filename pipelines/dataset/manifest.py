"""Manifests: `manifest.json` is written last, and a directory without it is an unfinished dataset.

A run locks the output directory and writes parts under `_unfinished/<fingerprint>/`. `commit` first writes a journal of
all renames, then follows it: it removes the old manifest, renames the parts to
`data/<config>/<split>-00000-of-00064.parquet`, and renames the new manifest last. Before the journal is written, an
older dataset in the directory is unchanged; afterwards the next run completes the commit, even if this one is killed.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TextIO

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import filesystem, list_directory, reading, remove_directory, sync_file, writing
from wikianchor.pipelines.dataset.card import card
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.split_configs import split_of
from wikianchor.pipelines.dataset.workspace import RECORDS, UNFINISHED, Workspace, scratch_root

MANIFEST = "manifest.json"
LOCK = "_lock"
CARD = "README.md"
# Replaces the workspace of a failed run that has no work for a repetition to use.
FAILED = "failed"
# The journal of a commit, in the workspace of the run.
JOURNAL = "commit.json"
# Of releases (`wikianchor.pipelines.dataset.release`).
CROISSANT, RECIPE = "croissant.json", "release.json"
_OURS = {MANIFEST, LOCK, UNFINISHED, CARD, "data", CROISSANT, RECIPE}
_SHARD_NAME = re.compile(r"(?:train|dev|test)-\d{5,}-of-\d{5,}\.(?:parquet|jsonl\.gz|csv\.gz)")
# The paths of a manifest are opened, so a path must not lead out of the dataset.
_SHARD_PATH = re.compile(rf"data/[\w.-]+/{_SHARD_NAME.pattern}")
_HEX = re.compile(r"[0-9a-f]{64}")


def read_manifest(directory: str, is_output: bool = False) -> dict[str, Any] | None:
    """Return the manifest of a dataset, or None where there is no finished dataset.

    Args:
        directory: of the dataset.
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
    if not isinstance(manifest, dict) or not isinstance(manifest.get("configs"), dict) or "dataset" not in manifest:
        raise InputError(f"{directory}/{MANIFEST}: not a manifest of ours: choose another directory")
    return manifest


def manifest_problems(manifest: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the shape of a manifest. The other checks need a manifest without problems."""
    for key, kind in (("inputs", list), ("options", dict), ("ledger", dict), ("schema_version", str)):
        if not isinstance(manifest.get(key), kind):
            yield f"manifest.json: {key!r} is missing"
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


def _is_shard_entry(shard: dict[str, object]) -> bool:
    return (
        is_shard_path(shard.get("path"))
        and all(isinstance(shard.get(key), int) for key in ("rows", "bytes"))
        and _HEX.fullmatch(str(shard.get("sha256"))) is not None
    )


def is_shard_path(path: object) -> bool:
    """Return whether a value is the path of a shard within a dataset."""
    return isinstance(path, str) and _SHARD_PATH.fullmatch(path) is not None and ".." not in path


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


def has_leftovers(directory: str) -> bool:
    """Return whether a killed run left files in a directory besides its dataset."""
    files, inner = filesystem(directory)
    with reading(directory):
        lock = files.get_file_info(f"{inner}/{LOCK}")
    return lock.type != fs.FileType.NotFound or has_unfinished_work(directory)


def has_unfinished_work(directory: str) -> bool:
    """Return whether a run on a directory was interrupted or is running."""
    with reading(directory):
        return any(files.get_file_info(root).type != fs.FileType.NotFound for files, root in _work_roots(directory))


@contextmanager
def claim(directory: str, dataset: str, keep: str = "", flag: str = "--output") -> Iterator[None]:
    """Lock an output directory for one run.

    The lock is one of the operating system, so it ends with its process. Object stores have no such lock: there, the
    user must not start two runs on one output. First, a commit that an earlier run has begun is completed, and the work
    of other runs is removed.

    Args:
        directory: of the dataset.
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
            _complete_commits(directory)
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
    """Keep the work of a run that failed if a repetition can use it: results of steps, or a commit that had begun.

    Otherwise leave a mark beside an older dataset, so that those who read that dataset are warned.
    """
    with suppress(OSError, InputError):
        kept = [
            files
            for files, root in _work_roots(directory)
            for name in (RECORDS, JOURNAL)
            if keep and _exists(files, f"{root}/{keep}/{name}")
        ]
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
            entries = list_directory(files, root)
            for entry in entries:
                if entry.base_name != keep:
                    _remove(files, entry.path)
            if not any(entry.base_name == keep for entry in entries):
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
        UsageError: it contains something else, which a commit could remove.
    """
    inner = filesystem(directory)[1]
    foreign = sorted(info.base_name for info in list_directory(files, inner) if info.base_name not in _OURS) or sorted(
        info.path[len(inner) + 1 :]
        for info in files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True))
        if info.type == fs.FileType.File and not _SHARD_NAME.fullmatch(info.base_name)
    )
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
    """Rename parts to their final names, and write the manifest. Idempotent.

    Args:
        directory: of the dataset.
        work: directory of the run's parts.
        parts: the parts of the dataset, in any order; other files of the run are removed.
        head: the manifest without its files.

    Returns:
        The manifest.
    """
    files, inner = filesystem(directory)
    by_config: dict[str, list[Part]] = {}
    for part in parts:
        by_config.setdefault(part.config, []).append(part)
    configs: dict[str, Any] = {}
    moves: list[tuple[str, str]] = []
    for config, members in sorted(by_config.items()):
        members.sort(key=lambda part: part.order)
        shards = []
        for number, part in enumerate(members):
            ending = part.path.rpartition("/")[2].partition(".")[2]
            name = f"data/{config}/{split_of(config)[1]}-{number:05d}-of-{len(members):05d}.{ending}"
            moves.append((part.path, name))
            shards.append({"path": name, "rows": part.rows, "bytes": part.size, "sha256": part.sha256})
        configs[config] = {"rows": sum(part.rows for part in members), "shards": shards}
    manifest = {**head, "configs": configs}
    text = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True) + "\n"
    inner_work = filesystem(work)[1]
    with writing(directory):
        _check_movable(files, inner, moves)
        # Everything that needs disk space is written before the old dataset is changed.
        for name, content in ((CARD, card(manifest)), (MANIFEST, text)):
            _write_file(files, f"{inner_work}/{name}", content)
            moves.append((f"{work}/{name}", name))
        _write_file(files, f"{inner_work}/{JOURNAL}", json.dumps(moves, ensure_ascii=False))
        _follow(files, inner, f"{inner_work}/{JOURNAL}")
    return manifest


def _complete_commits(directory: str) -> None:
    """Complete the commits that earlier runs have begun."""
    files, inner = filesystem(directory)
    for entry in list_directory(files, f"{inner}/{UNFINISHED}"):
        journal = f"{entry.path}/{JOURNAL}"
        if files.get_file_info(journal).type == fs.FileType.File:
            _follow(files, inner, journal)


def _follow(files: fs.FileSystem, inner: str, journal: str) -> None:
    """Make the renames of a journal that an earlier attempt has not made."""
    with files.open_input_stream(journal) as stream:
        moves = [(source, name) for source, name in json.loads(stream.read())]
    # A file that does not exist any more was renamed by an earlier attempt.
    present = _existing(files, {source for source, _ in moves})
    shards, last = moves[:-2], moves[-2:]
    for source, name in last:
        # The old manifest goes first: it must never stand beside files that it does not describe. Where the source is
        # gone, an earlier attempt has put the new file there.
        if source in present:
            _remove(files, f"{inner}/{name}")
    directories = sorted({f"{inner}/{name.rpartition('/')[0]}" for _, name in shards})
    for directory in directories:
        files.create_dir(directory, recursive=True)
    for source, name in shards:
        if source in present:
            _move(files, filesystem(source)[1], f"{inner}/{name}")
    _remove_others(files, inner, {name for _, name in shards})
    for directory in (*directories, f"{inner}/data", inner):
        _sync_directory(files, directory)
    for source, name in last:
        if source in present:
            _move(files, filesystem(source)[1], f"{inner}/{name}")
    _sync_directory(files, inner)
    files.delete_file(journal)


def _remove_others(files: fs.FileSystem, inner: str, names: set[str]) -> None:
    """Remove the shards of an older dataset, and the directories that become empty."""
    entries = files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True))
    directories = {f"{inner}/{name.rpartition('/')[0]}" for name in names}
    for entry in entries:
        if entry.type == fs.FileType.File and entry.path[len(inner) + 1 :] not in names:
            files.delete_file(entry.path)
    for entry in entries:
        if entry.type == fs.FileType.Directory and entry.path not in directories:
            _remove(files, entry.path)


def _write_file(files: fs.FileSystem, path: str, text: str) -> None:
    """Write a file atomically and durably."""
    if not isinstance(files, fs.LocalFileSystem):
        # An object becomes visible when its stream is closed.
        with files.open_output_stream(path) as stream:
            stream.write(text.encode())
        return
    unfinished = f"{path}.new"
    os.makedirs(os.path.dirname(unfinished), exist_ok=True)
    with open(unfinished, "wb") as file:
        file.write(text.encode())
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)
    _sync_directory(files, path.rpartition("/")[0])


def _sync_directory(files: fs.FileSystem, path: str) -> None:
    """Wait until the renames in a local directory are on the disk."""
    if isinstance(files, fs.LocalFileSystem) and os.path.isdir(path):
        sync_file(path)


def _check_movable(files: fs.FileSystem, inner: str, moves: Sequence[tuple[str, str]]) -> None:
    """Check that each part exists, under its temporary or its final name.

    Raises:
        InputError: a part does not.
    """
    present = _existing(files, {source for source, _ in moves})
    for source, name in moves:
        if source not in present and files.get_file_info(f"{inner}/{name}").type != fs.FileType.File:
            raise InputError(f"{source}: a finished part has vanished: is something else writing there?")


def _existing(files: fs.FileSystem, paths: set[str]) -> set[str]:
    """Return the paths at which there is a file, by listing their directories."""
    listed: set[str] = set()
    for directory in {path.rpartition("/")[0] for path in paths}:
        entries = files.get_file_info(fs.FileSelector(filesystem(directory)[1], allow_not_found=True))
        listed.update(f"{directory}/{entry.base_name}" for entry in entries if entry.type == fs.FileType.File)
    return listed & paths


def _move(files: fs.FileSystem, source: str, target: str) -> None:
    files.move(source, target)
    # POSIX: renaming a hard link to another link of the same file does nothing.
    if isinstance(files, fs.LocalFileSystem) and os.path.exists(source):
        os.unlink(source)
