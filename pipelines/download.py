"""`wikianchor download`: the dumps that a target needs, each fetched once, verified, and written down.

`download.json` beside the dumps says which files were verified, of which date, and what they looked like then; a file
that still looks so is neither fetched nor read again.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import fs

from pipelines.dataset.parts import writing
from pipelines.entities import split_list
from pipelines.errors import InputError, UsageError
from pipelines.plan import free_bytes
from pipelines.progress import Progress, size
from pipelines.stage import program_version
from pipelines.storage import filesystem, reading
from pipelines.transfer.client import Client
from pipelines.transfer.dump_site import NEEDS, SITE, files_for, wiki_named
from pipelines.transfer.target import PART, RemoteFile, checksum

RECORD = "download.json"
# Wikimedia asks for no more.
CONNECTIONS = 2
DESCRIPTION = """\
Fetches the dumps that a target needs from dumps.wikimedia.org: what is there already is kept, what was cut off is gone
on with, and every file is checked against the sha1 that Wikimedia publishes. Wikimedia turns away programs that do not
say who runs them: give an address once, with --contact.
"""


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    target: str
    wikis: tuple[str, ...]
    date: str | None
    output: str
    mirror: str | None
    site: str
    contact: str | None
    dry_run: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "--for",
        dest="target",
        choices=tuple(NEEDS),
        default="pairs",
        help="what is to be made of the dumps (default: pairs)",
    )
    parser.add_argument("--wikis", required=True, help="languages or database names with commas, such as en,ja")
    parser.add_argument(
        "--date", default="latest", help="date of the dumps, YYYYMMDD (default: latest, the newest that is finished)"
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dumps; gs:// and s3:// too")
    parser.add_argument(
        "--mirror", metavar="URL", help="fetch the files there; lists and checksums still come from Wikimedia"
    )
    parser.add_argument(
        "--site", metavar="URL", default=SITE, help=f"where lists and checksums come from (default: {SITE})"
    )
    parser.add_argument("--contact", help="how Wikimedia can reach you: an e-mail address or a URL; kept for next time")
    parser.add_argument("--dry_run", action="store_true", help="list the files with their sizes and fetch none")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: a wiki that is none, a date that is none, or no contact.
    """
    project = NEEDS[arguments.target].project
    wikis = tuple(dict.fromkeys(wiki_named(name, project) for name in split_list(arguments.wikis)))
    if not wikis:
        raise UsageError("--wikis= names no wiki: write it like en,ja")
    if arguments.date != "latest" and not re.fullmatch(r"\d{8}", arguments.date):
        raise UsageError(f"--date={arguments.date}: write it like 20260101, or latest")
    for flag in ("mirror", "site"):
        url = getattr(arguments, flag)
        if url is not None and not re.match(r"https?://[^/]", url):
            raise UsageError(f"--{flag}={url}: not a web address: write it like {SITE}")
        # Addresses are logged, and written down in download.json.
        if url is not None and "@" in url.split("/")[2]:
            raise UsageError(f"--{flag}: no name and password in the address: keep them in ~/.netrc")
    return Config(
        target=arguments.target,
        wikis=wikis,
        date=None if arguments.date == "latest" else arguments.date,
        output=arguments.output.rstrip("/"),
        mirror=arguments.mirror and arguments.mirror.rstrip("/"),
        site=arguments.site.rstrip("/"),
        contact=_contact(arguments.contact),
        dry_run=arguments.dry_run,
    )


def contact_file() -> Path:
    """Return where the user's contact is kept."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "wikianchor" / "contact"


def _contact(given: str | None) -> str:
    """Return how the user can be reached: what is given now, and kept, or what was kept.

    Raises:
        UsageError: nothing is known, or it is no address.
    """
    path = contact_file()
    if given is None:
        given = path.read_text("utf-8").strip() if path.is_file() else None
        if given is None:
            raise UsageError(
                "Wikimedia turns away programs that do not say who runs them: "
                "give an e-mail address or a URL once, with --contact=you@example.org"
            )
        return given
    if not re.fullmatch(r"[!-~]+@[!-~]+\.[!-~]+|https?://[!-~]+", given):
        raise UsageError(f"--contact={given}: neither an e-mail address nor a URL")
    with writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Private from the first moment.
        path.touch(0o600)
        path.chmod(0o600)
        path.write_text(given + "\n", "utf-8")
    return given


def run(config: Config, beam_args: Sequence[str]) -> None:
    """Fetch what is missing."""
    if beam_args:
        raise UsageError(f"download has no flag {beam_args[0]}, and runs without Beam")
    stop = threading.Event()
    client = Client(f"wikianchor/{program_version()} ({config.contact})", stop=stop)
    files = list(files_for(client, NEEDS[config.target], config.wikis, config.date, config.site, config.mirror))
    record = read_record(config.output)
    missing = [file for file in files if not is_verified(config.output, file, record)]
    print("\n".join(plan(config, files, missing)))
    if config.dry_run or not missing:
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


def plan(config: Config, files: Sequence[RemoteFile], missing: Sequence[RemoteFile]) -> list[str]:
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
