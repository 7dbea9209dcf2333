"""Read the date of a dump and the order of its parts from file names.

Wikimedia names parts `enwiki-20260101-pages-articles2.xml-p41243p151573.bz2` in its dumps, and
`enwiki-2026-03-01-p10p1147431.xml.bz2` in its MediaWiki Content File Exports.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.io.storage import expand

_DATE = re.compile(r"-(20\d\d)(-?)(\d\d)\2(\d\d)-")
_PART = re.compile(r"(.*?)\d*(?:\.xml-p(\d+)p\d+|-p(\d+)p\d+\.xml)")


def dump_date(path: str) -> str:
    """Return the date in a file name as YYYYMMDD, "" if there is none.

    >>> dump_date("dumps/enwiki-2026-03-01-p10p1147431.xml.bz2")
    '20260301'
    """
    match = _DATE.search(os.path.basename(path))
    return match[1] + match[3] + match[4] if match else ""


def of_newest_date(paths: Sequence[str]) -> list[str]:
    """Return the files whose names have the newest date; all files if no name has a date."""
    newest = max(map(dump_date, paths), default="")
    return [path for path in paths if dump_date(path) == newest]


def is_part(path: str) -> bool:
    """Return whether a file name is that of one part of a wiki's pages.

    >>> is_part("enwiki-2026-03-01-p10p1147431.xml.bz2")
    True
    """
    return _PART.match(os.path.basename(path)) is not None


def part_order(path: str) -> tuple[str, int, str]:
    """Return a sort key that orders the parts of a dump by their pages, and other files by name.

    >>> sorted(["b-p20p30.xml", "b-p3p19.xml", "a.xml"], key=part_order)
    ['a.xml', 'b-p3p19.xml', 'b-p20p30.xml']
    """
    directory, name = os.path.split(path)
    match = _PART.match(name)
    return (os.path.join(directory, match[1]), int(match[2] or match[3]), path) if match else (path, 0, path)


def dump_files(value: str, flag: str) -> tuple[str, ...]:
    """Return the dump files that a comma-separated list of paths and globs names, in the order of their pages.

    Raises:
        UsageError: it names none.
        InputError: a path or glob matches no file.
    """
    return tuple(sorted(files_named(value, flag), key=part_order))


def files_named(value: str, flag: str) -> list[str]:
    """Return the files that a comma-separated list of paths and globs names, sorted, each once.

    Raises:
        UsageError: it names none.
        InputError: a path or glob matches no file.
    """
    files = expand(value, flag)
    if not files:
        raise UsageError(f"--{flag}= names no file")
    return files
