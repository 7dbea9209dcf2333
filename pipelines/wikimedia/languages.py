"""What differs in wikitext from language to language: a language code in, its facts out.

The facts stand in `data/languages.json`, which `tools/language_facts.py` writes from a MediaWiki release. A language
there has only what its own files say; here it is joined with the languages it falls back to, in MediaWiki's order
(https://www.mediawiki.org/wiki/Manual:Language#Fallback_languages), English last.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

# How Wikimedia's projects end their database names, what the project namespace is called where the wiki does not say,
# and the interwiki prefix that leads to the project's English edition.
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

# Codes of wikis that are older than the code of their language.
RENAMED: Mapping[str, str] = {
    "als": "gsw",
    "bat-smg": "sgs",
    "be-x-old": "be-tarask",
    "fiu-vro": "vro",
    "no": "nb",
    "roa-rup": "rup",
    "simple": "en",
    "zh-classical": "lzh",
    "zh-min-nan": "nan",
    "zh-yue": "yue",
}


@dataclass(frozen=True)
class LanguageFacts:
    """How MediaWiki reads wikitext in one language, fallbacks included.

    `link_trail` is a pattern for the letters after `]]` that belong to a link, `link_prefix` the inside of a character
    class for those before `[[`; either is '' where there are none. `namespaces` are the language's own names by key,
    without the main and the project namespace, `namespace_aliases` the keys of other names. `redirect_words` begin with
    the number sign. `switches` are words like `__NOTOC__`; MediaWiki does not mind the case of most of them. The words
    of `image_words` are grouped by MediaWiki's name of the option (`img_thumbnail`), with `$1` for a value. `variants`
    are the codes the language converter knows, as in `-{zh-hans:..}-`. `dotted_i`: a first i is capitalised as İ.
    """

    code: str
    fallbacks: tuple[str, ...]
    rtl: bool
    link_trail: str
    link_prefix: str
    namespaces: Mapping[int, str]
    namespace_aliases: Mapping[str, int]
    redirect_words: tuple[str, ...]
    switches: frozenset[str]
    image_words: Mapping[str, tuple[str, ...]]
    variants: tuple[str, ...]
    dotted_i: bool


@cache
def language_table() -> Mapping[str, Any]:
    """The file itself: `languages`, `canonical_namespaces`, and the prefixes `interlanguage` and `interwiki`."""
    table: Mapping[str, Any] = json.loads((Path(__file__).parent / "data" / "languages.json").read_text("utf-8"))
    return table


@cache
def language_facts(code: str) -> LanguageFacts:
    """The facts of a language; a code MediaWiki does not know loses its last parts, and is read as English at last."""
    lines: Mapping[str, Mapping[str, Any]] = language_table()["languages"]
    code = code.lower().replace("_", "-")
    code = RENAMED.get(code, code)
    known = code
    while known not in lines and "-" in known:
        known = known.rpartition("-")[0]
    own = lines.get(known, {})
    fallbacks = tuple(own.get("fallbacks", ()))
    layers = [own, *(lines[fallback] for fallback in fallbacks if fallback in lines), lines["en"]]

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
    variants = tuple(own.get("variants", ()))
    for variant in variants:
        if variant != known and variant in lines:
            for key, name in language_facts(variant).namespaces.items():
                aliases.setdefault(name, key)

    return LanguageFacts(
        code=code,
        fallbacks=fallbacks,
        rtl=nearest("rtl"),
        link_trail=nearest("link_trail"),
        link_prefix=nearest("link_prefix") if nearest("has_link_prefix") else "",
        namespaces=dict(sorted(namespaces.items())),
        namespace_aliases=dict(sorted(aliases.items())),
        redirect_words=tuple(dict.fromkeys(word for layer in layers for word in layer.get("redirect_words", ()))),
        switches=frozenset(word for layer in layers for word in layer.get("switches", ())),
        image_words={option: tuple(dict.fromkeys(words)) for option, words in sorted(images.items())},
        variants=variants,
        dotted_i=own.get("dotted_i", False),
    )


def split_wiki(wiki: str) -> tuple[str, str]:
    """The two halves of a database name, ('be-x-old', 'wiki') of `be_x_oldwiki`; ('', '') if it has not that shape."""
    found = re.fullmatch(r"([a-z0-9_]+?)(" + "|".join(PROJECTS) + ")", wiki)
    return (found[1].replace("_", "-"), found[2]) if found else ("", "")


def is_language_edition(wiki: str) -> bool:
    """Whether a database name is a language's edition of a project: enwiki is, commonswiki and metawiki are not."""
    code, _ = split_wiki(wiki)
    # A young language may be missing in the table: its code has two or three letters. The one other wiki with so short
    # a name is tenwiki, which was Wikipedia's birthday party.
    return code in language_table()["languages"] or (re.fullmatch("[a-z]{2,3}", code) is not None and code != "ten")


def language_of_wiki(wiki: str) -> str:
    """The language code MediaWiki uses on a wiki: nb for nowiki, en for simplewiki and for wikis of no one language."""
    if not is_language_edition(wiki):
        return "en"
    code, _ = split_wiki(wiki)
    return RENAMED.get(code, code)
