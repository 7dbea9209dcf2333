"""Dumps: a wiki with its templates and the rows of its pages, and iterators over pages and items.

They read files from the beginning to the end in one process; `wikianchor.pipelines` reads them with many workers."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.options import among, split_list
from wikianchor.io.storage import local_path
from wikianchor.pipelines.sentences.wiki import PageRows, Wiki, open_wiki
from wikianchor.pipelines.wikimedia.dumps import content_of, read_head, read_range, whole_file
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.wiki_lists import unknown_language, wikis_given
from wikianchor.pipelines.wikimedia.wikidata import Item, iter_lines, wanted_items
from wikianchor.schemas.choices import TEXTS

__all__ = ["PageRows", "Wiki", "open_wiki", "read_items", "read_pages"]

ARTICLES = frozenset({0})


def read_pages(path: str | os.PathLike[str], namespaces: Collection[int] | None = ARTICLES) -> Iterator[Page]:
    """Yield the pages of an XML dump, each at its newest revision, in the order of the file.

    Args:
        path: a file as Wikimedia publishes it (.xml, .xml.bz2, .xml.gz, .xml.xz; one stream or many), or a URI.
        namespaces: those wanted, 0 for articles; None for all. Other pages are passed over without decoding them.

    Raises:
        Truncated: the file ends inside a page; all pages before it have been yielded.
        InputError: the file cannot be read, or its XML is malformed.

    >>> import wikianchor
    >>> pages = wikianchor.read_pages("demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2")
    >>> next(pages).title
    'Solar System'
    """
    path = local_path(path)
    if b"<page>" not in (head := read_head(path)) and b"<mediawiki" not in head:
        raise InputError(f"{path}: not a MediaWiki XML export")
    for raw, offset in cut_pages(read_range(whole_file(path)), path):
        where = f"{path} near byte {offset}"
        if namespaces is None or page_namespace(raw, where) in namespaces:
            yield parse_page(raw, where)


def read_items(
    path: str | os.PathLike[str],
    wikis: str | Collection[str],
    languages: str | Collection[str] = ("en", "mul"),
    texts: str | Collection[str] = ("labels",),
) -> Iterator[Item]:
    """Yield the items of a Wikidata JSON dump that have a page in one of some wikis.

    Args:
        path: a file as Wikimedia publishes it (.json, .json.gz, .json.bz2), or a URI.
        wikis: languages or database names, as the option --wikis: "en,jawiki", or a list of them.
        languages: codes of the languages whose texts are kept: "en,mul", or a list of them.
        texts: which texts are kept: "labels", "descriptions", "aliases".

    Raises:
        InputError: the file cannot be read, or a line is no entity.
        UsageError: one of the wikis or languages does not exist.

    >>> import wikianchor
    >>> item = next(wikianchor.read_items("demo/dumps/wikidata-20260101-all.json.gz", "en,jawiki"))
    >>> item.qid, item.labels, dict(item.sitelinks)["enwiki"]
    (2, (('en', 'Earth'),), 'Earth')
    """
    path, wikis = local_path(path), wikis_given(wikis)
    languages = split_list(languages) if isinstance(languages, str) else languages
    texts = split_list(texts) if isinstance(texts, str) else texts
    if problem := unknown_language(languages) or among(TEXTS)(tuple(texts)):
        raise UsageError(f"read_items: {problem}")
    lines = iter_lines(content_of(path), path)
    yield from wanted_items(lines, wikis, languages, texts, where=lambda number: f"{path}: entity {number}")
