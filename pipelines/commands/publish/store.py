"""Where a release goes: a repository of the Hub, a bucket, a directory. Each tells what it has, takes and removes."""

from __future__ import annotations

import hashlib
import json
import logging
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import READ_BYTES, filesystem, make_parent, reading, writing

# Which sha256 belongs to the checksum that an object store has of an object, which is of another kind in each store.
RECORD = "_published.json"
# The record is written no more often than this.
RECORD_SECONDS = 1.0
# Files whose checksums are asked for at a time.
REQUESTS = 8
# Metadata by which a store tells that an object is still the same: of GCS, of S3.
_CHECKSUMS = ("md5Hash", "etag", "ETag")
# Files of a commit to the Hub: what is committed is not sent again after an interruption.
COMMIT_FILES = 16
# Characters of an error of the Hub that are shown.
LONGEST_REASON = 100


@dataclass(frozen=True)
class Local:
    """A file of a release: its name there, its path here, size and sha256."""

    name: str
    path: str
    size: int
    sha256: str


class Store(Protocol):
    """A place that takes releases."""

    def there(self, files: Sequence[Local]) -> dict[str, tuple[int, str]]:
        """Return size and checksum of each file there: a sha256, "git:" with the id of a blob, or "" where it is
        unknown. Only files with the name and the size of one of `files` need a checksum."""

    def put(self, files: Sequence[Local], sent: Callable[[Local, int], None]) -> None:
        """Bring files there."""

    def remove(self, names: Sequence[str]) -> None:
        """Remove files."""

    def close(self) -> None:
        """Write down what there still is to write."""


def open_store(target: str, private: bool) -> Store:
    """Return the store of an address.

    Raises:
        UsageError: it is none.
    """
    if target.startswith("hf://"):
        return Hub(target, private)
    if "://" in target and not re.match(r"(gs|s3|hdfs|file)://.", target):
        raise UsageError(f"--to={target}: write it like hf://user/name, gs://bucket/name, s3://bucket/name or a path")
    return Bucket(target)


class Bucket:
    """A directory of a filesystem of pyarrow's.

    Where the store has a checksum of each object, an object counts as sent when that checksum is still the one in the
    record; any other file is read and hashed. The record alone proves nothing.
    """

    def __init__(self, target: str) -> None:
        self._target = target.rstrip("/")
        self._files, self._inner = filesystem(self._target)
        self._record: dict[str, Any] | None = None
        self._unwritten, self._written = False, -math.inf

    def there(self, files: Sequence[Local]) -> dict[str, tuple[int, str]]:
        with reading(self._target):
            infos = self._files.get_file_info(fs.FileSelector(self._inner, allow_not_found=True, recursive=True))
        sizes = {info.path[len(self._inner) + 1 :]: info.size for info in infos if info.type == fs.FileType.File}
        sizes.pop(RECORD, None)
        self._known()
        alike = [file.name for file in files if sizes.get(file.name) == file.size]
        with ThreadPoolExecutor(REQUESTS) as pool:
            digests = dict(zip(alike, pool.map(self._sha256, alike), strict=True))
        return {name: (size, digests.get(name, "")) for name, size in sizes.items()}

    def _sha256(self, name: str) -> str:
        """Return the sha256 of a file there, or "" where the record does not tell it."""
        if not (stored := self._checksum(name)):
            return self._hash(name)
        known = self._known().get(name)
        return str(known.get("sha256")) if isinstance(known, dict) and known.get("checksum") == stored else ""

    def _checksum(self, name: str) -> str:
        """Return the checksum that the store has of an object, or "" where it has none."""
        with reading(f"{self._target}/{name}"), self._files.open_input_file(f"{self._inner}/{name}") as stream:
            metadata = stream.metadata()
        for key in _CHECKSUMS:
            if checksum := metadata.get(key, metadata.get(key.encode())):
                return f"{key} {checksum.decode() if isinstance(checksum, bytes) else checksum}"
        return ""

    def _hash(self, name: str) -> str:
        """Return the sha256 of a file, read from where it is."""
        digest = hashlib.sha256()
        with reading(f"{self._target}/{name}"), self._files.open_input_file(f"{self._inner}/{name}") as stream:
            while data := stream.read(READ_BYTES):
                digest.update(data)
        return digest.hexdigest()

    def _known(self) -> dict[str, Any]:
        """Return the record."""
        if self._record is None:
            self._record = self._read_record()
        return self._record

    def _read_record(self) -> dict[str, Any]:
        path = f"{self._inner}/{RECORD}"
        with reading(self._target):
            if self._files.get_file_info(path).type != fs.FileType.File:
                return {}
            with self._files.open_input_stream(path) as stream:
                text = stream.read()
        try:
            record = json.loads(text)
        except ValueError:
            # It saves time only: without it every file is sent again.
            return {}
        return record if isinstance(record, dict) else {}

    def _note(self, name: str, sha256: str | None) -> None:
        """Record what is stored under a name, or that nothing is."""
        checksum = self._checksum(name) if sha256 is not None else ""
        entry = {"sha256": sha256, "checksum": checksum} if checksum else None
        record = self._known()
        if record.get(name) == entry:
            return
        if entry is None:
            del record[name]
        else:
            record[name] = entry
        self._unwritten = True
        if time.monotonic() - self._written >= RECORD_SECONDS:
            self.close()

    def put(self, files: Sequence[Local], sent: Callable[[Local, int], None]) -> None:
        for file in files:
            path, digest = f"{self._inner}/{file.name}", hashlib.sha256()
            with writing(f"{self._target}/{file.name}", "--to"):
                make_parent(self._files, path)
                with open(file.path, "rb") as source, self._files.open_output_stream(path) as stream:
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
        if self._unwritten:
            text = json.dumps(self._known(), sort_keys=True)
            with writing(self._target, "--to"), self._files.open_output_stream(f"{self._inner}/{RECORD}") as stream:
                stream.write(text.encode())
            self._unwritten, self._written = False, time.monotonic()


