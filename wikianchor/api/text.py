"""Wikitext to text, blocks, links and sentences, without a dump. Needs the standard library only."""

from __future__ import annotations

from functools import lru_cache

from wikianchor.pipelines.text.page_text import PageText, TextBlock, TextGap, TextLink, TextReader, TextSentence
from wikianchor.pipelines.wikimedia.languages import split_wiki
from wikianchor.pipelines.wikimedia.site import Site, site_for
from wikianchor.pipelines.wikimedia.wiki_lists import wiki_named

__all__ = ["PageText", "TextBlock", "TextGap", "TextLink", "TextSentence", "extract", "sentences"]


def extract(wikitext: str, *, language: str = "en", title: str = "") -> PageText:
    """Return what a reader sees of a page, as far as its wikitext alone tells.

    What the wiki's own templates show is not known here: built-in rules by the names of templates stand in for their
    definitions, and other templates leave gaps. `wikianchor.open_wiki(dumps).extract` knows the definitions.

    Args:
        wikitext: the wikitext of the page.
        language: code of its Wikipedia, such as "uk", or the database name of a wiki, such as "enwikinews".
        title: the title of the page; links to it are no links, and templates can show it.

    Raises:
        UsageError: there is no such wiki.

    >>> page = extract("'''Ada''' wrote for the [[Analytical Engine|engine]].", language="en", title="Ada Lovelace")
    >>> page.text
    'Ada wrote for the engine.'
    >>> [(page.text[link.start : link.end], link.target) for link in page.links]
    [('engine', 'Analytical Engine')]
    """
    return _reader(language).extract(wikitext, title)


def sentences(
    wikitext: str, *, language: str = "en", title: str = "", include_dropped: bool = False
) -> list[TextSentence]:
    """Return the sentences of an article that are whole and fit to learn from, as far as its wikitext alone tells.

    They are those of `wikianchor sentences --templates=builtin`. By default that command reads the wiki's own
    templates from the dump: it keeps sentences whose words a template shows, and leaves out pages that a template
    marks as disambiguation pages. `wikianchor.open_wiki(dumps)` gives the rows of the command.

    Args:
        wikitext, language, title: as in `extract`.
        include_dropped: return the others as well, with the reason in `dropped`.

    Raises:
        UsageError: there is no such wiki.

    >>> [sentence.text for sentence in sentences("It was cold. She met [[Charles Babbage]] in 1833.")]
    ['It was cold.', 'She met Charles Babbage in 1833.']
    """
    judged = _reader(language).sentences(wikitext, title)
    return [sentence for sentence in judged if include_dropped or sentence.dropped is None]


@lru_cache(maxsize=32)
def _reader(language: str) -> TextReader:
    return TextReader(site_of(language))


def site_of(language: str) -> Site:
    """Return the wiki that `extract` takes for a language.

    Raises:
        UsageError: there is no such wiki.
    """
    return site_for(language if split_wiki(language)[0] else wiki_named(language, "language"))
