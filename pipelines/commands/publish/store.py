"""The places that a release is published to: a repository of the Hugging Face Hub, a bucket, or a directory."""

from __future__ import annotations

import hashlib
import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import READ_BYTES, filesystem, is_local, make_parent, reading, replacing, writing

# The sha256 of each object, by the checksum that its store has, which is of another kind in each store.
RECORD = "_published.json"
# Of a directory: the file that is being written.
TEMPORARY = "_published.new"
# Seconds between two writes of the record.
RECORD_SECONDS = 1.0
# Checksums that are requested at the same time.
REQUESTS = 8
# Metadata with the checksum of an object: of GCS, of S3.
_CHECKSUMS = ("md5Hash", "etag", "ETag")
# Files of one commit to the Hub. After an interruption the files that are committed are not sent again.
COMMIT_FILES = 16
# Seconds: for which the first request to the Hub is repeated, of the first pause, and until a connection is given up.
REACH_SECONDS, FIRST_WAIT, REACH_TIMEOUT = 3.5, 1.0, 10.0
# Characters of an error of the Hub that are shown.
LONGEST_REASON = 100


@dataclass(frozen=True)
class ReleaseFile:
    """A file of a release: its name in the store, its local path, size in bytes and sha256."""

    name: str
    path: str
    size: int
    sha256: str