def check_sent(file: Local, sha256: str) -> None:
    """Check the sha256 of the bytes that were read from a file to be sent.

    Raises:
        InputError: the file has changed since its manifest was written.
    """
    if sha256 != file.sha256:
        raise InputError(
            f"{file.path}: its sha256 is {sha256}, the manifest says {file.sha256}: "
            "remove the directory of the release and run the same command again"
        )


class Hub:
    """A dataset repository of the Hugging Face Hub. The token is the one that `hf auth login` keeps, or $HF_TOKEN."""

    def __init__(self, target: str, private: bool) -> None:
        found = re.fullmatch(r"hf://(?:datasets/)?([\w.-]+/[\w.-]+)/?", target)
        if found is None:
            raise UsageError(f"--to={target}: write it like hf://user/name")
        try:
            import huggingface_hub
            from huggingface_hub.utils import disable_progress_bars
        except ImportError as error:
            raise UsageError("--to=hf://... needs huggingface_hub: pip install 'wikianchor[hub]'") from error
        # It logs each of its attempts, and draws bars besides ours.
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
        disable_progress_bars()
        self._repo, self._private, self._hub = found[1], private, huggingface_hub
        self._api: Any = huggingface_hub.HfApi(library_name="wikianchor")

    def _call(self, action: Callable[[], Any]) -> Any:
        """Turn an error of the Hub or of the line into one line."""
        from huggingface_hub.errors import HfHubHTTPError

        # Of the HTTP library below it, which has changed more than once.
        line = tuple(kind for kind in HfHubHTTPError.__mro__[1:] if kind not in Exception.__mro__)

        try:
            return action()
        except HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            mend = (
                "log in with `hf auth login`, or set HF_TOKEN" if status in (401, 403) else "run the same command again"
            )
            raise InputError(f"hf://{self._repo}: the Hub answers {status}: {mend}") from error
        except (*line, OSError) as error:
            # Its own advice for offline mode is three sentences long.
            reason = str(error) if 0 < len(str(error)) <= LONGEST_REASON else type(error).__name__
            raise InputError(
                f"hf://{self._repo}: the Hub cannot be reached ({reason}): run the same command again to go on"
            ) from error

    def there(self, files: Sequence[Local]) -> dict[str, tuple[int, str]]:
        from huggingface_hub.errors import RepositoryNotFoundError

        def listed() -> dict[str, tuple[int, str]]:
            try:
                found = list(self._api.list_repo_tree(self._repo, repo_type="dataset", recursive=True))
            except RepositoryNotFoundError:
                return {}
            return {
                one.path: (one.size, one.lfs.sha256 if one.lfs else f"git:{one.blob_id}")
                for one in found
                if isinstance(one, self._hub.RepoFile)
            }

        return dict(self._call(listed))

    def put(self, files: Sequence[Local], sent: Callable[[Local, int], None]) -> None:
        self._call(lambda: self._api.create_repo(self._repo, repo_type="dataset", private=self._private, exist_ok=True))
        for begin in range(0, len(files), COMMIT_FILES):
            some = files[begin : begin + COMMIT_FILES]
            operations = [self._hub.CommitOperationAdd(one.name, one.path) for one in some]
            for one, operation in zip(some, operations, strict=True):
                check_sent(one, operation.upload_info.sha256.hex())
            self._commit(operations, f"{some[0].name} to {some[-1].name}" if len(some) > 1 else some[0].name)
            for one in some:
                sent(one, one.size)

    def remove(self, names: Sequence[str]) -> None:
        if names:
            operations = [self._hub.CommitOperationDelete(name) for name in names]
            self._commit(operations, "Files of an earlier release")

    def close(self) -> None:
        pass

    def _commit(self, operations: Sequence[Any], message: str) -> None:
        self._call(lambda: self._api.create_commit(self._repo, operations, commit_message=message, repo_type="dataset"))


def differing(files: Sequence[Local], there: Mapping[str, tuple[int, str]]) -> list[Local]:
    """Return the files that are not there as they are here."""
    return [one for one in files if not _is_there(one, there.get(one.name))]


def _is_there(one: Local, found: tuple[int, str] | None) -> bool:
    if found is None or found[0] != one.size:
        return False
    if not found[1].startswith("git:"):
        return found[1] == one.sha256
    with reading(one.path), open(one.path, "rb") as file:
        blob = hashlib.sha1(b"blob %d\0" % one.size + file.read(), usedforsecurity=False).hexdigest()
    return found[1] == f"git:{blob}"
