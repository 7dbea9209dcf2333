"""Links to the Wikipedias of other languages: [[:fr:Paris]], or [[w:fr:Paris]] on another wiki."""

from __future__ import annotations

from functools import lru_cache

from wikianchor.pipelines.wikimedia.languages import PROJECTS, is_language_edition, split_wiki
from wikianchor.pipelines.wikimedia.site import OLD_CODES, Site, site_for
from wikianchor.pipelines.wikimedia.titles import parse_target

# Prefixes of Wikipedia itself, one after another.
MAX_PREFIXES = 3
_SITES, _CACHE_SIZE = 64, 1 << 13


class WikipediaLinks:
    """Reads the links of one wiki that lead to articles of a Wikipedia.

    Args:
        site: the wiki.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> links = WikipediaLinks(site_for("dewiki"))
    >>> links.read(":fr:paris#Histoire"), links.read("w:Venus"), links.read(":fr:Fichier:A.png"), links.read("wikt:a")
    (('frwiki', 'Paris', 'Histoire'), ('enwiki', 'Venus', ''), None, None)
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._site_of = lru_cache(maxsize=_SITES)(site_for)
        self.read = lru_cache(maxsize=_CACHE_SIZE)(self._read)

    def _read(self, raw: str) -> tuple[str, str, str] | None:
        """Return the wiki, the title and the section of the article that a link leads to; None for any other link, and
        for one that leads back to its own wiki.

        Args:
            raw: the text between `[[` and `|` or `]]`, with an interwiki prefix.
        """
        site, text = self._site, raw
        for _ in range(MAX_PREFIXES):
            target = parse_target(text, site)
            if target is None:
                return None
            if not target.interwiki:
                is_article = target.namespace == 0 and target.title != "" and site.wiki != self._site.wiki
                return (site.wiki, target.title, target.fragment) if is_article else None
            wiki = wikipedia_of(target.interwiki, site.wiki)
            if wiki is None:
                return None
            site, text = self._site_of(wiki), f"{target.title}#{target.fragment}".rstrip("#")
        return None


def wikipedia_of(prefix: str, wiki: str) -> str | None:
    """Return the database name of the Wikipedia that an interwiki prefix leads to; None for another wiki.

    Args:
        prefix: the folded prefix.
        wiki: database name of the wiki with the link.

    >>> wikipedia_of("nb", "enwiki"), wikipedia_of("w", "frwiktionary"), wikipedia_of("fr", "dewiktionary")
    ('nowiki', 'frwiki', None)
    """
    code, project = split_wiki(wiki)
    if prefix == "wikipedia" or (prefix == PROJECTS["wiki"][1] and project == "wiki"):
        return "enwiki"
    if prefix == PROJECTS["wiki"][1]:
        return f"{code.replace('-', '_')}wiki" if is_language_edition(wiki) else "enwiki"
    name = f"{OLD_CODES.get(prefix, prefix).replace('-', '_')}wiki"
    return name if project == "wiki" and is_language_edition(name) else None
