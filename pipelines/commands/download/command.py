"""`wikianchor download`: the dumps that a target needs, each fetched once, verified, and written down.

`download.json` beside the dumps says which files were verified, of which date, and what they looked like then; a file
that still looks so is neither fetched nor read again.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from pyarrow import fs

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, free_bytes, reading
from wikianchor.io.units import size
from wikianchor.pipelines.commands.download.client import Client
from wikianchor.pipelines.commands.download.dump_site import files_for
from wikianchor.pipelines.commands.download.needs import NEEDS
from wikianchor.pipelines.commands.download.options import DownloadOptions
from wikianchor.pipelines.dataset.part_writer import writing
from wikianchor.pipelines.dataset.summary import after_download, next_lines, spent
from wikianchor.pipelines.dataset.target import PART, RemoteFile, checksum
from wikianchor.pipelines.engine.progress import Progress
from wikianchor.pipelines.engine.stage import program_version

RECORD = "download.json"
# Wikimedia allows three connections per address.
CONNECTIONS = 3


def run(config: DownloadOptions, beam_args: Sequence[str]) -> None:
    """Fetch what is missing."""
    start = time.monotonic()
    stop = threading.Event()
    client = Client(f"wikianchor/{program_version()} ({config.contact})", stop=stop)
    need = NEEDS[config.target]
    files = list(files_for(client, need, config.wikis, config.date, config.source, config.site, config.mirror))
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
    pool = ThreadPoolExecutor(CONNECTIONS)
    with Progress() as progress:
        waiting = {pool.submit(_fetch, client, file, config.output, record, progress): file for file in missing}
        try:
            for done in as_completed(waiting):
                done.result()
                _write_down(config.output, waiting[done], record)
        except BaseException as error:
            stop.set()
            # A connection may be silent for a minute; who interrupts does not wait for it.
            pool.shutdown(wait=isinstance(error, Exception), cancel_futures=True)
            raise
    print(f"{len(missing)} files fetched and verified: {config.output}")
    print("\n".join([f"{size(sum(file.size for file in missing))}, {spent(start)}", *comes_next]))


def plan(config: DownloadOptions, files: Sequence[RemoteFile], missing: Sequence[RemoteFile]) -> list[str]:
    """Return what is told before anything is fetched."""
    lines = [f"{'size':>9}  file"]
    for file in files:
        lines.append(f"{size(file.size):>9}  {file.name}{'' if file in missing else '  (here and verified)'}")
    dates = ", ".join(sorted({file.date for file in files}))
    lines.append(
        f"{size(sum(file.size for file in missing)):>9}  to fetch, of {size(sum(file.size for file in files))}; "
        f"dumps of {dates}, from {config.mirror or config.site}"
    )
    return lines


def check_space(directory: str, missing: Sequence[RemoteFile]) -> None:
    """Check that what is missing has room.

    Raises:
        InputError: it has none.
    """
    if "://" in directory:
        return
    need = sum(file.size - _part_size(directory, file) for file in missing)
    if need > (free := free_bytes(directory)):
        raise InputError(f"{directory}: {size(need)} are to be fetched and {size(free)} are free: make room")


def _part_size(directory: str, file: RemoteFile) -> int:
    path = Path(directory) / (file.name + PART)
    return path.stat().st_size if path.is_file() else 0


def _fetch(client: Client, file: RemoteFile, directory: str, record: Mapping[str, Any], progress: Progress) -> None:
    """Fetch a file, or find that it is here already, by its checksum."""
    path = f"{directory}/{file.name}"
    if file.name not in record and _looks(path).get("size") == file.size and checksum(path, file.kind) == file.digest:
        return
    progress.begin(file.name, file.size)
    try:
        client.fetch(file, directory, lambda amount: progress.advance(file.name, amount))
    finally:
        progress.end(file.name)


def _looks(path: str) -> dict[str, Any]:
    """Return size and time of change of a file; nothing where there is none."""
    files, inner = filesystem(path)
    with reading(path):
        info = files.get_file_info(inner)
    return {"size": info.size, "changed": info.mtime_ns} if info.type == fs.FileType.File else {}


def read_record(directory: str) -> dict[str, Any]:
    """Return what is written down of the files in a directory, by name."""
    files, inner = filesystem(f"{directory}/{RECORD}")
    with reading(f"{directory}/{RECORD}"):
        if files.get_file_info(inner).type != fs.FileType.File:
            return {}
        with files.open_input_stream(inner) as stream:
            text = stream.read()
    try:
        found = json.loads(text)["files"]
    except (ValueError, KeyError, TypeError):
        # It saves work and proves nothing: without it every file is read again.
        return {}
    return found if isinstance(found, dict) else {}


def is_verified(directory: str, file: RemoteFile, record: Mapping[str, Any]) -> bool:
    """Whether a file was verified, by the same checksum, and looks as it did then."""
    known = record.get(file.name)
    return (
        isinstance(known, dict)
        and known.get(file.kind) == file.digest
        and (looks := _looks(f"{directory}/{file.name}")) != {}
        and looks["size"] == file.size
        and known.get("changed") == looks["changed"]
    )


def _write_down(directory: str, file: RemoteFile, record: dict[str, Any]) -> None:
    record[file.name] = {
        "date": file.date,
        "url": file.url,
        file.kind: file.digest,
        **_looks(f"{directory}/{file.name}"),
    }
    files, inner = filesystem(f"{directory}/{RECORD}")
    text = json.dumps({"files": record}, indent=1, sort_keys=True) + "\n"
    with writing(f"{directory}/{RECORD}"):
        with files.open_output_stream(inner + PART) as stream:
            stream.write(text.encode())
        files.move(inner + PART, inner)
