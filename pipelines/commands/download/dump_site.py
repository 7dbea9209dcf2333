"""Which files of dumps.wikimedia.org a task needs: wikis and a date in, files with their checksums out.

The pages of a wiki are published twice: in its dumps (`/<wiki>/<YYYYMMDD>/`, articles alone, deprecated since January
2026) and in the MediaWiki Content File Exports (`/other/mediawiki_content_current/<wiki>/<YYYY-MM-DD>/`, all
namespaces). SQL tables and Wikidata's JSON are in dumps only.

Names are never built, they are listed: those of a dump in its `dumpstatus.json`, those of an export and of Wikidata's
JSON dump in their directory, beside a list of checksums. The files may be fetched from a mirror; the lists always come
from Wikimedia, so a mirror cannot serve other bytes unseen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from wikianchor.io.errors import InputError
from wikianchor.pipelines.commands.download.needs import ARTICLES, SITE, Need
from wikianchor.pipelines.dataset.target import RemoteFile
from wikianchor.pipelines.wikimedia.dump_names import part_order

ENTITIES = "wikidatawiki/entities"
EXPORTS = "other/mediawiki_content_current"
# The two files that a complete export has beside its XML.
EXPORT_DONE, EXPORT_SUMS = "_SUCCESS", "SHA256SUMS"
_DATE = re.compile(r"""href=["'](?:[^"'<>]*/)?(\d{8}|\d{4}-\d\d-\d\d)/["']""")
_NAME = re.compile(r"""href=["'](?:[^"'<>]*/)?([\w.-]+)["']""")
_SAFE = re.compile(r"[A-Za-z0-9][\w.-]*")
_SHA1 = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Places of streams in a multistream dump: our reader finds them by itself.
_INDEX = re.compile(r"-index\d*\.txt")
# Runs of a wiki that are looked at for a complete one. Wikimedia keeps about seven dumps and three exports.
RUNS = 8


class Run(NamedTuple):
    """A complete run of a wiki: its date, YYYYMMDD, and its files."""

    date: str
    files: Iterator[RemoteFile]


class NoRun(InputError):
    """A wiki has no complete run of the date that is asked for."""


class Lists(Protocol):
    """Whoever can ask a server: `wikianchor.pipelines.commands.download.client.Client`."""

    def read(self, url: str) -> bytes | None:
        """Return a list, or None."""

    def length(self, url: str) -> int | None:
        """Return the size of a file in bytes, or None."""


def files_for(
    lists: Lists,
    need: Need,
    wikis: Sequence[str],
    date: str | None,
    source: str = "auto",
    site: str = SITE,
    mirror: str | None = None,
) -> Iterator[RemoteFile]:
    """Yield the files that a target needs.

    Args:
        lists: asks the servers.
        need: of the target.
        wikis: database names.
        date: of the pages, YYYYMMDD; None for the newest complete run. Tables beside an export, and Wikidata, have
            dates of their own: theirs is that date or the last before it.
        source: of the pages: "dumps", "exports", or "auto" for the newer of both; of the same date, the dump.
        site: where the lists are.
        mirror: where the files are fetched, the site itself if None.

    Raises:
        InputError: there is no such run, or its list is none.
    """
    base = mirror or site
    for wiki in wikis:
        if ARTICLES not in need.jobs or source == "dumps":
            yield from _dump(lists, wiki, need.jobs, date, site, base).files
        elif source == "exports":
            yield from _export(lists, wiki, need.jobs, date, site, base).files
        else:
            yield from _newer(lists, wiki, need.jobs, date, site, base).files
    if need.wikidata:
        yield _wikidata(lists, date, site, base)


def _newer(lists: Lists, wiki: str, jobs: Sequence[str], date: str | None, site: str, base: str) -> Run:
    """Return the newer of the newest dump and the newest export, the dump if both are of one date."""
    runs, problems = [], []
    for find in (_dump, _export):
        try:
            runs.append(find(lists, wiki, jobs, date, site, base))
        except NoRun as error:
            problems.append(str(error))
    if not runs:
        raise NoRun("; ".join(problems))
    return max(runs, key=lambda run: run.date)


def _dump(
    lists: Lists, wiki: str, jobs: Sequence[str], date: str | None, site: str, base: str, exact: bool = True
) -> Run:
    """Return the files of some jobs of a wiki's dump: of the date asked for, or the newest in which they are done.

    Args:
        exact: the date must be met; else the last one before it is taken, or the first after it.
    """
    if date is not None and exact:
        status = _status(lists, wiki, date, site)
        if status is None:
            there = ", ".join(_dates(lists, f"{site}/{wiki}/")[:RUNS])
            raise NoRun(f"--date={date}: {wiki} has no dump of that date; it has {there or 'none'}")
        if waiting := [job for job in jobs if not _is_done(status, job)]:
            raise NoRun(f"--date={date}: the dump of {wiki} has not finished {waiting[0]}: take an earlier one")
        return Run(date, _files_of(status, jobs, wiki, date, site, base))
    for run in _nearest(_dates(lists, f"{site}/{wiki}/"), date):
        status = _status(lists, wiki, run, site)
        if status is not None and all(_is_done(status, job) for job in jobs):
            return Run(run, _files_of(status, jobs, wiki, run, site, base))
    raise NoRun(f"{site}/{wiki}/: lists no dump in which {', '.join(jobs)} are done: is {wiki} a wiki?")


def _nearest(runs: Sequence[str], date: str | None) -> Sequence[str]:
    """Return the runs worth a look, the best first: those up to a date, newest first, then those after it."""
    if date is not None:
        runs = [run for run in runs if run <= date] + sorted(run for run in runs if run > date)
    return runs[:RUNS]


def _files_of(
    status: Mapping[str, Any], jobs: Sequence[str], wiki: str, run: str, site: str, base: str
) -> Iterator[RemoteFile]:
    for job in jobs:
        for name, entry in sorted(status["jobs"][job]["files"].items()):
            if not _INDEX.search(name):
                yield _listed(name, entry, run, f"{site}/{wiki}/{run}/dumpstatus.json", base)


def _export(lists: Lists, wiki: str, jobs: Sequence[str], date: str | None, site: str, base: str) -> Run:
    """Return the newest complete export of a wiki, or the one of a date, with the tables of a dump beside it."""
    data = lists.read(f"{site}/{EXPORTS}/{wiki}/")
    runs = _dates_in(data) if data is not None else []
    wanted = [run for run in runs if date in (None, _compact(run))]
    for run in wanted[:RUNS]:
        page = lists.read(f"{site}/{_export_directory(wiki, run)}/")
        names = _names_in(page) if page is not None else []
        if EXPORT_DONE in names and EXPORT_SUMS in names:
            tables = [job for job in jobs if job != ARTICLES]
            return Run(_compact(run), _export_files(lists, wiki, run, names, tables, date, site, base))
    if date is None:
        raise NoRun(f"{site}/{EXPORTS}/{wiki}/: lists no complete export: is {wiki} a wiki?")
    if wanted:
        raise NoRun(f"--date={date}: the export of {wiki} is not finished: take an earlier one")
    there = ", ".join(map(_compact, runs[:RUNS]))
    raise NoRun(f"--date={date}: {wiki} has no export of that date; it has {there or 'none'}")


def _export_directory(wiki: str, run: str) -> str:
    return f"{EXPORTS}/{wiki}/{run}/xml/bzip2"


def _export_files(
    lists: Lists,
    wiki: str,
    run: str,
    names: Sequence[str],
    tables: Sequence[str],
    date: str | None,
    site: str,
    base: str,
) -> Iterator[RemoteFile]:
    """Yield the files of an export in the order of their pages, and the tables of the dump nearest to a date."""
    directory = _export_directory(wiki, run)
    sums = f"{site}/{directory}/{EXPORT_SUMS}"
    known = _sums(lists.read(sums) or b"", _SHA256)
    pattern = re.compile(rf"{re.escape(wiki)}-{run}-p\d+p\d+\.xml\.bz2")
    matches = sorted(filter(pattern.fullmatch, {*names, *known}), key=part_order)
    if not matches:
        raise InputError(f"{site}/{directory}/: lists no file such as {wiki}-{run}-p1p999.xml.bz2")
    for name in matches:
        if name not in known:
            raise InputError(f"{sums}: tells no sha256 of {name}")
        size = lists.length(f"{site}/{directory}/{name}")
        if size is None:
            raise InputError(f"{sums}: names {name}, which is not there")
        yield RemoteFile(name, f"{base}/{directory}/{name}", size, known[name], "sha256", _compact(run))
    if tables:
        yield from _dump(lists, wiki, tables, date, site, base, exact=False).files


def _compact(date: str) -> str:
    """Return a date without hyphens.

    >>> _compact("2026-03-01")
    '20260301'
    """
    return date.replace("-", "")


def _is_done(status: Mapping[str, Any], job: str) -> bool:
    found = status["jobs"].get(job)
    return isinstance(found, dict) and found.get("status") == "done" and isinstance(found.get("files"), dict)


def _status(lists: Lists, wiki: str, run: str, site: str) -> Mapping[str, Any] | None:
    url = f"{site}/{wiki}/{run}/dumpstatus.json"
    data = lists.read(url)
    if data is None:
        return None
    try:
        status = json.loads(data)
    except ValueError as error:
        raise InputError(f"{url}: not JSON ({error})") from error
    if not isinstance(status, dict) or not isinstance(status.get("jobs"), dict):
        raise InputError(f"{url}: no list of jobs in it")
    return status


def _dates(lists: Lists, url: str) -> list[str]:
    """Return the dates of the runs in a directory, newest first.

    Raises:
        NoRun: there is no such directory.
    """
    page = lists.read(url)
    if page is None:
        raise NoRun(f"{url}: there is no such directory")
    return _dates_in(page)


def _dates_in(page: bytes) -> list[str]:
    return sorted(set(_DATE.findall(page.decode("utf-8", "replace"))), reverse=True)


def _names_in(page: bytes) -> list[str]:
    """Return the names of the files in a directory."""
    return _NAME.findall(page.decode("utf-8", "replace"))


def _listed(name: str, entry: object, run: str, source: str, base: str) -> RemoteFile:
    """Return a file of a `dumpstatus.json`, checked: its name becomes one on our disk."""
    if not isinstance(entry, dict):
        raise InputError(f"{source}: says nothing of {name!r}")
    size, digest, url = entry.get("size"), entry.get("sha1"), entry.get("url")
    if not _SAFE.fullmatch(name) or not isinstance(url, str) or not _is_path_of(url, name):
        raise InputError(f"{source}: {name!r} is not the name of a file")
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InputError(f"{source}: tells no size of {name}")
    if not isinstance(digest, str) or not _SHA1.fullmatch(digest):
        raise InputError(f"{source}: tells no sha1 of {name}")
    return RemoteFile(name, base + url, size, digest, date=run)


def _is_path_of(url: str, name: str) -> bool:
    """Whether a listed path leads to a file of a name, and stays on its server."""
    parts = url.split("/")
    return parts[0] == "" and parts[-1] == name and len(parts) > 2 and all(map(_SAFE.fullmatch, parts[1:]))


def _wikidata(lists: Lists, date: str | None, site: str, base: str) -> RemoteFile:
    """Return the JSON dump of Wikidata; of the one date asked for, or the last before it, as it has dates of its own.

    gzip before bzip2: it is half again as large and is read eight times as fast.
    """
    place = f"{site}/{ENTITIES}/"
    runs = _dates(lists, place)
    if date is not None:
        runs = [run for run in runs if run <= date] or runs[-1:]
    for run in runs[:RUNS]:
        names = _names_in(lists.read(f"{place}{run}/") or b"")
        dumps = sorted((name for name in names if re.search(r"-all\.json\.(gz|bz2)$", name)), reverse=True)
        for sums in (name for name in names if name.endswith("-sha1sums.txt")):
            known = _sums(lists.read(f"{place}{run}/{sums}") or b"")
            for name in dumps:
                if name in known and _SAFE.fullmatch(name):
                    size = lists.length(f"{place}{run}/{name}")
                    if size is not None:
                        return RemoteFile(name, f"{base}/{ENTITIES}/{run}/{name}", size, known[name], date=run)
    raise InputError(f"{place}: lists no JSON dump of Wikidata with its checksum")


def _sums(data: bytes, digest: re.Pattern[str] = _SHA1) -> dict[str, str]:
    """Return checksums by name of a list as sha1sum and sha256sum write it."""
    lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
    pairs = (parts for parts in lines if len(parts) == 2 and digest.fullmatch(parts[0]))
    return {name.lstrip("*").removeprefix("./"): checksum for checksum, name in pairs}
