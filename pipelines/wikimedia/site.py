"""Namespaces, link trails and interwiki prefixes of one wiki: a `Site`.

The header of a dump names its wiki and the wiki's namespaces
(https://www.mediawiki.org/wiki/Help:Export#Export_format). Aliases, link trails and interwiki prefixes are not in a
dump; they come from `languages.language_facts`.
"""

import hashlib
import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.hub import RENAMED
from wikianchor.pipelines.wikimedia.addresses import article_path
from wikianchor.pipelines.wikimedia.languages import (
    PROJECTS,
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
# Titles of Special, User and MediaWiki pages, and of their talk pages, begin with a capital on every wiki.
_ALWAYS_CAPITAL = frozenset({-1, 2, 3, 8, 9})
# Wikipedias whose titles may begin with a lower-case letter, as those of all Wiktionaries may.
_LOWER_CASE_WIKIS = frozenset({"jbowiki"})
# Domains with a newer language code than the database name: yue.wikipedia.org is zh_yuewiki.
OLD_CODES = {new: old for old, new in RENAMED.items() if old != "simple"}


class Writing(NamedTuple):
    """How the language of a wiki is written, as far as a sample of its pages tells (`pipelines.text.dump_sample`).

    Attributes:
        scripts: those of its letters, by the names of `text.fragments`; none where the sample is too small.
        never: abbreviations that end no sentence, without their full stop.
        rarely: abbreviations that end a sentence only before a word that often begins one.
        words: small letters that are words, and no initials.
    """

    scripts: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    rarely: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    def to_json(self) -> dict[str, list[str]]:
        """Return it as a manifest holds it."""
        return {name: list(values) for name, values in self._asdict().items()}

    @classmethod
    def from_json(cls, record: Mapping[str, list[str]]) -> "Writing":
        """Return what `to_json` has written."""
        return cls(**{name: tuple(values) for name, values in record.items() if name in cls._fields})


@dataclass(frozen=True)
class Site:
    """How one wiki reads wikitext. It can be pickled, compared and sent to workers.

    Attributes:
        wiki: database name, such as enwiki.
        language: language code.
        namespaces: namespace number by name or alias, folded by `fold_name`.
        namespace_names: the name with which titles begin, by namespace number.
        case_sensitive: namespaces whose titles keep a lower-case first letter.
        link_trail: matches the letters after `]]` that belong to the link.
        link_prefix: inside of a character class of the letters before `[[` that belong to the link; '' for none.
        redirect_words: such as `#REDIRECT`.
        dotted_i: whether the capital of i is İ.
        interwiki: prefixes of links to other wikis.
        interlanguage: those of them that make a language link, which is not shown in the text, unless a colon precedes.
        local_interwiki: prefixes of links to this wiki itself.
        article_path: what precedes titles in the addresses of pages; "" where that is not known.
        writing: how its language is written, where a dump told; it decides sentences, not text.
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
    article_path: str = field(default="", compare=False, repr=False)
    writing: Writing = field(default=Writing(), repr=False)

    def digest(self) -> str:
        """Return a checksum (16 hex digits) of the attributes that decide the text: equal digests extract equal
        text."""
        attributes = (
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
        return hashlib.sha256(repr(attributes).encode()).hexdigest()[:16]

    def redirect_pattern(self) -> re.Pattern[str]:
        """Return a pattern for the beginning of a redirect's wikitext, up to the title in group 1."""
        words = "|".join(re.escape(word.lstrip("#")) for word in self.redirect_words)
        return re.compile(rf"\s*[#＃](?i:{words}|redirect)\s*:?\s*\[\[([^\]|\n]*)")


def fold_name(name: str) -> str:
    """Fold a namespace name or interwiki prefix: lower case, spaces instead of underscores.

    >>> fold_name("User_Talk")
    'user talk'
    """
    return name.replace("_", " ").strip(" ").lower()


def site_for(wiki: str) -> Site:
    """Return the site of a wiki by its database name, without a dump.

    Raises:
        UsageError: `wiki` is not the database name of a Wikimedia wiki.

    >>> site = site_for("dewiki")
    >>> site.language, site.namespaces["datei"], site.namespaces["file"]
    ('de', 6, 6)
    """
    code, project = split_wiki(wiki)
    if not code:
        raise UsageError(f"--wikis={wiki} is not the database name of a wiki: write it like enwiki or dewikinews")
    facts = language_facts(language_of_wiki(wiki))
    family = PROJECTS[project][0]
    names = {**facts.namespaces, 4: family, 5: f"{family} talk"}
    lower_case = project == "wiktionary" or wiki in _LOWER_CASE_WIKIS
    return _site(wiki, facts, names, frozenset({0, *names}) - _ALWAYS_CAPITAL if lower_case else frozenset())


def site_from_header(header: str, wiki: str | None = None, source: str = "the dump") -> Site:
    """Return the site of an XML export, versions 0.3 to 0.11 of the format.

    Args:
        header: beginning of the file, up to `</siteinfo>` at least.
        wiki: database name if the user gave it; it takes precedence over the header, which then only adds namespace
            names.
        source: name of the file, for messages.

    Raises:
        InputError: neither `wiki` nor the header names the wiki, or `<siteinfo>` is broken.
        UsageError: `wiki` is not the database name of a Wikimedia wiki.
    """
    match = _SITEINFO.search(header)
    if not match:
        if "<siteinfo" in header:
            raise InputError(f"{source}: <siteinfo> has no end: the file is cut off or broken, fetch it again")
        if wiki is None:
            raise InputError(f"{source} has no <siteinfo>: say which wiki it is from, like --wikis=enwiki")
        return site_for(wiki)
    siteinfo = match[1]
    base = _element(siteinfo, "base")
    header_wiki = _element(siteinfo, "dbname") or wiki_of_url(base)
    names: dict[int, str] = {}
    case_sensitive: set[int] = set()
    # Versions before 0.5 give the case once for all namespaces.
    default_case = _element(siteinfo, "case")
    for number, case, name in _NAMESPACE.findall(siteinfo):
        key = int(number)
        if name.strip():
            names[key] = html.unescape(name).replace("_", " ").strip()
        if (case or ("" if key in _ALWAYS_CAPITAL else default_case)) == "case-sensitive":
            case_sensitive.add(key)

    if wiki is not None:
        known = site_for(wiki)
        if header_wiki and header_wiki != wiki:
            return replace(
                known,
                namespaces={fold_name(name): key for key, name in names.items()} | dict(known.namespaces),
                namespace_names=names | dict(known.namespace_names),
            )
    elif not header_wiki:
        raise InputError(
            f"{source}: neither <dbname> nor <base>{base}</base> tells a Wikimedia wiki: say which it is from, "
            "like --wikis=enwiki"
        )
    if not names:
        raise InputError(f"{source}: <siteinfo> lists no namespaces: the file is broken, fetch it again")
    language = _LANGUAGE.search(header)
    is_known = language is not None and language[1].lower() in language_table()["languages"]
    code = language[1] if language and is_known else language_of_wiki(wiki or header_wiki)
    site = _site(wiki or header_wiki, language_facts(code), names, frozenset(case_sensitive))
    return replace(site, article_path=article_path(site.wiki, base))


def _element(siteinfo: str, name: str) -> str:
    """Return the text of an element without attributes, '' if it is missing."""
    match = re.search(rf"<{name}>([^<]*)</{name}>", siteinfo)
    return html.unescape(match[1]).strip() if match else ""


def wiki_of_url(url: str) -> str:
    """Return the database name of a page's wiki (`http://ja.wikipedia.org/wiki/..` is on jawiki), '' if unknown."""
    match = re.match(r"(?:https?:)?//(?:www\.|([a-z0-9-]+)\.)?([a-z]+)\.org(?:[:/]|$)", url)
    if not match:
        return ""
    code, domain = match[1] or "", match[2]
    code = OLD_CODES.get(code, code).replace("-", "_")
    if domain in ("wikidata", "mediawiki") and not code:
        return f"{domain}wiki"
    if domain == "wikisource" and not code:
        return "sourceswiki"
    suffix = "wiki" if domain in ("wikipedia", "wikimedia") else domain
    return code + suffix if code and suffix in PROJECTS else ""


def _site(wiki: str, facts: LanguageFacts, names: Mapping[int, str], case_sensitive: frozenset[int]) -> Site:
    """Merge the namespace names of a wiki with those of its language and the canonical ones."""
    table = language_table()
    canonical = {int(key): name for key, name in table["canonical_namespaces"].items()}
    names = {**canonical, **facts.namespaces, **names}
    code, project = split_wiki(wiki)
    # A name that two namespaces have belongs to the one that is added last here.
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
        # Without a link trail: a pattern that never matches.
        link_trail=re.compile(facts.link_trail or "(?!)"),
        link_prefix=facts.link_prefix,
        redirect_words=facts.redirect_words,
        dotted_i=facts.dotted_i,
        interwiki=(frozenset(map(fold_name, table["interwiki"])) - local) | interlanguage,
        interlanguage=interlanguage,
        local_interwiki=frozenset(local),
        article_path=article_path(wiki),
    )
