"""`wikianchor download`: fetch the dumps that a target needs, each once, and verify them.

`download.json` beside the dumps records the date, checksum, size and time of change of every verified file. A file that
still has them is neither fetched nor read again.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.storage import (
    checksum,
    file_info,
    filesystem,
    free_bytes,
    is_local,
    reading,
    replacing,
    writing,
)
from wikianchor.io.units import size
from wikianchor.io.version import program_version
from wikianchor.pipelines.commands.download.client import Client
from wikianchor.pipelines.commands.download.dump_site import DumpSite
from wikianchor.pipelines.commands.download.needs import NEEDS
from wikianchor.pipelines.commands.download.options import DownloadOptions
from wikianchor.pipelines.commands.download.target import PART, RemoteFile
from wikianchor.pipelines.dataset.summary import after_download, next_lines, spent
from wikianchor.pipelines.engine.progress import Progress

RECORD = "download.json"
# Wikimedia allows three connections per address.
CONNECTIONS = 3
log = logging.getLogger("wikianchor")


def run(config: DownloadOptions, beam_args: Sequence[str]) -> None:
    """Fetch the files that are missing.

    Raises:
        InputError: a server does not send what was published, the disk has too little space, or it cannot be written.
    """
    start = time.monotonic()
    stop = threading.Event()
    client = Client(f"wikianchor/{program_version()} ({config.contact})", stop=stop)
    site = DumpSite(client, config.site, config.mirror)
    log.info("asking %s which dumps there are", config.site)
    files = list(site.files(NEEDS[config.target], config.wikis, config.date, config.source))
    record = read_record(config.output)
    missing = [file for file in files if not is_verified(config.output, file, record)]
    print("\n".join(plan(config, files, missing)))
    if config.dry_run:
        return
    comes_next = next_lines(after_download(config.target, config.wikis, config.output))
    if not missing:
        print("\n".join(comes_next))
        return
    check_space(config.output, missing)
    with writing(config.output):
        where, inner = filesystem(config.output)
        where.create_dir(inner, recursive=True)

    def fetch(file: RemoteFile) -> None:
        """Fetch a file, unless a file with its checksum is there already."""
        path = f"{config.output}/{file.name}"
        there = file.name not in record and _size_and_time(path).get("size") == file.size
        if there and checksum(path, file.kind) == file.digest:
            return
        log.info("%s: fetching %s", file.name, size(file.size))
        progress.begin(file.name, file.size)
        client.fetch(file, config.output, lambda amount: progress.advance(file.name, amount))
        progress.end(file.name)

    pool = ThreadPoolExecutor(CONNECTIONS)
    with Progress() as progress:
        waiting = {pool.submit(fetch, file): file for file in missing}
        try:
            for done in as_completed(waiting):
                done.result()
                _save_record(config.output, waiting[done], record)
        except BaseException as error:
            stop.set()
            # A connection may be silent for a minute: an interruption does not wait for it.
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise
    print(f"{len(missing)} files fetched and verified: {config.output}")
    print("\n".join([f"{size(sum(file.size for file in missing))}, {spent(start)}", *comes_next]))


def plan(config: DownloadOptions, files: Sequence[RemoteFile], missing: Sequence[RemoteFile]) -> list[str]:
    """Return the lines that are printed before anything is fetched."""
    dates = ", ".join(sorted({file.date for file in files}))
    return [
        f"{'size':>9}  file",
        *(f"{size(file.size):>9}  {file.name}{'' if file in missing else '  (here and verified)'}" for file in files),
        f"{size(sum(file.size for file in missing)):>9}  to fetch, of {size(sum(file.size for file in files))}; "
        f"dumps of {dates}, from {config.mirror or config.site}",
    ]


def check_space(directory: str, missing: Sequence[RemoteFile]) -> None:
    """Check that the local disk has space for the missing files.

    Raises:
        InputError: it has too little.
    """
    if not is_local(directory):
        return
    need = sum(file.size - _part_size(directory, file) for file in missing)
    if need > (free := free_bytes(directory)):
        raise InputError(f"{directory}: {size(need)} are to be fetched and {size(free)} are free: make room")


def _part_size(directory: str, file: RemoteFile) -> int:
    path = Path(directory) / (file.name + PART)
    return path.stat().st_size if path.is_file() else 0


def _size_and_time(path: str) -> dict[str, Any]:
    """Return the size and the time of change of a file, {} where there is none."""
    info = file_info(path)
    return {"size": info.size, "changed": info.mtime_ns} if info.is_file else {}


def read_record(directory: str) -> dict[str, Any]:
    """Return the record of the files in a directory, by name; {} where it is missing or damaged."""
    files, inner = filesystem(f"{directory}/{RECORD}")
    # The record only saves work: without it every file is hashed again.
    missing_or_damaged = suppress(FileNotFoundError, ValueError, LookupError, TypeError)
    with reading(f"{directory}/{RECORD}"), missing_or_damaged, files.open_input_stream(inner) as stream:
        return dict(json.loads(stream.read())["files"])
    return {}


def is_verified(directory: str, file: RemoteFile, record: Mapping[str, Any]) -> bool:
    """Return whether a file was verified by the same checksum, and has not changed since."""
    known = record.get(file.name)
    if not isinstance(known, dict) or known.get(file.kind) != file.digest:
        return False
    return _size_and_time(f"{directory}/{file.name}") == {"size": file.size, "changed": known.get("changed")}


def _save_record(directory: str, file: RemoteFile, record: dict[str, Any]) -> None:
    record[file.name] = {
        "date": file.date,
        "url": file.url,
        file.kind: file.digest,
        **_size_and_time(f"{directory}/{file.name}"),
    }
    files, inner = filesystem(f"{directory}/{RECORD}")
    text = json.dumps({"files": record}, indent=1, sort_keys=True) + "\n"
    with writing(f"{directory}/{RECORD}"), replacing(files, inner, inner + PART) as stream:
        stream.write(text.encode())
