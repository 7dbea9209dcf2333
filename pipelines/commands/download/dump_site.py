"""List the files of dumps.wikimedia.org that a target needs, with their checksums.

The pages of a wiki are published twice: in its dumps (`/<wiki>/<YYYYMMDD>/`, articles alone, deprecated since January
2026) and in the MediaWiki Content File Exports (`/other/mediawiki_content_current/<wiki>/<YYYY-MM-DD>/`, all
namespaces). SQL tables and Wikidata's JSON are in dumps only.

Names are read from lists, never made up: those of a dump from its `dumpstatus.json`, those of an export and of
Wikidata's JSON dump from their directory, beside a list of checksums. The files may come from a mirror; the lists
always come from Wikimedia, so a mirror that sends other bytes is noticed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.pipelines.commands.download.client import Client
from wikianchor.pipelines.commands.download.needs import ARTICLES, SITE, Need
from wikianchor.pipelines.commands.download.target import RemoteFile
from wikianchor.pipelines.wikimedia.dump_names import part_order

ENTITIES = "wikidatawiki/entities"
EXPORTS = "other/mediawiki_content_current"
# The two files that a complete export has beside its XML.
EXPORT_DONE, EXPORT_SUMS = "_SUCCESS", "SHA256SUMS"
_DATE = re.compile(r"""href=["'](?:[^"'<>]*/)?(\d{8}|\d{4}-\d\d-\d\d)/["']""")
_NAME = re.compile(r"""href=["'](?:[^"'<>]*/)?([\w.-]+)["']""")
_SAFE = re.compile(r"[A-Za-z0-9][\w.-]*")
_DIGEST = {"sha1": re.compile(r"[0-9a-f]{40}"), "sha256": re.compile(r"[0-9a-f]{64}")}
_WIKIDATA_DUMP = re.compile(r"[A-Za-z0-9][\w.-]*-all\.json\.(gz|bz2)")
# The index of a multistream dump is not needed: the reader finds the streams.
_INDEX = re.compile(r"-index\d*\.txt")
# Runs of a wiki among which a complete one is searched. Wikimedia keeps about seven dumps and three exports.
RUNS = 8


class DumpRun(NamedTuple):
    """A complete run of a wiki: its date, YYYYMMDD, and its files."""

    date: str
    files: Iterator[RemoteFile]


class NoRun(InputError):
    """A wiki has no complete run of the date that is asked for."""


class DumpSite:
    """The lists of a dump site.

    Args:
        client: asks the servers.
        site: where the lists are.
        mirror: where the files are fetched, the site itself if None.
    """

    def __init__(self, client: Client, site: str = SITE, mirror: str | None = None) -> None:
        self._client, self._site, self._mirror = client, site, mirror or site

    def files(self, need: Need, wikis: Sequence[str], date: str | None, source: str = "auto") -> Iterator[RemoteFile]:
        """Yield the files that a target needs.

        Args:
            need: what the target is made of.
            wikis: database names.
            date: the date of the pages, YYYYMMDD; None for the newest complete run. Tables beside an export, and
                Wikidata, have other dates: theirs is that date or the last before it.
            source: where pages come from: "dumps", "exports", or "auto" for the newer of both; of the same date, the
                dump.

        Raises:
            InputError: there is no such run, or a list is malformed.
        """
        finders = {"dumps": self._dump, "exports": self._export, "auto": self._newer}
        find = finders[source] if ARTICLES in need.jobs else self._dump
        for wiki in wikis:
            yield from find(wiki, need.jobs, date).files
        if need.wikidata:
            yield self._wikidata(date)

    def _newer(self, wiki: str, jobs: Sequence[str], date: str | None) -> DumpRun:
        """Return the newer of the newest dump and the newest export, the dump if both are of one date."""
        runs, problems = [], []
        for find in (self._dump, self._export):
            try:
                runs.append(find(wiki, jobs, date))
            except NoRun as error:
                problems.append(str(error))
        if not runs:
            raise NoRun("; ".join(problems))
        return max(runs, key=lambda run: run.date)

    def _dump(self, wiki: str, jobs: Sequence[str], date: str | None) -> DumpRun:
        """Return the files of some jobs of a wiki's dump, of a date or of the newest in which they are done."""
        if date is None:
            return self._nearest_dump(wiki, jobs, None)
        status = self._status(wiki, date)
        if status is None:
            dates = ", ".join(self._dates(f"{self._site}/{wiki}/")[:RUNS])
            raise NoRun(f"--date={date}: {wiki} has no dump of that date; it has {dates or 'none'}")
        if waiting := [job for job in jobs if not _is_done(status, job)]:
            raise NoRun(f"--date={date}: the dump of {wiki} has not finished {waiting[0]}: take an earlier one")
        return DumpRun(date, self._dump_files(status, jobs, wiki, date))

    def _nearest_dump(self, wiki: str, jobs: Sequence[str], date: str | None) -> DumpRun:
        """Return the last dump up to a date in which some jobs are done, else the first after it."""
        dates = self._dates(f"{self._site}/{wiki}/")
        if date is not None:
            dates = [run for run in dates if run <= date] + sorted(run for run in dates if run > date)
        for run in dates[:RUNS]:
            status = self._status(wiki, run)
            if status is not None and all(_is_done(status, job) for job in jobs):
                return DumpRun(run, self._dump_files(status, jobs, wiki, run))
        raise NoRun(f"{self._site}/{wiki}/: lists no dump in which {', '.join(jobs)} are done: is {wiki} a wiki?")

    def _dump_files(self, status: Mapping[str, Any], jobs: Sequence[str], wiki: str, date: str) -> Iterator[RemoteFile]:
        url = f"{self._site}/{wiki}/{date}/dumpstatus.json"
        for job in jobs:
            for name, entry in sorted(status["jobs"][job]["files"].items()):
                if not _INDEX.search(name):
                    yield self._checked_file(name, entry, date, url)

    def _checked_file(self, name: str, entry: object, date: str, url: str) -> RemoteFile:
        """Return a file of a `dumpstatus.json`. Its name is checked, because a local file gets it."""
        if not isinstance(entry, dict):
            raise InputError(f"{url}: says nothing of {name!r}")
        size, digest, path = entry.get("size"), entry.get("sha1"), entry.get("url")
        if not _SAFE.fullmatch(name) or not isinstance(path, str) or not _is_path_of(path, name):
            raise InputError(f"{url}: {name!r} is not the name of a file")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise InputError(f"{url}: tells no size of {name}")
        if not isinstance(digest, str) or not _DIGEST["sha1"].fullmatch(digest):
            raise InputError(f"{url}: tells no sha1 of {name}")
        return RemoteFile(name, self._mirror + path, size, digest, date=date)

    def _status(self, wiki: str, date: str) -> Mapping[str, Any] | None:
        url = f"{self._site}/{wiki}/{date}/dumpstatus.json"
        data = self._client.read(url)
        if data is None:
            return None
        with malformed(f"{url}: not JSON"):
            status = json.loads(data)
        if not isinstance(status, dict) or not isinstance(status.get("jobs"), dict):
            raise InputError(f"{url}: no list of jobs in it")
        return status

    def _export(self, wiki: str, jobs: Sequence[str], date: str | None) -> DumpRun:
        """Return the newest complete export of a wiki, or that of a date, with the tables of a dump beside it."""
        url = f"{self._site}/{EXPORTS}/{wiki}/"
        dates = _dates_in(self._client.read(url) or b"")
        wanted = [run for run in dates if date in (None, _compact(run))]
        for run in wanted[:RUNS]:
            directory = f"{EXPORTS}/{wiki}/{run}/xml/bzip2"
            names = _names_in(self._client.read(f"{self._site}/{directory}/") or b"")
            if EXPORT_DONE in names and EXPORT_SUMS in names:
                tables = [job for job in jobs if job != ARTICLES]
                files = self._export_files(directory, f"{wiki}-{run}", names, _compact(run))
                return DumpRun(_compact(run), chain(files, self._tables(wiki, tables, date)))
        if date is None:
            raise NoRun(f"{url}: lists no complete export: is {wiki} a wiki?")
        if wanted:
            raise NoRun(f"--date={date}: the export of {wiki} is not finished: take an earlier one")
        listed = ", ".join(map(_compact, dates[:RUNS]))
        raise NoRun(f"--date={date}: {wiki} has no export of that date; it has {listed or 'none'}")

    def _export_files(self, directory: str, prefix: str, names: Iterable[str], date: str) -> Iterator[RemoteFile]:
        """Yield the files of an export in the order of their pages."""
        sums = f"{self._site}/{directory}/{EXPORT_SUMS}"
        digests = self._sums(sums, "sha256")
        pattern = re.compile(rf"{re.escape(prefix)}-p\d+p\d+\.xml\.bz2")
        matches = sorted(filter(pattern.fullmatch, {*names, *digests}), key=part_order)
        if not matches:
            raise InputError(f"{self._site}/{directory}/: lists no file such as {prefix}-p1p999.xml.bz2")
        for name in matches:
            if name not in digests:
                raise InputError(f"{sums}: tells no sha256 of {name}")
            size = self._client.length(f"{self._site}/{directory}/{name}")
            if size is None:
                raise InputError(f"{sums}: names {name}, which is not there")
            url = f"{self._mirror}/{directory}/{name}"
            yield RemoteFile(name, url, size, digests[name], kind="sha256", date=date)

    def _tables(self, wiki: str, jobs: Sequence[str], date: str | None) -> Iterator[RemoteFile]:
        if jobs:
            yield from self._nearest_dump(wiki, jobs, date).files

    def _wikidata(self, date: str | None) -> RemoteFile:
        """Return the JSON dump of Wikidata, the newest or the last up to a date.

        gzip is preferred to bzip2: it is half again as large, and eight times as fast to read.
        """
        url = f"{self._site}/{ENTITIES}/"
        dates = self._dates(url)
        if date is not None:
            dates = [run for run in dates if run <= date] or dates[-1:]
        for run in dates[:RUNS]:
            names = _names_in(self._client.read(f"{url}{run}/") or b"")
            for sums in (name for name in names if name.endswith("-sha1sums.txt")):
                digests = self._sums(f"{url}{run}/{sums}", "sha1")
                for name in sorted(filter(_WIKIDATA_DUMP.fullmatch, names), reverse=True):
                    if name in digests and (size := self._client.length(f"{url}{run}/{name}")) is not None:
                        path = f"{self._mirror}/{ENTITIES}/{run}/{name}"
                        return RemoteFile(name, path, size, digests[name], date=run)
        raise InputError(f"{url}: lists no JSON dump of Wikidata with its checksum")

    def _sums(self, url: str, kind: str) -> dict[str, str]:
        """Return checksums by name, of a list as sha1sum and sha256sum write it."""
        data = self._client.read(url) or b""
        lines = (line.split() for line in data.decode("utf-8", "replace").splitlines())
        pairs = (words for words in lines if len(words) == 2 and _DIGEST[kind].fullmatch(words[0]))
        return {name.lstrip("*").removeprefix("./"): digest for digest, name in pairs}

    def _dates(self, url: str) -> list[str]:
        """Return the dates of the runs in a directory, newest first.

        Raises:
            NoRun: there is no such directory.
        """
        page = self._client.read(url)
        if page is None:
            raise NoRun(f"{url}: there is no such directory")
        return _dates_in(page)


def _compact(date: str) -> str:
    """Return a date without hyphens.

    >>> _compact("2026-03-01")
    '20260301'
    """
    return date.replace("-", "")


def _is_done(status: Mapping[str, Any], job: str) -> bool:
    entry = status["jobs"].get(job)
    return isinstance(entry, dict) and entry.get("status") == "done" and isinstance(entry.get("files"), dict)


def _dates_in(page: bytes) -> list[str]:
    return sorted(set(_DATE.findall(page.decode("utf-8", "replace"))), reverse=True)


def _names_in(page: bytes) -> list[str]:
    """Return the names of the files in a directory."""
    return _NAME.findall(page.decode("utf-8", "replace"))


def _is_path_of(path: str, name: str) -> bool:
    """Return whether a listed path leads to a file of a name, on the same server."""
    parts = path.split("/")
    return parts[0] == "" and parts[-1] == name and len(parts) > 2 and all(map(_SAFE.fullmatch, parts[1:]))
