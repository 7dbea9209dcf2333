"""Addresses of revisions and items on the wikis of Wikimedia."""

from __future__ import annotations

from urllib.parse import quote

from wikianchor.pipelines.wikimedia.languages import split_wiki

# The hosts of wikis whose database name does not follow the pattern of language and project.
_HOSTS = {
    "wikidatawiki": "www.wikidata.org",
    "mediawikiwiki": "www.mediawiki.org",
    "sourceswiki": "wikisource.org",
    **{f"{name}wiki": f"{name}.wikimedia.org" for name in ("commons", "incubator", "meta", "outreach", "species")},
}


# What MediaWiki leaves as it is in the address of a page, besides letters, digits and "_.-".
_PLAIN = ";@$!*(),/~:"


def host_of(wiki: str) -> str:
    """Return the host of a wiki; "" if `wiki` is not the database name of a Wikimedia wiki."""
    code, project = split_wiki(wiki)
    return _HOSTS.get(wiki) or (f"{code}.{'wikipedia' if project == 'wiki' else project}.org" if code else "")


def revision_address(wiki: str, rev_id: int) -> str:
    """Return the address of a revision; "" if `wiki` is not the database name of a Wikimedia wiki.

    >>> revision_address("be_x_oldwiki", 42)
    'https://be-x-old.wikipedia.org/w/index.php?oldid=42'
    """
    host = host_of(wiki)
    return f"https://{host}/w/index.php?oldid={rev_id}" if host else ""


def article_path(wiki: str, base: str = "") -> str:
    """Return what precedes the titles in the addresses of a wiki's pages; "" if that is not known.

    Args:
        wiki: database name.
        base: address of its main page, from the header of a dump; "" where that has none.

    >>> article_path("enwiki"), article_path("x", "http://wiki.example/en/index.php/Main_Page")
    ('https://en.wikipedia.org/wiki/', 'http://wiki.example/en/index.php/')
    """
    if not base:
        return f"https://{host_of(wiki)}/wiki/" if host_of(wiki) else ""
    path, separator, _ = base.rpartition("/wiki/") if "/wiki/" in base else base.rpartition("/")
    return path + separator


def page_address(path: str, title: str) -> str:
    """Return the address of a page; "" if the wiki has no known address.

    Args:
        path: as `article_path` returns it.
        title: title of the page.

    >>> page_address("https://en.wikipedia.org/wiki/", "What is 1+1?")
    'https://en.wikipedia.org/wiki/What_is_1%2B1%3F'
    """
    return path + quote(title.replace(" ", "_"), safe=_PLAIN) if path else ""


def item_address(qid: int) -> str:
    """Return the address of a Wikidata item.

    >>> item_address(634)
    'https://www.wikidata.org/wiki/Q634'
    """
    return f"https://www.wikidata.org/wiki/Q{qid}"
