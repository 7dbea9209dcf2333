"""The places that a release is published to: a repository of the Hugging Face Hub, a bucket, or a directory."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyarrow import fs

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import READ_BYTES, checksum, filesystem, is_local, make_parent, reading, replacing, writing

# Of a directory: the file that is being written.
TEMPORARY = "_published.new"
# Seconds before the first request to the Hub is repeated; and until a connection is given up.
REACH_WAITS, REACH_TIMEOUT = (1.0, 2.0), 10.0
# Characters of an error of the Hub that are shown.
LONGEST_REASON = 100


def open_store(target: str, *, private: bool, kind: str) -> Bucket | Hub:
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
    """A directory of a filesystem of pyarrow."""

    def __init__(self, target: str) -> None:
        self._target = target.rstrip("/")
        self._files, self._inner = filesystem(self._target)

    def names(self) -> list[str]:
        """Return the names of the files in the store."""
        with reading(self._target):
            infos = self._files.get_file_info(fs.FileSelector(self._inner, allow_not_found=True, recursive=True))
        names = [info.path[len(self._inner) + 1 :] for info in infos if info.type == fs.FileType.File]
        return [name for name in names if name != TEMPORARY]

    def update(self, folder: str, names: Sequence[str], old: Sequence[str], sent: Callable[[int], None]) -> None:
        """Send those files of a folder that the store lacks, in their order, and then remove old ones.

        `sent` is called with the size of each file that is there.
        """
        for name in names:
            source, path = f"{folder}/{name}", f"{self._inner}/{name}"
            if not self._has(source, name):
                with writing(f"{self._target}/{name}", "--to"), open(source, "rb") as file:
                    make_parent(self._files, path)
                    with replacing(self._files, path, f"{self._inner}/{TEMPORARY}") as stream:
                        shutil.copyfileobj(file, stream, READ_BYTES)
            sent(os.path.getsize(source))
        for name in old:
            with writing(f"{self._target}/{name}", "--to"):
                self._files.delete_file(f"{self._inner}/{name}")

    def _has(self, source: str, name: str) -> bool:
        """Return whether there is a file of a name with the bytes of a local one."""
        with reading(self._target):
            size = self._files.get_file_info(f"{self._inner}/{name}").size
        same_size = size == os.path.getsize(source)
        return same_size and checksum(f"{self._target}/{name}", "sha256") == checksum(source, "sha256")


class Hub:
    """A repository of the Hugging Face Hub. The token is the one that `hf auth login` keeps, or $HF_TOKEN."""

    def __init__(self, target: str, *, private: bool, kind: str) -> None:
        match = re.fullmatch(rf"hf://(?:{kind}s/)?([\w.-]+/[\w.-]+)/?", target)
        if match is None:
            raise UsageError(f"--to={target}: write it like hf://user/name, the name of a {kind}")
        try:
            import huggingface_hub.errors
            from huggingface_hub.utils import disable_progress_bars, logging
        except ImportError as error:
            raise UsageError("--to=hf://... needs huggingface_hub: pip install 'wikianchor[hub]'") from error
        # It logs each of its attempts. Its logger is set up when it is first used, which would undo a level that is set
        # by Python's `logging`.
        logging.set_verbosity_error()
        if not sys.stderr.isatty():
            disable_progress_bars()
        self._repo, self._private, self._kind = match[1], private, kind
        self._errors: Any = huggingface_hub.errors
        self._api: Any = huggingface_hub.HfApi(library_name="wikianchor")
        with self._clear_errors():
            self._reach()

    def _reach(self) -> None:
        """Send one request, a few times where there is no answer; any answer will do.

        The library repeats each request for 23 seconds. This is right in the middle of an upload, but too long for a
        machine without a network, and this one is sent before the dataset is hashed.
        """
        for wait in (*REACH_WAITS, None):
            try:
                self._api.repo_info(self._repo, repo_type=self._kind, timeout=REACH_TIMEOUT)
                return
            except self._errors.HfHubHTTPError:
                return
            except self._network_errors() as error:
                if wait is None or isinstance(error, self._errors.OfflineModeIsEnabled):
                    raise
                time.sleep(wait)

    @contextmanager
    def _clear_errors(self) -> Iterator[None]:
        """Turn an error of the Hub or of the network into one line."""
        try:
            yield
        except self._errors.HfHubHTTPError as error:
            status = error.response.status_code if error.response is not None else 0
            advice = "run the same command again"
            if status in (401, 403):
                advice = "log in with `hf auth login`, or set HF_TOKEN"
            raise InputError(f"hf://{self._repo}: the Hub answers {status}: {advice}") from error
        except self._network_errors() as error:
            # Its own advice for offline mode is three sentences long.
            reason = str(error) if 0 < len(str(error)) <= LONGEST_REASON else type(error).__name__
            raise InputError(
                f"hf://{self._repo}: the Hub cannot be reached ({reason}): run the same command again to go on"
            ) from error

    def names(self) -> list[str]:
        """See `Bucket.names`."""
        with self._clear_errors():
            try:
                return list(self._api.list_repo_files(self._repo, repo_type=self._kind))
            except self._errors.RepositoryNotFoundError:
                return []

    def update(self, folder: str, names: Sequence[str], old: Sequence[str], sent: Callable[[int], None]) -> None:
        """See `Bucket.update`. The library compares and sends files, and shows its own progress; what an interrupted
        upload has sent is not sent again."""
        with self._clear_errors():
            self._api.create_repo(self._repo, repo_type=self._kind, private=self._private, exist_ok=True)
            self._api.upload_folder(
                repo_id=self._repo,
                repo_type=self._kind,
                folder_path=folder,
                allow_patterns=[glob.escape(name) for name in names],
                delete_patterns=[glob.escape(name) for name in old] or None,
                commit_message="Publish with wikianchor",
            )

    def _network_errors(self) -> tuple[type[BaseException], ...]:
        """Return OSError and the errors of the HTTP library below huggingface_hub, which has changed more than once."""
        kinds = self._errors.HfHubHTTPError.__mro__[1:]
        return (*(kind for kind in kinds if kind not in Exception.__mro__), OSError)
