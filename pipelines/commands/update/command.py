"""`wikianchor update --dumps=OLD --changes=DAILY --output=NEW`: the dump of a later day."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from datetime import date, datetime
from itertools import islice, pairwise
from os.path import basename

import numpy as np
import numpy.typing as npt

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, replacing, writing
from wikianchor.pipelines.commands.update.changes import Changes, newest_revision
from wikianchor.pipelines.commands.update.options import UpdateOptions
from wikianchor.pipelines.commands.update.streams import DumpWriter, Stream, index_of, read_streams
from wikianchor.pipelines.wikimedia.dump_names import dump_date
from wikianchor.pipelines.wikimedia.dumps import content_of, read_head
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.pages import unescape
from wikianchor.pipelines.wikimedia.sql import read_table

_TABLE = re.compile(r"(\w+)-\d{8}-page\.sql")
_NUMBERED_PART = re.compile(r"\d\.xml-p(\d+)p(\d+)")
# Greater than page ids, as `parse_page` reads them.
LAST_ID = 10**18
# Titles that a warning names.
NAMED = 10

IsDeleted = Callable[[Iterable[int]], npt.NDArray[np.bool_]]


def run(config: UpdateOptions, beam_args: Sequence[str]) -> None:
    """Write the dump and its index, each in one moment.

    Raises:
        InputError, Truncated: a file is of another wiki, damaged or cut off, or the dump cannot be written.
    """
    daily = sorted(config.changes, key=lambda path: (dump_date(path), path))
    header, end, _ = read_head(config.dumps[0]).partition(b"</siteinfo>")
    if not end:
        raise InputError(f"{config.dumps[0]}: no <siteinfo> in its first megabyte: give a dump with its header")
    _check_parts(config.dumps)
    wiki = _wiki(config.dumps, daily, config.sql)
    is_deleted = _page_table(config.sql)
    files, inner = filesystem(config.output)
    index = index_of(inner)
    with (
        closing(Changes(daily)) as changes,
        writing(config.output),
        # It is replaced after the dump: an index of another dump is noticed.
        replacing(files, index, f"{index}.new") as index_file,
        replacing(files, inner, f"{inner}.new") as dump_file,
    ):
        writer = DumpWriter(dump_file, index_file, header + end + b"\n")
        update = Update(changes, is_deleted, writer)
        update.write(stream for path in config.dumps for stream in read_streams(path) if stream.titles)
        writer.finish()
    for before, after in pairwise(sorted({day.toordinal() for path in (*config.dumps, *daily) if (day := _day(path))})):
        if after - before > 1:
            logging.getLogger("wikianchor").warning(
                "--changes: there is no file between %s and %s: unless Wikimedia has none, changes are missing",
                date.fromordinal(before),
                date.fromordinal(after),
            )
    if changes.without_text:
        logging.getLogger("wikianchor").warning(
            "--changes: %d pages stay as they were, because the files lack the text of their newest revision: %s%s",
            len(changes.without_text),
            "; ".join(islice(changes.without_text.values(), NAMED)),
            "; and others" if len(changes.without_text) > NAMED else "",
        )
    if not config.sql:
        logging.getLogger("wikianchor").warning(
            "%s: pages that have been deleted since the dump are still in it: give the page table of the last day, "
            "--sql=%s-%s-page.sql.gz",
            config.output,
            wiki,
            dump_date(daily[-1]) or "DATE",
        )
    print(
        f"{wiki}: {update.counts['changed']:,} pages changed, {update.counts['new']:,} new, "
        f"{update.counts['gone']:,} left out; "
        f"{writer.copied:,} streams copied, {writer.made:,} packed  {config.output}"
    )


class Update:
    """Writes the pages of a dump with their changes.

    Args:
        changes: the changes.
        is_deleted: says of page ids whether the page has been deleted.
        writer: what writes the new dump.

    Attributes:
        counts: numbers of pages: changed, new, gone.
    """

    def __init__(self, changes: Changes, is_deleted: IsDeleted, writer: DumpWriter) -> None:
        self._changes, self._is_deleted, self._writer = changes, is_deleted, writer
        self.counts: Counter[str] = Counter()

    def write(self, streams: Iterable[Stream]) -> None:
        """Write the pages of a dump, in the order of their ids.

        Raises:
            InputError: the dump is damaged, or its pages are in another order.
        """
        last = -1
        for stream in streams:
            ids = list(stream.titles)
            if ids != sorted(ids) or ids[0] <= last or ids[-1] > LAST_ID:
                raise InputError(f"{stream.path}: pages are not in the order of their ids: give the parts of one dump")
            self._add_new(last + 1, ids[0] - 1)
            last = ids[-1]
            if not stream.packed or self._may_change(stream, ids):
                unpacked = stream.unpacked()
                merged = self._merged(unpacked, ids[0], last)
                if not stream.packed or merged != list(unpacked.elements.values()):
                    for element in merged:
                        self._writer.add(element)
                    continue
            self._writer.copy(stream)
        self._add_new(last + 1, LAST_ID)

    def _add_new(self, first: int, last: int) -> None:
        """Write the changed pages with ids from `first` to `last`, of which the dump has none."""
        for change in self._changes.between(first, last):
            if change.element is not None and not self._is_deleted([change.page])[0]:
                self._writer.add(change.element)
                self.counts["new"] += 1

    def _may_change(self, stream: Stream, ids: Sequence[int]) -> bool:
        """Return whether a page of a stream may have changed, without decompressing it."""
        return (
            next(self._changes.between(ids[0], ids[-1]), None) is not None
            or bool(self._is_deleted(ids).any())
            or any(self._changes.holder(_title(title)) for title in stream.titles.values())
        )

    def _merged(self, stream: Stream, first: int, last: int) -> list[bytes]:
        """Return the pages with ids from `first` to `last`, those of a stream, with their changes."""
        old, new = stream.elements, {change.page: change for change in self._changes.between(first, last)}
        ids = sorted({*old, *new})
        merged = []
        for page, is_gone in zip(ids, self._is_deleted(ids).tolist(), strict=True):
            element = before = old.get(page)
            if (change := new.get(page)) and (before is None or change.rank > newest_revision(before, stream.path)):
                element = change.element
            elif before is not None and self._has_lost_title(page, stream, before):
                element = None
            if element is not None and not is_gone:
                merged.append(element)
                self.counts["new" if before is None else "changed"] += element is not before
            else:
                self.counts["gone"] += before is not None
        return merged

    def _has_lost_title(self, page: int, stream: Stream, element: bytes) -> bool:
        """Return whether another page has the title of a page now, so that this one has been deleted."""
        holder = self._changes.holder(_title(stream.titles[page]))
        return bool(holder and holder[0] != page and holder[1] > newest_revision(element, stream.path)[1])


def _day(path: str) -> date | None:
    """Return the date in the name of a file, None if there is none."""
    with suppress(ValueError):
        return datetime.strptime(dump_date(path), "%Y%m%d").date()
    return None


def _title(escaped: bytes) -> str:
    return unescape(escaped.decode("utf-8", "replace"))


def _check_parts(paths: Sequence[str]) -> None:
    """Check that the pages of each numbered part of a dump, by its name, follow those of the part before it."""
    last = 0
    for name in map(basename, paths):
        if match := _NUMBERED_PART.search(name):
            if int(match[1]) > last + 1:
                raise InputError(
                    f"--dumps: the part with pages {last + 1} to {int(match[1]) - 1}, before {name}, is missing: "
                    "give all parts of the dump"
                )
            last = int(match[2])


def _wiki(dumps: Sequence[str], daily: Sequence[str], tables: Sequence[str]) -> str:
    """Check that all files are of one wiki, with the same namespaces, and return its database name."""
    site = read_site(dumps, None)[0]
    for path in daily:
        other = read_site([path], None)[0]
        if other.wiki != site.wiki:
            raise InputError(f"--changes: {path} is of {other.wiki}, --dumps of {site.wiki}: run each wiki by itself")
        if other.digest() != site.digest():
            raise InputError(f"{path}: the namespaces are not those of {dumps[0]}: fetch a new dump of articles")
    for path in tables:
        if (match := _TABLE.match(basename(path))) and match[1] != site.wiki:
            raise InputError(f"--sql: {path} is of {match[1]}, --dumps of {site.wiki}: run each wiki by itself")
    return site.wiki


def _page_table(paths: Sequence[str]) -> IsDeleted:
    """Return what says of page ids whether a page table should list them and does not. Pages with greater ids than all
    of the table are newer than it."""
    listed = np.zeros(1, np.bool_)
    for path in paths:
        rows = read_table(content_of(path), ("page_id",), "page", path)
        try:
            ids = np.fromiter((row[0] for row in rows), np.uint32)
        except (OverflowError, TypeError) as error:
            raise InputError(f"{path}: a page_id is not a number of 32 bits: fetch it again") from error
        listed = np.pad(listed, (0, max(0, int(ids.max(initial=0)) + 1 - len(listed))))
        listed[ids] = True

    def is_deleted(pages: Iterable[int]) -> npt.NDArray[np.bool_]:
        ids = np.fromiter(pages, np.int64)
        is_newer = ids >= len(listed)
        return ~is_newer & ~listed[np.where(is_newer, 0, ids)]

    return is_deleted