class Store(Protocol):
    """A place that releases are published to."""

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, tuple[int, str]]:
        """Return the size and the checksum of each file of the store, by name.

        The checksum is a sha256, "git:" and the id of a blob, or "" where it is unknown. It is needed only for files
        with the name and the size of one of `files`.
        """

    def upload(self, files: Sequence[ReleaseFile], sent: Callable[[ReleaseFile, int], None]) -> None:
        """Upload files; `sent` is called with the number of bytes that were sent."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""

    def close(self) -> None:
        """Write what is not written yet."""


def open_store(target: str, private: bool, kind: str) -> Store:
    """Return the store of an address.

    Args:
        target: the option --to.
        private: whether a new repository of the Hub is private.
        kind: what is published, `dataset` or `model`.

    Raises:
        InputError: the Hub cannot be reached.
        UsageError: the address is of no known kind.
    """
    if target.startswith("hf://"):
        return Hub(target, private, kind)
    if not is_local(target) and not re.match(r"(gs|s3|hdfs|file)://.", target):
        raise UsageError(f"--to={target}: write it like hf://user/name, gs://bucket/name, s3://bucket/name or a path")
    return Bucket(target)


class Bucket:
    """A directory of a filesystem of pyarrow.

    Where the store has a checksum of each object, an object counts as sent if its checksum is the one in the record;
    any other file is read and hashed. The record alone proves nothing.
    """

    def __init__(self, target: str) -> None:
        self._target = target.rstrip("/")
        self._files, self._inner = filesystem(self._target)
        self._is_unwritten, self._written = False, -math.inf

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, tuple[int, str]]:
        with reading(self._target):
            infos = self._files.get_file_info(fs.FileSelector(self._inner, allow_not_found=True, recursive=True))
        sizes = {info.path[len(self._inner) + 1 :]: info.size for info in infos if info.type == fs.FileType.File}
        for name in (RECORD, TEMPORARY):
            sizes.pop(name, None)
        known = self._record
        same_size = [file.name for file in files if sizes.get(file.name) == file.size]
        with ThreadPoolExecutor(REQUESTS) as pool:
            digests = dict(zip(same_size, pool.map(lambda name: self._sha256(name, known), same_size), strict=True))
        return {name: (size, digests.get(name, "")) for name, size in sizes.items()}

    def _sha256(self, name: str, known: Mapping[str, Any]) -> str:
        """Return the sha256 of a file of the store, or "" where the record does not have it."""
        if not (checksum := self._checksum(name)):
            return self._hash(name)
        entry = known.get(name)
        return str(entry.get("sha256")) if isinstance(entry, dict) and entry.get("checksum") == checksum else ""

    def _checksum(self, name: str) -> str:
        """Return the checksum that the store has of an object, or "" where it has none."""
        with reading(f"{self._target}/{name}"), self._files.open_input_file(f"{self._inner}/{name}") as stream:
            metadata = stream.metadata()
        for key in _CHECKSUMS:
            if checksum := metadata.get(key, metadata.get(key.encode())):
                return f"{key} {checksum.decode() if isinstance(checksum, bytes) else checksum}"
        return ""

    def _hash(self, name: str) -> str:
        """Return the sha256 of a file of the store, by reading it."""
        digest = hashlib.sha256()
        with reading(f"{self._target}/{name}"), self._files.open_input_file(f"{self._inner}/{name}") as stream:
            while data := stream.read(READ_BYTES):
                digest.update(data)
        return digest.hexdigest()

    @cached_property
    def _record(self) -> dict[str, Any]:
        path = f"{self._inner}/{RECORD}"
        with reading(self._target):
            if self._files.get_file_info(path).type != fs.FileType.File:
                return {}
            with self._files.open_input_stream(path) as stream:
                text = stream.read()
        try:
            record = json.loads(text)
        except ValueError:
            # The record only saves time: without it every file is sent again.
            return {}
        return record if isinstance(record, dict) else {}

    def _note(self, name: str, sha256: str | None) -> None:
        """Record the sha256 of a file of the store, or None where it is removed."""
        checksum = self._checksum(name) if sha256 is not None else ""
        entry = {"sha256": sha256, "checksum": checksum} if checksum else None
        if self._record.get(name) == entry:
            return
        if entry is None:
            del self._record[name]
        else:
            self._record[name] = entry
        self._is_unwritten = True
        if time.monotonic() - self._written >= RECORD_SECONDS:
            self.close()

    def upload(self, files: Sequence[ReleaseFile], sent: Callable[[ReleaseFile, int], None]) -> None:
        for file in files:
            path, digest = f"{self._inner}/{file.name}", hashlib.sha256()
            with writing(f"{self._target}/{file.name}", "--to"):
                make_parent(self._files, path)
                with (
                    open(file.path, "rb") as source,
                    replacing(self._files, path, f"{self._inner}/{TEMPORARY}") as stream,
                ):
                    while data := source.read(READ_BYTES):
                        stream.write(data)
                        digest.update(data)
                        sent(file, len(data))
                    check_sent(file, digest.hexdigest())
            self._note(file.name, file.sha256)

    def remove(self, names: Sequence[str]) -> None:
        for name in names:
            with writing(f"{self._target}/{name}", "--to"):
                self._files.delete_file(f"{self._inner}/{name}")
            self._note(name, None)

    def close(self) -> None:
        if self._is_unwritten:
            text = json.dumps(self._record, sort_keys=True)
            with writing(self._target, "--to"), self._files.open_output_stream(f"{self._inner}/{RECORD}") as stream:
                stream.write(text.encode())
            self._is_unwritten, self._written = False, time.monotonic()


def check_sent(file: ReleaseFile, sha256: str) -> None:
    """Check the sha256 of the bytes that were read from a file to be sent.

    Raises:
        InputError: the file has changed since its manifest was written.
    """
    if sha256 != file.sha256:
        raise InputError(
            f"{file.path}: its sha256 is {sha256}, the manifest says {file.sha256}: "
            "remove the directory of the release and run the same command again"
        )


def _network_errors() -> tuple[type[BaseException], ...]:
    """Return the errors of the HTTP library below huggingface_hub, which has changed more than once, and OSError."""
    from huggingface_hub.errors import HfHubHTTPError

    return (*(kind for kind in HfHubHTTPError.__mro__[1:] if kind not in Exception.__mro__), OSError)


class Hub:
    """A repository of the Hugging Face Hub. The token is the one that `hf auth login` keeps, or $HF_TOKEN."""

    def __init__(self, target: str, private: bool, kind: str) -> None:
        match = re.fullmatch(rf"hf://(?:{kind}s/)?([\w.-]+/[\w.-]+)/?", target)
        if match is None:
            raise UsageError(f"--to={target}: write it like hf://user/name, the name of a {kind}")
        try:
            import huggingface_hub
            from huggingface_hub.utils import disable_progress_bars, logging
        except ImportError as error:
            raise UsageError("--to=hf://... needs huggingface_hub: pip install 'wikianchor[hub]'") from error
        # It logs each of its attempts, and draws bars besides ours. Its logger is set up when it is first used, which
        # would undo a level that is set by Python's `logging`.
        logging.set_verbosity_error()
        disable_progress_bars()
        self._repo, self._private, self._kind, self._hub = match[1], private, kind, huggingface_hub
        self._api: Any = huggingface_hub.HfApi(library_name="wikianchor")
        self._call(self._reach)

    def _reach(self) -> None:
        """Send one request, again for `REACH_SECONDS` where there is no answer; any answer will do.

        The library repeats each request for 23 seconds. This is right in the middle of an upload, but too long for a
        machine without a network, and this one is sent before the dataset is hashed.
        """
        from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

        start, wait = time.monotonic(), FIRST_WAIT
        while True:
            try:
                self._api.repo_info(self._repo, repo_type=self._kind, timeout=REACH_TIMEOUT)
                return
            except HfHubHTTPError:
                return
            except _network_errors() as error:
                if isinstance(error, OfflineModeIsEnabled) or time.monotonic() + wait - start > REACH_SECONDS:
                    raise
            time.sleep(wait)
            wait *= 2

    def _call(self, action: Callable[[], Any]) -> Any:
        """Turn an error of the Hub or of the network into one line."""
        from huggingface_hub.errors import HfHubHTTPError

        try:
            return action()
        except HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            advice = "run the same command again"
            if status in (401, 403):
                advice = "log in with `hf auth login`, or set HF_TOKEN"
            raise InputError(f"hf://{self._repo}: the Hub answers {status}: {advice}") from error
        except _network_errors() as error:
            # Its own advice for offline mode is three sentences long.
            reason = str(error) if 0 < len(str(error)) <= LONGEST_REASON else type(error).__name__
            raise InputError(
                f"hf://{self._repo}: the Hub cannot be reached ({reason}): run the same command again to go on"
            ) from error

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, tuple[int, str]]:
        from huggingface_hub.errors import RepositoryNotFoundError

        def entries() -> list[Any]:
            try:
                return list(self._api.list_repo_tree(self._repo, repo_type=self._kind, recursive=True))
            except RepositoryNotFoundError:
                return []

        return {
            entry.path: (entry.size, entry.lfs.sha256 if entry.lfs else f"git:{entry.blob_id}")
            for entry in self._call(entries)
            if isinstance(entry, self._hub.RepoFile)
        }

    def upload(self, files: Sequence[ReleaseFile], sent: Callable[[ReleaseFile, int], None]) -> None:
        self._call(
            lambda: self._api.create_repo(self._repo, repo_type=self._kind, private=self._private, exist_ok=True)
        )
        for begin in range(0, len(files), COMMIT_FILES):
            batch = files[begin : begin + COMMIT_FILES]
            operations = [self._hub.CommitOperationAdd(file.name, file.path) for file in batch]
            for file, operation in zip(batch, operations, strict=True):
                check_sent(file, operation.upload_info.sha256.hex())
            self._commit(operations, f"{batch[0].name} to {batch[-1].name}" if len(batch) > 1 else batch[0].name)
            for file in batch:
                sent(file, file.size)

    def remove(self, names: Sequence[str]) -> None:
        if names:
            operations = [self._hub.CommitOperationDelete(name) for name in names]
            self._commit(operations, "Files of an earlier release")

    def close(self) -> None:
        pass

    def _commit(self, operations: Sequence[Any], message: str) -> None:
        self._call(
            lambda: self._api.create_commit(self._repo, operations, commit_message=message, repo_type=self._kind)
        )


def differing(files: Sequence[ReleaseFile], stored: Mapping[str, tuple[int, str]]) -> list[ReleaseFile]:
    """Return the files that a store does not have with the same content.

    Args:
        files: of the release.
        stored: what `Store.list_files` returns.
    """
    return [file for file in files if not _is_stored(file, *stored.get(file.name, (-1, "")))]


def _is_stored(file: ReleaseFile, size: int, checksum: str) -> bool:
    if size != file.size or not checksum.startswith("git:"):
        return (size, checksum) == (file.size, file.sha256)
    with reading(file.path), open(file.path, "rb") as stream:
        blob = hashlib.sha1(b"blob %d\0" % file.size + stream.read(), usedforsecurity=False).hexdigest()
    return checksum == f"git:{blob}"
