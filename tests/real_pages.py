"""The pages of the real dumps at hand, for tests and for `benchmarks/rightness.py`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader
from wikianchor.pipelines.wikimedia.dumps import Range, read_head, read_range
from wikianchor.pipelines.wikimedia.languages import is_language_edition
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages
from wikianchor.pipelines.wikimedia.site import Site, site_for, site_from_header


def articles(root: Path) -> dict[str, tuple[Site, dict[str, str]]]:
    """Return the articles of each wiki by title; of two dumps that hold a page the first counts.

    Files that are no dumps are left out, and a damaged dump counts as far as it goes.
    """
    wikis: dict[str, tuple[Site, dict[str, str]]] = {}
    for path in sorted(str(path) for path in root.rglob("*") if path.is_file()):
        try:
            site = site_of(path)
            pages = wikis.setdefault(site.wiki, (site, {}))[1]
            reader = page_reader(site)
            for page in pages_of(reader, path):
                if page.text.strip():
                    pages.setdefault(page.title, page.text)
        except InputError as error:
            print(f"left out: {str(error)[:150]}", file=sys.stderr)
    return wikis


def page_reader(site: Site, engine: str | None = "python") -> PageReader:
    """Return what `sentences` reads the pages of a wiki with; by the core where there is one, if `engine` is None."""
    work = Workspace("", "", "")
    return make_page_reader(
        DumpReader(site, work, splitter="rules", parser="wikianchor", allow_truncated=False, engine=engine)
    )


def pages_of(reader: PageReader, path: str) -> Iterator[Page]:
    """Yield the articles of a dump that are no redirects."""
    for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), last=True)), path):
        page = reader.parse(raw, path, Counter(), [])
        if page is not None and page.redirect is None:
            yield page


def site_of(path: str) -> Site:
    """Return the wiki of a dump: by its file name or folder, because some samples have no header or that of another
    wiki; else by its header."""
    name, folder = re.match(r"([a-z_]+wiki)-", Path(path).name), Path(path).parent.name.replace("-", "_") + "wiki"
    for wiki in (name[1] if name else "", folder):
        if is_language_edition(wiki):
            return site_for(wiki)
    return site_from_header(read_head(path).decode("utf-8", "replace"), None, path)
