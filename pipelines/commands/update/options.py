"""The options of `wikianchor update`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import Output
from wikianchor.io.options import file_path, option
from wikianchor.pipelines.wikimedia.dump_names import files_named
from wikianchor.pipelines.wikimedia.options import Dumps, SqlTables

DESCRIPTION = """\
Write the pages-articles dump of a later day from a dump and Wikimedia's daily adds-changes dumps
(https://dumps.wikimedia.org/other/incr/), instead of downloading a new one. Pages that are new or have a newer revision
are taken from the daily files, and talk and user pages are left out. The streams of a multistream dump in which nothing
has changed are copied as they are; with the index of the dump beside it, they are not decompressed. The new dump is a
multistream dump, with its index beside it.
"""


def _dump_path(value: str, flag: str) -> str:
    if not value.endswith(".xml.bz2"):
        raise UsageError(f"--{flag}={value}: must end with .xml.bz2")
    return file_path(value, flag)


@dataclass(frozen=True, kw_only=True)
class UpdateOptions(Output, SqlTables, Dumps):
    """Options of the command `update`."""

    FIRST: ClassVar[tuple[str, ...]] = ("dumps", "changes", "sql", "output")
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "output": {
            "metavar": "FILE",
            "help": "the dump to write, such as dumps/enwiki-20260120-pages-articles-multistream.xml.bz2",
            "parse": _dump_path,
        },
        "sql": {
            "help": "the page table of the last day, WIKI-DATE-page.sql.gz: pages that it does not list are left out",
            "unset": "none: pages that have been deleted stay",
        },
    }

    changes: tuple[str, ...] = option(
        metavar="FILES",
        help="the daily dumps since, WIKI-DATE-pages-meta-hist-incr.xml.bz2: a glob, or several with commas",
        parse=files_named,
    )
    sql: tuple[str, ...] = ()
