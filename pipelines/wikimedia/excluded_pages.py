"""Pages that a list excludes (`--exclude_pages`), because somebody has asked for their removal.

A line of the list is `wiki<TAB>page id`, `wiki<TAB>title`, or the address of the page. Empty lines and lines that begin
with "#" are skipped.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

from wikianchor.io.errors import InputError
from wikianchor.io.storage import expand, read_bytes
from wikianchor.pipelines.wikimedia.languages import split_wiki
from wikianchor.pipelines.wikimedia.site import Site, wiki_of_url
from wikianchor.pipelines.wikimedia.titles import normalise_title

# Of mobile sites, as in en.m.wikipedia.org.
_MOBILE = re.compile(r"(?<=\.)m\.|(?<=//)m\.")


@dataclass(frozen=True)
class ExcludedPages:
    """The excluded pages of one wiki, by page id or by title."""

    ids: frozenset[int] = frozenset()
    titles: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.ids) + len(self.titles)

    def contains(self, page_id: int, title: str) -> bool:
        """Return whether a page is excluded."""
        return page_id in self.ids or title in self.titles

    def digest(self) -> str:
        """Return a checksum, "" for no page: a manifest must not repeat what was to be removed."""
        entries = [*map(str, sorted(self.ids)), *(f"={title}" for title in sorted(self.titles))]
        return hashlib.sha256("\n".join(entries).encode()).hexdigest()[:16] if entries else ""


NO_PAGES = ExcludedPages()


def read_excluded_pages(files: str, site: Site) -> ExcludedPages:
    """Read the pages of one wiki from lists.

    Args:
        files: paths and globs with commas between.
        site: the wiki.

    Raises:
        InputError: a file cannot be read, or a line is malformed.
    """
    ids, titles = set[int](), set[str]()
    for path in expand(files, "exclude_pages"):
        for number, line in enumerate(read_bytes(path).decode("utf-8-sig", "replace").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            wiki, page_id, title = _entry(line.strip())
            where = f"--exclude_pages={path}, line {number}"
            if not split_wiki(wiki)[0] or not (page_id or title):
                raise InputError(f"{where}: write enwiki, a tab, and a page id or a title; or the address of the page")
            if wiki != site.wiki:
                continue
            normal = normalise_title(title, site)
            if page_id:
                ids.add(page_id)
            elif normal is not None:
                titles.add(normal)
            else:
                raise InputError(f"{where}: {title!r} is no title in {wiki}")
    return ExcludedPages(frozenset(ids), frozenset(titles))


def _entry(line: str) -> tuple[str, int, str]:
    """Return the wiki, and the page id (0 for none) or the title ("" for none) of a line.

    >>> _entry("enwiki\\t42"), _entry("https://de.m.wikipedia.org/wiki/K%C3%B6ln#Lage")
    (('enwiki', 42, ''), ('dewiki', 0, 'Köln'))
    >>> _entry("https://en.wikipedia.org/w/index.php?title=1984&action=history")
    ('enwiki', 0, '1984')
    """
    wiki, tab, page = line.partition("\t")
    if tab:
        return (wiki.strip(), int(page), "") if page.strip().isdecimal() else (wiki.strip(), 0, page.strip())
    address = _MOBILE.sub("", line, count=1)
    try:
        parts = urlsplit(address)
        query = parse_qs(parts.query)
    except ValueError:
        return "", 0, ""
    title = unquote(parts.path.partition("/wiki/")[2]) or query.get("title", [""])[0]
    page_id = query.get("curid", [""])[0]
    return wiki_of_url(address), int(page_id) if page_id.isdecimal() else 0, title
