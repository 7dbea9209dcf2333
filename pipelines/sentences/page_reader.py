"""Read pages: articles and redirects become rows of `sentences`, `fragments`, `titles`, the ledger and `documents`."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.columns import (
    DocumentColumns,
    LedgerColumns,
    PageTables,
    SentenceColumns,
    TitleColumns,
)
from wikianchor.pipelines.sentences.previous import FRAGMENTS, PreviousPage
from wikianchor.pipelines.templates.store import TemplateStore
from wikianchor.pipelines.text.documents import make_document
from wikianchor.pipelines.text.page_text import TextReader
from wikianchor.pipelines.text.prose import Sentence, aside_fragments, page_sentences
from wikianchor.pipelines.text.template_losses import TEMPLATE
from wikianchor.pipelines.wikimedia.excluded_pages import NO_PAGES, ExcludedPages
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds
from wikianchor.pipelines.wikimedia.pages import Page, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title
from wikianchor.pipelines.wikimedia.wikitext.link_counts import unbalanced
from wikianchor.schemas import sentences


@dataclass(frozen=True)
class DumpReader:
    """The options of reading a dump.

    Attributes:
        site: the wiki.
        work: the directories of the run.
        splitter: name of the sentence splitter.
        parser: name of the wikitext parser.
        allow_truncated: accept a truncated dump and process its complete pages.
        previous: directory of a dataset of an earlier dump, made with the same options: the rows of unchanged pages are
            copied from it.
        excluded: pages that are left out.
        fragments: write the text that is no sentence too.
        engine: one of `choices.ENGINES`; None for the compiled core where it is installed.
        documents: write the documents of pages too.
    """

    site: Site
    work: Workspace
    splitter: str
    parser: str
    allow_truncated: bool
    previous: str | None = None
    excluded: ExcludedPages = NO_PAGES
    fragments: bool = False
    engine: str | None = None
    documents: bool = False


def parse_article(
    raw: bytes,
    where: str,
    site: Site,
    counts: Counter[str],
    problems: list[str],
    any_namespace: bool = False,
    parse: Callable[[bytes, str], Page] = parse_page,
) -> Page | None:
    """Return a page of the main namespace; count any other, and report a broken one, and return None.

    Args:
        raw: the <page> element.
        where: file and offset, for messages.
        site: the wiki.
        counts: those of the range, added to.
        problems: errors in the input, added to.
        any_namespace: accept pages of every namespace.
        parse: parses the bytes.
    """
    try:
        namespace = page_namespace(raw, where)
        page = parse(raw, where) if any_namespace or not namespace else None
    except InputError as error:
        problems.append(str(error))
        return None
    if page is not None and namespace is None and not any_namespace:
        # Export formats before 0.5 have no <ns>: the title tells.
        target = parse_target(page.title, site)
        if target is None or target.namespace or target.interwiki:
            page = None
    if page is None:
        counts["pages:other_namespace"] += 1
    return page


def make_text_reader(reader: DumpReader, store: TemplateStore | None, engine: str | None = None) -> TextReader:
    """Return what reads the text of the pages of a wiki.

    Args:
        reader: the options.
        store: the wiki's own templates; None to take the built-in rules alone.
        engine: one of `choices.ENGINES`; None for the compiled core where it is installed.
    """
    return TextReader(
        reader.site,
        parser=reader.parser,
        splitter=reader.splitter,
        find_template=store.find if store else None,
        marks_disambiguation=disambiguation_marker(reader.site, store),
        asides=reader.fragments,
        engine=engine,
        structured=reader.documents,
    )


def disambiguation_marker(site: Site, store: TemplateStore | None) -> Callable[[str], bool] | None:
    """Return what tells whether a template, by its name in a call, marks disambiguation pages; None without a store."""
    return (lambda name: store.marks_disambiguation(template_title(name, site))) if store else None


class PageReader(ABC):
    """Read the pages of one wiki with an engine. Loading its rules takes seconds, so make one for each worker.

    Args:
        reader: the options.
        templates: path of the table of templates; None to take the built-in rules alone.
    """

    #: A page that was read has no rows in a previous dataset, see `_UnchangedPages`.
    unchanged: PreviousPage | None = None
    #: Reads many pages at once, as `parse` and `read_page` do: `PageReader.read_pages` of the core. None for no such.
    read_pages: Callable[..., tuple[int, int, int]] | None = None
    _kinds: PageKinds

    def __init__(self, reader: DumpReader, templates: str | None = None) -> None:
        self._site, self.excluded, self._with_fragments = reader.site, reader.excluded, reader.fragments
        self._with_documents = reader.documents
        self._store = TemplateStore(templates) if templates else None
        self._redirect = reader.site.redirect_pattern()
        self._redirect_target = re.compile(r"\[\[([^\]|\n]*)")

    @abstractmethod
    def new_tables(self) -> PageTables:
        """Return empty tables, to which `read_page` adds rows from now on."""

    @abstractmethod
    def _add_redirect(self, page: Page, target: str, fragment: str) -> None:
        """Add the row of a redirect."""

    @abstractmethod
    def _read_article(self, page: Page) -> Mapping[str, int]:
        """Add the rows of an article to the tables; return its ledger."""

    def _parse_page(self, raw: bytes, where: str) -> Page:
        return parse_page(raw, where)

    def parse(self, raw: bytes, where: str, counts: Counter[str], problems: list[str]) -> Page | None:
        """Return an article or redirect of the main namespace; count any other page and return None.

        Args:
            raw: the <page> element.
            where: file and offset, for messages.
            counts: those of the range, added to.
            problems: errors in the input, added to.
        """
        page = parse_article(raw, where, self._site, counts, problems, parse=self._parse_page)
        if page is None:
            return None
        # Export formats before 0.5 have no <redirect> either: the text tells.
        if page.namespace is None and page.redirect is None and (match := self._redirect.match(page.text)):
            page = page._replace(redirect=match[1])
        if page.model not in ("wikitext", ""):
            counts["pages:other_model"] += 1
            return None
        if self.excluded.contains(page.page_id, page.title):
            counts["pages:excluded"] += 1
            return None
        if (
            self.excluded
            and page.redirect is not None
            and self.leads_to_excluded(self._redirect_of(page.redirect, page.text)[0])
        ):
            counts["pages:redirect_to_excluded"] += 1
            return None
        return page

    def leads_to_excluded(self, title: str | None) -> bool:
        """Return whether a redirect, by the title of its target, leads to a page that is left out by its title."""
        return title is not None and title in self.excluded.titles

    def read_page(self, page: Page) -> Mapping[str, int]:
        """Add the title, the sentences, the fragments, the ledger and the document of a page to the tables.

        Args:
            page: the last one that `parse` has returned.

        Returns:
            The ledger of the page: its kind, how many of its links and sentences are kept, or dropped by reason, and
            its number of fragments by region.

        Raises:
            InputError: the ledger does not balance.
        """
        if page.redirect is not None:
            self._add_redirect(page, *self._redirect_of(page.redirect, page.text))
            return {"pages:redirects": 1}
        counts = self._read_article(page)
        self._check(page.title, counts)
        return counts

    def _check(self, title: str, counts: Mapping[str, int]) -> None:
        if (problem := unbalanced(counts)) is not None:
            raise InputError(
                f"page {title!r} of {self._site.wiki}: its ledger does not balance: {problem}: "
                "please report it, and leave the page out with --exclude_pages"
            )

    def _redirect_of(self, redirect: str, text: str) -> tuple[str, str]:
        """Return the title and the fragment of the target of a redirect.

        The title is that of the export's <redirect>, which has no fragment: that comes from the link in the text.
        """
        title, _, fragment = redirect.partition("#")
        match = self._redirect_target.search(text)
        link = parse_target(match[1], self._site) if match else None
        target = parse_target(title, self._site) if title else link
        if target is None or not target.title:
            return title, fragment
        if not fragment and link is not None and link.title == target.title:
            fragment = link.fragment
        return target.title, fragment


class PythonReader(PageReader):
    """Reads the pages of one wiki in Python."""

    def __init__(self, reader: DumpReader, templates: str | None = None) -> None:
        super().__init__(reader, templates)
        self.new_tables()
        text = make_text_reader(reader, self._store, "python")
        self._extractor, self._split, self._kinds = text.extractor, text.split, text.kinds

    def new_tables(self) -> PageTables:
        wiki = self._site.wiki
        self._sentences, self._fragments = SentenceColumns(wiki), SentenceColumns(wiki, sentences.FRAGMENTS)
        self._titles, self._ledger = TitleColumns(wiki), LedgerColumns(wiki)
        self._documents = DocumentColumns(self._site)
        return PageTables(self._sentences, self._fragments, self._titles, self._ledger, self._documents)

    def _add_redirect(self, page: Page, target: str, fragment: str) -> None:
        self._titles.add_redirect(page, target, fragment)

    def _read_article(self, page: Page) -> Mapping[str, int]:
        fragment_rows = self._fragments if self._with_fragments else None
        counts: Counter[str] = Counter()
        counts["pages:articles"] += 1
        flags = self._kinds.flags(page.title, page.text)
        self._titles.add_article(page, flags, self._extractor.linked_titles(page.text, page.title))
        extract = self._extractor.extract(page.text, page.title, page.timestamp)
        dropped: Counter[str] = Counter()
        is_disambiguation = "disambiguation" in flags
        kept: list[Sentence] = []
        if is_disambiguation:
            counts["pages:disambiguation"] += 1
        if is_disambiguation and fragment_rows is None:
            dropped["disambiguation_page"] = len(extract.links.starts)
        else:
            fragments: list[Sentence] | None = None if fragment_rows is None else []
            kept = page_sentences(
                extract, self._split, self._site.language, dropped, fragments, writing=self._site.writing
            )
            if is_disambiguation and fragments is not None:
                fragments = sorted(sentence._replace(region="disambiguation") for sentence in (*kept, *fragments))
                dropped = +Counter(heading=dropped["heading"], disambiguation_page=_links_in(fragments))
                kept = []
            self._sentences.add(page, kept, extract.links)
            if fragment_rows is not None and fragments is not None:
                counts.update(_add_fragments(page, kept, fragments, extract, fragment_rows))
            counts["links:kept"] += _links_in(kept)
            counts["sentences:kept"] += len(kept)
        for reason, number in extract.counts.items():
            if reason != "link":
                counts[reason if ":" in reason else f"links:{reason}"] += number
        for reason, number in dropped.items():
            counts[reason if reason.startswith(("sentences:", TEMPLATE)) else f"links:{reason}"] += number
        self._ledger.add(page, counts)
        if self._with_documents:
            self._documents.add(page, make_document(extract, self._site.wiki, kept))
        return counts


def _links_in(page_sentences: Iterable[Sentence]) -> int:
    return sum(sentence.last - sentence.first for sentence in page_sentences)


def _add_fragments(
    page: Page, kept: Sequence[Sentence], fragments: Sequence[Sentence], extract: Extract, rows: SentenceColumns
) -> Counter[str]:
    """Add the fragments of a page, and its asides after them; return their number by region."""
    rows.add(page, fragments, extract.links)
    counts = Counter(FRAGMENTS + sentence.region for sentence in fragments)
    number = max((of_page[-1].number + 1 for of_page in (kept, fragments) if of_page), default=0)
    for aside in extract.asides:
        in_aside = aside_fragments(aside, number)
        rows.add(page, in_aside, aside.links)
        number += len(in_aside)
        counts[FRAGMENTS + aside.region] += len(in_aside)
    return counts
