"""Find dumps in directories: classify files by their content, and read which wiki a dump is of."""

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
# Exports without the text of articles, parts of a page's history, changes of a day, and unfinished downloads.
_NO_PAGES = re.compile(
    r"^stub-|-stub-|-index\d*\.txt|pages-logging|abstract|\.json|\.sql|-p\d+r\d+r\d+\.xml|-incr\.xml|\.part$"
)
_JSON = re.compile(r"\.json(?:\.(?:gz|bz2))?$")
_ENTITY = re.compile(rb'\s*(?:\[\s*)?\{[^\n]*?"type"\s*:\s*"(?:item|property|lexeme)"')
_PAGE_PROPS = re.compile(r"(\w+)-.*page_props\.sql(?:\.gz)?$")
ENTITY_BYTES = 1 << 16


@dataclass(frozen=True)
class Dumps:
    """The dumps of a build.

    Attributes:
        pages: the files of the XML dump of each wiki, in page order.
        wikidata: files of Wikidata's JSON dump.
        page_props: page_props tables of the wikis.
    """

    pages: Mapping[str, tuple[str, ...]]
    wikidata: tuple[str, ...]
    page_props: tuple[str, ...]


def find_dumps(paths: str, wikis: Sequence[str]) -> Dumps:
    """Find the dumps in directories by the content of files. The header of an XML dump names its wiki.

    Args:
        paths: directories, files and globs, separated by commas.
        wikis: database names of the wikis to build; empty for all wikis that have a dump.

    Raises:
        UsageError: a path does not exist.
        InputError: the dump of a wiki is missing, there is no dump at all, or none of Wikidata; or a dump cannot be
            read.
    """
    files = list_files(paths)
    pages, wikidata, errors = classify_files(files)
    chosen = {wiki: tuple(newest_dump(pages.get(wiki, ()))) for wiki in wikis or sorted(pages)}
    missing = [wiki for wiki, dump in chosen.items() if not dump]
    if errors and (missing or not wikis):
        raise errors[0]
    if missing:
        raise InputError(
            f"--dumps={paths} has no pages-articles dump of {missing[0]}; it has {', '.join(sorted(pages)) or 'none'}"
        )
    if not chosen:
        raise InputError(
            f"--dumps={paths} has no pages-articles dump (a file such as enwiki-20260101-pages-articles.xml.bz2)"
        )
    props = tuple(newest_page_props(files, chosen))
    if not wikidata and not props:
        raise InputError(
            f"--dumps={paths} has no JSON dump of Wikidata (wikidata-*.json.gz or .bz2) "
            "and no page_props.sql.gz of these wikis"
        )
    return Dumps(chosen, newest_wikidata(wikidata), props)


def classify_files(paths: Sequence[str]) -> tuple[dict[str, list[str]], list[str], list[InputError]]:
    """Classify files by their content.

    Returns:
        XML dumps by wiki, JSON dumps of Wikidata, and the errors of files that cannot be read.
    """
    pages: dict[str, list[str]] = {}
    wikidata: list[str] = []
    errors: list[InputError] = []
    for path in paths:
        name = os.path.basename(path)
        try:
            if _XML.search(name) and not _NO_PAGES.search(name) and b"<mediawiki" in read_head(path):
                pages.setdefault(read_site([path], None)[0].wiki, []).append(path)
            elif _JSON.search(name) and _ENTITY.match(read_head(path, ENTITY_BYTES)):
                wikidata.append(path)
        except InputError as error:
            errors.append(error)
    return pages, wikidata, errors


def newest_page_props(paths: Sequence[str], wikis: Iterable[str]) -> list[str]:
    """Return the newest page_props table of each wiki among files."""
    tables: dict[str, list[str]] = {wiki: [] for wiki in wikis}
    for path in paths:
        tables.get(page_props_wiki(path) or "", []).append(path)
    return sorted(path for table in tables.values() for path in of_newest_date(table))


def page_props_wiki(path: str) -> str | None:
    """Return the wiki of a page_props table by its file name; None for any other file.

    >>> page_props_wiki("dumps/enwiki-20260101-page_props.sql.gz")
    'enwiki'
    """
    match = _PAGE_PROPS.match(os.path.basename(path))
    return match[1] if match else None


def list_files(paths: str, flag: str = "dumps") -> list[str]:
    """List the files that paths stand for, sorted.

    Args:
        paths: directories, files and globs, separated by commas.
        flag: name of the option, for the message.

    Raises:
        UsageError: a path does not exist.
    """
    listed: set[str] = set()
    for path in filter(None, (part.strip() for part in paths.split(","))):
        directories, files = matching(path, directories=True), matching(path, directories=False)
        if not directories and not files:
            raise UsageError(f"--{flag}={path}: no such directory or file")
        listed.update(files, *map(files_in, directories))
    return sorted(listed)


def newest_dump(paths: Sequence[str]) -> list[str]:
    """Choose the files of a wiki that make up one dump, in page order.

    Files of the newest date are taken. Among these, articles come before exports and full histories, multistream files
    before the same in one stream, and parts before the whole.
    """
    files = of_newest_date(paths)
    for sort in ("pages-articles", "multistream"):
        files = [path for path in files if sort in os.path.basename(path)] or files
    parts = [path for path in files if is_part(path)]
    return sorted(parts or files, key=part_order)


def newest_wikidata(paths: Sequence[str]) -> tuple[str, ...]:
    """Choose the files of Wikidata's newest dump, each in one compression: gzip if there is one, which is decompressed
    eight times as fast as bzip2."""
    best: dict[str, str] = {}
    files = of_newest_date(paths)
    for ending in (".bz2", "", ".gz"):
        best |= {path.removesuffix(ending): path for path in files if path.endswith(ending or ".json")}
    return tuple(sorted(best.values()))


def read_site(dumps: Sequence[str], wiki: str | None) -> tuple[Site, frozenset[str]]:
    """Read the headers of dumps.

    Args:
        dumps: XML exports of one wiki.
        wiki: its database name if the user gave it; it then takes precedence over the header.

    Returns:
        The wiki, and the files that should end with </mediawiki>.

    Raises:
        InputError: a file is no export, is UTF-16, or the files are of several wikis.
    """
    path_of: dict[str, str] = {}
    footers: set[str] = set()
    site = None
    for path in dumps:
        raw = read_head(path)
        if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise InputError(f"{path}: is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`")
        if b"<mediawiki" not in raw and b"<page>" not in raw:
            raise InputError(f"{path}: not a MediaWiki XML export (no <mediawiki> in its first megabyte)")
        site_of_file = site_from_header(raw.decode("utf-8", "replace"), wiki, path)
        path_of[site_of_file.wiki] = path
        if b"<mediawiki" in raw:
            footers.add(path)
        site = site or site_of_file
    if site is None or len(path_of) > 1:
        (first_wiki, first), (second_wiki, second) = sorted(path_of.items())[:2]
        raise InputError(f"--dumps: {first} is of {first_wiki}, {second} of {second_wiki}: run each wiki by itself")
    return site, frozenset(footers)


def wiki_of_header(path: str) -> str:
    """Return the database name in the header of a dump, "" if there is none or the file is no dump."""
    try:
        return read_site([path], None)[0].wiki
    except InputError:
        return ""
