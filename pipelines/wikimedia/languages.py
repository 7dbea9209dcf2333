"""How wikitext differs between languages: namespaces, magic words, link trails.

`tools/language_facts.py` writes `data/languages.json` from a MediaWiki release. An entry there holds only what the
language's own files set. `language_facts` merges it with the fallback languages in MediaWiki's order
(https://www.mediawiki.org/wiki/Manual:Language#Fallback_languages), English last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from wikianchor.io.hub import RENAMED
from wikianchor.io.package_data import package_json

# By the suffix of database names: the default name of the project namespace, and the interwiki prefix of the English
# edition.
PROJECTS: Mapping[str, tuple[str, str]] = {
    "wiki": ("Wikipedia", "w"),
    "wikibooks": ("Wikibooks", "b"),
    "wikinews": ("Wikinews", "n"),
    "wikiquote": ("Wikiquote", "q"),
    "wikisource": ("Wikisource", "s"),
    "wikiversity": ("Wikiversity", "v"),
    "wikivoyage": ("Wikivoyage", "voy"),
    "wiktionary": ("Wiktionary", "wikt"),
}


@dataclass(frozen=True)
class LanguageFacts:
    """How MediaWiki reads wikitext in one language, fallbacks included.

    Attributes:
        code: language code.
        fallbacks: language codes, nearest first.
        link_trail: pattern of the letters after `]]` that belong to a link; '' for none.
        link_prefix: inside of a character class of the letters before `[[` that belong to a link; '' for none.
        namespaces: localised names by namespace number, without the main and the project namespace.
        namespace_aliases: namespace number by other names.
        redirect_words: such as `#REDIRECT`.
        switches: behaviour switches such as `__NOTOC__`.
        image_words: words by MediaWiki's name of the image option (`img_thumbnail`), with `$1` for a value.
        words: canonical names of magic words and parser functions (`PAGENAME`, `lc`, `#if`) by localised ones; those of
            functions are in lower case.
        variants: codes that the language converter knows, as in `-{zh-hans:..}-`.
        dotted_i: whether the capital of i is İ.
    """

    code: str
    fallbacks: tuple[str, ...]
    link_trail: str
    link_prefix: str
    namespaces: Mapping[int, str]
    namespace_aliases: Mapping[str, int]
    redirect_words: tuple[str, ...]
    switches: frozenset[str]
    image_words: Mapping[str, tuple[str, ...]]
    words: Mapping[str, str]
    variants: tuple[str, ...]
    dotted_i: bool


def language_table() -> Mapping[str, Any]:
    """Return `data/languages.json`: keys `languages`, `canonical_namespaces`, `interlanguage`, `interwiki`."""
    table: Mapping[str, Any] = package_json("pipelines.wikimedia", "languages.json")
    return table


@cache
def language_facts(code: str) -> LanguageFacts:
    """Return how MediaWiki reads wikitext in a language.

    An unknown code is shortened from the right ("pt-x" to "pt"); if nothing is left, the language counts as English.

    >>> language_facts("de").namespaces[6]
    'Datei'
    >>> language_facts("be-x-old").code
    'be-tarask'
    """
    lines: Mapping[str, Mapping[str, Any]] = language_table()["languages"]
    code = code.lower().replace("_", "-")
    code = RENAMED.get(code, code)
    known = code
    while known not in lines and "-" in known:
        known = known.rpartition("-")[0]
    entry = lines.get(known, {})
    fallbacks = tuple(entry.get("fallbacks", ()))
    layers = [entry, *(lines[fallback] for fallback in fallbacks if fallback in lines), lines["en"]]

    def nearest(key: str) -> Any:
        return next(layer[key] for layer in layers if key in layer)

    namespaces: dict[int, str] = {}
    aliases: dict[str, int] = {}
    images: dict[str, list[str]] = {}
    for layer in layers:
        for key, name in layer.get("namespaces", {}).items():
            namespaces.setdefault(int(key), name)
        for name, key in layer.get("namespace_aliases", {}).items():
            aliases.setdefault(name, key)
        for option, words in layer.get("image_words", {}).items():
            images.setdefault(option, []).extend(words)
    aliases.update(nearest("gender_aliases"))
    variants = tuple(entry.get("variants", ()))
    for variant in variants:
        if variant != known and variant in lines:
            for key, name in language_facts(variant).namespaces.items():
                aliases.setdefault(name, key)

    return LanguageFacts(
        code=code,
        fallbacks=fallbacks,
        link_trail=nearest("link_trail"),
        link_prefix=nearest("link_prefix") if nearest("has_link_prefix") else "",
        namespaces=dict(sorted(namespaces.items())),
        namespace_aliases=dict(sorted(aliases.items())),
        redirect_words=tuple(dict.fromkeys(word for layer in layers for word in layer.get("redirect_words", ()))),
        switches=frozenset(word for layer in layers for word in layer.get("switches", ())),
        image_words={option: tuple(dict.fromkeys(words)) for option, words in sorted(images.items())},
        words={word: name for layer in reversed(layers) for word, name in layer.get("words", {}).items()},
        variants=variants,
        dotted_i=bool(entry.get("dotted_i")),
    )


def split_wiki(wiki: str) -> tuple[str, str]:
    """Split a database name into language code and project; return ('', '') if it has another form.

    >>> split_wiki("be_x_oldwiki")
    ('be-x-old', 'wiki')
    """
    match = re.fullmatch(r"([a-z0-9_]+?)(" + "|".join(PROJECTS) + ")", wiki)
    return (match[1].replace("_", "-"), match[2]) if match else ("", "")


def is_language_edition(wiki: str) -> bool:
    """Return whether a wiki is the edition of a project in one language.

    >>> is_language_edition("enwiki"), is_language_edition("commonswiki")
    (True, False)
    """
    code, _ = split_wiki(wiki)
    # The table may lack a new language; its code has two or three letters. The only other wiki with so short a name is
    # tenwiki, which celebrated ten years of Wikipedia.
    return code in language_table()["languages"] or (re.fullmatch("[a-z]{2,3}", code) is not None and code != "ten")


def is_wikipedia(wiki: str) -> bool:
    """Return whether a wiki is a Wikipedia.

    >>> is_wikipedia("enwiki"), is_wikipedia("enwikinews"), is_wikipedia("commonswiki")
    (True, False, False)
    """
    return split_wiki(wiki)[1] == "wiki" and is_language_edition(wiki)


def language_of_wiki(wiki: str) -> str:
    """Return the language code that MediaWiki uses on a wiki; "en" for wikis without a language of their own.

    >>> language_of_wiki("nowiki"), language_of_wiki("simplewiki"), language_of_wiki("commonswiki")
    ('nb', 'en', 'en')
    """
    if not is_language_edition(wiki):
        return "en"
    code, _ = split_wiki(wiki)
    return RENAMED.get(code, code)
