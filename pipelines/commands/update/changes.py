"""Collect the newest revision of each page of some adds-changes dumps in a temporary SQLite database.

Such a dump (https://dumps.wikimedia.org/other/incr/) has the revisions since that of the day before, in the form of a
dump of histories: pages by id, with title and namespace as they were when it was written.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia.dumps import Chunk, read_range, whole_file
from wikianchor.pipelines.wikimedia.pages import CLOSE, OPEN, PAGE_LIMIT, cut_pages, parse_page

USER = 2
END, REVISION_END = b"</mediawiki>", b"</revision>"
_REVISION = re.compile(
    rb"<revision>\s*<id>(\d{1,18})</id>\s*(?:<parentid>\d*</parentid>\s*)?<timestamp>([^<]{1,40})</timestamp>"
)
_NO_TEXT = re.compile(rb'<text(?=[^>]{0,300} bytes="[1-9])(?![^>]{0,300} deleted=)[^>]{0,300}/>')
_CHANGE = """INSERT INTO changes VALUES (?, ?, ?, ?, ?) ON CONFLICT (page) DO UPDATE SET title = excluded.title,
time = excluded.time, revision = excluded.revision, element = excluded.element
WHERE (excluded.time, excluded.revision) >= (time, revision)"""
_TITLE = "INSERT OR REPLACE INTO titles VALUES (?, ?, ?)"
_BETWEEN = """SELECT changes.page, time, changes.revision, CASE changes.page WHEN titles.page THEN element END
FROM changes JOIN titles USING (title) WHERE changes.page BETWEEN ? AND ? ORDER BY changes.page"""

# Time and id of a revision. The latest time comes first: imported revisions have old times and new ids.
Rank = tuple[bytes, int]
_NONE: tuple[Rank, bytes] = ((b"", 0), b"")


class Change(NamedTuple):
    """A page of the daily files.

    Attributes:
        page: page id.
        rank: of its newest revision.
        element: its <page> element with this revision; None if the page does not belong into a dump of articles, or
            another page has its title now.
    """

    page: int
    rank: Rank
    element: bytes | None


def pages_of(path: str) -> Iterator[bytes]:
    """Yield the <page> elements of a whole export, each with its newest revision alone.

    Raises:
        InputError, Truncated: the file is damaged or cut off.
    """
    rest = bytearray()

    def newest_revisions() -> Iterator[Chunk]:
        """Leave out the other revisions before pages are cut: those of a day may be larger than memory."""
        chunk, newest = Chunk(b"", 0, owned=True), _NONE
        for chunk in read_range(whole_file(path)):
            searched = max(0, len(rest) - len(REVISION_END))
            rest.extend(chunk.data)
            while (end := rest.find(REVISION_END, searched)) >= 0:
                text = bytes(rest[: end + len(REVISION_END)])
                del rest[: len(text)]
                searched = 0
                before, tag, revision = text.partition(b"<revision>")
                if OPEN in before or CLOSE in before:
                    yield chunk._replace(data=newest[1] + before, exact=False)
                    newest = _NONE
                newest = max(newest, (newest_revision(text, path), tag + revision))
            if len(rest) > PAGE_LIMIT:
                raise InputError(
                    f"{path}: a revision near byte {chunk.offset} has no </revision> within {PAGE_LIMIT >> 20} MB: "
                    "the XML is malformed"
                )
        yield chunk._replace(data=newest[1] + rest, exact=False)

    for raw, _ in cut_pages(newest_revisions(), path):
        yield raw
    if END not in rest[-len(END) * 8 :]:
        raise Truncated(f"{path}: cut off after its last whole page, </mediawiki> is missing: fetch it again")


def newest_revision(raw: bytes, path: str) -> Rank:
    """Return the rank of the newest revision of a <page> element.

    Raises:
        InputError: it has no revision, or one lacks its end, its id or its time.

    >>> revision = b"<revision><id>%d</id><timestamp>%d</timestamp></revision>"
    >>> newest_revision(b"<page>" + revision % (8, 2026) + revision % (7, 2025) + b"</page>", "a.xml")
    (b'2026', 8)
    """
    ranks = [(time, int(rev_id)) for rev_id, time in _REVISION.findall(raw)]
    if not ranks or not len(ranks) == raw.count(b"<revision>") == raw.count(REVISION_END):
        raise InputError(
            f"{path}: a page without a revision, or a revision without an end, id or timestamp: "
            f"{raw.rpartition(OPEN)[2][:80]!r}: the XML is malformed"
        )
    return max(ranks)


class Changes:
    """The pages of some adds-changes dumps, each at its newest revision.

    Args:
        paths: the dumps, by date; of files with the same revision the last counts, in which its text may have been
            hidden.

    Attributes:
        without_text: titles of the pages left out because their newest revision has no text, by page id.

    Raises:
        InputError, Truncated: a file is damaged, cut off, or has no texts.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self.without_text: dict[int, str] = {}
        # SQLite keeps a database without a name in a temporary file that has no name either.
        self._database = sqlite3.connect("", isolation_level=None)
        try:
            self._database.executescript(
                """PRAGMA journal_mode = OFF;
                CREATE TABLE changes (page INTEGER PRIMARY KEY, title TEXT, time BLOB, revision INTEGER, element BLOB);
                CREATE TABLE titles (title TEXT PRIMARY KEY, page INTEGER, revision INTEGER) WITHOUT ROWID"""
            )
            for path in paths:
                self._read(path)
        except sqlite3.Error as error:
            raise InputError(f"no temporary file can be written ({error}): set TMPDIR to another disk") from error

    def _read(self, path: str) -> None:
        """Add the pages of a dump."""
        has_texts = False
        without_text: dict[int, str] = {}
        for raw in pages_of(path):
            page = parse_page(raw, path)
            has_texts |= bool(page.text)
            is_article = (page.namespace or 0) % 2 == 0 and page.namespace != USER
            if is_article and _NO_TEXT.search(raw):
                without_text[page.page_id] = page.title
            else:
                self.without_text.pop(page.page_id, None)
                element = raw if is_article else None
                self._database.execute(_CHANGE, (page.page_id, page.title, *newest_revision(raw, path), element))
                # The page that the last file has under a title holds it: an imported page has revisions of old times.
                self._database.execute(_TITLE, (page.title, page.page_id, page.rev_id))
        if without_text and not has_texts:
            raise InputError(f"{path}: has no texts: fetch pages-meta-hist-incr.xml.bz2 instead of stubs")
        self.without_text |= without_text

    def between(self, first: int, last: int) -> Iterator[Change]:
        """Yield the pages with ids from `first` to `last`, in ascending order."""
        rows = self._database.execute(_BETWEEN, (first, last))
        return (Change(page, (time, revision), element) for page, time, revision, element in rows)

    def holder(self, title: str) -> tuple[int, int] | None:
        """Return the id of the page that has a title and the id of its revision, None if no changed page has."""
        row: tuple[int, int] | None = self._database.execute(
            "SELECT page, titles.revision FROM titles JOIN changes USING (page, title) WHERE title = ?", (title,)
        ).fetchone()
        return row

    def close(self) -> None:
        """Remove the database."""
        self._database.close()
