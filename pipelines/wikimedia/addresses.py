"""Addresses of revisions and items on the wikis of Wikimedia."""

from __future__ import annotations

from wikianchor.pipelines.wikimedia.languages import split_wiki

# The hosts of wikis whose database name does not follow the pattern of language and project.
_HOSTS = {
    "wikidatawiki": "www.wikidata.org",
    "mediawikiwiki": "www.mediawiki.org",
    "sourceswiki": "wikisource.org",
    **{f"{name}wiki": f"{name}.wikimedia.org" for name in ("commons", "incubator", "meta", "outreach", "species")},
}


def revision_address(wiki: str, rev_id: int) -> str:
    """Return the address of a revision; "" if `wiki` is not the database name of a Wikimedia wiki.

    >>> revision_address("be_x_oldwiki", 42)
    'https://be-x-old.wikipedia.org/w/index.php?oldid=42'
    """
    code, project = split_wiki(wiki)
    host = _HOSTS.get(wiki) or (f"{code}.{'wikipedia' if project == 'wiki' else project}.org" if code else "")
    return f"https://{host}/w/index.php?oldid={rev_id}" if host else ""


def item_address(qid: int) -> str:
    """Return the address of a Wikidata item.

    >>> item_address(634)
    'https://www.wikidata.org/wiki/Q634'
    """
    return f"https://www.wikidata.org/wiki/Q{qid}"
