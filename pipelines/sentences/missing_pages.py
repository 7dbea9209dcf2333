"""Which articles and redirects the page table of a wiki has and its dump lacks: dumps skip pages now and then.

The table is the file WIKI-DATE-page.sql.gz, if it lies beside the dump WIKI-DATE-pages-articles.xml.bz2
(https://www.mediawiki.org/wiki/Manual:Page_table).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os.path import basename, dirname
from typing import Any

import numpy as np
import numpy.typing as npt

from wikianchor.io.storage import exists
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.wikimedia.dumps import content_of
from wikianchor.pipelines.wikimedia.sql import read_table

# Titles that the manifest holds, and that a warning names.
KEPT, NAMED = 10_000, 50
_DUMP, _PART = re.compile(r"(\w+-\d{8})-pages-"), re.compile(r"-p(\d+)p(\d+)\b")
_WIKITEXT = (None, b"", b"wikitext")
_COLUMNS = ("page_id", "page_namespace", "page_title", "page_content_model")


def page_table(dumps: Sequence[str]) -> str | None:
    """Return the path of the page table beside the dumps of a wiki, None where there is none."""
    names = {match[1] for path in dumps if (match := _DUMP.match(basename(path)))}
    if len(names) != 1:
        return None
    path = "/".join(filter(None, (dirname(dumps[0]), f"{names.pop()}-page.sql.gz")))
    return path if exists(path) else None


def missing_pages(table: str, dumps: Sequence[str], titles: Iterable[str]) -> dict[str, Any]:
    """Return what the manifest says of missing pages: the table, their number, and titles.

    Args:
        table: path of the page table.
        dumps: the dumps. If they are parts of one, only pages of their ranges of ids are looked for.
        titles: paths of the shards of `titles`.

    Raises:
        InputError, Truncated: the table cannot be read.
    """
    ids = [batch.column(0).to_numpy() for path in titles for batch in read_batches(path, ["page_id"])]
    in_dump = np.zeros(1 + max((int(column.max(initial=0)) for column in ids), default=0), np.bool_)
    for column in ids:
        in_dump[column] = True
    ranges = [(int(match[1]), int(match[2])) for path in dumps if (match := _PART.search(basename(path)))]
    missing = _not_among(table, in_dump, ranges)
    # Of a piece of a dump nearly all pages are missing: their titles are not kept.
    names = list(islice(missing, KEPT))
    return {"table": basename(table), "pages": len(names) + sum(1 for _ in missing), "titles": names}


def _not_among(table: str, in_dump: npt.NDArray[np.bool_], ranges: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the titles of articles and redirects whose page id is not marked."""
    is_known = in_dump.data
    for page, namespace, title, model in read_table(content_of(table), _COLUMNS, "page", table):
        if namespace != 0 or model not in _WIKITEXT or not isinstance(page, int) or not isinstance(title, bytes):
            continue
        is_asked = not ranges or any(first <= page <= last for first, last in ranges)
        if is_asked and not (page < len(is_known) and is_known[page]):
            yield title.decode("utf-8", "replace").replace("_", " ")


def warning(missing: dict[str, Any], wiki: str) -> str:
    """Return the line that names missing pages."""
    more = missing["pages"] - NAMED
    named = "; ".join(missing["titles"][:NAMED]) + (f"; and {more:,} more, in the manifest" if more > 0 else "")
    lacks = f"{wiki}: the dump lacks {missing['pages']:,} pages that {missing['table']} has"
    return f"{lacks}: fetch the dump again, or a later one: {named}"
