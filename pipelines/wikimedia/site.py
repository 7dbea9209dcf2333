"""What wikitext and titles mean on one wiki: the head of a dump, or a wiki's database name, in; a `Site` out.

A dump tells its wiki and the names of its namespaces (https://www.mediawiki.org/wiki/Help:Export#Export_format); what
it does not tell, aliases and link trails and interwiki prefixes, comes from the facts of the wiki's language.
"""

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.wikimedia.languages import (
    PROJECTS,
    RENAMED,
    LanguageFacts,
    is_language_edition,
    language_facts,
    language_of_wiki,
    language_table,
    split_wiki,
)

_SITEINFO = re.compile(r"<siteinfo>(.*?)</siteinfo>", re.DOTALL)
_NAMESPACE = re.compile(r'<namespace key="(-?\d+)"(?: case="([a-z-]+)")?\s*(?:/>|>([^<]*)</namespace>)')
_LANGUAGE = re.compile(r'<mediawiki\b[^>]*\sxml:lang="([^"]+)"')
# User, Special and MediaWiki pages, and their talk, begin with a capital on every wiki.
_ALWAYS_CAPITAL = frozenset({-1, 2, 3, 8, 9})
# Wikipedias whose titles may begin with a small letter. All Wiktionaries are like that.
_SMALL_LETTER_WIKIS = frozenset({"jbowiki"})
# Domains that have a newer code than the database: yue.wikipedia.org is zh_yuewiki.
_OLD_CODES = {new: old for old, new in RENAMED.items() if old != "simple"}


@dataclass(frozen=True)
class Site:
    """One wiki. Plain data: it can be pickled, compared and sent to workers.

    `namespaces` gives the key of every name and alias, folded by `fold_name`; `namespace_names` the name that titles of
    a namespace begin with. In the namespaces of `case_sensitive` the first letter stays as it is written.
    `link_trail.match(text, position_after_the_brackets)` finds the letters that belong to the link; `link_prefix` is
    the inside of a character class, or ''. `interwiki` are all prefixes that lead to other wikis, `interlanguage` those
    of them that make a language link, which shows nothing, unless a colon leads; `local_interwiki` lead back here.
    """

    wiki: str
    language: str
    namespaces: Mapping[str, int] = field(hash=False, repr=False)
    namespace_names: Mapping[int, str] = field(hash=False)
    case_sensitive: frozenset[int]
    link_trail: re.Pattern[str]
    link_prefix: str
    redirect_words: tuple[str, ...]
    dotted_i: bool
    interwiki: frozenset[str] = field(repr=False)
    interlanguage: frozenset[str] = field(repr=False)
    local_interwiki: frozenset[str]

    def digest(self) -> str:
        """A short checksum of all this: dumps of one wiki with the same digest are read alike."""
        told = (
            self.language,
            sorted(self.namespaces.items()),
            sorted(self.namespace_names.items()),
            sorted(self.case_sensitive),
            self.link_trail.pattern,
            self.link_prefix,
            self.redirect_words,
            self.dotted_i,
            *(sorted(prefixes) for prefixes in (self.interwiki, self.interlanguage, self.local_interwiki)),
        )
        return hashlib.sha256(repr(told).encode()).hexdigest()[:16]

    @property
    def capital_links(self) -> bool:
        """Whether articles begin with a capital, so that `[[foo]]` and `[[Foo]]` are one page."""
        return 0 not in self.case_sensitive


def fold_name(name: str) -> str:
    """A namespace name or interwiki prefix as the tables have it: case and underscores do not matter."""
    return name.replace("_", " ").strip(" ").lower()


def site_for(wiki: str) -> Site:
    """The site of a wiki, known by its database name only.

    Raises UsageError if that is no database name of a Wikimedia wiki.
    """
    code, project = split_wiki(wiki)
    if not code:
        raise UsageError(f"--wikis={wiki} is not the database name of a wiki: write it like enwiki or dewikinews")
    facts = language_facts(language_of_wiki(wiki))
    family = PROJECTS[project][0]
    names = {**facts.namespaces, 4: family, 5: f"{family} talk"}
    small_letters = project == "wiktionary" or wiki in _SMALL_LETTER_WIKIS
    return _site(wiki, facts, names, frozenset({0, *names}) - _ALWAYS_CAPITAL if small_letters else frozenset())


