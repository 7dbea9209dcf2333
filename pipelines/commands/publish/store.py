"""The places that a release is published to: a repository of the Hugging Face Hub, a bucket, or a directory."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import READ_BYTES, checksum, filesystem, is_local, make_parent, reading, replacing, writing

# Of a directory: the file that is being written.
TEMPORARY = "_published.new"
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

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, bool]:
        """Return the names of the files in the store, and whether each is the file of that name among `files`."""

    def update(
        self, files: Sequence[ReleaseFile], old: Sequence[str], sent: Callable[[ReleaseFile, int], None]
    ) -> None:
        """Upload files in their order, and then remove old ones; `sent` is called with the number of bytes sent."""


def open_store(target: str, *, private: bool, kind: str) -> Store:
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
        return Hub(target, private=private, kind=kind)
    if not is_local(target) and not re.match(r"(gs|s3|hdfs|file)://.", target):
        raise UsageError(f"--to={target}: write it like hf://user/name, gs://bucket/name, s3://bucket/name or a path")
    return Bucket(target)


class Bucket:
    """A directory of a filesystem of pyarrow. Files of the size of one that is published are read and hashed."""

    def __init__(self, target: str) -> None:
        self._target = target.rstrip("/")
        self._files, self._inner = filesystem(self._target)

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, bool]:
        with reading(self._target):
            infos = self._files.get_file_info(fs.FileSelector(self._inner, allow_not_found=True, recursive=True))
        sizes = {info.path[len(self._inner) + 1 :]: info.size for info in infos if info.type == fs.FileType.File}
        sizes.pop(TEMPORARY, None)
        released = {file.name: file for file in files}
        return {
            name: (file := released.get(name)) is not None and size == file.size and self._sha256(name) == file.sha256
            for name, size in sizes.items()
        }

    def _sha256(self, name: str) -> str:
        return checksum(f"{self._target}/{name}", "sha256")

    def update(
        self, files: Sequence[ReleaseFile], old: Sequence[str], sent: Callable[[ReleaseFile, int], None]
    ) -> None:
        for file in files:
            self._upload(file, sent)
        for name in old:
            with writing(f"{self._target}/{name}", "--to"):
                self._files.delete_file(f"{self._inner}/{name}")

    def _upload(self, file: ReleaseFile, sent: Callable[[ReleaseFile, int], None]) -> None:
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

    def __init__(self, target: str, *, private: bool, kind: str) -> None:
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

    def list_files(self, files: Sequence[ReleaseFile]) -> dict[str, bool]:
        from huggingface_hub.errors import RepositoryNotFoundError

        def entries() -> list[Any]:
            try:
                return list(self._api.list_repo_tree(self._repo, repo_type=self._kind, recursive=True))
            except RepositoryNotFoundError:
                return []

        released = {file.name: file for file in files}
        return {
            entry.path: entry.path in released and _is_same(entry, released[entry.path])
            for entry in self._call(entries)
            if isinstance(entry, self._hub.RepoFile)
        }

    def update(
        self, files: Sequence[ReleaseFile], old: Sequence[str], sent: Callable[[ReleaseFile, int], None]
    ) -> None:
        """Upload and remove files in one commit, so nobody sees half a release. Large files that an interrupted upload
        has sent are not sent again."""
        self._call(
            lambda: self._api.create_repo(self._repo, repo_type=self._kind, private=self._private, exist_ok=True)
        )
        added = [self._hub.CommitOperationAdd(file.name, file.path) for file in files]
        for file, operation in zip(files, added, strict=True):
            check_sent(file, operation.upload_info.sha256.hex())
        removed = [self._hub.CommitOperationDelete(name) for name in old]
        self._call(
            lambda: self._api.create_commit(
                self._repo, [*added, *removed], commit_message="Publish with wikianchor", repo_type=self._kind
            )
        )
        for file in files:
            sent(file, file.size)


def _is_same(entry: Any, file: ReleaseFile) -> bool:
    """Return whether a file of the Hub has the bytes of a local one."""
    if entry.size != file.size or entry.lfs:
        return (entry.size, entry.lfs and entry.lfs.sha256) == (file.size, file.sha256)
    with reading(file.path), open(file.path, "rb") as stream:
        blob = hashlib.sha1(b"blob %d\0" % file.size + stream.read(), usedforsecurity=False).hexdigest()
    return bool(entry.blob_id == blob)
