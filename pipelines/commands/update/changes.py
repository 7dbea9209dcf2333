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
from wikianchor.pipelines.wikimedia.pages import cut_pages, parse_page

USER = 2
END = b"</mediawiki>"
_ID, _TIME = re.compile(rb"<id>(\d{1,18})</id>"), re.compile(rb"<timestamp>([^<]{1,40})</timestamp>")
_NO_TEXT = re.compile(rb'<text(?=[^>]{0,300} bytes="[1-9])(?![^>]{0,300} deleted=)[^>]{0,300}/>')
_INSERT = """INSERT INTO changes VALUES (?, ?, ?, ?, ?) ON CONFLICT (page) DO UPDATE SET title = excluded.title,
time = excluded.time, revision = excluded.revision, element = excluded.element
WHERE (excluded.time, excluded.revision) >= (time, revision)"""
# Pages with one title: only the last of them has it still.
_LOST_TITLE = """UPDATE changes SET element = NULL WHERE EXISTS (SELECT 1 FROM changes AS other
WHERE other.title = changes.title AND (other.time, other.revision) > (changes.time, changes.revision))"""

# Time and id of a revision. The latest time comes first: imported revisions have old times and new ids.
Rank = tuple[bytes, int]


class Change(NamedTuple):
    """A page of the daily files.

    Attributes:
        page: page id.
        rank: of its newest revision.
        element: its <page> element with this revision; None if the page does not belong into a dump of articles.
    """

    page: int
    rank: Rank
    element: bytes | None


def pages_of(path: str) -> Iterator[bytes]:
    """Yield the <page> elements of a whole export.

    Raises:
        InputError, Truncated: the file is damaged or cut off.
    """
    tail = b""

    def chunks() -> Iterator[Chunk]:
        nonlocal tail
        for chunk in read_range(whole_file(path)):
            tail = (tail + chunk.data[-len(END) * 8 :])[-len(END) * 8 :]
            yield chunk

    for raw, _ in cut_pages(chunks(), path):
        yield raw
    if END not in tail:
        raise Truncated(f"{path}: cut off after its last whole page, </mediawiki> is missing: fetch it again")


def newest_revision(raw: bytes, path: str) -> tuple[bytes, Rank]:
    """Return a <page> element with its newest revision alone, and the rank of that.

    Raises:
        InputError: a revision lacks its end, its id or its time.

    >>> revision = b"<revision><id>%d</id><timestamp>%d</timestamp></revision>"
    >>> newest_revision(b"<page>" + revision % (8, 2026) + revision % (7, 2025) + b"</page>", "a.xml")
    (b'<page><revision><id>8</id><timestamp>2026</timestamp></revision></page>', (b'2026', 8))
    """
    head, *parts = raw.split(b"<revision>")
    revisions = [part.partition(b"</revision>") for part in parts]
    ranked: list[tuple[Rank, int]] = []
    for number, (body, end, _) in enumerate(revisions):
        rev_id, time = _ID.search(body), _TIME.search(body)
        if not end or rev_id is None or time is None:
            raise InputError(f"{path}: a revision of {head[:80]!r} has no end, id or timestamp: the XML is malformed")
        ranked.append(((time[1], int(rev_id[1])), number))
    if not ranked:
        raise InputError(f"{path}: a page without a revision: {head[:80]!r}: the XML is malformed")
    rank, number = max(ranked)
    return b"".join((head, b"<revision>", *revisions[number][:2], revisions[-1][2])), rank


class Changes:
    """The pages of some adds-changes dumps, each at its newest revision.

    Args:
        paths: the dumps; of files with the same revision the last counts, in which its text may have been hidden.

    Raises:
        InputError, Truncated: a file is damaged, cut off, or has no texts.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        # SQLite keeps a database without a name in a temporary file that has no name either.
        self._database = sqlite3.connect("", isolation_level=None)
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.execute(
            "CREATE TABLE changes (page INTEGER PRIMARY KEY, title TEXT, time BLOB, revision INTEGER, element BLOB)"
        )
        try:
            for path in paths:
                self._database.executemany(_INSERT, _rows(path))
            self._database.execute("CREATE INDEX titles ON changes (title, time, revision)")
            self._database.execute(_LOST_TITLE)
        except sqlite3.Error as error:
            raise InputError(f"no temporary file can be written ({error}): set TMPDIR to another disk") from error

    def between(self, first: int, last: int) -> Iterator[Change]:
        """Yield the pages with ids from `first` to `last`, in ascending order."""
        rows = self._database.execute(
            "SELECT page, time, revision, element FROM changes WHERE page BETWEEN ? AND ? ORDER BY page", (first, last)
        )
        return (Change(page, (time, revision), element) for page, time, revision, element in rows)

    def holder(self, title: str) -> tuple[int, Rank] | None:
        """Return the id and the rank of the page that has a title, None if no changed page has."""
        row = self._database.execute(
            "SELECT page, time, revision FROM changes WHERE title = ? ORDER BY time DESC, revision DESC LIMIT 1",
            (title,),
        ).fetchone()
        return row and (row[0], row[1:])

    def close(self) -> None:
        """Remove the database."""
        self._database.close()


def _rows(path: str) -> Iterator[tuple[int, str, bytes, int, bytes | None]]:
    for raw in pages_of(path):
        element, rank = newest_revision(raw, path)
        page = parse_page(element, path)
        if _NO_TEXT.search(element):
            raise InputError(f"{path}: has no texts: fetch pages-meta-hist-incr.xml.bz2 instead of stubs")
        is_article = (page.namespace or 0) % 2 == 0 and page.namespace != USER
        yield page.page_id, page.title, *rank, element if is_article else None
