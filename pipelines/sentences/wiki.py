"""A wiki by its dumps: its site, templates and pages, read as `wikianchor sentences` reads them.

The Python API, the Beam transforms, `extract`, `report` and `verify` read pages through this object.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

from wikianchor.io.cache import cache_directory
from wikianchor.io.errors import InputError, Truncated, UsageError
from wikianchor.io.storage import local_path
from wikianchor.io.units import duration
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.rates import template_seconds
from wikianchor.pipelines.sentences.columns import PageTables
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader, PythonReader, make_text_reader
from wikianchor.pipelines.sentences.steps import keep_tail
from wikianchor.pipelines.templates.cache import table_of_dumps, table_of_shards
from wikianchor.pipelines.templates.store import TemplateStore
from wikianchor.pipelines.text.dump_sample import with_writing
from wikianchor.pipelines.text.page_text import PageText, TextReader, TextSentence
from wikianchor.pipelines.wikimedia.choices import BUILTIN, ENGINES, FROM_DUMP, LUA, OFF, PARSERS, SPLITTERS
from wikianchor.pipelines.wikimedia.dump_names import dump_files, part_order
from wikianchor.pipelines.wikimedia.dumps import Range, read_range, whole_file
from wikianchor.pipelines.wikimedia.excluded_pages import NO_PAGES, read_excluded_pages
from wikianchor.pipelines.wikimedia.inventory import read_site
from wikianchor.pipelines.wikimedia.options import check_lua
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_element, parse_page, unescape
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import normalise_title
from wikianchor.pipelines.wikimedia.wikitext.served import facts_of

# Nothing is written but what the cache holds.
NO_WORKSPACE = Workspace("", "", "")
log = logging.getLogger("wikianchor")
# Pages whose rows are taken out of the reader at a time.
BATCH = 200
# Reading the templates is announced where it takes longer, in seconds.
LONG = 10.0


class PageRows(NamedTuple):
    """The rows of a page.

    Attributes:
        title: its row of `titles`; None for a page that the dataset leaves out.
        sentences: its rows of `sentences`.
        fragments: its rows of `fragments`.
        counts: its ledger, or why the page is left out: {"pages:other_namespace": 1}, for example.
        document: its row of `documents`; None where these are not read, and for a redirect.

    >>> import wikianchor
    >>> wiki = wikianchor.open_wiki("demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2")
    >>> rows = wiki.read(wiki.page("Jupiter"))
    >>> rows.title["title"], len(rows.sentences) == rows.counts["sentences:kept"]
    ('Jupiter', True)
    """

    title: dict[str, Any] | None
    sentences: list[dict[str, Any]]
    fragments: list[dict[str, Any]]
    counts: dict[str, int]
    document: dict[str, Any] | None = None


class Wiki:
    """The pages of a wiki and their rows, the same as those of `wikianchor sentences`. Made by `open_wiki`.

    Copies that other processes unpickle share the table of templates on disk.

    Args:
        reader: the options.
        dumps: its files, in the order of their pages; none for a wiki of which only single pages are read.
        footers: the files that should end with </mediawiki>.
        templates: path of the table of templates; None to take the built-in rules alone.

    >>> import wikianchor
    >>> wiki = wikianchor.open_wiki("demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2")
    >>> wiki.site.wiki, sum(page.redirect is None for page in wiki.pages())
    ('enwiki', 62)
    >>> next(wiki.sentences())["text"]
    'The Solar System is the Sun together with everything that stays in orbit around it.'
    """

    def __init__(
        self,
        reader: DumpReader,
        dumps: Sequence[str] = (),
        footers: Iterable[str] = (),
        templates: str | None = None,
    ) -> None:
        self.dumps, self.templates = tuple(dumps), templates
        self._reader, self._footers = reader, frozenset(footers)

    def __repr__(self) -> str:
        return f"<{self.site.wiki} in {', '.join(self.dumps) or 'no dump'}>"

    def __getstate__(self) -> dict[str, Any]:
        # The readers hold compiled code and open files.
        return {name: value for name, value in vars(self).items() if name not in ("_pages", "text")}

    @property
    def site(self) -> Site:
        """The wiki's name, language and namespaces."""
        return self._reader.site

    def with_templates(self, path: str | None) -> Wiki:
        """Return the wiki with the table of templates at a path."""
        return Wiki(self._reader, self.dumps, self._footers, path)

    def as_in(self, options: Mapping[str, Any]) -> Wiki:
        """Return the wiki with sentences as in a dataset, given the options in its manifest: with `--previous`, they
        follow from an earlier dump."""
        reader = replace(self._reader, site=with_writing(self.site, self.dumps, options))
        return type(self)(reader, self.dumps, self._footers, self.templates)

    def sentences(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `sentences`, in the order of the dump; `wikianchor.schemas.sentences` names the fields.

        Raises:
            Truncated: the dump is cut off; the rows of all pages before that have been yielded.
            InputError: a file cannot be read, or a page is broken.
        """
        return self.rows("sentences")

    def fragments(self) -> Iterator[dict[str, Any]]:
        """Yield the rows of `fragments`: the text that is no sentence; errors are those of `sentences`."""
        return self.rows("fragments")

    def documents(self) -> Iterator[dict[str, Any]]:
        """Yield the documents; errors are those of `sentences`.

        Raises:
            UsageError: `open_wiki` was not asked for them.
        """
        if not self._reader.documents:
            raise UsageError("documents are not read: call open_wiki with documents=True")
        return self.rows("documents")

    def rows(self, config: str, part: Range | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows of a config of the dataset.

        Args:
            config: sentences, fragments, titles, ledger or documents.
            part: a range of a dump; None for all dumps.
        """
        pages = self._make_reader()
        tables = pages.new_tables()
        wanted = getattr(tables, config)
        read = 0
        for raw, where in self.elements(part):
            if (page := _parsed(pages, raw, where, Counter())) is not None:
                pages.read_page(page)
                if (read := read + 1) % BATCH == 0:
                    yield from wanted.take().to_pylist()
                    tables = pages.new_tables()
                    wanted = getattr(tables, config)
        yield from wanted.take().to_pylist()

    def pages(self) -> Iterator[Page]:
        """Yield the articles and redirects that the dataset is made from; errors are those of `sentences`.

        Pages of other namespaces and content models, and those of `exclude_pages`, are left out.
        """
        pages = PythonReader(self._reader)
        for raw, where in self.elements():
            if (page := _parsed(pages, raw, where, Counter())) is not None:
                yield page

    def page(self, title: str) -> Page:
        """Return the page of a title, of any namespace. The dump is read up to the page.

        Args:
            title: is normalised like the title in a link.

        Raises:
            InputError: no page has the title, or the dump cannot be read up to it.
        """
        wanted = normalise_title(title, self.site) or title
        for raw, where in self.elements():
            if element_title(raw) == wanted:
                return parse_page(raw, where)
        raise InputError(f"{', '.join(self.dumps)}: no page has the title {wanted}: small and capital letters matter")

    def read(self, page: Page) -> PageRows:
        """Return the rows of a page, which may be one that is in no dump.

        Args:
            page: `page` and `pages` return some; `page._replace(text="...")` has another text.

        Raises:
            InputError: the page has no title.
        """
        return self.read_element(page_element(page), f"page {page.title!r}")

    def read_element(self, raw: bytes, where: str) -> PageRows:
        """Return the rows of a <page> element.

        Args:
            raw: the bytes from <page> to </page>.
            where: file and offset, for messages.

        Raises:
            InputError: the element is broken.
        """
        pages, tables = self._pages
        counts: Counter[str] = Counter()
        page = _parsed(pages, raw, where, counts)
        if page is None:
            return PageRows(None, [], [], dict(counts))
        counts.update(pages.read_page(page))
        rows = {name: table.take().to_pylist() for name, table in tables._asdict().items()}
        document = next(iter(rows["documents"]), None)
        return PageRows(rows["titles"][0], rows["sentences"], rows["fragments"], dict(counts), document)

    def extract(self, text: str, *, title: str = "") -> PageText:
        """Return what a reader sees of a page of this wiki, with what its templates show.

        Args:
            text: wikitext of the page.
            title: title of the page; links to it are no links, and templates can show it.
        """
        return self.text.extract(text, title)

    def judge(self, text: str, *, title: str = "") -> list[TextSentence]:
        """Return every sentence of an article of this wiki, with the reason why the dataset leaves it out.

        Args:
            text: wikitext of the article.
            title: its title.
        """
        return list(self.text.sentences(text, title))

    def elements(self, part: Range | None = None) -> Iterator[tuple[bytes, str]]:
        """Yield each <page> element, and where it stands; errors are those of `sentences`.

        Args:
            part: a range of a dump; None for all dumps.
        """
        parts = [*map(whole_file, self.dumps)] if part is None else [part]
        for each in parts:
            tail = bytearray()
            try:
                for raw, offset in cut_pages(keep_tail(read_range(each), tail), each.path):
                    yield raw, f"{each.path} near byte {offset}"
                if part is None and each.path in self._footers and b"</mediawiki>" not in tail:
                    raise Truncated(f"{each.path}: cut off after its last whole page: fetch it again")
            except Truncated as error:
                if not self._reader.allow_truncated:
                    raise Truncated(f"{error}, or take what is there with allow_truncated") from error

    @cached_property
    def text(self) -> TextReader:
        """What reads the text of its pages."""
        store = TemplateStore(self.templates) if self.templates else None
        return make_text_reader(self._reader, store, self._reader.engine)

    @cached_property
    def _pages(self) -> tuple[PageReader, PageTables]:
        pages = self._make_reader()
        return pages, pages.new_tables()

    def _make_reader(self) -> PageReader:
        # One for each loop: a reader holds the page that it has parsed last, and the rows of those before.
        return make_page_reader(self._reader, self.templates)


def _parsed(pages: PageReader, raw: bytes, where: str, counts: Counter[str]) -> Page | None:
    """Return what `PageReader.parse` returns.

    Raises:
        InputError: the page is broken.
    """
    problems: list[str] = []
    page = pages.parse(raw, where, counts, problems)
    if problems:
        raise InputError(problems[0])
    return page


def element_title(raw: bytes) -> str:
    """Return the title of a <page> element without decoding the rest."""
    begin = raw.find(b"<title>") + len(b"<title>")
    return unescape(raw[begin : raw.find(b"</title>", begin)].decode("utf-8", "replace"))


def wiki_of_site(site: Site, engine: str | None = None) -> Wiki:
    """Return a wiki without a dump, whose templates show what the built-in rules say."""
    return Wiki(
        DumpReader(site, NO_WORKSPACE, "rules", "wikianchor", allow_truncated=False, fragments=True, engine=engine)
    )


def open_wiki(
    dumps: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    wiki: str | None = None,
    templates: str = FROM_DUMP,
    lua: str = OFF,
    splitter: str = "rules",
    parser: str = "wikianchor",
    fragments: bool = True,
    engine: str | None = None,
    allow_truncated: bool = False,
    exclude_pages: str | None = None,
    cache: str | None = None,
    documents: bool = False,
) -> Wiki:
    """Open the dumps of a wiki, to read their pages as `wikianchor sentences` does.

    The first call reads the Template pages of the dumps, in this process, into a table on disk that later calls find in
    the cache; for a large wiki give `templates` the dataset that `wikianchor templates` makes with many workers.

    Args:
        dumps: a pages-articles dump: a file, a glob, several with commas, or a list of these.
        wiki: database name of the wiki, such as enwiki, where the header of the dumps does not name it or is wrong.
        templates: what templates show: "dump" for the Template pages of the dumps, "builtin" for rules by their names
            alone, or the directory of a dataset `templates` or `sentences` of these dumps. Where that is one of
            `sentences`, the scripts and abbreviations are those in its manifest, instead of those of the dumps.
        lua, splitter, parser, fragments, engine, allow_truncated, documents: as the options of `wikianchor sentences`.
        exclude_pages: as the option of `wikianchor sentences`.
        cache: directory of caches, local or a URI; None for $WIKIANCHOR_CACHE, $XDG_CACHE_HOME/wikianchor or
            ~/.cache/wikianchor.

    Raises:
        InputError: a file is missing, or no dump, or the dumps are of several wikis.
        UsageError: an option has no such value.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> directory = Path(mkdtemp())
    >>> page = "<page><title>{}</title><ns>{}</ns><id>{}</id><revision><text>{}</text></revision></page>"
    >>> pages = page.format("Bus", 0, 1, "A bus of {{maker}} runs.") + page.format("Template:Maker", 10, 2, "[[Rex]]")
    >>> _ = (directory / "pages.xml").write_text(f"<mediawiki>{pages}</mediawiki>")
    >>> wiki = open_wiki(directory / "pages.xml", wiki="enwiki", cache=str(directory))
    >>> [(row["text"], [link["target"] for link in row["links"]]) for row in wiki.sentences()]
    [('A bus of Rex runs.', ['Rex'])]
    >>> wiki.extract("It is {{maker}}.").text
    'It is Rex.'
    >>> wiki.read(wiki.page("Bus")._replace(text="It is {{what}}.")).counts["sentences:template"]
    1
    """
    paths = _files(dumps)
    site, footers = read_site(paths, wiki)
    manifest = None if templates in (FROM_DUMP, BUILTIN) else read_manifest(templates)
    site = with_writing(site, paths, manifest["options"] if manifest else None)
    given = {
        "splitter": (splitter, SPLITTERS),
        "parser": (parser, PARSERS),
        "lua": (lua, LUA),
        "engine": (engine, (None, *ENGINES)),
    }
    for name, (value, choices) in given.items():
        if value not in choices:
            raise UsageError(f"{name}={value!r}: choose of {', '.join(filter(None, choices))}")
    reader = DumpReader(
        site,
        NO_WORKSPACE,
        splitter,
        parser,
        allow_truncated,
        excluded=read_excluded_pages(exclude_pages, site) if exclude_pages else NO_PAGES,
        fragments=fragments,
        engine=engine,
        documents=documents,
    )
    cache = cache or cache_directory()
    facts = facts_of(paths, lua)
    if problem := check_lua(lua):
        raise UsageError(f"lua={lua!r} {problem}")
    if templates == FROM_DUMP:
        table = table_of_dumps(paths, site, cache, partial(_announce, paths, cache), facts)
    elif templates == BUILTIN:
        table = None
    else:
        table = table_of_shards(_template_shards(templates, manifest, site), site, cache, facts)
    return Wiki(reader, paths, footers, table)


def _files(dumps: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that `open_wiki` is given, in the order of their pages.

    Raises:
        InputError: there is no such file.
        UsageError: no file is named.
    """
    given: Sequence[Any] = dumps if isinstance(dumps, (list, tuple)) else [dumps]
    paths = {path for each in given for path in dump_files(local_path(each), "dumps")}
    if not paths:
        raise UsageError("open_wiki: name the dumps of a wiki")
    return sorted(paths, key=part_order)


def _template_shards(directory: str, manifest: dict[str, Any] | None, site: Site) -> list[str]:
    """Return the shards of the templates in the directory of a dataset with a manifest.

    Raises:
        InputError: it is no dataset with templates, or of another wiki.
    """
    # A dataset has no config `templates` where the dump has no Template page.
    if manifest is None or (manifest["dataset"] != "templates" and manifest["options"].get("templates") != FROM_DUMP):
        raise InputError(f"{directory}: no finished dataset with templates: give one of `wikianchor templates`")
    if manifest["options"]["wiki"] != site.wiki:
        raise InputError(f"{directory}: holds the templates of {manifest['options']['wiki']}, not of {site.wiki}")
    return Dataset(directory, manifest).shards("templates")


def _announce(paths: Sequence[str], cache: str) -> None:
    if (seconds := template_seconds(paths)) > LONG:
        log.info("reading the templates of %s, once, into %s: about %s", ", ".join(paths), cache, duration(seconds))