def site_from_header(header: str, wiki: str | None = None, source: str = "the dump") -> Site:
    """The site of an export file (schema 0.3 to 0.11), from its beginning up to and including `</siteinfo>`.

    A `wiki` that the header contradicts wins: the header then only adds names of namespaces. `source` is what messages
    call the file. Raises InputError if neither tells the wiki or `<siteinfo>` is broken, UsageError if `wiki` is no
    database name.
    """
    found = _SITEINFO.search(header)
    if not found:
        if "<siteinfo" in header:
            raise InputError(f"{source}: <siteinfo> has no end: the file is cut off or broken, fetch it again")
        if wiki is None:
            raise InputError(f"{source} has no <siteinfo>: say which wiki it is from, like --wikis=enwiki")
        return site_for(wiki)
    siteinfo = found[1]
    base = _element(siteinfo, "base")
    told = _element(siteinfo, "dbname") or _wiki_of_url(base)
    names: dict[int, str] = {}
    small: set[int] = set()
    # Schemas before 0.5 tell the case once, for all namespaces.
    general = _element(siteinfo, "case")
    for number, own, name in _NAMESPACE.findall(siteinfo):
        key = int(number)
        if name.strip():
            names[key] = html.unescape(name).replace("_", " ").strip()
        if (own or ("" if key in _ALWAYS_CAPITAL else general)) == "case-sensitive":
            small.add(key)

    if wiki is not None:
        known = site_for(wiki)
        if told and told != wiki:
            return replace(
                known,
                namespaces={fold_name(name): key for key, name in names.items()} | dict(known.namespaces),
                namespace_names=names | dict(known.namespace_names),
            )
    elif not told:
        raise InputError(
            f"{source}: neither <dbname> nor <base>{base}</base> tells a Wikimedia wiki: say which it is from, "
            "like --wikis=enwiki"
        )
    if not names:
        raise InputError(f"{source}: <siteinfo> lists no namespaces: the file is broken, fetch it again")
    language = _LANGUAGE.search(header)
    has_known = language is not None and language[1].lower() in language_table()["languages"]
    code = language[1] if language and has_known else language_of_wiki(wiki or told)
    return _site(wiki or told, language_facts(code), names, frozenset(small))


def _element(siteinfo: str, name: str) -> str:
    """The text of an element without attributes, '' if it is not there."""
    found = re.search(rf"<{name}>([^<]*)</{name}>", siteinfo)
    return html.unescape(found[1]).strip() if found else ""


def _wiki_of_url(url: str) -> str:
    """The database name of the wiki a page belongs to: `http://ja.wikipedia.org/wiki/..` is jawiki. '' if not known."""
    found = re.match(r"(?:https?:)?//(?:www\.|([a-z0-9-]+)\.)?([a-z]+)\.org(?:[:/]|$)", url)
    if not found:
        return ""
    code, domain = found[1] or "", found[2]
    code = _OLD_CODES.get(code, code).replace("-", "_")
    if domain in ("wikidata", "mediawiki") and not code:
        return f"{domain}wiki"
    if domain == "wikisource" and not code:
        return "sourceswiki"
    suffix = "wiki" if domain in ("wikipedia", "wikimedia") else domain
    return code + suffix if code and suffix in PROJECTS else ""


def _site(wiki: str, facts: LanguageFacts, names: Mapping[int, str], case_sensitive: frozenset[int]) -> Site:
    """Join what a wiki calls its namespaces with what its language and MediaWiki itself know."""
    table = language_table()
    canonical = {int(key): name for key, name in table["canonical_namespaces"].items()}
    names = {**canonical, **facts.namespaces, **names}
    code, project = split_wiki(wiki)
    # Where two namespaces claim a name, the later one here has it.
    namespaces = {fold_name(name): key for name, key in facts.namespace_aliases.items()}
    namespaces |= {fold_name(name): key for key, name in facts.namespaces.items()}
    if project:
        family = PROJECTS[project][0]
        namespaces |= {fold_name(family): 4, fold_name(f"{family} talk"): 5}
    namespaces |= {fold_name(name): key for key, name in names.items()}
    namespaces |= {fold_name(name): key for key, name in canonical.items()}

    local: set[str] = set()
    if is_language_edition(wiki):
        local = {code} if code == "simple" else {code, RENAMED.get(code, code)}
        if code == "en":
            local.add(PROJECTS[project][1])
    interlanguage = frozenset(map(fold_name, table["interlanguage"])) - local
    return Site(
        wiki=wiki,
        language=facts.code,
        namespaces=namespaces,
        namespace_names=dict(sorted(names.items())),
        case_sensitive=case_sensitive,
        # A language without a trail gets a pattern that never matches.
        link_trail=re.compile(facts.link_trail or "(?!)"),
        link_prefix=facts.link_prefix,
        redirect_words=facts.redirect_words,
        dotted_i=facts.dotted_i,
        interwiki=(frozenset(map(fold_name, table["interwiki"])) - local) | interlanguage,
        interlanguage=interlanguage,
        local_interwiki=frozenset(local),
    )
