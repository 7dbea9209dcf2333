"""What is in a directory of dumps: files told apart by their content, and the wiki that a dump is of."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import files_in, matching
from wikianchor.pipelines.wikimedia.dump_names import is_part, of_newest_date, part_order
from wikianchor.pipelines.wikimedia.dumps import read_head
from wikianchor.pipelines.wikimedia.site import Site, site_from_header

_XML = re.compile(r"\.xml|\.bz2$|\.gz$|\.xz$")
# Exports without the text of articles, parts of a page's history, and files that are still being fetched.
_NO_PAGES = re.compile(r"^stub-|-stub-|-index\d*\.txt|pages-logging|abstract|\.json|\.sql|-p\d+r\d+r\d+\.xml|\.part$")
_JSON = re.compile(r"\.json(?:\.(?:gz|bz2))?$")
_ENTITY = re.compile(rb'\s*(?:\[\s*)?\{[^\n]*?"type"\s*:\s*"(?:item|property|lexeme)"')
_PAGE_PROPS = re.compile(r"(\w+)-.*page_props\.sql(?:\.gz)?$")
ENTITY_BYTES = 1 << 16


@dataclass(frozen=True)
class Dumps:
    """Files by what they are; `pages` by wiki, in order."""

    pages: Mapping[str, tuple[str, ...]]
    wikidata: tuple[str, ...]
    page_props: tuple[str, ...]


def find_dumps(places: str, wikis: Sequence[str]) -> Dumps:
    """Find the dumps among files, told by what is in them: the wiki of each by its own header.

    Args:
        places: directories, files and globs, separated by commas.
        wikis: the wikis wanted; none for all that are found.

    Raises:
        UsageError: no such directory or file.
        InputError: there is no dump of a wiki wanted, none at all, or no Wikidata; or a dump cannot be read.
    """
    paths = list_files(places)
    pages, wikidata, unread = tell_apart(paths)
    chosen = {wiki: tuple(one_of_each(pages.get(wiki, ()))) for wiki in wikis or sorted(pages)}
    missing = [wiki for wiki, found in chosen.items() if not found]
    if unread and (missing or not wikis):
        raise unread[0]
    if missing:
        raise InputError(
            f"--dumps={places} has no pages-articles dump of {missing[0]}; it has {', '.join(sorted(pages)) or 'none'}"
        )
    if not chosen:
        raise InputError(
            f"--dumps={places} has no pages-articles dump (a file such as enwiki-20260101-pages-articles.xml.bz2)"
        )
    props = tuple(props_of(paths, chosen))
    if not wikidata and not props:
        raise InputError(
            f"--dumps={places} has no JSON dump of Wikidata (wikidata-*.json.gz or .bz2) "
            "and no page_props.sql.gz of these wikis"
        )
    return Dumps(chosen, one_packing(wikidata), props)


def tell_apart(paths: Sequence[str]) -> tuple[dict[str, list[str]], list[str], list[InputError]]:
    """Tell files apart by what is in them: dumps of pages by wiki, dumps of Wikidata, and what cannot be read."""
    pages: dict[str, list[str]] = {}
    wikidata: list[str] = []
    unread: list[InputError] = []
    for path in paths:
        name = os.path.basename(path)
        try:
            if _XML.search(name) and not _NO_PAGES.search(name) and b"<mediawiki" in read_head(path):
                pages.setdefault(read_site([path], None)[0].wiki, []).append(path)
            elif _JSON.search(name) and _ENTITY.match(read_head(path, ENTITY_BYTES)):
                wikidata.append(path)
        except InputError as error:
            unread.append(error)
    return pages, wikidata, unread


def props_of(paths: Sequence[str], wikis: Iterable[str]) -> list[str]:
    """Return the page_props tables of wikis among files, the newest of each."""
    tables: dict[str, list[str]] = {wiki: [] for wiki in wikis}
    for path in paths:
        tables.get(page_props_wiki(path) or "", []).append(path)
    return sorted(path for found in tables.values() for path in of_newest_date(found))


def page_props_wiki(path: str) -> str | None:
    """Return the wiki that a page_props table is of by its name; None for any other file."""
    match = _PAGE_PROPS.match(os.path.basename(path))
    return match[1] if match else None


def list_files(places: str, flag: str = "dumps") -> list[str]:
    """Return the files in directories, and those named, sorted.

    Args:
        places: directories, files and globs, separated by commas.
        flag: that names them.

    Raises:
        UsageError: a place does not exist.
    """
    found: set[str] = set()
    for place in filter(None, (part.strip() for part in places.split(","))):
        directories, files = matching(place, directories=True), matching(place, directories=False)
        if not directories and not files:
            raise UsageError(f"--{flag}={place}: no such directory or file")
        found.update(files, *map(files_in, directories))
    return sorted(found)


def one_of_each(paths: Sequence[str]) -> list[str]:
    """Of a wiki's files keep those that make one dump, in the order of their pages: of the newest date, articles before
    exports and full histories, multistream before the same in one stream, parts before or without the whole."""
    files = of_newest_date(paths)
    for sort in ("pages-articles", "multistream"):
        files = [path for path in files if sort in os.path.basename(path)] or files
    parts = [path for path in files if is_part(path)]
    return sorted(parts or files, key=part_order)


def one_packing(paths: Sequence[str]) -> tuple[str, ...]:
    """Of the newest dump keep one packing where it is there in several: gzip reads eight times faster than bzip2."""
    best: dict[str, str] = {}
    files = of_newest_date(paths)
    for ending in (".bz2", "", ".gz"):
        best |= {path.removesuffix(ending): path for path in files if path.endswith(ending or ".json")}
    return tuple(sorted(best.values()))


def read_site(dumps: Sequence[str], wiki: str | None) -> tuple[Site, frozenset[str]]:
    """Return the wiki that the dumps are of, and the files that should end with </mediawiki>.

    Raises:
        InputError: a file is no export, is in another encoding, or the files are of several wikis.
    """
    found: dict[str, str] = {}
    footers: set[str] = set()
    site = None
    for path in dumps:
        raw = read_head(path)
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{path}: is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`")
        if b"<mediawiki" not in raw and b"<page>" not in raw:
            raise InputError(f"{path}: not a MediaWiki XML export (no <mediawiki> in its first megabyte)")
        this = site_from_header(raw.decode("utf-8", "replace"), wiki, path)
        found[this.wiki] = path
        if b"<mediawiki" in raw:
            footers.add(path)
        site = site or this
    if site is None or len(found) > 1:
        (first, one), (second, other) = sorted(found.items())[:2]
        raise InputError(f"--dumps: {one} is of {first}, {other} of {second}: run each wiki by itself")
    return site, frozenset(footers)


def wiki_of_header(path: str) -> str:
    """Return the database name in the header of a dump; "" where it has none."""
    try:
        return read_site([path], None)[0].wiki
    except InputError:
        return ""
